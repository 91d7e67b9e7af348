"""The decision rule of docs/decision-rule.md as a whole, METHODS 1 and the doubts about machines."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.config.policy_settings import CATEGORIES, BenchmarkConfig, LevelsConfig, PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge.conclusion import conclusion_of
from perf_culprit.judge.detector import Detector, detector_of
from perf_culprit.judge.policy import judge
from perf_culprit.model.detectors import DECLARED, DeclaredDetector, detector_page
from perf_culprit.model.finding import (
    Acceptance,
    Baseline,
    BaselineSource,
    Finding,
    Level,
    RunChoice,
    Severity,
    Verdict,
)
from perf_culprit.model.reason import BaselineReason, Remark, VerdictReason, because
from perf_culprit.model.report import Conclusion, Judgement
from perf_culprit.model.run import Direction, Environment, MetricKey, Part, Run
from tests.support.noisy_runs import THROUGHPUT, TIME, noisy_run, run_of
from tests.support.reasons import words_of
from tests.support.rounds import in_rounds

DOCS = Path(__file__).parents[3] / "docs"
DEFAULTS = PolicySettings()
MILLISECONDS = structs.replace(TIME, unit="ms")
# A spread of about 2% with an exact mean and median of 1.
SHAPE = (0.97, 0.98, 0.99, 1.0, 1.0, 1.0, 1.01, 1.02, 1.03)


def around(*means: float) -> Run:
    return run_of([[mean * factor for factor in SHAPE] for mean in means], metric=MILLISECONDS, processes=True)


IN_CATEGORIES = PolicySettings(categories=CATEGORIES)


def compare(
    run: Run, target: Run, settings: PolicySettings = DEFAULTS, source: BaselineSource = BaselineSource.PAIRED
) -> Judgement:
    """The judgement of a run measured in turn with the target by default, so each sample of `around` is a unit."""
    return judge(Baseline(runs=(run,), source=source), target, settings=settings)


def only(judgement: Judgement) -> Finding:
    (finding,) = judgement.findings
    return finding


def test_policy_silent() -> None:
    judgement = compare(around(5, 6), around(5, 6))
    assert {finding.verdict for finding in judgement.findings} == {Verdict.UNCHANGED}
    assert judgement.conclusion is Conclusion.NO_CHANGE
    assert not judgement.failed


def test_policy_fires() -> None:
    judgement = compare(around(5, 6), around(5, 7))
    first = judgement.findings[0]
    assert first.key == MetricKey("bench_00001", "time")
    assert (first.verdict, first.level, first.severity) == (Verdict.REGRESSION, Level.FAIL, Severity.MINOR)
    assert judgement.conclusion is Conclusion.REGRESSION
    assert judgement.failed


def test_an_improvement_is_no_failure() -> None:
    judgement = compare(around(5), around(4))
    assert only(judgement).verdict is Verdict.IMPROVEMENT
    assert (judgement.conclusion, judgement.failed) == (Conclusion.IMPROVEMENT, False)


@pytest.mark.parametrize(("factor", "verdict"), [(1.2, Verdict.IMPROVEMENT), (0.8, Verdict.REGRESSION)])
def test_where_higher_is_better_everything_is_mirrored(factor: float, verdict: Verdict) -> None:
    run, target = (
        run_of([[level * part for part in SHAPE]], metric=THROUGHPUT, processes=True)
        for level in (100.0, 100.0 * factor)
    )
    assert only(compare(run, target)).verdict is verdict


@pytest.mark.parametrize("factor", [0.8, 1.2])
def test_of_an_unknown_direction_any_departure_is_bad(factor: float) -> None:
    metric = structs.replace(TIME, name="context switches", unit="", direction=Direction.UNKNOWN)
    run, target = (
        run_of([[level * part for part in SHAPE]], metric=metric, processes=True) for level in (100.0, 100.0 * factor)
    )
    assert only(compare(run, run)).verdict is Verdict.UNCHANGED
    assert only(compare(run, target)).verdict is Verdict.REGRESSION
    counted = structs.replace(metric, unit="allocations")
    zero, something = (run_of([[value] * 4], metric=counted) for value in (0.0, factor - 1))
    assert only(compare(zero, something)).verdict is Verdict.SUSPECTED


def test_a_certain_change_below_the_minimum_effect_is_no_change() -> None:
    finding = only(compare(around(5), around(5.2)))
    assert finding.verdict is Verdict.UNCHANGED
    assert finding.reason == because(VerdictReason.EXCLUDED, effect=0.05)


def test_noise_without_a_change_says_what_would_have_been_seen() -> None:
    rng = np.random.default_rng(5)
    run, target = (run_of(rng.normal(100, 20, (1, 12)), processes=True) for _ in range(2))
    judgement = compare(run, target)
    finding = only(judgement)
    assert (judgement.conclusion, finding.verdict) == (Conclusion.NO_CHANGE, Verdict.NOT_SEEN)
    assert 0.1 < (finding.detectable_effect or 0.0) < 0.8
    assert finding.reason == because(VerdictReason.NOTHING_SEEN, effect=float(f"{finding.detectable_effect:.4g}"))
    assert judgement.detectable_effect == finding.detectable_effect


def lone(factor: float, *, benchmarks: int = 1) -> Judgement:
    """The judgement of two files of one run each, in which the first benchmark differs by the factor."""
    rows = [[100 * part for part in SHAPE]] * benchmarks
    target = [[factor * value for value in rows[0]], *rows[1:]]
    return compare(run_of(rows), run_of(target), source=BaselineSource.FILES)


@pytest.mark.parametrize("detector", ["anova", "median_interval"])
@pytest.mark.parametrize("factor", [0.1, 0.001, 1e-6])
def test_one_run_a_side_suspects_a_collapse_and_proves_none_however_deep(factor: float, detector: str) -> None:
    rng = np.random.default_rng(7)
    before, after = (
        run_of([[level * value for value in rng.normal(1, 0.02, 20)]], metric=THROUGHPUT)
        for level in (100.0, 100 * factor)
    )
    baseline = Baseline(runs=(before,), source=BaselineSource.FILES)
    judgement = judge(baseline, after, detector=detector, settings=DEFAULTS)
    assert (only(judgement).verdict, judgement.conclusion) == (Verdict.SUSPECTED, Conclusion.SUSPECTED)
    assert not judgement.failed


def test_what_looks_different_and_is_not_proven_is_suspected() -> None:
    rng = np.random.default_rng(1)
    run, target = (rng.permutation(np.linspace(0.9, 1.1, 9) + shift).tolist() for shift in (0.0, 0.07))
    baseline, measured = (run_of([side], processes=True) for side in (run, target))
    judgement = compare(baseline, measured)
    finding = only(judgement)
    assert (judgement.conclusion, judgement.failed) == (Conclusion.SUSPECTED, False)
    assert DEFAULTS.proven < (finding.rate or 0.0) <= DEFAULTS.suspected
    assert finding.reason.code is VerdictReason.SUSPECTED_ROUNDS
    assert 4 < int(str(finding.reason.arguments["rounds"])) < 60
    # A suspected improvement is shown but does not affect the conclusion.
    better = compare(measured, baseline)
    assert (only(better).verdict, better.conclusion) == (Verdict.SUSPECTED, Conclusion.NO_CHANGE)


@pytest.mark.parametrize(("factor", "alone", "among"), [(1.4, True, False), (3.0, True, True)])
def test_many_metrics_need_more_certainty_than_one(factor: float, alone: bool, among: bool) -> None:
    """The false-alarm rate is that of a whole run, in which any metric may look as different."""
    for benchmarks, is_suspected in ((1, alone), (20, among)):
        finding = lone(factor, benchmarks=benchmarks).findings[0]
        assert (finding.verdict is Verdict.SUSPECTED) is is_suspected


def test_a_quantity_of_which_nothing_could_be_tested_is_not_green() -> None:
    other = structs.replace(MILLISECONDS, unit="fps")
    both = around(5, 5)
    target = structs.replace(both, benchmarks=(both.benchmarks[0], both.benchmarks[1].with_metric(other)))
    judgement = compare(both, target)
    assert {finding.verdict for finding in judgement.findings} == {Verdict.UNCHANGED, Verdict.UNTESTED}
    assert judgement.conclusion is Conclusion.INCONCLUSIVE
    in_time = [structs.replace(finding, unit="ms") for finding in judgement.findings]
    assert conclusion_of(in_time) is Conclusion.NO_CHANGE


def test_a_first_allocation_is_suspected_from_one_run_a_side() -> None:
    counted = structs.replace(TIME, name="allocations", unit="allocs/op")
    finding = only(compare(run_of([[0.0] * 4], metric=counted), run_of([[2.0] * 4], metric=counted)))
    assert (finding.verdict, finding.looks_worse) == (Verdict.SUSPECTED, True)
    assert finding.relative_change is None
    back = only(compare(run_of([[0.0] * 4], metric=counted), run_of([[0.0] * 4], metric=counted)))
    assert (back.verdict, words_of(back.reason)) == (Verdict.UNCHANGED, "exactly the same")


def test_warn_and_fail_have_their_own_bounds() -> None:
    settings = PolicySettings(levels=LevelsConfig(warn="10%", fail="30%"))
    judgement = compare(around(5, 5, 5), around(5.4, 6, 7), settings)
    assert [finding.level for finding in judgement.findings] == [Level.FAIL, Level.WARN, Level.NOTE]
    assert compare(around(5), around(6), settings).failed is False


def test_the_first_matching_rule_decides() -> None:
    rules = (
        BenchmarkConfig(match="bench_00000", minimum_effect="50%"),
        BenchmarkConfig(match="bench_0000[12]", ignore=True),
        BenchmarkConfig(match="bench_*", metric="time", direction=Direction.HIGHER_IS_BETTER),
    )
    judgement = compare(around(5, 5, 5, 5), around(6, 6, 6, 6), PolicySettings(benchmarks=rules))
    verdicts = {finding.key.benchmark: finding.verdict for finding in judgement.findings}
    assert verdicts == {"bench_00000": Verdict.UNCHANGED, "bench_00003": Verdict.IMPROVEMENT}
    # The user's direction overrides that of the stored run. Without such a rule, different directions are untested.
    mirrored = around(5, 5, 5, 5)
    other = structs.replace(MILLISECONDS, direction=Direction.HIGHER_IS_BETTER)
    mirrored = structs.replace(mirrored, benchmarks=tuple(entry.with_metric(other) for entry in mirrored.benchmarks))
    judgement = compare(mirrored, around(6, 6, 6, 6), PolicySettings(benchmarks=rules))
    verdicts = {finding.key.benchmark: finding.verdict for finding in judgement.findings}
    assert verdicts == {"bench_00000": Verdict.UNTESTED, "bench_00003": Verdict.IMPROVEMENT}


def test_what_is_ignored_is_neither_missing_nor_new_and_a_rule_without_direction_keeps_the_metrics_own() -> None:
    before, after = around(5, 5, 5), around(6, 6, 6, 6)
    after = structs.replace(after, benchmarks=(after.benchmarks[0], after.benchmarks[3]))
    keys = [MetricKey(f"bench_0000{number}", "time") for number in range(4)]
    everything = compare(before, after)
    assert (everything.missing, everything.new) == ((keys[1], keys[2]), (keys[3],))
    rules = (BenchmarkConfig(match="bench_0000[23]", ignore=True), BenchmarkConfig(match="*", minimum_effect="2%"))
    judgement = compare(before, after, PolicySettings(benchmarks=rules))
    assert (judgement.missing, judgement.new) == ((keys[1],), ())
    assert [finding.verdict for finding in judgement.findings] == [Verdict.REGRESSION]


@pytest.mark.parametrize(
    ("before", "after", "severity", "names"),
    [
        pytest.param(9, 11, Severity.MAJOR, ("fast", "medium"), id="leaves fast"),
        pytest.param(7, 9, Severity.MINOR, ("fast", "fast"), id="stays fast"),
        pytest.param(90, 120, Severity.MAJOR, ("medium", "slow"), id="leaves medium"),
        pytest.param(200, 300, Severity.MINOR, ("slow", "slow"), id="stays slow"),
    ],
)
def test_methods_1_severity_is_by_category(
    before: float, after: float, severity: Severity, names: tuple[str, str]
) -> None:
    finding = only(compare(around(before), around(after), IN_CATEGORIES))
    assert finding.severity is severity
    assert (finding.category, finding.category_now) == names


def test_methods_1_a_crossing_that_is_not_proven_is_no_regression() -> None:
    finding = only(compare(around(9.98), around(10.02), IN_CATEGORIES))
    assert (finding.category, finding.category_now) == ("fast", "medium")
    assert (finding.verdict, finding.severity) == (Verdict.UNCHANGED, None)


def test_methods_1_the_first_measurement_assigns_and_the_user_overrides() -> None:
    stored = around(50)
    stored = structs.replace(
        stored, benchmarks=tuple(structs.replace(entry, category="fast") for entry in stored.benchmarks)
    )
    assert only(compare(stored, around(60), IN_CATEGORIES)).category == "fast"
    assert only(compare(around(50), around(60), IN_CATEGORIES)).category == "medium"
    overridden = PolicySettings(benchmarks=(BenchmarkConfig(match="*", category="slow"),))
    assert only(compare(around(50), around(160), overridden)).severity is Severity.MINOR


def test_methods_1_a_category_that_is_not_the_fastest_is_a_warning() -> None:
    notes = words_of(compare(around(50), around(50), IN_CATEGORIES).notes)
    assert any("not in the fastest category but in medium" in note for note in notes)
    assert not words_of(compare(around(5), around(5), IN_CATEGORIES).notes)
    stored = structs.replace(
        around(50), benchmarks=tuple(structs.replace(b, category="medium") for b in around(50).benchmarks)
    )
    assert not compare(stored, around(50), IN_CATEGORIES).notes


def test_what_nobody_configured_has_no_category() -> None:
    judgement = compare(around(9), around(110))
    finding = only(judgement)
    assert (finding.category, finding.category_now, finding.severity) == (None, None, Severity.MINOR)
    assert not judgement.notes


def test_only_times_have_categories() -> None:
    run = run_of([[100.0 * part for part in SHAPE]], metric=THROUGHPUT)
    assert only(compare(run, run, IN_CATEGORIES)).category is None


def history(*, shared: Sequence[float], count: int = 20, stored: int = 5) -> Judgement:
    rng = np.random.default_rng(2)
    runs = tuple(noisy_run(rng, benchmarks=count, samples=20, spread=0.01) for _ in range(stored))
    target = noisy_run(rng, benchmarks=count, samples=20, spread=0.01, effects=np.array(shared))
    return judge(Baseline(runs=runs, source=BaselineSource.HISTORY), target, settings=DEFAULTS)


def test_when_all_benchmarks_move_together_none_is_blamed() -> None:
    judgement = history(shared=[1.2] * 20, stored=12)
    assert (judgement.conclusion, judgement.failed) == (Conclusion.SUSPECTED, False)
    assert {finding.verdict for finding in judgement.findings} == {Verdict.NOT_SEEN}
    (note,) = judgement.notes
    assert note.code is Remark.SUITE_MOVED
    assert note.arguments["change"] == pytest.approx(0.2, abs=0.01)


def test_few_stored_runs_leave_open_whether_the_machine_or_the_code_moved_all() -> None:
    judgement = history(shared=[1.2] * 20, stored=5)
    assert judgement.conclusion is Conclusion.INCONCLUSIVE
    assert [note.code for note in judgement.notes] == [Remark.SUITE_LEFT_IN]
    assert [finding.relative_change for finding in judgement.findings] == pytest.approx([0.2] * 20, abs=0.05)


def test_what_stands_out_of_a_suite_that_moved_is_called() -> None:
    judgement = history(shared=[2.0] * 2 + [1.02] * 18, stored=12)
    called = {finding.key.benchmark for finding in judgement.findings if finding.verdict is Verdict.REGRESSION}
    assert called == {"bench_00000", "bench_00001"}


def test_paired_runs_shared_their_machine() -> None:
    rng = np.random.default_rng(2)
    run = noisy_run(rng, benchmarks=20, samples=20, spread=0.01)
    target = noisy_run(rng, benchmarks=20, samples=20, spread=0.01, effects=1.2)
    assert compare(in_rounds(run), in_rounds(target)).conclusion is Conclusion.REGRESSION


def test_one_execution_of_each_side_proves_nothing() -> None:
    rng = np.random.default_rng(2)
    run = noisy_run(rng, benchmarks=20, samples=20, spread=0.01)
    target = noisy_run(rng, benchmarks=20, samples=20, spread=0.01, effects=1.2)
    judgement = compare(run, target)
    assert judgement.conclusion is Conclusion.INCONCLUSIVE
    assert judgement.findings[0].reason == because(VerdictReason.BLIND)


def on(cpu: str, run: Run) -> Run:
    return structs.replace(run, environment=Environment(components={"cpu": cpu}))


def test_other_hardware_is_a_conclusion_of_its_own() -> None:
    files = BaselineSource.FILES
    judgement = compare(on("A", around(5)), on("B", around(20)), source=files)
    assert judgement.conclusion is Conclusion.OTHER_HARDWARE
    assert only(judgement).verdict is Verdict.UNTESTED
    assert only(judgement).reason == judgement.notes[0]
    assert "cpu: B instead of A" in words_of(judgement.notes)[0]
    ignored = compare(on("A", around(5)), on("B", around(20)), PolicySettings(ignore_environment=True), files)
    assert ignored.conclusion is Conclusion.SUSPECTED


def test_nothing_stored_is_a_first_run_unless_hardware_kept_it_out() -> None:
    target = around(5)
    empty = Baseline(runs=(), source=BaselineSource.HISTORY)
    first = judge(empty, target, settings=DEFAULTS)
    assert (first.conclusion, first.new) == (Conclusion.FIRST_RUN, (MetricKey("bench_00000", "time"),))
    choice = RunChoice(
        commit="c",
        time=None,
        chosen=False,
        reason=because(BaselineReason.OTHER_HARDWARE, there="A", here="B", component="cpu"),
    )
    elsewhere = judge(replace(empty, choices=(choice,), left_out_for_hardware=1), target, settings=DEFAULTS)
    assert elsewhere.conclusion is Conclusion.OTHER_HARDWARE
    assert words_of(elsewhere.notes) == ("1 stored run left out: measured on other hardware (cpu: A, this run: B)",)
    unlisted = judge(replace(empty, left_out_for_hardware=200), target, settings=DEFAULTS)
    assert unlisted.conclusion is Conclusion.OTHER_HARDWARE


def test_nothing_in_common_is_inconclusive() -> None:
    other = structs.replace(
        around(5), benchmarks=tuple(structs.replace(entry, name="x") for entry in around(5).benchmarks)
    )
    judgement = compare(around(5), other)
    assert judgement.conclusion is Conclusion.INCONCLUSIVE
    assert judgement.missing == (MetricKey("bench_00000", "time"),)


def test_one_stored_run_is_a_doubt_that_is_told() -> None:
    assert compare(around(5), around(5), source=BaselineSource.HISTORY).notes == (because(Remark.LONE_BASELINE),)
    assert not compare(around(5), around(5)).notes


def test_the_noisiest_metric_without_a_change_says_what_the_run_would_have_shown() -> None:
    judgement = compare(around(5, 6), around(5, 6))
    assert judgement.detectable_effect == max(finding.detectable_effect or 0.0 for finding in judgement.findings)
    assert compare(around(5), around(9)).detectable_effect is None


def test_an_accepted_regression_fails_nothing_and_keeps_its_numbers() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    accepted = Acceptance(suite="s", benchmark=None, commit="a" * 40, reason="wanted", author="ada", time=now)
    baseline = Baseline(runs=(around(5),), source=BaselineSource.PAIRED, accepted=(accepted,))
    judgement = judge(baseline, around(6), settings=DEFAULTS)
    finding = only(judgement)
    assert (judgement.conclusion, judgement.failed) == (Conclusion.NO_CHANGE, False)
    assert (finding.verdict, finding.accepted) == (Verdict.NOT_SEEN, accepted.by)
    assert finding.reason == because(VerdictReason.ACCEPTED)
    assert finding.relative_change == pytest.approx(0.2)
    assert judgement.detectable_effect is None


@pytest.mark.parametrize("new", [5, 6])
def test_a_watched_benchmark_fails_nothing_and_keeps_its_numbers(new: float) -> None:
    settings = DEFAULTS.model_copy(update={"watch": ("*0",)})
    baseline = Baseline(runs=(around(5, 5),), source=BaselineSource.PAIRED)
    judgement = judge(baseline, around(new, 5), settings=settings)
    finding = next(one for one in judgement.findings if one.key.benchmark.endswith("0"))
    assert (judgement.conclusion, judgement.failed) == (Conclusion.NO_CHANGE, False)
    assert finding.is_watched == (new > 5)
    assert finding.relative_change == pytest.approx(new / 5 - 1)
    assert judge(baseline, around(6, 5), settings=DEFAULTS).failed


def test_findings_are_ordered_for_reading() -> None:
    judgement = compare(around(5, 9, 5, 5, 5), around(7, 11, 4, 5, 9), IN_CATEGORIES)
    assert [(finding.verdict, finding.key.benchmark[-1]) for finding in judgement.findings] == [
        (Verdict.REGRESSION, "1"),
        (Verdict.REGRESSION, "4"),
        (Verdict.REGRESSION, "0"),
        (Verdict.IMPROVEMENT, "2"),
        (Verdict.UNCHANGED, "3"),
    ]


def test_series_are_the_runs_values_from_oldest_to_newest() -> None:
    judgement = judge(Baseline(runs=(around(5), around(6)), source=BaselineSource.FILES), around(70), settings=DEFAULTS)
    assert only(judgement).series == pytest.approx((5, 6, 70))


def test_a_change_of_numbers_around_zero_is_not_tested() -> None:
    run, target = run_of([[1.0, -1.0, 2.0, -2.0]]), run_of([[1.0, 3.0, -2.0, 2.0]])
    assert "zero" in words_of(only(compare(run, target, source=BaselineSource.FILES)).reason)


def test_measuring_nothing_is_an_error() -> None:
    with pytest.raises(DataError, match="measured nothing"):
        compare(around(5), Run(benchmarks=()))


@pytest.mark.parametrize("declared", DECLARED, ids=lambda declared: declared.name)
def test_a_detector_judges_what_it_declares_and_has_a_page(declared: DeclaredDetector) -> None:
    made, nothing = detector_of(declared.name), Detector()
    assert (made.detect is not nothing.detect) == declared.of_benchmarks
    assert (made.detect_counters is not nothing.detect_counters) == declared.of_counters
    assert (made.limit != nothing.limit) == (declared.of_counters)
    assert (DOCS / detector_page(declared.name)).is_file()


@pytest.mark.parametrize(
    ("factor", "suspected", "proven"),
    [
        pytest.param(4.0, 1, 12, id="fourfold"),
        pytest.param(2.2, 1, 12, id="more than twice"),
        pytest.param(1.3, 1, 30, id="a third more"),
        pytest.param(1.1, 5, 31, id="a tenth more"),
        pytest.param(1.01, 31, 31, id="next to nothing"),
    ],
)
def test_the_more_runs_are_stored_the_smaller_a_change_is_found(factor: float, suspected: int, proven: int) -> None:
    for stored in (1, 2, 3, 4, 5, 12, 30):
        conclusion = history(shared=[factor] + [1.0] * 19, stored=stored).conclusion
        assert (conclusion is Conclusion.REGRESSION) is (stored >= proven)
        differs = stored == 1 and factor > 1.05
        quiet = Conclusion.INCONCLUSIVE if differs else Conclusion.NO_CHANGE
        assert (conclusion is quiet) is (stored < suspected)


@pytest.mark.parametrize("side", ["target", "baseline"])
def test_what_a_missing_part_had_is_neither_gone_nor_new(side: str) -> None:
    whole, some = around(1.0, 2.0), around(1.0)
    lacking = structs.replace(some, part=Part(indices=(1, 3), count=3))
    baseline, target = (whole, lacking) if side == "target" else (lacking, whole)
    judgement = compare(baseline, target)
    assert (judgement.missing, judgement.new) == ((), ())
    assert list(words_of(judgement.notes)) == ["part 2 of 3 is missing: its benchmarks weren't measured"]
    both = compare(lacking, lacking)
    assert list(words_of(both.notes)) == ["part 2 of 3 is missing: its benchmarks weren't measured"]


@pytest.mark.parametrize("samples", [1, 8])
def test_two_files_that_differ_are_no_pass(samples: int) -> None:
    """A newcomer's two files of `go test -count 8`: noise 2%, all three benchmarks +30%."""
    rng = np.random.default_rng(54)
    baseline, target = (
        noisy_run(rng, benchmarks=3, samples=samples, spread=0.02, effects=np.full(3, factor)) for factor in (1.0, 1.3)
    )
    judgement = compare(baseline, target, source=BaselineSource.FILES)
    assert {finding.verdict for finding in judgement.findings} == {Verdict.DIFFERS}
    assert (judgement.conclusion, judgement.failed) == (Conclusion.INCONCLUSIVE, False)
