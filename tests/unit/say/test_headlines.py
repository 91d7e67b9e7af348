from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from perf_culprit.model.finding import Acceptance, BaselineSource, Finding, Verdict
from perf_culprit.model.reason import Untested, VerdictReason, because
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import Metric
from perf_culprit.say.headlines import effect, headline, next_step
from perf_culprit.say.sections import split
from tests.support.reports import (
    ALLOCATIONS,
    FASTER,
    MEMORY,
    NOISY,
    SLOWER,
    THROUGHPUT,
    TIME_MS,
    UNCHANGED,
    UNTESTED,
    WEAK,
    finding,
    report,
)

ACCEPTED = Acceptance(
    suite="default",
    benchmark="parse_large",
    commit="a" * 40,
    author="octocat",
    reason="why",
    time=datetime(2026, 1, 1, tzinfo=UTC),
)
DROP = finding("serve", 100.0, 80.0, metric=THROUGHPUT, verdict=Verdict.REGRESSION)


def worded(subject: Report) -> tuple[str, str]:
    sections = split(subject)
    return headline(subject, sections).text, next_step(subject, sections).advice


@pytest.mark.parametrize(
    ("metric", "up", "down"),
    [
        (TIME_MS, "takes 20% longer", "takes 20% less time"),
        (MEMORY, "needs 20% more", "needs 20% less"),
        (THROUGHPUT, "does 20% more per second", "does 20% less per second"),
        (ALLOCATIONS, "is 20% higher, where lower is better", "is 20% lower, where lower is better"),
    ],
)
def test_effect_uses_words_of_the_metric(metric: Metric, up: str, down: str) -> None:
    assert effect(finding("x", 10.0, 12.0, metric=metric)) == up
    assert effect(finding("x", 10.0, 8.0, metric=metric)) == down


def test_a_manifold_time_is_a_factor() -> None:
    assert effect(finding("x", 10.0, 99.0, metric=TIME_MS)) == "takes 890% longer"
    assert effect(finding("x", 10.0, 9_870.0, metric=TIME_MS)) == "takes 987 times as long"


@pytest.mark.parametrize(
    ("metric", "down", "nothing"),
    [
        (TIME_MS, "takes 1/3,500 as long", "takes 100% less time"),
        (MEMORY, "needs 1/3,500 as much", "needs 100% less"),
        (THROUGHPUT, "does 1/3,500 as much per second", "does 100% less per second"),
    ],
)
def test_what_is_left_of_almost_nothing_is_a_fraction(metric: Metric, down: str, nothing: str) -> None:
    assert effect(finding("x", 3_500.0, 1.0, metric=metric)) == down
    assert effect(finding("x", 3_500.0, 0.0, metric=metric)) == nothing
    assert effect(finding("x", 100.0, 10.0, metric=metric)).split()[1] == "1/10"
    assert effect(finding("x", 100.0, 11.0, metric=metric)).split()[1] == "89%"


def test_effect_from_zero_has_no_percentage() -> None:
    assert effect(finding("x", 0.0, 1.0, verdict=Verdict.REGRESSION)) == "got worse"
    assert effect(finding("x", 0.0, -1.0, verdict=Verdict.IMPROVEMENT)) == "got better"


@pytest.mark.parametrize(
    ("findings", "text"),
    [
        ((*SLOWER, *UNCHANGED), "2 of 7 benchmarks got slower"),
        ((*SLOWER, *FASTER), "2 of 3 benchmarks got slower, 1 faster"),
        (SLOWER, "Both benchmarks got slower"),
        (SLOWER[:1], "1 benchmark got slower"),
        ((DROP, *UNCHANGED), "1 of 6 benchmarks got worse"),
        ((DROP, *SLOWER[:1], *FASTER), "2 of 3 benchmarks got worse, 1 faster"),
    ],
)
def test_regression_headline(findings: tuple[Finding, ...], text: str) -> None:
    assert worded(report(Conclusion.REGRESSION, *findings))[0] == text


def test_a_regression_says_whether_it_fails() -> None:
    built = report(Conclusion.REGRESSION, *SLOWER)
    assert worded(built)[1] == "Look there first. This does not fail the check."
    assert worded(replace(built, failed=True))[1] == "Look there first. This fails the check."


def test_no_change_says_what_would_have_been_seen() -> None:
    assert worded(report(Conclusion.NO_CHANGE, *UNCHANGED)) == (
        "Nothing found in 5 benchmarks; a slowdown of 5% or more would have been seen",
        "Nothing to do.",
    )


def test_where_little_would_have_been_seen_the_weakest_are_told_apart() -> None:
    subject = report(Conclusion.NO_CHANGE, *UNCHANGED, WEAK)
    assert worded(subject) == (
        "Nothing found in 6 benchmarks; a slowdown of 5% or more would have been seen in 5 of them",
        "To see smaller ones, measure both sides in one job, or use a quieter machine.",
    )
    assert next_step(subject, split(subject)).weakest == (WEAK,)
    paired = replace(subject, baseline_source=BaselineSource.PAIRED)
    assert worded(paired)[1].startswith("To see smaller ones, measure more rounds of both sides")


def test_equally_weak_metrics_are_not_named() -> None:
    alike = (finding(name, 1.0, 1.0, detectable=effect) for name, effect in (("a", 0.4), ("b", 0.5), ("c", 0.6)))
    subject = report(Conclusion.NO_CHANGE, *alike)
    assert next_step(subject, split(subject)).weakest == ()
    assert worded(subject)[0] == "Nothing found in 3 benchmarks; a slowdown of 60% or more would have been seen"


def test_no_change_does_not_hide_what_was_not_tested_or_got_worse_and_was_accepted() -> None:
    accepted = replace(SLOWER[0], verdict=Verdict.NO_CHANGE, accepted=ACCEPTED)
    assert worded(report(Conclusion.NO_CHANGE, *UNCHANGED, UNTESTED, accepted))[0] == (
        "Nothing found in 5 of 7 benchmarks; a slowdown of 5% or more would have been seen; "
        "1 worse and accepted; 1 not tested"
    )
    assert worded(report(Conclusion.NO_CHANGE, accepted)) == ("1 worse and accepted", "Nothing to do.")


def test_no_change_in_throughput_is_no_slowdown() -> None:
    same = report(Conclusion.NO_CHANGE, finding("serve", 100.0, 100.0, metric=THROUGHPUT, detectable=0.0389))
    assert (
        worded(same)[0] == "Nothing found in 1 benchmark; a change for the worse of 3.9% or more would have been seen"
    )


def test_unknown_detectable_effect_is_admitted() -> None:
    unknown = report(Conclusion.NO_CHANGE, *(replace(item, detectable_effect=None) for item in UNCHANGED))
    assert worded(unknown) == (
        "Nothing found in 5 benchmarks",
        "How small a change would have been seen is not known for these numbers.",
    )


def test_what_looks_worse_says_what_would_decide() -> None:
    subject = report(Conclusion.INCONCLUSIVE, *NOISY, *UNCHANGED)
    assert worded(subject) == (
        "2 of 7 benchmarks look slower, not proven",
        (
            "40 more samples of the target would decide, or a quieter machine. "
            "Nothing found in the other 5; a slowdown of 5% or more would have been seen."
        ),
    )
    assert next_step(subject, split(subject)).effect == "looks 12.4% slower"


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (VerdictReason.LOOKS_WORSE_ROUNDS, "Measure more rounds of both sides, or use a quieter machine."),
        (
            VerdictReason.LOOKS_WORSE_BETWEEN_RUNS,
            "Measure both sides in one job; more samples of the target won't help.",
        ),
        (VerdictReason.LOOKS_WORSE, "Repeat the measurement."),
    ],
)
def test_where_samples_would_not_decide_something_else_is_advised(code: VerdictReason, advice: str) -> None:
    suspect = finding("x", 1.0, 1.1, verdict=Verdict.INCONCLUSIVE, reason=because(code))
    subject = report(Conclusion.INCONCLUSIVE, suspect, *NOISY)
    assert worded(subject) == ("All 3 benchmarks look slower, not proven", advice)


def test_single_numbers_are_told_what_shows_noise() -> None:
    lone = [
        finding(name, 6.5, 1_001.0, verdict=Verdict.INCONCLUSIVE, reason=because(Untested.WITHOUT_SPREAD, runs=runs))
        for name, runs in (("a", 2), ("b", 4))
    ]
    assert worded(report(Conclusion.INCONCLUSIVE, *lone))[1] == (
        "One number per run shows no noise. Compare three files of each side, or record 4 more runs of the base branch."
    )


def test_too_few_samples_says_how_many_are_needed() -> None:
    assert worded(report(Conclusion.INCONCLUSIVE, UNTESTED)) == (
        "Cannot tell: too few samples for 1 benchmark",
        "At least 5 samples of each are needed: measure more often.",
    )


def test_untested_for_another_reason_points_to_it() -> None:
    reason = because(Untested.ALL_EQUAL)
    others = (finding(name, 1.0, 1.1, verdict=Verdict.INCONCLUSIVE, reason=reason) for name in ("x", "y"))
    assert worded(report(Conclusion.INCONCLUSIVE, *others)) == (
        "Cannot tell: the evidence is inconclusive for both benchmarks",
        "The reason for each is below.",
    )


def test_nothing_in_common_with_the_baseline() -> None:
    assert worded(report(Conclusion.INCONCLUSIVE)) == (
        "Cannot tell: nothing could be compared",
        "Check that the baseline and this run measure the same benchmarks.",
    )


def test_loudness_of_the_emoji() -> None:
    minor = report(Conclusion.REGRESSION, SLOWER[1])
    shown = [
        headline(item, split(item)).emoji
        for item in (minor, replace(minor, failed=True), report(Conclusion.REGRESSION, SLOWER[0]))
    ]
    assert shown == ["🟠", "🔴", "🔴"]
