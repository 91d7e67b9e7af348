"""The decision rule of docs/decision-rule.md, METHODS 1 and the doubts about machines."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.config.policy_settings import BenchmarkConfig, LevelsConfig, PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge.benchmark_findings import critical_p_of, p_values_of
from perf_culprit.judge.detectors import COUNTER_DETECTORS, DETECTORS
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Level, RunChoice, Severity, Verdict
from perf_culprit.model.reason import BaselineReason, Untested, VerdictReason, because
from perf_culprit.model.report import Conclusion, Judgement
from perf_culprit.model.run import Direction, Environment, MetricKey, Run, Summary
from tests.support.noisy_runs import THROUGHPUT, TIME, noisy_run, run_of
from tests.support.reasons import words_of
from tests.support.rounds import in_rounds

DOCS = Path(__file__).parents[3] / "docs"
DEFAULTS = PolicySettings()
MILLISECONDS = structs.replace(TIME, unit="ms")
# A spread of about 2% with an exact mean of 1.
SHAPE = (0.97, 0.98, 0.99, 1.0, 1.0, 1.0, 1.01, 1.02, 1.03)


def around(*means: float) -> Run:
    return run_of([[mean * factor for factor in SHAPE] for mean in means], metric=MILLISECONDS, processes=True)


def compare(
    run: Run, target: Run, settings: PolicySettings = DEFAULTS, source: BaselineSource = BaselineSource.PAIRED
) -> Judgement:
    """Measured in turn, unless said otherwise: each sample of `around` is then proof of its own."""
    return judge(Baseline(runs=(run,), source=source), target, settings=settings)


def only(judgement: Judgement) -> Finding:
    (finding,) = judgement.findings
    return finding


def test_policy_silent() -> None:
    judgement = compare(around(5, 6), around(5, 6))
    assert {finding.verdict for finding in judgement.findings} == {Verdict.NO_CHANGE}
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
    assert only(compare(run, run)).verdict is Verdict.NO_CHANGE
    assert only(compare(run, target)).verdict is Verdict.REGRESSION
    counted = structs.replace(metric, unit="allocations")
    zero, something = (run_of([[value] * 4], metric=counted) for value in (0.0, factor - 1))
    assert only(compare(zero, something)).verdict is Verdict.REGRESSION


def test_a_certain_change_below_the_minimum_effect_is_no_change() -> None:
    finding = only(compare(around(5), around(5.2)))
    assert finding.verdict is Verdict.NO_CHANGE
    assert words_of(finding.reason) == "differs, but by less than the minimum effect of 5%"


def test_noise_without_a_change_is_no_change_that_says_what_would_have_been_seen() -> None:
    rng = np.random.default_rng(5)
    runs = tuple(run_of(rng.normal(100, 20, (1, 300))) for _ in range(40))
    target = run_of(rng.normal(100, 20, (1, 12)))
    judgement = judge(Baseline(runs=runs, source=BaselineSource.FILES), target, settings=DEFAULTS)
    finding = only(judgement)
    assert (judgement.conclusion, finding.verdict) == (Conclusion.NO_CHANGE, Verdict.NO_CHANGE)
    assert not finding.is_decided
    # (2.58 + 1.28) standard errors of the mean of 12 samples at the runs' noise; these 12 are noisier.
    assert 1 < (finding.detectable_effect or 0.0) / (0.2 / np.sqrt(12) * 3.858) < 2
    assert finding.reason == because(VerdictReason.NOTHING_SEEN, effect=float(f"{finding.detectable_effect:.4g}"))
    assert finding.more_samples == pytest.approx((0.2 / 0.05 * 3.858) ** 2, rel=0.5)
    assert judgement.detectable_effect == finding.detectable_effect


def lone(factor: float, *, benchmarks: int = 1) -> Judgement:
    """Files of one run each, of which the first benchmark differs by the factor."""
    rows = [[100 * part for part in SHAPE]] * benchmarks
    target = [[factor * value for value in rows[0]], *rows[1:]]
    return compare(run_of(rows), run_of(target), source=BaselineSource.FILES)


@pytest.mark.parametrize("detector", ["anova", "median_interval"])
@pytest.mark.parametrize("factor", [0.1, 0.001, 1e-6])
def test_one_run_a_side_proves_a_collapse_however_deep(factor: float, detector: str) -> None:
    rng = np.random.default_rng(7)
    before, after = (
        run_of([[level * value for value in rng.normal(1, 0.02, 20)]], metric=THROUGHPUT)
        for level in (100.0, 100 * factor)
    )
    baseline = Baseline(runs=(before,), source=BaselineSource.FILES)
    assert only(judge(baseline, after, detector=detector, settings=DEFAULTS)).verdict is Verdict.REGRESSION


def test_what_looks_worse_and_is_not_proven_is_inconclusive() -> None:
    rng = np.random.default_rng(1)
    run, target = (rng.permutation(np.linspace(0.9, 1.1, 9) + shift).tolist() for shift in (0.0, 0.07))
    baseline, measured = (run_of([side], processes=True) for side in (run, target))
    judgement = compare(baseline, measured)
    finding = only(judgement)
    assert (judgement.conclusion, finding.verdict) == (Conclusion.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert finding.q_value == pytest.approx(0.05, abs=0.049)
    assert finding.reason.code is VerdictReason.LOOKS_WORSE_ROUNDS
    assert 4 < int(str(finding.reason.arguments["rounds"])) < 60
    assert only(compare(measured, baseline)).verdict is Verdict.NO_CHANGE
    # A file on each side: a worsening of a few percent is what runs do, one of more than half looks worse.
    assert only(lone(1.07)).verdict is Verdict.NO_CHANGE
    assert only(lone(1.7)).reason == because(VerdictReason.LONE_RUN)
    assert only(lone(1 / 1.7)).verdict is Verdict.NO_CHANGE


def test_a_worsening_that_chance_often_brings_does_not_look_like_one() -> None:
    """The same among 20 metrics: its q-value is 20 times larger."""
    assert lone(1.4).conclusion is Conclusion.INCONCLUSIVE
    assert lone(1.4, benchmarks=20).conclusion is Conclusion.NO_CHANGE


def test_what_only_a_second_mode_explains_looks_worse() -> None:
    judgement = lone(1.7, benchmarks=20)
    worst = judgement.findings[0]
    assert (worst.verdict, worst.reason.code) == (Verdict.INCONCLUSIVE, VerdictReason.LONE_RUN)
    assert worst.q_value is not None
    assert worst.q_value > 0.10 > 20 * (worst.precision.p_without_modes or 1.0)


def test_what_cannot_be_tested_is_silent_where_anything_could() -> None:
    few = run_of([[9.0, 9.1]], metric=MILLISECONDS)
    both = around(5, 5)
    target = structs.replace(
        both, benchmarks=(both.benchmarks[0], structs.replace(few.benchmarks[0], name="bench_00001"))
    )
    judgement = compare(both, target)
    assert {finding.verdict for finding in judgement.findings} == {Verdict.NO_CHANGE, Verdict.INCONCLUSIVE}
    assert judgement.conclusion is Conclusion.NO_CHANGE
    assert compare(around(5), few).conclusion is Conclusion.INCONCLUSIVE


def test_too_few_samples_are_inconclusive() -> None:
    finding = only(compare(around(5), run_of([[9.0, 9.1, 9.2]], metric=MILLISECONDS), source=BaselineSource.FILES))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert words_of(finding.reason) == "too few samples: the target has 3, 4 are needed"
    assert finding.more_samples == 1


def test_a_first_allocation_is_a_regression() -> None:
    counted = structs.replace(TIME, name="allocations", unit="allocs/op")
    finding = only(compare(run_of([[0.0] * 4], metric=counted), run_of([[2.0] * 4], metric=counted)))
    assert (finding.verdict, finding.level) == (Verdict.REGRESSION, Level.FAIL)
    assert finding.relative_change is None
    back = only(compare(run_of([[0.0] * 4], metric=counted), run_of([[0.0] * 4], metric=counted)))
    assert (back.verdict, words_of(back.reason)) == (Verdict.NO_CHANGE, "exactly the same")


def test_many_metrics_need_more_certainty_than_one() -> None:
    assert lone(2.3).conclusion is Conclusion.REGRESSION
    assert lone(2.3, benchmarks=200).conclusion is not Conclusion.REGRESSION


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
    assert verdicts == {"bench_00000": Verdict.NO_CHANGE, "bench_00003": Verdict.IMPROVEMENT}
    # The user's direction holds although the stored run had the other one; without a rule that says so none does.
    mirrored = around(5, 5, 5, 5)
    other = structs.replace(MILLISECONDS, direction=Direction.HIGHER_IS_BETTER)
    mirrored = structs.replace(mirrored, benchmarks=tuple(entry.with_metric(other) for entry in mirrored.benchmarks))
    judgement = compare(mirrored, around(6, 6, 6, 6), PolicySettings(benchmarks=rules))
    verdicts = {finding.key.benchmark: finding.verdict for finding in judgement.findings}
    assert verdicts == {"bench_00000": Verdict.INCONCLUSIVE, "bench_00003": Verdict.IMPROVEMENT}


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
    finding = only(compare(around(before), around(after)))
    assert finding.severity is severity
    assert (finding.category, finding.category_now) == names


def test_methods_1_a_crossing_that_is_not_significant_is_no_regression() -> None:
    finding = only(compare(around(9.98), around(10.02)))
    assert (finding.category, finding.category_now) == ("fast", "medium")
    assert (finding.verdict, finding.severity) == (Verdict.NO_CHANGE, None)


def test_methods_1_the_first_measurement_assigns_and_the_user_overrides() -> None:
    stored = around(50)
    stored = structs.replace(
        stored, benchmarks=tuple(structs.replace(entry, category="fast") for entry in stored.benchmarks)
    )
    assert only(compare(stored, around(60))).category == "fast"
    assert only(compare(around(50), around(60))).category == "medium"
    overridden = PolicySettings(benchmarks=(BenchmarkConfig(match="*", category="slow"),))
    assert only(compare(around(50), around(160), overridden)).severity is Severity.MINOR


def test_methods_1_a_category_that_is_not_the_fastest_is_a_warning() -> None:
    notes = words_of(compare(around(50), around(50)).notes)
    assert any("not in the fastest category but in medium" in note for note in notes)
    assert not words_of(compare(around(5), around(5)).notes)
    stored = structs.replace(
        around(50), benchmarks=tuple(structs.replace(b, category="medium") for b in around(50).benchmarks)
    )
    assert not compare(stored, around(50)).notes


def test_only_times_have_categories() -> None:
    run = run_of([[100.0 * part for part in SHAPE]], metric=THROUGHPUT)
    assert only(compare(run, run)).category is None


def history(*, shared: Sequence[float], count: int = 20, stored: int = 5) -> Judgement:
    rng = np.random.default_rng(2)
    runs = tuple(noisy_run(rng, benchmarks=count, samples=20, spread=0.01) for _ in range(stored))
    target = noisy_run(rng, benchmarks=count, samples=20, spread=0.01, effects=np.array(shared))
    return judge(Baseline(runs=runs, source=BaselineSource.HISTORY), target, settings=DEFAULTS)


def test_when_all_benchmarks_move_together_the_machine_changed() -> None:
    judgement = history(shared=[1.2] * 20)
    assert judgement.conclusion is Conclusion.MACHINE_CHANGED
    assert {finding.verdict for finding in judgement.findings} == {Verdict.INCONCLUSIVE}
    assert not judgement.failed
    assert any("the machine changed" in note for note in words_of(judgement.notes))


@pytest.mark.parametrize(
    ("shared", "count"),
    [
        pytest.param([1.6] * 15 + [1.0] * 5, 20, id="a quarter stayed"),
        pytest.param([1.06] * 10 + [2.5] * 10, 20, id="by different factors"),
        pytest.param([2.0] * 8, 8, id="too few to tell"),
    ],
)
def test_the_machine_is_not_blamed_for(shared: list[float], count: int) -> None:
    assert history(shared=shared, count=count).conclusion is Conclusion.REGRESSION


def test_paired_runs_shared_their_machine() -> None:
    rng = np.random.default_rng(2)
    run = noisy_run(rng, benchmarks=20, samples=20, spread=0.01)
    target = noisy_run(rng, benchmarks=20, samples=20, spread=0.01, effects=1.2)
    assert compare(in_rounds(run), in_rounds(target), source=BaselineSource.PAIRED).conclusion is Conclusion.REGRESSION


def test_too_few_rounds_for_so_many_benchmarks_are_not_silent() -> None:
    """Three rounds prove a change in one benchmark, in a hundred none; what looks worse is said to."""
    effects = np.where(np.arange(100) == 3, 1.5, 1.0)
    rng = np.random.default_rng(3)
    run = in_rounds(noisy_run(rng, benchmarks=100, samples=6, spread=0.04))
    target = in_rounds(noisy_run(rng, benchmarks=100, samples=6, spread=0.04, effects=effects))
    judgement = compare(run, target, source=BaselineSource.PAIRED)
    assert judgement.conclusion is Conclusion.INCONCLUSIVE
    first = judgement.findings[0]
    assert first.key.benchmark == "bench_00003"
    assert first.reason == because(VerdictReason.LOOKS_WORSE_ROUNDS, rounds=6)
    rest = {finding.reason.code for finding in judgement.findings[1:]}
    assert VerdictReason.TOO_FEW_ROUNDS in rest
    assert VerdictReason.NOTHING_SEEN not in rest


def test_one_execution_of_each_side_proves_nothing() -> None:
    rng = np.random.default_rng(2)
    run = noisy_run(rng, benchmarks=20, samples=20, spread=0.01)
    target = noisy_run(rng, benchmarks=20, samples=20, spread=0.01, effects=1.2)
    judgement = compare(run, target, source=BaselineSource.PAIRED)
    assert judgement.conclusion is Conclusion.INCONCLUSIVE
    assert judgement.findings[0].reason == because(Untested.TOO_FEW_EXECUTIONS, count=1, rounds=5)


def on(cpu: str, run: Run) -> Run:
    return structs.replace(run, environment=Environment(components={"cpu": cpu}))


def test_other_hardware_is_a_conclusion_of_its_own() -> None:
    files = BaselineSource.FILES
    judgement = compare(on("A", around(5)), on("B", around(20)), source=files)
    assert judgement.conclusion is Conclusion.OTHER_HARDWARE
    assert only(judgement).verdict is Verdict.INCONCLUSIVE
    assert only(judgement).reason == judgement.notes[0]
    assert "cpu: B instead of A" in words_of(judgement.notes)[0]
    ignored = compare(on("A", around(5)), on("B", around(20)), PolicySettings(ignore_environment=True), files)
    assert ignored.conclusion is Conclusion.REGRESSION


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
    assert compare(around(5), around(5), source=BaselineSource.HISTORY).notes
    assert not compare(around(5), around(5)).notes


def test_detectable_effect_is_the_slowdown_that_the_noisiest_unchanged_metric_would_show() -> None:
    rng = np.random.default_rng(4)
    calm = compare(around(5), around(5))
    assert calm.detectable_effect == pytest.approx(0.05)
    run, target = (run_of(rng.normal(100, 7, (1, 60)), processes=True) for _ in range(2))
    noisy = compare(run, target, PolicySettings(minimum_effect="6%"))
    assert only(noisy).verdict is Verdict.NO_CHANGE
    assert noisy.detectable_effect is not None
    assert noisy.detectable_effect == max(0.06, noisy.detectable_effect)
    assert compare(around(5), around(9)).detectable_effect is None


def test_findings_are_ordered_for_reading() -> None:
    judgement = compare(around(5, 9, 5, 5, 5), around(7, 11, 4, 5, 9))
    assert [(finding.verdict, finding.key.benchmark[-1]) for finding in judgement.findings] == [
        (Verdict.REGRESSION, "1"),
        (Verdict.REGRESSION, "4"),
        (Verdict.REGRESSION, "0"),
        (Verdict.IMPROVEMENT, "2"),
        (Verdict.NO_CHANGE, "3"),
    ]


def test_series_are_the_runs_values_from_oldest_to_newest() -> None:
    judgement = judge(Baseline(runs=(around(5), around(6)), source=BaselineSource.FILES), around(70), settings=DEFAULTS)
    assert only(judgement).series == pytest.approx((5, 6, 70))


def test_noise_between_runs_asks_for_a_paired_measurement() -> None:
    runs = tuple(around(level) for level in (4.7, 5, 5.3))
    finding = only(judge(Baseline(runs=runs, source=BaselineSource.FILES), around(5.1), settings=DEFAULTS))
    assert (finding.reason.code, finding.more_samples) == (VerdictReason.NOTHING_SEEN, None)
    slower = only(judge(Baseline(runs=runs, source=BaselineSource.FILES), around(8), settings=DEFAULTS))
    assert (slower.verdict, slower.more_samples) == (Verdict.INCONCLUSIVE, None)
    assert slower.reason.code is VerdictReason.LOOKS_WORSE_BETWEEN_RUNS


def test_summaries_ask_for_repeated_measurements() -> None:
    wide = Summary(value=5.0, statistic="mean", standard_deviation=3.0, count=9)
    run = around(5)
    summarised = structs.replace(run, benchmarks=(structs.replace(run.benchmarks[0], samples=(), summary=wide),))
    assert only(compare(summarised, summarised, source=BaselineSource.FILES)).reason.code is VerdictReason.NOTHING_SEEN
    worst = Summary(value=8.0, statistic="mean", standard_deviation=3.0, count=9)
    target = structs.replace(run, benchmarks=(structs.replace(run.benchmarks[0], samples=(), summary=worst),))
    twice = Baseline(runs=(summarised, summarised), source=BaselineSource.FILES)
    assert only(judge(twice, target, settings=DEFAULTS)).reason == because(VerdictReason.LOOKS_WORSE)


def test_a_change_of_numbers_around_zero_is_inconclusive() -> None:
    run, target = run_of([[1.0, -1.0, 2.0, -2.0]]), run_of([[1.0, 3.0, -2.0, 2.0]])
    assert "zero" in words_of(only(compare(run, target, source=BaselineSource.FILES)).reason)


def test_numbers_without_spread_are_inconclusive() -> None:
    run = around(5)
    summary = structs.replace(run.benchmarks[0], samples=(), summary=Summary(value=5.0))
    one = structs.replace(run, benchmarks=(summary,))
    finding = only(compare(one, one, source=BaselineSource.FILES))
    assert finding.verdict is Verdict.INCONCLUSIVE
    assert "would decide" in words_of(finding.reason)


def test_measuring_nothing_is_an_error() -> None:
    with pytest.raises(DataError, match="measured nothing"):
        compare(around(5), Run(benchmarks=()))


def test_every_detector_states_its_own_id_and_has_a_page() -> None:
    for name, detector in (DETECTORS | COUNTER_DETECTORS).items():
        assert name == detector.ID
        assert (DOCS / "detectors" / f"{name.replace('_', '-')}.md").is_file()


@pytest.mark.parametrize(
    ("factor", "conclusion", "reason"),
    [
        pytest.param(1.3, Conclusion.NO_CHANGE, VerdictReason.NOTHING_SEEN, id="as runs differ"),
        pytest.param(2.2, Conclusion.INCONCLUSIVE, VerdictReason.LONE_RUN, id="looks worse"),
        pytest.param(1 / 1.7, Conclusion.NO_CHANGE, VerdictReason.NOTHING_SEEN, id="better is not doubted"),
    ],
)
def test_one_stored_run_cannot_tell_a_slow_machine_from_a_slow_commit(
    factor: float, conclusion: Conclusion, reason: VerdictReason
) -> None:
    judgement = history(shared=[factor] + [1.0] * 4, count=5, stored=1)
    assert judgement.conclusion is conclusion
    assert judgement.detectable_effect is not None
    assert judgement.detectable_effect > 1
    (finding,) = (entry for entry in judgement.findings if entry.key.benchmark == "bench_00000")
    assert (finding.reason.code, finding.is_decided, finding.more_samples) == (reason, False, None)


@pytest.mark.parametrize(("factor", "verdict"), [(6.0, Verdict.REGRESSION), (1 / 6, Verdict.IMPROVEMENT)])
def test_one_run_per_side_shows_a_change_that_no_machine_makes(factor: float, verdict: Verdict) -> None:
    judgement = history(shared=[factor] + [1.0] * 4, count=5, stored=1)
    changed = {finding.key.benchmark: finding.verdict for finding in judgement.findings}
    assert changed.pop("bench_00000") is verdict
    assert set(changed.values()) == {Verdict.NO_CHANGE}


@pytest.mark.parametrize(
    ("factor", "enough"),
    [
        pytest.param(4.0, 1, id="fourfold"),
        pytest.param(2.2, 3, id="more than twice"),
        pytest.param(1.3, 12, id="a third more"),
        pytest.param(1.01, 31, id="next to nothing"),
    ],
)
def test_the_more_runs_are_stored_the_smaller_a_change_is_found(factor: float, enough: int) -> None:
    for stored in (1, 3, 12, 30):
        conclusion = history(shared=[factor] + [1.0] * 19, stored=stored).conclusion
        assert (conclusion is Conclusion.REGRESSION) is (stored >= enough)


def test_the_next_discovery_among_many_needs_a_smaller_p_value() -> None:
    """Benjamini and Hochberg's step after those that were made: it plans samples and what would have been found."""
    rng = np.random.default_rng(8)
    effects = np.where(np.arange(50) < 2, 3.0, 1.0)
    runs = [noisy_run(rng, benchmarks=50, samples=8, effects=effects if run == 0 else 1.0) for run in range(5)]

    def critical_p(names: slice) -> float:
        target, *stored = (structs.replace(run, benchmarks=run.benchmarks[names]) for run in runs)
        baseline = Baseline(runs=tuple(stored), source=BaselineSource.HISTORY)
        findings = judge(baseline, target, settings=PolicySettings()).findings
        return critical_p_of(p_values_of(findings)[:, 0], PolicySettings())

    assert critical_p(slice(4, 5)) == pytest.approx(0.01)
    assert critical_p(slice(10, 50)) == pytest.approx(0.01 / 40)
    assert critical_p(slice(0, 50)) == pytest.approx(0.01 * 3 / 50)
