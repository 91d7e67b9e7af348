from dataclasses import replace

import pytest

from bot.model.finding import Finding, Verdict
from bot.model.metric import Metric
from bot.model.report import Conclusion, Report
from bot.report.sections import split
from bot.report.wording import effect, headline, next_step
from tests.support.reports import (
    ALLOCATIONS,
    FASTER,
    MEMORY,
    NOISY,
    SLOWER,
    THROUGHPUT,
    TIME_MS,
    UNCHANGED,
    finding,
    report,
)

DROP = finding("serve", 100.0, 80.0, metric=THROUGHPUT, verdict=Verdict.REGRESSION)


def said(subject: Report) -> tuple[str, str]:
    sections = split(subject)
    return headline(subject, sections).text, next_step(subject, sections).advice


@pytest.mark.parametrize(
    ("metric", "up", "down"),
    [
        (TIME_MS, "takes 20 % longer", "takes 20 % less time"),
        (MEMORY, "needs 20 % more", "needs 20 % less"),
        (THROUGHPUT, "does 20 % more per second", "does 20 % less per second"),
        (ALLOCATIONS, "is 20 % higher, where lower is better", "is 20 % lower, where lower is better"),
    ],
)
def test_effect_uses_words_of_the_metric(metric: Metric, up: str, down: str) -> None:
    assert effect(finding("x", 10.0, 12.0, metric=metric)) == up
    assert effect(finding("x", 10.0, 8.0, metric=metric)) == down


def test_effect_from_zero_has_no_percentage() -> None:
    assert effect(finding("x", 0.0, 1.0, verdict=Verdict.REGRESSION)) == "got worse"
    assert effect(finding("x", 0.0, -1.0, verdict=Verdict.IMPROVEMENT)) == "got better"


@pytest.mark.parametrize(
    ("findings", "text"),
    [
        ((*SLOWER, *UNCHANGED), "2 of 7 benchmarks got slower"),
        ((*SLOWER, *FASTER), "2 of 3 benchmarks got slower, 1 faster"),
        (SLOWER, "All 2 benchmarks got slower"),
        (SLOWER[:1], "1 benchmark got slower"),
        ((DROP, *UNCHANGED), "1 of 6 benchmarks got worse"),
        ((DROP, *SLOWER[:1], *FASTER), "2 of 3 benchmarks got worse, 1 faster"),
    ],
)
def test_regression_headline(findings: tuple[Finding, ...], text: str) -> None:
    assert said(report(Conclusion.REGRESSION, *findings))[0] == text


def test_a_regression_says_whether_it_fails() -> None:
    found = report(Conclusion.REGRESSION, *SLOWER)
    assert said(found)[1] == "Look there first. This does not fail the check."
    assert said(replace(found, failed=True))[1] == "Look there first. This fails the check."


def test_no_change_says_what_would_have_been_found() -> None:
    assert said(report(Conclusion.NO_CHANGE, *UNCHANGED)) == (
        "5 benchmarks, no change",
        "A slowdown of 3.9 % or more would have been found.",
    )


def test_no_change_does_not_hide_undecided_metrics() -> None:
    assert said(report(Conclusion.NO_CHANGE, *UNCHANGED, NOISY[0]))[0] == "5 of 6 benchmarks unchanged, 1 undecided"


def test_no_change_in_throughput_is_no_slowdown() -> None:
    same = report(Conclusion.NO_CHANGE, finding("serve", 100.0, 100.0, metric=THROUGHPUT))
    assert said(same)[1] == "A change for the worse of 3.9 % or more would have been found."


def test_unknown_detectable_effect_is_admitted() -> None:
    unknown = replace(report(Conclusion.NO_CHANGE, *UNCHANGED), detectable_effect=None)
    assert said(unknown)[1] == "How small a change would have been found is not known for these numbers."


def test_noise_says_what_would_decide() -> None:
    assert said(report(Conclusion.INCONCLUSIVE, *NOISY, *UNCHANGED)) == (
        "Noise hides the answer for 2 of 7 benchmarks",
        "40 more samples of each, or a calmer machine, would decide. They vary by up to 18 %.",
    )


def test_too_few_samples_says_how_many_are_needed() -> None:
    few = finding("x", 1.0, 1.1, verdict=Verdict.INCONCLUSIVE, count=2)
    assert said(report(Conclusion.INCONCLUSIVE, few, *UNCHANGED)) == (
        "Too few samples for 1 of 6 benchmarks",
        "At least 5 samples of each are needed: measure more often.",
    )


def test_undecided_for_another_reason_points_to_it() -> None:
    other = finding("x", 1.0, 1.1, verdict=Verdict.INCONCLUSIVE)
    assert said(report(Conclusion.INCONCLUSIVE, other))[1] == "The reason for each is below."


def test_nothing_in_common_with_the_baseline() -> None:
    assert said(report(Conclusion.INCONCLUSIVE)) == (
        "Nothing could be compared",
        "Check that the baseline and this run measure the same benchmarks.",
    )


def test_loudness_of_the_emoji() -> None:
    minor = report(Conclusion.REGRESSION, SLOWER[1])
    shown = [
        headline(item, split(item)).emoji
        for item in (minor, replace(minor, failed=True), report(Conclusion.REGRESSION, SLOWER[0]))
    ]
    assert shown == ["🟠", "🔴", "🔴"]


def test_noise_is_said_where_not_all_lack_samples() -> None:
    few = finding("x", 1.0, 1.1, verdict=Verdict.INCONCLUSIVE, count=2, more_samples=3)
    assert said(report(Conclusion.INCONCLUSIVE, few, *NOISY))[0] == "Noise hides the answer for all 3 benchmarks"
