"""Paired metrics: which executions count, what is said of too few, and evidence that follows from numbers only."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.judge import blocks
from perf_culprit.judge.blocks import least_rounds, rounds_needed
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import MetricPair, pair_metrics
from perf_culprit.judge.paired_executions import executions_of
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from perf_culprit.model.reason import Untested, because
from perf_culprit.model.run import Benchmark, Direction, Metric, Run, Summary
from tests.support.noisy_runs import TIME, run_of
from tests.support.rounds import in_rounds

PAIRED = DetectorOptions(paired=True)


def pair_of(baseline: Benchmark, target: Benchmark) -> MetricPair:
    sides = (Run(benchmarks=(side,)) for side in (baseline, target))
    run, measured = sides
    (pair,) = pair_metrics(Baseline(runs=(run,), source=BaselineSource.PAIRED), measured).pairs
    return pair


def one(baseline: Benchmark, target: Benchmark) -> Evidence:
    (entry,) = blocks.detect([pair_of(baseline, target)], PAIRED)
    return entry


def in_turn(values: list[float], *, metric: Metric = TIME) -> Benchmark:
    (benchmark,) = in_rounds(run_of([values])).benchmarks
    return benchmark.with_metric(metric)


def noise(seed: int, *, rounds: int = 8, factor: float = 1.0) -> list[float]:
    values: list[float] = (factor * np.random.default_rng(seed).lognormal(0, 0.05, 2 * rounds)).tolist()
    return values


def test_blocks_silent() -> None:
    entry = one(in_turn(noise(1)), in_turn(noise(2)))
    assert entry.test == "blocks"
    assert (entry.p_value or 0) > 0.01
    assert entry.confidence_interval is not None
    assert entry.confidence_interval.low < 0 < entry.confidence_interval.high


def test_blocks_fires() -> None:
    entry = one(in_turn(noise(1)), in_turn(noise(2, factor=1.2)))
    assert entry.p_value is not None
    assert entry.p_value < 1e-4
    assert entry.relative_change == pytest.approx(0.2, abs=0.07)
    assert entry.confidence_interval is not None
    assert entry.confidence_interval.low > 0.05
    assert entry.precision.rounds == 8
    # Of the mean of the executions, as long as its side's own value is that mean.
    assert entry.baseline is not None
    low, high = stats.t.interval(0.95, 15, np.mean(noise(1)), stats.sem(noise(1)))
    assert entry.baseline.relative_half_width == pytest.approx((high - low) / 2 / np.mean(noise(1)))


def test_samples_of_one_execution_count_once() -> None:
    """A hundred samples that share their execution's level are no hundred observations."""
    rng = np.random.default_rng(3)
    called = 0
    for _ in range(40):
        levels = rng.lognormal(0, 0.05, (2, 16))
        sides = [
            Benchmark.of(
                name="a",
                metric=TIME,
                samples=tuple((side[:, None] * rng.lognormal(0, 0.002, (16, 50))).ravel().tolist()),
                group_sizes=(50,) * 16,
                rounds=tuple(np.repeat(np.arange(8), 2).tolist()),
            )
            for side in levels
        ]
        called += (one(*sides).p_value or 0) < 0.05
    assert called <= 7


@pytest.mark.parametrize(
    ("baseline", "target", "count"),
    [
        pytest.param(run_of([[1.0, 1.1, 1.2, 1.1]]), run_of([[2.0, 2.1, 2.2, 2.1]]), 1, id="one file of each side"),
        pytest.param(in_rounds(run_of([[1.0, 1.1]])), in_rounds(run_of([[2.0, 2.1]])), 2, id="one round"),
        pytest.param(in_rounds(run_of([[1.0, 1.1] * 2])), in_rounds(run_of([[2.0, 2.1] * 2])), 4, id="two rounds"),
    ],
)
def test_too_few_executions_are_described_and_not_tested(baseline: Run, target: Run, count: int) -> None:
    (base,), (head,) = baseline.benchmarks, target.benchmarks
    entry = one(base, head)
    assert entry.p_value is None
    assert entry.evidence_reason == because(Untested.TOO_FEW_EXECUTIONS, count=count, rounds=3)
    assert entry.relative_change is not None
    assert entry.relative_change > 0.8
    # Equal numbers exclude nothing where a difference would have been ignored.
    assert one(base, base).evidence_reason == entry.evidence_reason


def test_a_summary_of_each_side_is_one_execution() -> None:
    sides = [
        Benchmark.of(
            name="a", metric=TIME, summary=Summary(value=value, statistic="mean", count=50, standard_deviation=0.1)
        )
        for value in (1.0, 2.0)
    ]
    entry = one(*sides)
    assert entry.p_value is None
    assert entry.evidence_reason == because(Untested.TOO_FEW_EXECUTIONS, count=1, rounds=3)


def test_counts_are_exact_after_one_execution() -> None:
    allocations = Metric(name="allocs", unit="allocs/op", direction=Direction.LOWER_IS_BETTER)
    sides = [Benchmark.of(name="a", metric=allocations, samples=(value,) * 3) for value in (10.0, 11.0)]
    entry = one(*sides)
    assert (entry.test, entry.p_value, entry.relative_change) == ("exact", 0.0, 0.1)
    assert one(sides[0], sides[0]).p_value == 1.0


def test_counts_that_all_but_repeat_themselves_are_exact() -> None:
    """Instructions of a real Python program: four executions, 48 instructions of 344 million apart."""
    instructions = Metric(name="instructions", unit="instructions", direction=Direction.LOWER_IS_BETTER)
    before, after, again, rough = (
        Benchmark.of(name="a", metric=instructions, samples=samples)
        for samples in (
            (344526018.0, 344526066.0),
            (403720986.0, 403720986.0),
            (344526020.0, 344526100.0),
            (344526018.0, 360000000.0),
        )
    )
    entry = one(before, after)
    assert (entry.test, entry.p_value) == ("exact", 0.0)
    assert entry.relative_change == pytest.approx(0.17182, abs=1e-4)
    assert entry.confidence_interval is not None
    assert entry.confidence_interval.low < (entry.relative_change or 0.0) < entry.confidence_interval.high
    assert one(before, again).p_value == 1.0
    assert one(before, rough).test != "exact"


def test_without_noise_a_difference_is_as_sure_as_the_rounds_allow() -> None:
    entry = one(in_turn([5.0] * 16), in_turn([5.5] * 16))
    assert entry.p_value == pytest.approx(2 / 6**8, rel=0.3)
    assert entry.confidence_interval is not None
    assert entry.confidence_interval.low == pytest.approx(0.1)
    assert entry.confidence_interval.high == pytest.approx(0.1)
    equal = one(in_turn([5.0] * 16), in_turn([5.0] * 16))
    assert (equal.test, equal.p_value) == ("exact", 1.0)


def test_numbers_around_zero_have_a_test_and_no_relative_change_with_bounds() -> None:
    rng = np.random.default_rng(4)
    baseline, target = (in_turn((rng.normal(shift, 1, 16)).tolist()) for shift in (0.0, 5.0))
    entry = one(baseline, target)
    assert (entry.p_value or 1) < 1e-3
    assert entry.confidence_interval is None
    assert entry.evidence_reason == because(Untested.BASELINE_NEAR_ZERO, statistic="mean")


@pytest.mark.parametrize("factor", [1e-9, 3.0, 1e12])
def test_the_unit_does_not_matter(factor: float) -> None:
    baseline, target = noise(5), noise(6, factor=1.06)
    entry = one(in_turn(baseline), in_turn(target))
    scaled = one(in_turn([factor * x for x in baseline]), in_turn([factor * x for x in target]))
    assert scaled.p_value == pytest.approx(entry.p_value, rel=0.1)
    assert scaled.relative_change == pytest.approx(entry.relative_change, abs=0.002)


def test_swapping_the_sides_turns_the_change_around() -> None:
    entry = one(in_turn(noise(7)), in_turn(noise(8, factor=1.1)))
    swapped = one(in_turn(noise(8, factor=1.1)), in_turn(noise(7)))
    assert swapped.p_value == pytest.approx(entry.p_value, rel=0.3)
    assert (1 + (swapped.relative_change or 0)) * (1 + (entry.relative_change or 0)) == pytest.approx(1, abs=0.02)


def test_rounds_that_one_side_lacks_are_left_out() -> None:
    baseline, target = in_turn(noise(9)), in_turn(noise(10, rounds=5))
    executions = executions_of(pair_of(baseline, target))
    assert executions is not None
    assert executions.per_side == (10, 10)
    assert len(executions.blocks.rows) == 5


def test_without_rounds_all_runs_count_as_one() -> None:
    runs = [run_of([[value]]) for value in noise(11)]
    (pair,) = pair_metrics(Baseline(runs=tuple(runs), source=BaselineSource.PAIRED), runs[0]).pairs
    executions = executions_of(pair)
    assert executions is not None
    assert executions.per_side == (16, 1)
    assert not executions.can_differ(0.01)


def test_executions_count_by_the_steadier_of_median_and_mean() -> None:
    rng = np.random.default_rng(12)
    wild = [tuple((1 + 0.01 * rng.standard_t(1, 9)).tolist()) for _ in range(8)]
    benchmark = Benchmark.of(
        name="a", metric=TIME, samples=sum(wild, ()), group_sizes=(9,) * 8, rounds=(0, 0, 1, 1, 2, 2, 3, 3)
    )
    executions = executions_of(pair_of(benchmark, benchmark))
    assert executions is not None
    assert executions.values()[:2] == pytest.approx([np.median(wild[0]), np.median(wild[1])])


def test_the_least_rounds_prove_one_change_among_all_metrics() -> None:
    assert [least_rounds(metrics, 0.01) for metrics in (1, 200, 1000)] == [3, 6, 7]
    for metrics in (1, 38, 39, 200, 1000):
        assert 2 / 6 ** least_rounds(metrics, 0.01) < 0.01 / metrics <= 2 / 6 ** (least_rounds(metrics, 0.01) - 1)


def test_four_times_the_rounds_halve_the_error() -> None:
    assert rounds_needed(10, error=0.02, effect=0.0386, alpha=0.01) == pytest.approx(40, abs=1)
    assert rounds_needed(10, error=0.02, effect=0.0, alpha=0.01) is None


def test_before_and_after_say_what_the_change_says() -> None:
    """A slow mode that only the baseline met moves its mean, not the change: 195 to 191 is no +2.5%."""
    rng = np.random.default_rng(12)
    before, after = (rng.normal(level, 0.01, 12) for level in (1.0, 1.05))
    before[[0, 5, 8]] *= 1.6
    evidence = one(in_turn(before.tolist()), in_turn(after.tolist()))
    assert evidence.baseline is not None
    assert evidence.target is not None
    assert evidence.target.mean is not None
    assert evidence.relative_change is not None
    assert evidence.target.mean < evidence.baseline.value < evidence.target.value
    assert evidence.target.value == pytest.approx(evidence.baseline.value * (1 + evidence.relative_change))
    assert evidence.target.statistic == "paired"


def test_a_time_that_falls_to_zero_falls_by_no_more_than_all_of_it() -> None:
    wide = np.abs(np.random.default_rng(4).normal(1, 0.4, 16)).tolist()
    entry = one(in_turn(wide), in_turn([0.0] * 16))
    assert (entry.relative_change, entry.target and entry.target.value) == (-1, 0)
    assert entry.confidence_interval is not None
    assert -1 <= entry.confidence_interval.low <= entry.confidence_interval.high
