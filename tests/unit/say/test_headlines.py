from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from perf_culprit.model.finding import Acceptance, BaselineSource, Finding, Severity, Verdict
from perf_culprit.model.reason import Remark, Untested, VerdictReason, because
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import Metric
from perf_culprit.say.certainty_words import NOT_PROVEN, WOULD_SUSPECT
from perf_culprit.say.comment import render_markdown
from perf_culprit.say.comparison import render_text
from perf_culprit.say.document import as_spans
from perf_culprit.say.finding_tables import certainty_text, changed_cells
from perf_culprit.say.headlines import effect, headline
from perf_culprit.say.inert import Safe
from perf_culprit.say.next_steps import COMMAND, next_step
from perf_culprit.say.sections import split
from tests.support.reports import (
    ALLOCATIONS,
    DIFFERING,
    FASTER,
    MEMORY,
    NOISY,
    NOT_SEEN,
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
    step = next_step(subject, sections)
    return headline(subject, sections).text, f"{step.place} {step.advice}".strip()


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


LEFT = finding(
    "crept",
    9.2,
    11.2,
    verdict=Verdict.REGRESSION,
    rate=0.2,
    severity=Severity.MAJOR,
    reason=because(VerdictReason.LEFT_CATEGORY, category="fast", limit=10.0, beyond=0.12, rate=0.003),
    category="fast",
    category_now="medium",
)


def test_a_category_that_was_left_is_told_as_such() -> None:
    alone = report(Conclusion.REGRESSION, LEFT, *UNCHANGED)
    assert worded(alone)[0] == "1 of 6 benchmarks left its category"
    assert effect(LEFT) == "is 12% beyond its category"
    mixed = report(Conclusion.REGRESSION, *SLOWER, LEFT, *FASTER)
    assert worded(mixed)[0] == "2 of 4 benchmarks got slower, 1 left its category, 1 got faster"
    text = render_text(alone, colour=False, width=160)
    assert "left fast (now medium)" in text
    assert "slower, left" not in text
    # The rate of the level outside its category, not that of the step.
    assert certainty_text(LEFT).startswith("wrong by chance: 0.3%")


def test_a_manifold_time_is_a_factor() -> None:
    assert effect(finding("x", 10.0, 99.0, metric=TIME_MS)) == "takes 890% longer"
    assert effect(finding("x", 10.0, 9_870.0, metric=TIME_MS)) == "takes 987 times as long"
    number = finding("x", 10.0, 2_000.0, metric=ALLOCATIONS)
    assert effect(number) == "is 200 times as high, where lower is better"
    assert str(as_spans(changed_cells(Safe("x"), number)[0])[-1]) == "\N{MULTIPLICATION SIGN}200"


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


def of_quantities(verdict: Verdict, *, times: float | None = None, counts: float | None = None) -> list[Finding]:
    """Three benchmarks with a time and a count each. `times` and `counts` are their detectable effects."""
    return [
        finding(name, 1.0, 2.0, metric=metric, verdict=verdict, detectable=detectable)
        for name in ("a", "b", "c")
        for metric, detectable in ((TIME_MS, times), (ALLOCATIONS, counts))
    ]


def test_times_and_counts_are_told_apart() -> None:
    *worse, time, count = of_quantities(Verdict.REGRESSION)
    quiet = replace(count, verdict=Verdict.UNCHANGED)
    assert worded(report(Conclusion.REGRESSION, *worse, time, quiet))[0] == (
        "All 3 benchmarks got slower, 2 worse in counts"
    )
    assert worded(report(Conclusion.REGRESSION, *worse[1::2], time, quiet))[0] == (
        "1 benchmark got slower, 2 worse in counts"
    )
    memory = finding("a", 1.0, 2.0, metric=MEMORY, verdict=Verdict.REGRESSION)
    assert worded(report(Conclusion.REGRESSION, *worse[1::2], memory, quiet))[0] == (
        "2 of 3 benchmarks got worse in counts, 1 in memory"
    )


def test_what_times_hide_is_no_weakness_beside_what_counts_hide() -> None:
    text, advice = worded(report(Conclusion.NO_CHANGE, *of_quantities(Verdict.NOT_SEEN, times=0.3, counts=0.01)))
    assert text == (
        f"No change seen in 6 metrics; a change for the worse of 30% (time), 1% (counts) or more {WOULD_SUSPECT}"
    )
    assert "Weakest" not in advice


def test_constants_stand_apart_from_what_noise_can_hide() -> None:
    equal = because(VerdictReason.EXACTLY_EQUAL)
    times, counts = (of_quantities(Verdict.NOT_SEEN, times=0.09)[place::2] for place in (0, 1))
    constant = [
        finding(one.key.benchmark, 0.0, 0.0, metric=ALLOCATIONS, test="exact", reason=equal, half_width=None)
        for one in counts
    ]
    assert worded(report(Conclusion.NO_CHANGE, *times, *constant))[0] == (
        f"No change seen in 3 benchmarks; a slowdown of 9% or more {WOULD_SUSPECT}; 3 other metrics exactly equal"
    )
    assert worded(report(Conclusion.NO_CHANGE, *constant))[0] == "3 benchmarks exactly equal"


def test_a_regression_says_whether_it_fails() -> None:
    built = report(Conclusion.REGRESSION, *SLOWER)
    assert worded(built)[1] == "Look there first. This does not fail the check."
    assert worded(replace(built, failed=True))[1] == "Look there first. This fails the check."


def test_a_regression_does_not_hide_what_is_suspected() -> None:
    assert worded(report(Conclusion.REGRESSION, *SLOWER, *FASTER, NOISY[0]))[0] == (
        f"2 of 4 benchmarks got slower, 1 faster; 1 looks slower, {NOT_PROVEN}"
    )


def test_no_change_says_what_would_have_been_suspected() -> None:
    assert worded(report(Conclusion.NO_CHANGE, *NOT_SEEN)) == (
        f"No change seen in 3 benchmarks; a slowdown of 12% or more {WOULD_SUSPECT}",
        "To see smaller ones, measure both commits in turn on one machine, or use a quieter machine.",
    )


def test_what_is_unchanged_is_counted_apart() -> None:
    assert worded(report(Conclusion.NO_CHANGE, *UNCHANGED)) == ("5 benchmarks unchanged within 5%", "Nothing to do.")
    assert worded(report(Conclusion.NO_CHANGE, *UNCHANGED, *NOT_SEEN))[0] == (
        f"No change seen in 3 of 8 benchmarks; a slowdown of 12% or more {WOULD_SUSPECT}; 5 unchanged within 5%"
    )
    wide = replace(UNCHANGED[0], minimum_effect=0.1)
    assert worded(report(Conclusion.NO_CHANGE, wide, *UNCHANGED[1:]))[0] == "5 benchmarks unchanged within 10%"


def test_where_little_would_have_been_suspected_the_weakest_are_told_apart() -> None:
    subject = report(Conclusion.NO_CHANGE, *NOT_SEEN, WEAK)
    assert worded(subject) == (
        f"No change seen in 4 benchmarks; a slowdown of 12% or more {WOULD_SUSPECT} in 3 of them",
        "To see smaller ones, measure both commits in turn on one machine, or use a quieter machine.",
    )
    assert next_step(subject, split(subject)).weakest == (WEAK,)
    paired = replace(subject, baseline_source=BaselineSource.PAIRED)
    assert worded(paired)[1].startswith("To see smaller ones, measure more rounds of both sides")


def test_equally_weak_metrics_are_not_named() -> None:
    alike = (
        replace(WEAK, benchmark=name, detectable_effect=size) for name, size in (("a", 0.4), ("b", 0.5), ("c", 0.6))
    )
    subject = report(Conclusion.NO_CHANGE, *alike)
    assert next_step(subject, split(subject)).weakest == ()
    assert worded(subject)[0] == f"No change seen in 3 benchmarks; a slowdown of 60% or more {WOULD_SUSPECT}"


def test_no_change_does_not_hide_what_was_not_tested_or_got_worse_and_was_accepted() -> None:
    accepted = replace(SLOWER[0], verdict=Verdict.NOT_SEEN, accepted=ACCEPTED)
    better = replace(NOISY[0], relative_change=-0.1)
    untested = replace(UNTESTED, benchmark="new_unit", reason=because(Untested.UNIT_CHANGED, before="s", now="B"))
    assert worded(report(Conclusion.NO_CHANGE, *UNCHANGED, UNTESTED, accepted, better))[0] == (
        f"5 of 8 benchmarks unchanged within 5%; 1 looks better, {NOT_PROVEN}; 1 worse and accepted; 1 undecided"
    )
    assert worded(report(Conclusion.NO_CHANGE, *UNCHANGED, UNTESTED, untested))[0].endswith(
        "; 1 undecided; 1 of 7 benchmarks could not be tested"
    )
    assert worded(report(Conclusion.NO_CHANGE, accepted)) == ("1 worse and accepted", "Nothing to do.")
    watched = replace(SLOWER[0], verdict=Verdict.NOT_SEEN, reason=because(VerdictReason.WATCHED))
    assert worded(report(Conclusion.NO_CHANGE, *UNCHANGED, watched))[0] == (
        "5 of 6 benchmarks unchanged within 5%; 1 looks worse, only watched"
    )


def test_no_change_in_throughput_is_no_slowdown() -> None:
    same = report(Conclusion.NO_CHANGE, replace(WEAK, direction=THROUGHPUT.direction, detectable_effect=0.0389))
    assert worded(same)[0] == (f"No change seen in 1 benchmark; a change for the worse of 3.9% or more {WOULD_SUSPECT}")


def test_unknown_detectable_effect_is_admitted() -> None:
    unknown = report(Conclusion.NO_CHANGE, *(replace(item, detectable_effect=None) for item in NOT_SEEN))
    assert worded(unknown) == (
        "No change seen in 3 benchmarks",
        "How small a change would have been seen is not known for these numbers.",
    )
    some = report(Conclusion.NO_CHANGE, replace(NOT_SEEN[0], detectable_effect=None), *NOT_SEEN[1:])
    assert worded(some)[0].endswith(f"a slowdown of 12% or more {WOULD_SUSPECT} in 2 of them")


def test_what_looks_worse_says_once_what_would_decide() -> None:
    subject = report(Conclusion.SUSPECTED, *NOISY, *UNCHANGED)
    assert worded(subject) == (
        f"2 of 7 benchmarks look slower, {NOT_PROVEN}",
        "5 others are unchanged within 5%. Measure both commits in turn on one machine:",
    )
    step = next_step(subject, split(subject))
    assert (step.effect, step.command) == ("looks 12.4% slower", COMMAND)
    for text in (render_markdown(subject), render_text(subject, colour=False, width=120)):
        assert text.count("perf-culprit measure") == text.count("in turn on one machine") == 1


def test_the_rest_of_a_suspicion_says_what_it_is_worth() -> None:
    subject = report(Conclusion.SUSPECTED, NOISY[0], *NOT_SEEN, UNCHANGED[0], FASTER[0])
    assert worded(subject) == (
        f"1 of 6 benchmarks looks slower, {NOT_PROVEN}; 1 got faster",
        (
            f"No change seen in 3 others; a slowdown of 12% or more {WOULD_SUSPECT}; 1 unchanged within 5%. "
            "Measure both commits in turn on one machine:"
        ),
    )


@pytest.mark.parametrize(
    ("rounds", "advice"),
    [
        ((None, None), "Measure more rounds of both sides, or use a quieter machine."),
        ((20, None, 45), "Measure more rounds of both sides (about 45 in all), or use a quieter machine."),
    ],
)
def test_a_paired_measurement_needs_more_rounds(rounds: tuple[int | None, ...], advice: str) -> None:
    looks = [
        replace(NOISY[0], benchmark=str(place), reason=because(VerdictReason.SUSPECTED_ROUNDS, rate=0.05, rounds=count))
        for place, count in enumerate(rounds)
    ]
    subject = report(Conclusion.SUSPECTED, *looks)
    assert worded(subject)[1] == advice
    assert next_step(subject, split(subject)).command == ""
    assert worded(report(Conclusion.SUSPECTED, *looks, NOISY[1]))[1] == "Measure both commits in turn on one machine:"


def test_what_was_refuted_is_told_at_the_top() -> None:
    first, *others = UNCHANGED
    refuted = replace(first, verdict=Verdict.UNCHANGED, reason=because(VerdictReason.REFUTED, first=0.5, change=0.01))
    looked, _ = worded(report(Conclusion.NO_CHANGE, refuted, *others))
    assert looked.endswith("; 1 looked slower, refuted by measuring again")


def test_what_is_measured_in_turn_now_asks_nothing_of_the_reader() -> None:
    subject = replace(report(Conclusion.SUSPECTED, NOISY[0]), notes=(because(Remark.BEING_PROVEN, minutes=10),))
    assert worded(subject)[1] == "Both commits are measured in turn now; the answer follows."
    assert next_step(subject, split(subject)).command == ""


def test_benchmarks_that_moved_together_are_the_codes_or_the_machines() -> None:
    moved = replace(report(Conclusion.SUSPECTED, *UNCHANGED), notes=(because(Remark.SUITE_MOVED, change=0.112),))
    assert worded(moved) == (
        f"All benchmarks moved together by +11.2%, {NOT_PROVEN}",
        "Either the code did that or another machine. Measure both commits in turn on one machine:",
    )


@pytest.mark.parametrize(
    ("baseline_runs", "runs", "text"),
    [
        (1, 1, "Cannot tell: one run a side doesn't show how much runs differ"),
        (1, 2, "Cannot tell: too few runs, or too noisy ones"),
        (3, 1, "Cannot tell: too few runs, or too noisy ones"),
    ],
)
def test_what_noise_hides_is_told_with_what_would_decide(baseline_runs: int, runs: int, text: str) -> None:
    assert UNTESTED.target is not None
    blind = replace(UNTESTED, target=replace(UNTESTED.target, runs=runs))
    subject = replace(report(Conclusion.INCONCLUSIVE, blind), baseline_runs=baseline_runs)
    assert worded(subject) == (
        text,
        "The differences below, the largest first, may be noise alone. Measure both commits in turn on one machine:",
    )
    assert next_step(subject, split(subject)).command == COMMAND


def test_benchmarks_that_differ_are_counted_with_their_changes_and_the_rounds_that_tell() -> None:
    reasons = (because(VerdictReason.DIFFERS, quiet=1, shared=4, rounds=rounds) for rounds in (4, 6, None))
    differing = [replace(one, reason=reason) for one, reason in zip(DIFFERING, reasons, strict=True)]
    assert worded(report(Conclusion.INCONCLUSIVE, *differing)) == (
        "All 3 benchmarks differ, +29.7% to +32.3%; one run a side can't tell the code from the machine",
        (
            "Two runs of one commit differ like this in 1 of 10 benchmarks, on a shared machine in 4 of 10. "
            "Measure both commits in turn on one machine, 6 rounds or more:"
        ),
    )
    with_others = report(Conclusion.INCONCLUSIVE, DIFFERING[0], *FASTER, *UNCHANGED, UNTESTED)
    assert worded(with_others)[0] == (
        "1 of 8 benchmarks differs, +30.6%; one run a side can't tell the code from the machine; "
        "1 undecided; 1 got faster; 5 of 8 benchmarks unchanged within 5%"
    )


def test_a_foreign_reason_is_no_advice_of_ours() -> None:
    foreign = replace(DIFFERING[0], reason=because(Remark.TEXT, text="@octocat"))
    assert "octocat" not in " ".join(worded(report(Conclusion.INCONCLUSIVE, foreign)))


@pytest.mark.parametrize("runs", [3, 5])
def test_several_files_of_one_job_or_a_few_jobs_are_told(runs: int) -> None:
    assert DIFFERING[0].target is not None
    several = replace(DIFFERING[0], target=replace(DIFFERING[0].target, runs=runs))
    text = worded(report(Conclusion.INCONCLUSIVE, several))[0]
    assert text == "1 benchmark differs, +30.6%; so few jobs can't tell the code from the machine"


def test_beside_a_regression_those_that_differ_are_only_counted() -> None:
    differing = (replace(one, benchmark=f"other {place}") for place, one in enumerate(DIFFERING[:2]))
    text = worded(report(Conclusion.REGRESSION, *SLOWER, *differing))[0]
    assert text == "2 of 4 benchmarks got slower; 2 differ, by one run a side"


def test_a_quantity_without_a_test_is_named_beside_the_others() -> None:
    equal = finding("parse", 12, 12, metric=ALLOCATIONS, reason=because(VerdictReason.EXACTLY_EQUAL))
    times = [finding(name, 4.0, 9.3, verdict=Verdict.UNTESTED, reason=because(VerdictReason.BLIND)) for name in "ab"]
    text = worded(replace(report(Conclusion.INCONCLUSIVE, *times, equal), baseline_runs=2))[0]
    assert text == "Cannot tell about time: too few runs, or too noisy ones; 1 other metric exactly equal"


def test_untested_for_another_reason_points_to_it() -> None:
    reason = because(Untested.UNIT_CHANGED, before="s", now="B")
    others = (finding(name, 1.0, 1.1, verdict=Verdict.UNTESTED, reason=reason) for name in ("x", "y"))
    assert worded(report(Conclusion.INCONCLUSIVE, *others)) == (
        "Cannot tell: no test possible for both benchmarks",
        "The reason for each is below.",
    )


def test_too_few_executions_are_told_how_many_rounds_would_do() -> None:
    few = (
        replace(UNTESTED, benchmark=str(rounds), reason=because(Untested.TOO_FEW_EXECUTIONS, count=1, rounds=rounds))
        for rounds in (2, 3)
    )
    assert worded(report(Conclusion.INCONCLUSIVE, *few))[1] == (
        "Measure 3 rounds of base, head, head, base: fewer can't tell a change from chance."
    )


def test_nothing_in_common_with_the_baseline() -> None:
    assert worded(report(Conclusion.INCONCLUSIVE)) == (
        "Cannot tell: nothing could be compared",
        "Check that the baseline and this run measure the same benchmarks.",
    )


def test_a_forged_report_without_findings_has_a_headline() -> None:
    assert worded(report(Conclusion.NOT_COMPARABLE))[0] == "Not comparable: the benchmarks changed"


def test_loudness_of_the_emoji() -> None:
    minor = report(Conclusion.REGRESSION, SLOWER[1])
    shown = [
        headline(item, split(item)).emoji
        for item in (minor, replace(minor, failed=True), report(Conclusion.REGRESSION, SLOWER[0]))
    ]
    assert shown == ["🟠", "🔴", "🔴"]


@pytest.mark.parametrize(
    ("verdict", "conclusion"),
    [(Verdict.UNTESTED, Conclusion.INCONCLUSIVE), (Verdict.UNCHANGED, Conclusion.NO_CHANGE)],
)
def test_two_equal_files_are_told_as_such(verdict: Verdict, conclusion: Conclusion) -> None:
    one = finding("x", 12.1, 12.1, verdict=verdict, reason=because(VerdictReason.BLIND, rounds=4))
    copied, moved = replace(one, target=one.baseline), finding("y", 12.1, 12.2, verdict=verdict)
    told = "Both sides hold the same values: one may be a copy of the other."
    assert worded(report(conclusion, copied))[1] == told
    assert worded(report(conclusion, copied, moved))[1] != told
