from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.config.policy_settings import BenchmarkConfig, ControlChartConfig, PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge import control_chart
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Evidence, Finding, Level, Verdict
from perf_culprit.model.reason import Remark, VerdictReason
from perf_culprit.model.report import Conclusion, Judgement
from perf_culprit.model.run import Benchmark, Direction, Metric, MetricKey, Run, Summary
from perf_culprit.stats.chart_limits import PERCENTILES, THREE_DEVIATIONS
from tests.support.noisy_counters import counter_run, counter_table, noisy_counters, stored
from tests.support.noisy_runs import THROUGHPUT, TIME, Floats, noisy_run, run_of
from tests.support.reasons import words_of

OPTIONS = DetectorOptions()
TRIALS = 40
SETTINGS = PolicySettings()


def of_counters(target: Run, *baseline: Run, options: DetectorOptions = OPTIONS) -> list[Evidence]:
    return control_chart.DETECTOR.detect_counters(pair_counters(stored(*baseline), target).tables, options)


def of_benchmarks(target: Run, *baseline: Run, options: DetectorOptions = OPTIONS) -> Sequence[Evidence]:
    return control_chart.DETECTOR.detect(pair_metrics(stored(*baseline), target).pairs, options).evidence


def judged(target: Run, *baseline: Run, settings: PolicySettings = SETTINGS) -> Judgement:
    return judge(stored(*baseline), target, detector="control_chart", settings=settings)


def only(judgement: Judgement) -> Finding:
    (finding,) = (one for one in judgement.findings if not one.is_other_load)
    return finding


def steady(seed: int, *, level: float = 50.0, spread: float = 5.0, count: int = 200) -> Floats:
    return np.random.default_rng(seed).normal(level, spread, count)


def cpu_runs() -> list[Run]:
    return [counter_run({"cpu": steady(seed)}) for seed in range(5)]


def test_silent_when_nothing_changed() -> None:
    finding = only(judged(counter_run({"cpu": steady(99)}), *cpu_runs()))
    assert finding.verdict is Verdict.NOT_SEEN
    assert finding.p_value is None


def test_fires_when_a_counter_leaves_its_limits() -> None:
    judgement = judged(counter_run({"cpu": steady(99, level=70.0)}), *cpu_runs())
    finding = only(judgement)
    assert (judgement.conclusion, finding.verdict) == (Conclusion.REGRESSION, Verdict.REGRESSION)
    assert finding.score is not None
    assert finding.threshold is not None
    assert finding.score > 0.9
    assert finding.threshold < 0.3
    assert finding.relative_change == pytest.approx(0.4, abs=0.05)
    assert len(finding.series) == 6
    assert finding.level is Level.FAIL


def test_the_evidence_says_what_the_chart_was() -> None:
    runs = cpu_runs()
    (evidence,) = of_counters(counter_run({"cpu": steady(99)}), *runs)
    pooled = np.concatenate([run.counters[0].values[:, 0] for run in runs])
    lower, center, upper = np.percentile(pooled, [5, 50, 95])
    details = evidence.details
    assert details["lower_control_limit"] == pytest.approx(lower)
    assert details["center_line"] == pytest.approx(center)
    assert details["upper_control_limit"] == pytest.approx(upper)
    assert evidence.score == pytest.approx(details["share_above"] + details["share_below"])
    assert evidence.baseline is not None
    assert (evidence.baseline.count, evidence.baseline.runs) == (1000, 5)


@pytest.mark.parametrize(("direction", "level", "verdict"), [
    (Direction.LOWER_IS_BETTER, 70.0, Verdict.REGRESSION),
    (Direction.LOWER_IS_BETTER, 30.0, Verdict.IMPROVEMENT),
    (Direction.HIGHER_IS_BETTER, 70.0, Verdict.IMPROVEMENT),
    (Direction.HIGHER_IS_BETTER, 30.0, Verdict.REGRESSION),
    (Direction.UNKNOWN, 70.0, Verdict.REGRESSION),
    (Direction.UNKNOWN, 30.0, Verdict.REGRESSION),
])  # fmt: skip
def test_methods_2_7_only_the_good_side_violated_is_an_improvement(
    direction: Direction, level: float, verdict: Verdict
) -> None:
    def run(values: Floats) -> Run:
        return Run(counters=(counter_table({"cpu": values}, directions={"cpu": direction}),))

    baseline = [run(steady(seed)) for seed in range(5)]
    assert only(judged(run(steady(99, level=level)), *baseline)).verdict is verdict


def test_a_wider_spread_on_both_sides_is_a_regression() -> None:
    def run(values: Floats) -> Run:
        return Run(counters=(counter_table({"cpu": values}, directions={"cpu": Direction.LOWER_IS_BETTER}),))

    target = run(steady(99, spread=20.0))
    assert only(judged(target, *(run(steady(seed)) for seed in range(5)))).verdict is Verdict.REGRESSION


def test_methods_2_4_counters_are_ordered_by_violation_relative_to_threshold() -> None:
    levels = {"a": 50.0, "b": 62.0, "c": 80.0, "d": 57.0}
    baseline = [counter_run({name: steady(10 * seed + n) for n, name in enumerate(levels)}) for seed in range(5)]
    target = counter_run({name: steady(90 + n, level=level) for n, (name, level) in enumerate(levels.items())})
    findings = judged(target, *baseline).findings
    assert [finding.key.metric for finding in findings] == ["c", "b", "d", "a"]
    ratios = [(finding.score or 0) / (finding.threshold or 1) for finding in findings]
    assert ratios == sorted(ratios, reverse=True)


@pytest.mark.parametrize("runs", [1, 2])
def test_few_runs_call_no_change_that_runs_may_show_by_themselves(runs: int) -> None:
    """The samples surely differ, but those of another machine would differ, too."""
    baseline = [counter_run({"cpu": steady(seed)}) for seed in range(runs)]
    finding = only(judged(counter_run({"cpu": steady(99, level=60.0)}), *baseline))
    assert (finding.verdict, finding.reason.code) == (Verdict.SUSPECTED, VerdictReason.OVER_LIMIT_FEW_RUNS)
    assert finding.reason.arguments["runs"] == runs
    enormous = only(judged(counter_run({"cpu": steady(99, level=9500.0)}), *baseline))
    assert enormous.verdict is Verdict.SUSPECTED


def test_one_baseline_run_is_a_fallback_and_says_so() -> None:
    finding = only(judged(counter_run({"cpu": steady(99, level=400.0)}), counter_run({"cpu": steady(1)})))
    assert finding.verdict is Verdict.SUSPECTED
    assert finding.threshold == pytest.approx(0.15)
    assert words_of(finding.notes)[-1] == "one baseline run: the limit is the expected 10% plus a margin of 5%"
    options = DetectorOptions(
        settings=PolicySettings(control_chart=ControlChartConfig(limits="10/90", single_run_margin="10%"))
    )
    (evidence,) = of_counters(counter_run({"cpu": steady(99)}), counter_run({"cpu": steady(1)}), options=options)
    assert evidence.threshold == pytest.approx(0.3)


@pytest.mark.parametrize("limits", [*PERCENTILES, THREE_DEVIATIONS])
def test_every_kind_of_limits_fires_and_stays_silent(limits: str) -> None:
    settings = PolicySettings(control_chart=ControlChartConfig(limits=limits))
    assert only(judged(counter_run({"cpu": steady(99)}), *cpu_runs(), settings=settings)).verdict is Verdict.NOT_SEEN
    changed = counter_run({"cpu": steady(99, level=75.0)})
    assert only(judged(changed, *cpu_runs(), settings=settings)).verdict is Verdict.REGRESSION


def loaded(
    seed: int, *, load: float = 4000.0, spread: float = 250.0, slope: float = 0.02, intercept: float = -24.0
) -> Run:
    rng = np.random.default_rng(seed)
    loads = rng.normal(load, spread, 240)
    return counter_run({"cpu": (slope * loads + intercept) * rng.normal(1, 0.05, 240)}, load=loads)


def test_methods_2_5_another_load_is_no_regression() -> None:
    runs = [loaded(seed) for seed in range(5)]
    target = loaded(100, load=1.14 * 4000)
    judgement = judged(target, *runs)
    finding = only(judgement)
    assert finding.verdict is Verdict.NOT_SEEN
    (load,) = [one for one in judgement.findings if one.is_other_load]
    assert load.relative_change == pytest.approx(0.14, abs=0.02)
    assert finding.details["unscaled_change"] == pytest.approx(0.2, abs=0.03)
    assert judgement.conclusion is Conclusion.INCONCLUSIVE  # scaled counters prove nothing about a load nobody ran
    same = judged(loaded(100), *runs)
    assert all(note.code is not Remark.LOAD_DIFFERS for note in same.notes)
    assert same.conclusion is Conclusion.NO_CHANGE
    assert "unscaled_change" not in only(same).details
    assert finding.relative_change == pytest.approx(0.0, abs=0.02)
    assert finding.details["load_slope"] == pytest.approx(0.02, rel=0.05)
    assert finding.details["load_spearman"] > 0.8
    unscaled = judged(without_load(target), *map(without_load, runs))
    assert only(unscaled).verdict is Verdict.REGRESSION
    assert only(unscaled).relative_change == pytest.approx(0.2, abs=0.03)


@pytest.mark.parametrize(("runs", "factor", "is_wrong"), [(5, 1.08, True), (2, 1.08, False), (2, 1.27, True)])
def test_another_load_is_told_by_the_baselines_own_loads_or_if_it_differs_much(
    runs: int, factor: float, *, is_wrong: bool
) -> None:
    steady_loads = (loaded(seed, spread=60) for seed in range(runs))
    judgement = judged(loaded(100, load=factor * 4000, spread=60), *steady_loads)
    assert any(one.is_other_load for one in judgement.findings) is is_wrong
    assert any(note.code is Remark.LOAD_DIFFERS for note in judgement.notes) is not is_wrong


def test_what_got_better_under_another_load_is_not_green() -> None:
    runs = [loaded(seed) for seed in range(5)]
    settings = PolicySettings(benchmarks=(BenchmarkConfig(match="*", direction="lower_is_better"),))
    assert judged(loaded(99, slope=0.016), *runs, settings=settings).conclusion is Conclusion.IMPROVEMENT
    lighter = judged(loaded(99, load=3200, slope=0.016), *runs, settings=settings)
    assert lighter.conclusion is Conclusion.INCONCLUSIVE
    assert {one.key.metric: one.verdict for one in lighter.findings} == {
        "cpu": Verdict.IMPROVEMENT,
        "load": Verdict.UNTESTED,
    }


PUBLISHED = PolicySettings(control_chart=ControlChartConfig(profile="published"))


def test_the_published_method_calls_whatever_is_above_its_threshold() -> None:
    """A quarter of the samples moved little: the guarded profile lists this counter, and does not call it."""
    runs = cpu_runs()
    values = steady(99)
    values[:20] = 60.0
    target = counter_run({"cpu": values})
    finding = only(judged(target, *runs))
    assert (finding.score or 0.0) > (finding.threshold or 1.0)
    assert finding.verdict is Verdict.NOT_SEEN
    published = judged(target, *runs, settings=PUBLISHED)
    assert only(published).verdict is Verdict.REGRESSION
    assert published.notes[0].code is Remark.PUBLISHED_LIMIT
    assert published.notes[0].arguments["most"] == 0.16
    assert only(judged(counter_run({"cpu": steady(99)}), *runs, settings=PUBLISHED)).verdict is Verdict.NOT_SEEN


def test_the_published_method_scales_far_beyond_a_narrow_baseline() -> None:
    runs = [loaded(seed, spread=150) for seed in range(5)]
    target = loaded(99, load=5200, spread=150)
    assert "load_slope" not in only(judged(target, *runs)).details
    scaled = only(judged(target, *runs, settings=PUBLISHED))
    assert scaled.relative_change == pytest.approx(0.0, abs=0.03)
    assert scaled.details["load_slope"] == pytest.approx(0.02, rel=0.2)


def test_a_slower_program_shows_at_another_load_too() -> None:
    runs = [loaded(seed) for seed in range(5)]
    assert only(judged(loaded(99, load=4400, slope=0.026), *runs)).verdict is Verdict.REGRESSION


def without_load(run: Run) -> Run:
    return structs.replace(run, counters=tuple(replace(table, load=None, load_name=None) for table in run.counters))


def test_without_load_nothing_is_scaled_and_it_says_so() -> None:
    (evidence,) = of_counters(without_load(loaded(9)), loaded(1), loaded(2))
    assert "not adjusted for load: some runs have no load" in words_of(evidence.notes)
    (evidence,) = of_counters(counter_run({"cpu": steady(9)}), *cpu_runs())
    assert "not adjusted for load: there is no load with the counters" in words_of(evidence.notes)


def test_a_load_of_another_name_is_another_load() -> None:
    target = loaded(9)
    renamed = structs.replace(target, counters=(replace(target.counters[0], load_name="users"),))
    (evidence,) = of_counters(renamed, loaded(1), loaded(2))
    assert words_of(evidence.notes) == ("not adjusted for load: the load is not the same quantity in all runs",)


def test_a_counter_that_does_not_follow_the_load_is_not_scaled_and_a_different_load_is_said() -> None:
    def run(seed: int, load: float) -> Run:
        return counter_run({"cpu": steady(seed)}, load=np.random.default_rng(seed + 50).normal(load, 100, 200))

    (evidence,) = of_counters(run(9, 5000), *(run(seed, 4000) for seed in range(4)))
    assert words_of(evidence.notes)[0].startswith(
        "not adjusted for load: the counter does not correlate with the load (Spearman "
    )
    assert words_of(evidence.notes)[1].startswith("the target's load differs by +2")
    assert "load_slope" not in evidence.details


def test_a_counter_that_is_near_zero_at_common_loads_is_not_scaled() -> None:
    def run(seed: int) -> Run:
        loads = np.random.default_rng(seed).uniform(2500, 5000, 200)
        return counter_run({"cpu": 0.02 * loads - 50}, load=loads)

    (evidence,) = of_counters(run(9), run(1), run(2))
    assert words_of(evidence.notes) == ("not adjusted for load: by the fit it is near zero at some loads",)


def test_values_without_a_load_are_left_out_unless_they_are_most() -> None:
    def run(seed: int, gap: slice) -> Run:
        modules = loaded(seed)
        load = modules.counters[0].load
        assert load is not None
        load = load.copy()
        load[gap] = np.nan
        return structs.replace(modules, counters=(replace(modules.counters[0], load=load),))

    (evidence,) = of_counters(run(9, slice(0, 8)), run(1, slice(0, 5)), loaded(2))
    assert evidence.target is not None
    assert evidence.target.count == 232
    (evidence,) = of_counters(run(9, slice(0, 100)), run(1, slice(0, 5)), loaded(2))
    assert words_of(evidence.notes) == ("41.7% of the target's rows have no load and are left out",)
    (evidence,) = of_counters(run(9, slice(0, 130)), run(1, slice(0, 5)), loaded(2))
    assert words_of(evidence.notes) == ("not adjusted for load: too few values with a load",)


def idling(seed: int, *, idle: float = 0.2, level: float = 50.0) -> Run:
    rng = np.random.default_rng(seed)
    count = int(400 * idle)
    return counter_run({"cpu": np.concatenate([rng.normal(5, 1, count), rng.normal(level, 4, 400 - count)])})


def test_methods_2_6_idle_time_is_left_out() -> None:
    runs = [idling(seed) for seed in range(5)]
    assert only(judged(idling(99, idle=0.5), *runs)).verdict is Verdict.NOT_SEEN
    (evidence,) = of_counters(idling(99, idle=0.5), *runs)
    assert evidence.details["idle_share"] == pytest.approx(0.5)
    assert evidence.details["idle_share_baseline"] == pytest.approx(0.2)
    assert words_of(evidence.notes)[-1] == "50% of the target's samples are idle time, 20% to 20% of the baseline runs'"


def test_methods_2_6_the_normality_of_a_flagged_counter_is_reported() -> None:
    finding = only(judged(idling(99, level=60.0), *(idling(seed) for seed in range(5))))
    assert finding.verdict is Verdict.REGRESSION
    assert finding.details["shapiro_p_with_idle_time"] < 0.001
    assert finding.details["shapiro_p"] > 0.05


def test_idle_time_can_be_kept() -> None:
    runs = [idling(seed) for seed in range(5)]
    settings = PolicySettings(control_chart=ControlChartConfig(drop_idle_time=False))
    assert only(judged(idling(99, idle=0.5), *runs, settings=settings)).verdict is Verdict.REGRESSION


def test_a_second_mode_that_only_the_target_has_is_a_change() -> None:
    rng = np.random.default_rng(5)
    collapsed = counter_run({"cpu": np.concatenate([rng.normal(5, 1, 100), rng.normal(50, 5, 100)])})
    finding = only(judged(collapsed, *cpu_runs()))
    assert finding.verdict is Verdict.REGRESSION
    assert "idle_share" not in finding.details


@pytest.mark.parametrize(("metric", "factor", "verdict", "is_worse"), [
    (TIME, 1.3, Verdict.SUSPECTED, True),
    (TIME, 0.7, Verdict.SUSPECTED, False),
    (THROUGHPUT, 1.3, Verdict.SUSPECTED, False),
    (THROUGHPUT, 0.7, Verdict.SUSPECTED, True),
    (TIME, 1.0, Verdict.NOT_SEEN, False),
])  # fmt: skip
def test_benchmarks_are_charted_by_their_samples(
    metric: Metric, factor: float, verdict: Verdict, *, is_worse: bool
) -> None:
    rng = np.random.default_rng(6)
    runs = [noisy_run(rng, benchmarks=1, samples=50, metric=metric) for _ in range(5)]
    finding = only(judged(noisy_run(rng, benchmarks=1, samples=50, metric=metric, effects=factor), *runs))
    assert (finding.verdict, finding.looks_worse) == (verdict, is_worse)
    assert ((finding.score or 0.0) > (finding.threshold or 0.0)) is (verdict is Verdict.SUSPECTED)


def test_a_benchmark_out_of_control_by_less_than_the_minimum_effect_is_not_called() -> None:
    rng = np.random.default_rng(7)
    runs = [noisy_run(rng, benchmarks=1, samples=50, spread=0.005) for _ in range(5)]
    finding = only(judged(noisy_run(rng, benchmarks=1, samples=50, spread=0.005, effects=1.03), *runs))
    assert finding.verdict is Verdict.NOT_SEEN
    assert (finding.score or 0.0) > (finding.threshold or 0.0)
    assert (finding.detectable_effect or 0.0) > 0.05 > (finding.relative_change or 1.0)


def test_a_benchmark_needs_samples() -> None:
    summary = Run(benchmarks=(Benchmark.of(name="bench_00000", metric=TIME, summary=Summary(value=100.0)),))
    finding = only(judged(summary, run_of([[1.0, 2.0]])))
    assert finding.verdict is Verdict.UNTESTED
    assert words_of(finding.reason) == "this test needs two samples per side, and there is only a summary"


def test_numbers_beyond_all_measure_are_not_charted() -> None:
    finding = only(judged(run_of([[1e300] * 5]), run_of([[1.0] * 5])))
    assert words_of(finding.reason) == "the target has the number 1.00e300, too large or small to calculate with"


def test_bad_input_too_few_samples() -> None:
    finding = only(judged(counter_run({"cpu": [1.0, 2.0, 3.0]}), *cpu_runs()))
    assert finding.verdict is Verdict.UNTESTED
    assert words_of(finding.reason) == "too few samples: the target has 3, 4 are needed"


def test_bad_input_constant_counters() -> None:
    def run(value: float) -> Run:
        return counter_run({"threads": np.full(50, value)}, load=np.linspace(1, 2, 50))

    same = only(judged(run(8.0), run(8.0), run(8.0)))
    assert (same.verdict, same.score, same.threshold) == (Verdict.NOT_SEEN, 0.0, 0.0)
    assert (same.excess.above, same.excess.below) == (False, False)
    other = only(judged(run(9.0), run(8.0), run(8.0), run(8.0)))
    assert (other.verdict, other.score) == (Verdict.REGRESSION, 1.0)
    assert (other.excess.above, other.excess.below) == (True, False)


@pytest.mark.parametrize(("target", "baseline", "reason"), [
    (np.nan, 8.0, "all values of the target are missing"),
    (np.inf, 8.0, "all values of the target are missing"),
    (8.0, np.nan, "all values of the baseline are missing"),
])  # fmt: skip
def test_bad_input_all_missing(target: float, baseline: float, reason: str) -> None:
    runs = [counter_run({"cpu": np.full(50, baseline)}, load=np.linspace(1, 2, 50)) for _ in range(3)]
    finding = only(judged(counter_run({"cpu": np.full(50, target)}, load=np.linspace(1, 2, 50)), *runs))
    assert (finding.verdict, words_of(finding.reason)) == (Verdict.UNTESTED, reason)


def test_bad_input_some_missing() -> None:
    gaps = steady(99)
    gaps[::3] = np.nan
    finding = only(judged(counter_run({"cpu": gaps}), *cpu_runs(), counter_run({"cpu": np.full(200, np.nan)})))
    assert finding.verdict is Verdict.NOT_SEEN
    assert finding.target is not None
    assert finding.baseline is not None
    assert (finding.target.count, finding.baseline.runs) == (133, 5)


def test_bad_input_a_load_without_values() -> None:
    runs = [counter_run({"cpu": steady(seed)}, load=np.full(200, np.nan)) for seed in range(4)]
    (evidence,) = of_counters(runs[3], *runs[:3])
    assert words_of(evidence.notes) == ("not adjusted for load: there is no load with the counters",)


def test_notes_are_kept_where_something_changed() -> None:
    changed, unchanged = counter_run({"cpu": steady(99, level=70.0)}), counter_run({"cpu": steady(99)})
    assert only(judged(changed, *cpu_runs())).notes
    assert only(judged(unchanged, *cpu_runs())).notes == ()


def test_bad_input_two_counters_of_which_the_baseline_has_one() -> None:
    target = counter_run({"cpu": steady(99), "disk": steady(98)})
    judgement = judged(target, *(counter_run({"cpu": steady(n), "memory": steady(n + 20)}) for n in range(4)))
    assert [finding.key.metric for finding in judgement.findings] == ["cpu"]
    assert judgement.new == (MetricKey("host", "disk"),)
    assert judgement.missing == (MetricKey("host", "memory"),)


def test_bad_input_a_target_with_other_counters_only() -> None:
    judgement = judged(counter_run({"disk": steady(98)}), *cpu_runs())
    assert (judgement.conclusion, judgement.findings) == (Conclusion.INCONCLUSIVE, ())


@pytest.mark.parametrize("level", [-50.0, 0.0, 1e-9, -1e9])
def test_bad_input_negative_and_zero_values(level: float) -> None:
    spread = abs(level) / 10 or 1.0
    runs = [counter_run({"free": steady(seed, level=level, spread=spread)}) for seed in range(5)]
    assert only(judged(runs[4], *runs[:4])).verdict is Verdict.NOT_SEEN
    changed = counter_run({"free": steady(99, level=level + 5 * spread, spread=spread)})
    finding = only(judged(changed, *runs))
    assert finding.verdict is Verdict.REGRESSION
    assert finding.relative_change is not None
    assert finding.relative_change > 0


def test_bad_input_a_change_from_zero_has_no_relative_size_and_fails() -> None:
    runs = [counter_run({"errors": np.zeros(50)}) for _ in range(3)]
    finding = only(judged(counter_run({"errors": np.ones(50)}), *runs))
    assert (finding.verdict, finding.level, finding.relative_change) == (
        Verdict.REGRESSION,
        Level.FAIL,
        None,
    )


def test_without_a_baseline_it_is_a_first_run() -> None:
    judgement = judged(counter_run({"cpu": steady(1)}))
    assert (judgement.conclusion, judgement.new) == (Conclusion.FIRST_RUN, (MetricKey("host", "cpu"),))


def test_neither_benchmarks_nor_counters_is_an_error() -> None:
    with pytest.raises(DataError, match="measured nothing"):
        judged(Run(), *cpu_runs())


def test_benchmarks_and_counters_are_judged_together() -> None:
    rng = np.random.default_rng(8)

    def run(effect: float, level: float) -> Run:
        benchmarks = noisy_run(rng, benchmarks=1, samples=30, effects=effect)
        return structs.replace(benchmarks, counters=(counter_table({"cpu": rng.normal(level, 5, 200)}),))

    judgement = judge(stored(*(run(1.0, 50.0) for _ in range(6))), run(3.0, 75.0), settings=SETTINGS)
    assert [(finding.key.metric, finding.verdict) for finding in judgement.findings] == [
        ("cpu", Verdict.REGRESSION),
        ("time", Verdict.SUSPECTED),
    ]


def test_what_baseline_runs_do_to_each_other_is_no_regression() -> None:
    """Every run has its own level, so some counters of the target are out of control, as those of any run would be."""
    rng = np.random.default_rng(9)
    runs = [noisy_counters(rng, counters=60, instants=100, own_offset=0.05) for _ in range(6)]
    judgement = judged(runs[5], *runs[:5])
    out_of_control = [f for f in judgement.findings if (f.score or 0) > (f.threshold or 0)]
    assert judgement.conclusion is Conclusion.NO_CHANGE
    assert out_of_control
    assert all(words_of(finding.reason).endswith("baseline runs exceed theirs as much") for finding in out_of_control)
    total = len(out_of_control)
    assert words_of(judgement.notes) == (f"{total} of 60 metrics are out of control; up to 10 would be by chance",)


def test_a_change_larger_than_what_baseline_runs_do_is_found_among_many_counters() -> None:
    rng = np.random.default_rng(10)
    effects = np.ones(60)
    effects[[7, 8]] = 1.5
    runs = [noisy_counters(rng, counters=60, instants=100, own_offset=0.03) for _ in range(6)]
    target = noisy_counters(rng, counters=60, instants=100, own_offset=0.03, effects=effects)
    results = [f.key.metric for f in judged(target, *runs).findings if f.verdict is Verdict.REGRESSION]
    assert sorted(results) == ["counter_00007", "counter_00008"]


def test_rules_by_pattern_hold_for_counters() -> None:
    changed = counter_run({"cpu": steady(99, level=70.0)})
    ignored = PolicySettings(benchmarks=(BenchmarkConfig(match="*", metric="cpu", ignore=True),))
    assert judged(changed, *cpu_runs(), settings=ignored).findings == ()
    better = PolicySettings(
        benchmarks=(BenchmarkConfig(match="*", metric="cpu", direction=Direction.HIGHER_IS_BETTER),)
    )
    assert only(judged(changed, *cpu_runs(), settings=better)).verdict is Verdict.IMPROVEMENT


@pytest.mark.parametrize("direction", Direction)
def test_a_change_as_large_as_is_said_to_be_visible_is_found(direction: Direction) -> None:
    rng = np.random.default_rng(11)

    def run(factor: float = 1.0) -> Run:
        columns = {"cpu": factor * rng.normal(50, 5, 96), "disk": rng.normal(50, 5, 96)}
        return Run(counters=(counter_table(columns, directions=dict.fromkeys(columns, direction)),))

    worse = -1 if direction is Direction.HIGHER_IS_BETTER else 1
    result, quiet = {1.0: 0, 0.25: 0}, 0
    for _ in range(TRIALS):
        runs = [run() for _ in range(6)]
        visible = _cpu(judge(stored(*runs), run(), settings=PolicySettings())).detectable_effect
        if visible is None:
            continue  # called by chance
        quiet += 1
        assert 0.02 < visible < 0.3
        for share in result:
            made = judge(stored(*runs), run(1 + worse * share * visible), settings=PolicySettings())
            result[share] += _cpu(made).verdict is Verdict.REGRESSION
    assert quiet >= 0.8 * TRIALS
    assert result[1.0] >= 0.8 * quiet
    assert result[0.25] <= 0.4 * quiet


def _cpu(made: Judgement) -> Finding:
    (result,) = [finding for finding in made.findings if finding.key.metric == "cpu"]
    return result


def with_threshold(share: str) -> PolicySettings:
    return PolicySettings(control_chart=ControlChartConfig(violation_threshold=share))


def test_the_operators_own_threshold_calls_where_baselines_could_not() -> None:
    before = counter_run({"cpu": steady(1)})
    higher = counter_run({"cpu": steady(2, level=60.0)})
    assert only(judged(higher, before)).verdict is not Verdict.REGRESSION
    finding = only(judged(higher, before, settings=with_threshold("30%")))
    assert (finding.verdict, finding.threshold) == (Verdict.REGRESSION, 0.3)
    assert finding.reason.code is VerdictReason.OVER_LIMIT
    # A share of violations below the threshold is not called, nor a change below the minimum effect.
    assert only(judged(higher, before, settings=with_threshold("99%"))).verdict is Verdict.NOT_SEEN
    assert only(judged(before, before, settings=with_threshold("5%"))).verdict is Verdict.NOT_SEEN
