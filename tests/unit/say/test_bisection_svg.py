"""The plot of a bisection: one mark per measured commit, a distinct culprit, and inert foreign text."""

from dataclasses import replace
from xml.dom import minidom

from msgspec import structs

from perf_culprit.model.bisection import MeasuredCommit
from perf_culprit.model.run import MetricKey
from perf_culprit.say.bisection_exports import bisection_svg
from perf_culprit.say.charts import frame
from tests.support.bisections import FIRST, GOOD, REPORT, SECOND


def elements(svg: str, name: str) -> list[minidom.Element]:
    return list(minidom.parseString(svg).getElementsByTagName(name))  # noqa: S318 - our own text, checked for its form


def drawn(svg: str) -> dict[str, dict[str, str]]:
    """The position and fill of the circles, by the commit in their link."""
    return {
        link.getAttribute("href").rpartition("/")[2]: {name: circle.getAttribute(name) for name in ("cx", "cy", "fill")}
        for link in elements(svg, "a")
        for circle in link.getElementsByTagName("circle")
    }


def test_every_measured_commit_has_its_place_and_the_culprit_another_colour() -> None:
    svg = bisection_svg(REPORT)
    circles = drawn(svg)
    assert set(circles) == {entry.commit for entry in REPORT.measured if entry.relative_change is not None}
    # A worse commit is drawn above the good commit, and later commits to the right of it.
    assert float(circles[SECOND]["cy"]) < float(circles[GOOD]["cy"])
    assert float(circles[SECOND]["cx"]) > float(circles[GOOD]["cx"])
    assert circles[SECOND]["fill"] != circles[GOOD]["fill"]
    assert f">{SECOND[:7]}<" in svg


def test_a_wide_interval_squeezes_nothing_and_no_number_is_no_mark() -> None:
    wide = structs.replace(REPORT.measured[-1].confidence_interval, low=-0.9, high=40.0)  # type: ignore[type-var] # it has one
    measured = (
        REPORT.measured[0],
        structs.replace(REPORT.measured[-1], confidence_interval=wide),
        MeasuredCommit(commit=FIRST, executions=1, failures=("no compiler",)),
    )
    svg = bisection_svg(replace(REPORT, measured=measured))
    assert len(drawn(svg)) == 2
    assert "4,000" not in svg
    assert not drawn(bisection_svg(replace(REPORT, measured=())))


def test_foreign_text_stays_text() -> None:
    hostile = '</title><script>alert("x")</script>'
    svg = bisection_svg(
        replace(REPORT, key=MetricKey(hostile, hostile), subjects={GOOD: hostile}, repository_url=f'"><{hostile}')
    )
    assert not elements(svg, "script")


def test_a_long_headline_gets_smaller_letters_instead_of_being_cut() -> None:
    def size(title: str) -> float:
        parts, _ = frame(title, "x", [(0.0, 0.0), (1.0, 1.0)])
        return float(elements("".join([*parts, "</svg>"]), "text")[0].getAttribute("font-size"))

    assert size("b6e7fbb introduced the regression: +3.0%") == 13
    assert 9 < size("b6e7fbb introduced the regression: +3,930% (+1,440 … +10,500)") < 12
