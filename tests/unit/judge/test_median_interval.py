"""METHODS 3 as a detector: both conditions, runs and processes as units, and inputs that are none."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge import median_interval
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Verdict
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import Benchmark, Metric, Run, Summary
from tests.support.noisy_runs import THROUGHPUT, TIME, Floats, noisy_run, run_of
from tests.support.reasons import words_of

SEED = 31
ALLOCATIONS = replace(TIME, name="allocations", unit="allocs/op")


def evidence(target: Run, *runs: Run, paired: bool = False) -> Sequence[Evidence]:
    pairs = pair_metrics(Baseline(runs=runs, source=BaselineSource.FILES), target).pairs
    return median_interval.detect(pairs, DetectorOptions(paired=paired)).evidence


def one(target: Sequence[float], *runs: Sequence[float], metric: Metric = TIME) -> Evidence:
    """Of paired sides with a process per sample, so that the samples are what there is to decide by."""
    sides = (run_of([side], metric=metric, processes=True) for side in (target, *runs))
    return evidence(*sides, paired=True)[0]


def verdict(target: Sequence[float], *runs: Sequence[float]) -> Verdict:
    after, *before = (run_of([side], processes=True) for side in (target, *runs))
    baseline = Baseline(runs=tuple(before), source=BaselineSource.PAIRED)
    judgement = judge(baseline, after, detector="median_interval", settings=PolicySettings())
    return judgement.findings[0].verdict


def in_processes(samples: Floats, *, count: int) -> Run:
    (benchmark,) = run_of([samples.tolist()]).benchmarks
    return Run(benchmarks=(replace(benchmark, group_sizes=(len(samples) // count,) * count),))


def test_median_interval_silent() -> None:
    rng = np.random.default_rng(SEED)
    target, run = (noisy_run(rng, benchmarks=1, samples=30, noise="heavy_tailed") for _ in range(2))
    (entry,) = evidence(target, run)
    assert entry.p_value == 1.0
    assert entry.details["intervals_overlap"] == 1.0
    assert entry.confidence_interval is not None
    assert entry.confidence_interval.low < 0 < entry.confidence_interval.high


def test_median_interval_fires() -> None:
    rng = np.random.default_rng(SEED)
    run, target = (
        noisy_run(rng, benchmarks=1, samples=30, noise="heavy_tailed", effects=effect, processes=True)
        for effect in (1.0, 1.15)
    )
    (entry,) = evidence(target, run, paired=True)
    assert entry.p_value is not None
    assert entry.p_value < 1e-5
    assert entry.relative_change == pytest.approx(0.15, abs=0.03)
    assert entry.details["intervals_overlap"] == 0.0
    assert entry.details["difference_excludes_zero"] == 1.0


def test_methods_3_numbers_of_1_to_11() -> None:
    samples = [float(i) for i in range(1, 12)]
    entry = one(samples, samples)
    assert (entry.details["target_low"], entry.details["target_high"]) == pytest.approx((0.447, 11.553), abs=5e-4)
    assert entry.target is not None
    assert (entry.target.value, entry.target.statistic, entry.target.count) == (6.0, "median", 11)
    assert entry.relative_change == 0.0


def test_a_lone_run_whose_slow_mode_passed_a_half_is_no_change() -> None:
    """Criterion on a busy machine, nothing changed: the median jumps by the whole gap, the mean by a part of it."""
    rng = np.random.default_rng(SEED)

    def run(slow: int) -> Run:
        return run_of([(np.repeat([100.0, 300.0], [100 - slow, slow]) * rng.normal(1, 0.02, 100)).tolist()])

    for before, after in ((35, 65), (65, 35)):
        (entry,) = evidence(run(after), run(before))
        assert entry.relative_change is not None
        assert abs(entry.relative_change) > 0.6
        assert entry.p_value is not None
        assert entry.p_value > 0.1
        assert entry.test == "median_interval_between_runs"


def test_a_lone_run_that_is_slower_in_all_its_samples_is_found() -> None:
    rng = np.random.default_rng(SEED)
    before = np.repeat([100.0, 300.0], [65, 35]) * rng.normal(1, 0.02, 100)
    (entry,) = evidence(run_of([(10 * before).tolist()]), run_of([before.tolist()]))
    assert entry.p_value is not None
    assert entry.p_value < 0.001


def test_outliers_that_move_the_mean_move_nothing() -> None:
    rng = np.random.default_rng(SEED)
    run, target = rng.normal(100, 1, (2, 30))
    target[[3, 17, 25]] *= 8
    assert np.mean(target) > 1.5 * np.mean(run)
    assert verdict(target.tolist(), run.tolist()) is Verdict.NO_CHANGE
    # In three of five processes they do not even hide what else there is.
    before, after = (in_processes(side, count=5) for side in (run, target))
    baseline = Baseline(runs=(before,), source=BaselineSource.PAIRED)
    judgement = judge(baseline, after, detector="median_interval", settings=PolicySettings())
    assert judgement.conclusion is Conclusion.NO_CHANGE
    assert judgement.findings[0].is_decided


def test_overlapping_intervals_are_no_regression_however_significant() -> None:
    samples = [200.0 + i for i in range(101)]
    target = [sample + 23 for sample in samples]
    entry = one(target, samples)
    assert entry.details["p_difference"] < 0.02
    assert entry.details["difference_excludes_zero"] == entry.details["intervals_overlap"] == 1.0
    assert entry.p_value == 1.0
    assert words_of(entry.notes) == ("the medians differ significantly, but their intervals overlap",)
    assert verdict(target, samples) is not Verdict.REGRESSION
    assert verdict([sample + 60 for sample in samples], samples) is Verdict.REGRESSION


@pytest.mark.parametrize(
    ("target", "baseline", "reason"),
    [
        ([1.0] * 4, [1.0] * 9, "the target has 4, the interval of a median needs 5"),
        ([1.0] * 9, [1.0] * 3, "the baseline has 3, the interval of a median needs 5"),
    ],
)
def test_methods_3_below_five_samples_is_inconclusive(target: list[float], baseline: list[float], reason: str) -> None:
    entry = one(target, baseline)
    assert entry.p_value is None
    assert words_of(entry.evidence_reason) == f"too few samples: {reason}"
    assert verdict(target, baseline) is Verdict.INCONCLUSIVE


def test_methods_3_five_samples_are_enough() -> None:
    assert verdict([150.0, 151.0, 152.0, 150.5, 151.5], [100.0, 101.0, 102.0, 100.5, 101.5]) is Verdict.REGRESSION


def test_a_run_is_a_unit_where_several_are_stored() -> None:
    """A machine that is 3% slower would deviate by its samples alone."""
    rng = np.random.default_rng(SEED)
    runs = [noisy_run(rng, benchmarks=20, samples=40, spread=0.01, own_offset=0.03) for _ in range(8)]
    target = noisy_run(rng, benchmarks=20, samples=40, spread=0.01, own_offset=0.03)
    entries = evidence(target, *runs)
    assert sum(entry.details["p_difference"] < 0.01 for entry in entries) > 8
    assert min(entry.p_value or 0.0 for entry in entries) > 0.01
    assert {"median_interval_between_runs"} <= {entry.test for entry in entries}
    paired = evidence(target, *runs, paired=True)
    assert all("p_between_runs" not in entry.details for entry in paired)


def test_processes_are_units_where_both_sides_have_them() -> None:
    rng = np.random.default_rng(SEED)

    def run() -> Run:
        values = 100 * rng.lognormal(0, 0.05, (8, 1)) * rng.lognormal(0, 0.002, (8, 20))
        samples = tuple(values.ravel().tolist())
        return Run(benchmarks=(Benchmark.of(name="parse", metric=TIME, samples=samples, group_sizes=(20,) * 8),))

    entries = [evidence(run(), run())[0] for _ in range(40)]
    assert sum(entry.details["p_between_processes"] < 0.01 for entry in entries) <= 3
    assert all((entry.p_value or 0.0) >= entry.details["p_between_processes"] for entry in entries)


def test_constant_samples_are_exact() -> None:
    same, other = (one([value] * 6, [5.0] * 6, metric=ALLOCATIONS) for value in (5.0, 6.0))
    assert (same.test, same.p_value) == ("exact", 1.0)
    assert (other.test, other.p_value) == ("exact", 0.0)
    assert other.relative_change == pytest.approx(0.2)


def test_constant_times_are_those_of_one_run_each() -> None:
    (other,) = evidence(run_of([[6.0] * 6]), run_of([[5.0] * 6]))
    assert other.test == "median_interval_between_runs"
    assert (other.p_value or 0.0) > 0.01
    assert words_of(other.notes) == ("all samples are equal: the clock may be too coarse for this benchmark",)


def test_ties_do_not_make_the_median_certain() -> None:
    """A clock of 1 ns: the medians are one step apart and both errors are zero by order statistics."""
    baseline = [10.0] * 20 + [11.0] * 10
    target = [10.0] * 10 + [11.0] * 20
    entry = one(target, baseline)
    assert entry.relative_change == pytest.approx(0.1)
    assert (entry.p_value or 0.0) > 0.05
    assert verdict(target, baseline) is not Verdict.REGRESSION


def test_a_baseline_of_zero_has_no_relative_change() -> None:
    zeros = [0.0] * 8 + [0.0, 1.0]
    entry = one([0.0, 3.0, 3.0, 3.0, 3.0, 3.0, 4.0, 3.0, 3.0, 4.0], zeros)
    assert entry.relative_change is None
    assert entry.confidence_interval is None
    assert words_of(entry.evidence_reason) == "the baseline's median is zero, so there is no relative change"
    assert verdict([30.0, 31.0, 32.0, 29.0, 30.0, 31.0, 30.0, 30.0, 31.0, 29.0], zeros) is Verdict.REGRESSION


def test_negative_values_keep_up_and_down() -> None:
    rng = np.random.default_rng(SEED)
    baseline, target = rng.normal(-100, 1, 30).tolist(), rng.normal(-80, 1, 30).tolist()
    assert one(target, baseline).relative_change == pytest.approx(0.2, abs=0.02)
    assert verdict(target, baseline) is Verdict.REGRESSION
    assert verdict(baseline, target) is Verdict.IMPROVEMENT


def test_throughput_that_falls_is_a_regression() -> None:
    rng = np.random.default_rng(SEED)
    baseline = Baseline(
        runs=(noisy_run(rng, benchmarks=1, samples=30, metric=THROUGHPUT, processes=True),),
        source=BaselineSource.PAIRED,
    )
    target = noisy_run(rng, benchmarks=1, samples=30, metric=THROUGHPUT, effects=0.8, processes=True)
    judgement = judge(baseline, target, detector="median_interval", settings=PolicySettings())
    assert judgement.conclusion is Conclusion.REGRESSION


def test_summaries_get_the_weaker_tests_in_their_places() -> None:
    rng = np.random.default_rng(SEED)
    summary = Summary(value=100.0, statistic="mean", count=30, standard_deviation=1.0)

    def run(samples: Sequence[float]) -> Run:
        return Run(
            benchmarks=(
                Benchmark.of(name="summed", metric=TIME, summary=summary),
                Benchmark.of(name="few", metric=TIME, samples=tuple(samples[:3])),
                Benchmark.of(name="sampled", metric=TIME, samples=tuple(samples)),
            )
        )

    entries = evidence(run(rng.normal(100, 1, 20).tolist()), run(rng.normal(100, 1, 20).tolist()))
    assert [entry.key.benchmark for entry in entries] == ["summed", "few", "sampled"]
    assert [entry.test for entry in entries] == ["welch_from_summary", "none", "median_interval"]


def test_samples_of_a_suite_are_compared_as_those_of_its_benchmarks_alone() -> None:
    rng = np.random.default_rng(SEED)
    sizes = [5, 6, 6, 17, 40]
    sides = [[rng.lognormal(0, 0.1, size).tolist() for size in sizes] for _ in range(2)]
    together = evidence(run_of(sides[0]), run_of(sides[1]), paired=True)
    for entry, target, baseline in zip(together, *sides, strict=True):
        alone = one(target, baseline)
        assert entry.details["p_difference"] == alone.details["p_difference"]
        assert (entry.target, entry.baseline) == (alone.target, alone.baseline)
        assert entry.relative_change == alone.relative_change


def test_samples_needed_would_decide() -> None:
    """Where the note asks for n samples, n samples find the minimum effect in about nine of ten trials."""
    rng = np.random.default_rng(SEED)
    sides = (noisy_run(rng, benchmarks=1, samples=4000, spread=0.04, processes=True) for _ in range(2))
    (entry,) = evidence(*sides, paired=True)
    needed = entry.samples_needed
    assert needed is not None
    run, slower = (
        noisy_run(rng, benchmarks=300, samples=needed, spread=0.04, effects=effect, processes=True)
        for effect in (1.0, 1.05)
    )
    results = [(entry.p_value or 0.0) < 0.01 for entry in evidence(slower, run, paired=True)]
    assert 0.75 < np.mean(results) < 1.0
