import pytest
from msgspec.structs import replace

from perf_culprit.model.finding import Evidence, Excess, Finding, ModelVote, RuleEvidence, Side, Verdict
from perf_culprit.model.reason import VerdictReason, because
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import Direction, Metric, MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.comment import render_markdown
from perf_culprit.say.finding_tables import before_and_after, certainty_text, change_text, changed_table, moved
from perf_culprit.say.headlines import effect
from perf_culprit.say.inert import Safe
from perf_culprit.say.render_terminal import terminal
from perf_culprit.say.sections import split
from tests.support.reports import DIFFERING, SLOWER, UNCHANGED, finding, report

CPU = Metric(name="cpu", unit="%", direction=Direction.UNKNOWN)


def charted(score: float, threshold: float, *, name: str = "cpu", before: float = 40.0, after: float = 50.0) -> Finding:
    """A finding whose means are far from its medians. A control chart reports medians."""
    sides = [
        Side(value=median, mean=7.0, median=median, standard_deviation=1.0, count=400) for median in (before, after)
    ]
    return Finding.judged(
        evidence=Evidence.of(
            key=MetricKey("host", name),
            metric=CPU,
            test="control_chart",
            baseline=sides[0],
            target=sides[1],
            relative_change=(after - before) / before if before else None,
            score=score,
            threshold=threshold,
        ),
        verdict=Verdict.REGRESSION,
        reason=because(VerdictReason.NOTHING_TESTED),
    )


def test_a_control_chart_shows_its_ratio_and_limit_instead_of_a_rate() -> None:
    shown = charted(0.3, 0.125)
    assert certainty_text(shown).replace("\N{NO-BREAK SPACE}", " ") == "30% of samples outside, limit 12.5%"
    assert effect(shown).replace("\N{NO-BREAK SPACE}", " ") == "is outside its limits in 30% of the samples"


def test_a_control_chart_shows_medians() -> None:
    before, after = before_and_after(charted(0.3, 0.125))
    assert (str(before)[:2], str(after)[:2]) == ("40", "50")
    assert change_text(charted(0.3, 0.125, before=0.0)) == ("from 0", "")


@pytest.mark.parametrize(("after", "text"), [(50.0, "higher"), (30.0, "lower")])
def test_a_metric_without_a_good_direction_has_none_in_words(after: float, text: str) -> None:
    unknown = finding("host", 40.0, after, metric=CPU, verdict=Verdict.REGRESSION)
    assert effect(unknown).replace("\N{NO-BREAK SPACE}", " ") == f"is 25% {text} than usual"


def test_metrics_beyond_a_limit_come_after_the_others_in_order_of_their_violation() -> None:
    slow = finding("sort", 10.0, 11.0, verdict=Verdict.REGRESSION)
    near, far, sure = charted(0.5, 0.4, name="near"), charted(0.3, 0.1, name="far"), charted(0.01, 0.0, name="sure")
    sections = split(report(Conclusion.REGRESSION, near, far, slow, sure))
    assert [entry.key.metric for entry in sections.regressions] == ["time", "sure", "far", "near"]


def test_unchanged_metrics_stay_ordered_by_name() -> None:
    unchanged = [
        replace(charted(score, 0.4, name=name), verdict=Verdict.NOT_SEEN) for score, name in ((0.1, "a"), (0.3, "b"))
    ]
    assert [entry.key.metric for entry in split(report(Conclusion.REGRESSION, *unchanged)).quiet] == [
        "a",
        "b",
    ]


def test_broken_rules_are_told_by_models_and_time() -> None:
    votes = tuple(ModelVote(run=str(number), weight=0.25, flagged=number < 3) for number in range(4))
    rules = RuleEvidence(votes=votes, rules=(), violations=(), lower_boundary=1.0, upper_boundary=2.0)
    shown = charted(0.75, 0.5)
    evidence = replace(shown, test="rule_ensemble", rules=rules, excess=Excess(time_in_violation=0.4))
    told = certainty_text(evidence).replace("\N{NO-BREAK SPACE}", " ")
    assert told == "3 of 4 models broken, in 40% of the time"
    small = replace(evidence, relative_change=0.04, minimum_effect=0.05)
    assert effect(small).replace("\N{NO-BREAK SPACE}", " ") == "breaks its rules in 40% of the time"
    assert "higher" in effect(replace(small, relative_change=0.06))


def test_the_rows_that_moved_most_fill_the_table_whatever_their_verdict() -> None:
    noisy = [finding(str(place), 10.0, 10.0 + place, verdict=Verdict.NOT_SEEN) for place in range(1, 30)]
    halved = finding("halved", 10.0, 5.0, verdict=Verdict.UNTESTED)
    shown = moved(split(report(Conclusion.REGRESSION, *SLOWER, *UNCHANGED, *noisy, halved, *DIFFERING)))
    assert len(shown) == TEXT_LIMITS.moved_rows - len(SLOWER)
    assert {one.key for one in shown[:3]} == {one.key for one in DIFFERING}
    names = [one.key.benchmark for one in shown[3:]]
    # A halving is as large as a doubling. What is unchanged has not moved.
    assert names[:2] == ["29", "28"]
    assert {name for name in names if name != "halved"}.isdisjoint(one.key.benchmark for one in UNCHANGED)
    assert len(moved(split(report(Conclusion.NO_CHANGE, *UNCHANGED)))) == len(UNCHANGED)


def test_one_run_a_side_has_the_interval_of_its_samples() -> None:
    def shown(runs: int) -> list[str]:
        sides = (Side(value=value, count=8, runs=runs, relative_half_width=0.021) for value in (12.0, 15.6))
        baseline, target = sides
        texts = before_and_after(replace(finding("x", 12.0, 15.6), baseline=baseline, target=target))
        return [terminal(text).replace("\N{NO-BREAK SPACE}", " ") for text in texts]

    assert shown(1) == ["12.0 ms ±2.1%", "15.6 ms ±2.1%"]
    assert shown(5) == ["12.0 ms", "15.6 ms"]


def rows(*findings: Finding) -> str:
    return render_markdown(report(Conclusion.REGRESSION, *findings)).replace("\N{NO-BREAK SPACE}", " ")


def test_a_row_has_each_fact_once_and_a_fold_has_the_interval_and_the_rate() -> None:
    comment, _, folds = (rows(*SLOWER) + rows(*DIFFERING)).partition("<details>")
    assert "| 🟠 **+10.1%** | `parse_small` | 310 → 341 µs | proven slower `" in comment
    comment = rows(*DIFFERING).partition("<details>")[0]
    assert "| 🟡 **+32.3%** | `parse_small` | 310 → 410 µs | differs |" in comment
    assert "…" not in comment
    assert "| `parse_small` | 310 µs | 341 µs | +10.1% (+8.3 … +11.8) | wrong by chance: 0.04%" in folds
    assert "| `parse_small` | 310 µs | 410 µs | +32.3% (" in folds


@pytest.mark.parametrize(
    ("names", "place", "shown"),
    [
        (("bench/text.py::test_parse", "bench/text.py::test_trim[1.5]"), "bench/text.py::", "test_trim[1.5]"),
        (("org.octo.Text.parse", "org.octo.Text.trim"), "org.octo.Text.", "trim"),
        (("org.octo.Text.parse", "org.octo.Tree.walk"), "org.octo.", "Tree.walk"),
        (("Parse/small", "Parse/8", "Parse/9"), "", "Parse/8"),
        (("parse[a.b]", "parse[a.c]"), "", "parse[a.b]"),
        (("text.parse",), "", "text.parse"),
        (("BenchmarkParse", "BenchmarkTrim/small"), "Benchmark", "Trim/small"),
    ],
)
def test_what_all_names_share_stands_once(names: tuple[str, ...], place: str, shown: str) -> None:
    comment = rows(*(finding(name, 1.0, 2.0, verdict=Verdict.REGRESSION) for name in names)).partition("<details>")[0]
    assert f"| `{shown}` |" in comment
    assert ("**All rows: " in comment) is bool(place)
    assert f"**All rows: `{place}…`**" in comment or not place


def test_a_large_change_is_a_factor() -> None:
    assert "**\N{MULTIPLICATION SIGN}1,000** | `parse` | 0.0121 → 12.1 ms |" in rows(
        finding("parse", 0.0121, 12.1, verdict=Verdict.REGRESSION)
    )


def test_a_table_with_a_title_has_full_names() -> None:
    some = [finding(f"org.octo.{name}", 1.0, 2.0, verdict=Verdict.REGRESSION) for name in ("parse", "trim")]
    made = changed_table(split(report(Conclusion.REGRESSION, *some)), title=Safe("simulated"))
    assert made.title == "simulated"
    assert [terminal(row.cells[2]) for row in made.first(2)] == ["org.octo.parse", "org.octo.trim"]


def test_a_metric_that_all_rows_share_stands_once() -> None:
    slower = [finding(name, 1.0, 2.0, verdict=Verdict.REGRESSION) for name in ("parse", "trim")]
    counts = [replace(one, metric_name="allocations", verdict=Verdict.NOT_SEEN, relative_change=0.0) for one in slower]
    comment = rows(*slower, *counts).partition("<details>")[0]
    assert "**All rows: time**\n\n|" in comment
    assert "| `parse` |" in comment
    # A table without rows has no metric to name.
    unchanged = [replace(one, verdict=Verdict.UNCHANGED, relative_change=0.0) for one in (*slower, *counts)]
    assert "| `parse` · time |" in render_markdown(report(Conclusion.NO_CHANGE, *unchanged))
