import re

import pytest
from msgspec.structs import replace

from perf_culprit.model.finding import Finding, Level, Precision, RunChoice, Severity, Verdict
from perf_culprit.model.reason import Remark, because, remark
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import Environment, Metric, MetricKey
from perf_culprit.say.certainty_words import NOT_PROVEN
from perf_culprit.say.comment import (
    COMMENT_LIMIT_CHARACTERS,
    SUMMARY_LIMIT_BYTES,
    check_texts,
    render_joint,
    render_markdown,
    render_summary,
)
from perf_culprit.say.comparison import TITLES, PageOptions, render_text
from perf_culprit.say.reason_text import sentence
from tests.support.reports import (
    ALLOCATIONS,
    FASTER,
    SLOWER,
    TIME_MS,
    UNCHANGED,
    every_conclusion,
    finding,
    report,
    withdrawn,
)


def enormous(count: int, name: str) -> Report:
    """A report with `count` regressions, as many of everything else, and texts of 10,000 characters."""
    long = (name * 10_000)[:10_000]
    unit = Metric(name=long, unit=long, direction=TIME_MS.direction)
    findings = [
        finding(
            f"{i}{long}",
            1.0,
            2.0,
            verdict=list(Verdict)[i // 10 % len(Verdict)] if i % 10 == 0 else Verdict.REGRESSION,
            metric=unit,
            level=Level.FAIL,
            severity=Severity.MAJOR,
            category=long,
            category_now=f"2{long}",
            reason=long,
            notes=(long, long),
        )
        for i in range(count)
    ]
    return replace(
        report(Conclusion.REGRESSION, *findings),
        suite=long,
        target_commit=long,
        base_commit=long,
        environment=Environment(components={f"{long}{i}": long for i in range(count)} | {"cpu": long, "os": long}),
        missing=tuple(MetricKey(f"{long}{i}", long) for i in range(count)),
        new=tuple(MetricKey(f"{long}{i}", long) for i in range(count)),
        choices=tuple(RunChoice(commit=long, time=long, chosen=True, reason=remark(long)) for _ in range(count)),
        notes=(remark(long),) * count,
    )


@pytest.mark.parametrize("name", ["x", "|", "`", "` ", "😀", "a @b ", "\n"])
def test_any_report_fits_a_comment(name: str) -> None:
    text = render_markdown(enormous(400, name))
    assert len(text.encode("utf-16-le")) // 2 <= COMMENT_LIMIT_CHARACTERS
    assert text.count("<details>") == text.count("</details>") == 2
    assert text.endswith("</sub>\n")


def test_cut_rows_are_counted() -> None:
    long = "x" * 10_000
    many = [finding(f"{i}{long}", 1.0, 2.0, verdict=Verdict.REGRESSION) for i in range(10_000)]
    text = render_markdown(report(Conclusion.REGRESSION, *many))
    assert len(text) <= COMMENT_LIMIT_CHARACTERS
    assert text.startswith("### 🟠 All 10,000 benchmarks got slower")
    assert len(re.findall(r"^\| 🟠\s\*\*\+", text, re.MULTILINE)) == 50
    assert "\n\nand 9,950 more: see the job summary or `report.json`\n" in text


def test_the_summary_shows_more_rows_than_the_comment() -> None:
    many = [finding(f"parse[{i}]", 1.0, 2.0, verdict=Verdict.REGRESSION) for i in range(120)]
    large = report(Conclusion.REGRESSION, *many)
    assert "and 70 more" in render_markdown(large)
    assert "`parse[119]`" in render_summary(large)
    assert " more: see" not in render_summary(large)


def test_the_summary_fits_a_step() -> None:
    assert len(render_summary(enormous(400, "😀")).encode()) <= SUMMARY_LIMIT_BYTES


def test_a_comment_begins_with_its_place_and_day_once() -> None:
    url, reports = "https://github.example/octo/parser", [REPORTS["regression-fails"], REPORTS["no-change"]]
    options = PageOptions(marker="<!-- m:v1:x -->", repository_url=url, pull_request=7, date="2026-03-02")
    line = f"<!-- m:v1:x -->\n<sub>[octo/parser]({url}) · [#7]({url}/pull/7) · 2026-03-02</sub>\n\n### "
    for text in (render_markdown(reports[0], options=options), render_joint(reports, options=options)):
        assert text.startswith(line)
        assert text.count("2026-03-02</sub>") == 1


def test_verdict_and_next_step_are_the_first_two_lines_after_the_marker() -> None:
    marked = render_markdown(every_conclusion()["regression-fails"], options=PageOptions(marker="<!-- m:v1:x -->"))
    lines = [line for line in marked.splitlines() if line]
    assert lines[0] == "<!-- m:v1:x -->"
    assert lines[1].startswith("### 🔴 2 of 10 benchmarks got slower")
    assert lines[2].startswith("**`parse_large` takes 38.6")


def test_regressions_stand_before_improvements_in_one_table() -> None:
    text = render_markdown(report(Conclusion.REGRESSION, *FASTER, *UNCHANGED, *SLOWER))
    visible = text[: text.index("<details>")]
    assert re.findall(r"^\| [🔴🟠🔵]\s[^|]+ \| `(\w+)`", visible, re.MULTILINE) == [
        "parse_large",
        "parse_small",
        "render_page",
    ]


@pytest.mark.parametrize("findings", [SLOWER, tuple(map(withdrawn, SLOWER))], ids=["changed", "withdrawn"])
def test_unjudged_changes_are_folded_without_a_verdict(findings: tuple[Finding, ...]) -> None:
    text = render_markdown(replace(report(Conclusion.OTHER_HARDWARE, *findings), notes=(remark("the reason"),)))
    visible = text[: text.index("<details>")]
    assert "parse_large" not in visible
    assert "\n\nReason: the reason\n" in visible
    assert "2 not judged" in text
    assert not set("🔴🟠🔵") & set(text)


def test_missing_benchmarks_are_visible() -> None:
    keys = tuple(MetricKey(f"gone{i}", "time") for i in range(5))
    text = render_markdown(replace(report(Conclusion.NO_CHANGE, *UNCHANGED), missing=keys))
    assert "### ⚠️ " in text, "what was not tested is not green"
    assert (
        "**Not tested:** `gone0`, `gone1`, `gone2` and 2 more: missing on the target. Unless they were removed, see why"
        in text[: text.index("<details>")]
    )
    both = tuple(MetricKey(f"gone{i}", metric) for i in range(2) for metric in ("time", "cpu_time"))
    text = render_markdown(replace(report(Conclusion.NO_CHANGE, *UNCHANGED), missing=both))
    assert "**Not tested:** `gone0`, `gone1`: missing on the target." in text
    assert "2 missing" in text
    assert "- `gone0` · time, cpu" in text


def test_no_address_means_no_link_but_the_glossary_s() -> None:
    text = render_markdown(every_conclusion()["regression-fails"])
    assert re.findall(r"\[(\w+)\]\(\S+/docs/glossary\.md#certainty\)", text) == ["certainty"]
    assert text.count("](") == 1


@pytest.mark.parametrize(
    ("test", "metric", "rate", "rounds", "shown"),
    [
        ("anova", TIME_MS, 0.001, None, "wrong by chance: 0.1%, 1 run against 12"),
        ("anova", TIME_MS, 0.00001, None, "wrong by chance: < 0.01%, 1 run against 12"),
        ("median_interval", TIME_MS, 0.03, 5, "wrong by chance: 3%, 5 rounds"),
        ("exact", ALLOCATIONS, 0.0, None, "exact count"),
        ("exact", TIME_MS, 0.0, None, "all samples equal"),
        ("none", TIME_MS, None, None, "not tested"),
    ],
)
def test_certainty_names_what_it_rests_on(
    test: str, metric: Metric, rate: float | None, rounds: int | None, shown: str
) -> None:
    changed = replace(
        finding("x", 1.0, 2.0, verdict=Verdict.REGRESSION, test=test, metric=metric, rate=rate),
        precision=Precision(rounds=rounds),
    )
    text = render_markdown(report(Conclusion.REGRESSION, changed)).replace("\N{NO-BREAK SPACE}", " ")
    assert f"| {shown} |" in text


def test_an_interval_of_no_width_is_not_shown() -> None:
    exact = finding("x", 4.0, 5.0, verdict=Verdict.REGRESSION, metric=ALLOCATIONS, half_width=0.0, test="exact")
    text = render_markdown(report(Conclusion.REGRESSION, exact)).replace("\N{NO-BREAK SPACE}", " ")
    assert "| 🟠 **+25.0%** | `x` |" in text


def test_an_untested_metric_says_why() -> None:
    few = finding("x", 1.0, 1.1, verdict=Verdict.UNTESTED, reason="too few samples: the target has 3")
    text = render_markdown(report(Conclusion.INCONCLUSIVE, few))
    assert "| too few samples: the target has 3 |" in text


def test_a_blind_comparison_lists_the_largest_difference_first_and_one_command() -> None:
    text = render_markdown(every_conclusion()["cannot-tell"])
    assert re.findall(r"^\| `(\w+)` \| 4", text, re.MULTILINE) == ["cold_start", "warm_up"]
    assert "<summary>2 undecided</summary>" in text
    assert text.count("perf-culprit measure") == 1


def test_a_change_from_zero_says_so() -> None:
    grown = finding("x", 0.0, 3.0, verdict=Verdict.REGRESSION, metric=ALLOCATIONS, test="exact")
    text = render_markdown(report(Conclusion.REGRESSION, grown)).replace("\N{NO-BREAK SPACE}", " ")
    assert "| 🟠 **from 0** | `x` | 0 → 3 allocs/op | proven worse |" in text
    assert "| `x` | 0 allocs/op | 3 allocs/op | from 0 | exact count |" in text


@pytest.mark.parametrize("code", TITLES)
def test_a_titled_note_stands_once(code: Remark) -> None:
    told = replace(report(Conclusion.NO_CHANGE, *UNCHANGED), notes=(because(code), remark("another")))
    for text in (render_markdown(told, options=PageOptions()), render_text(told, colour=False, width=200)):
        assert text.count(TITLES[code]) == text.count(f" {sentence(told.notes[0])}\n") == 1
        assert "- another" in text


def test_notes_follow_the_order_of_the_findings() -> None:
    results = [replace(item, notes=(remark("noted"),)) for item in (*UNCHANGED, *SLOWER)]
    text = render_markdown(report(Conclusion.REGRESSION, *results))
    assert re.findall(r"^- `(.+)`: noted$", text, re.MULTILINE)[:3] == ["parse_large", "parse_small", "encode[32768]"]


REPORTS = every_conclusion()


def test_what_is_unchanged_is_the_title() -> None:
    title, _ = check_texts([REPORTS["no-change"]], options=PageOptions())
    assert title == "5 benchmarks unchanged within 5%"


def test_title_is_the_verdict_and_summary_the_comment() -> None:
    title, summary = check_texts([REPORTS["regression-fails"]], options=PageOptions())
    assert title == f"2 of 10 benchmarks got slower, 1 faster; 2 look slower, {NOT_PROVEN}; 1 missing"
    assert summary == render_markdown(REPORTS["regression-fails"])
