import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from perf_culprit.judge import summary_tests
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.estimate import estimate
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.judge.statistic import is_measurable
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from perf_culprit.model.run import Benchmark, Metric, Run, Summary
from tests.support.noisy_runs import TIME
from tests.support.reasons import words_of

ALLOCATIONS = replace(TIME, name="allocations", unit="allocs/op")


def value(number: float, metric: Metric = TIME, **fields: object) -> Benchmark:
    return Benchmark.of(name="a", metric=metric, summary=replace(Summary(value=number), **fields))


def moments(mean: float, deviation: float, count: int) -> Benchmark:
    return value(mean, statistic="mean", standard_deviation=deviation, count=count)


def samples(*numbers: float) -> Benchmark:
    return Benchmark.of(name="a", metric=TIME, samples=numbers)


def assess(target: Benchmark, *runs: Benchmark) -> Evidence:
    baseline = Baseline(runs=tuple(Run(benchmarks=(run,)) for run in runs), source=BaselineSource.FILES)
    pairs = pair_metrics(baseline, Run(benchmarks=(target,))).pairs
    (entry,) = summary_tests.assess(pairs, DetectorOptions())
    return entry


def test_welch_from_summary_agrees_with_scipy() -> None:
    entry = assess(moments(11, 1.5, 9), moments(10, 1, 20))
    assert entry.test == "welch_from_summary"
    reference = stats.ttest_ind_from_stats(11, 1.5, 9, 10, 1, 20, equal_var=False)
    assert entry.details["p_welch"] == pytest.approx(reference.pvalue, rel=1e-9)
    assert entry.relative_change == pytest.approx(0.1)


def extremes(*numbers: float) -> Benchmark:
    """What k6, for one, tells of its requests."""
    low, high, middle = min(numbers), max(numbers), float(np.median(numbers))
    return value(
        float(np.mean(numbers)), statistic="mean", count=len(numbers), minimum=low, maximum=high, median=middle
    )


@pytest.mark.parametrize("numbers", [(1.0, 9.0), (2.0,) * 20 + (8.0,) * 20, (1.0, 2.0, 3.0, 50.0), (4.0, 5.0, 6.0)])
def test_mean_minimum_and_maximum_bound_the_spread_of_any_samples(numbers: tuple[float, ...]) -> None:
    bounded = estimate(extremes(*numbers), "mean").standard_deviation
    own = float(np.std(numbers, ddof=1))
    assert bounded is not None
    if len(set(numbers)) == 2:  # there is no larger spread than that of two values
        assert bounded == pytest.approx(own)
    else:
        assert own < bounded < 3 * own


def test_one_summary_a_side_proves_a_change_that_no_machine_explains() -> None:
    rng = np.random.default_rng(4)
    requests = 6.5 * rng.lognormal(0, 0.1, 17_000)
    requests[:5] = 200
    slow, unchanged, close = (extremes(*(requests[:120] * factor)) for factor in (160, 1, 1.25))
    assert assess(slow, extremes(*requests)).p_value == pytest.approx(0, abs=1e-3)
    for target in (unchanged, close):
        p_value = assess(target, extremes(*requests)).p_value
        assert p_value is not None
        assert p_value > 0.1


def test_a_single_number_has_no_spread() -> None:
    entry = assess(value(1_001.0), value(6.5))
    assert entry.p_value is None
    assert entry.relative_change == pytest.approx(153)


def test_a_lone_mean_that_moved_without_its_median_is_no_change() -> None:
    # vitest on a machine with a load of 9 on 2 cores, nothing changed.
    p_of_means = assess(moments(0.0384, 0.19, 7_933), moments(0.265, 1.94, 1_153)).p_value
    stalled = value(0.265, statistic="mean", standard_deviation=1.94, count=1_153, median=0.0353)
    quiet = value(0.0384, statistic="mean", standard_deviation=0.19, count=7_933, median=0.031)
    p_value = assess(quiet, stalled).p_value
    assert p_of_means is not None
    assert p_value is not None
    assert p_of_means < 0.001
    assert p_value > 0.1


def test_welch_from_summary_pools_runs_as_their_samples_would() -> None:
    rng = np.random.default_rng(1)
    first, second, target = rng.normal(10, 1, 8), rng.normal(10.4, 1, 12), rng.normal(11, 1, 9)
    entry = assess(
        moments(target.mean(), target.std(ddof=1), 9),
        *(moments(run.mean(), run.std(ddof=1), len(run)) for run in (first, second)),
    )
    reference = stats.ttest_ind(target, np.concatenate([first, second]), equal_var=False)
    assert entry.details["p_welch"] == pytest.approx(reference.pvalue, rel=1e-9)
    assert entry.baseline is not None
    assert (entry.baseline.runs, entry.baseline.count) == (2, 20)


def test_samples_on_one_side_are_reduced_to_moments() -> None:
    target = [11.0, 11.5, 10.7, 11.2]
    entry = assess(samples(*target), moments(10, 1, 20))
    assert entry.test == "welch_from_summary"
    reference = stats.ttest_ind_from_stats(np.mean(target), np.std(target, ddof=1), 4, 10, 1, 20, equal_var=False)
    assert entry.details["p_welch"] == pytest.approx(reference.pvalue, rel=1e-9)


def test_interval_summary_uses_the_tools_own_intervals() -> None:
    sides = [
        value(number, statistic="median", confidence_interval=(number - 0.2, number + 0.2), confidence_level=0.95)
        for number in (11.0, 10.0)
    ]
    entry = assess(*sides)
    assert entry.test == "interval_summary"
    for entry_side, number in ((entry.target, 11.0), (entry.baseline, 10.0)):
        assert entry_side is not None
        assert (entry_side.median, entry_side.mean) == (number, None)
    error = 0.2 / stats.norm.ppf(0.975) * np.sqrt(2)
    assert entry.details["p_interval"] == pytest.approx(2 * stats.norm.sf(1 / error), rel=1e-6)


@pytest.mark.parametrize(("target", "proof"), [(1300.0, False), (6000.0, True)])
def test_a_summary_is_of_one_run_however_sure_it_is_of_itself(target: float, proof: bool) -> None:
    sure = assess(moments(target, 1, 900), moments(1000, 1, 900))
    assert sure.details["p_welch"] < 1e-100
    assert ((sure.p_value or 0.0) < 0.01) is proof
    bounds = ((target - 1, target + 1), (999.0, 1001.0))
    sides = [value(sum(ends) / 2, confidence_interval=ends, confidence_level=0.95) for ends in bounds]
    assert ((assess(*sides).p_value or 0.0) < 0.01) is proof


def test_run_values_is_the_prediction_of_one_more_value() -> None:
    """Of a size, which has no second mode, among runs that are not farther from each other than normal ones are."""
    size = replace(TIME, name="memory", unit="B")
    runs = np.linspace(9.995, 10.005, 11)
    entry = assess(value(10.007, size), *(value(run, size) for run in runs))
    assert entry.test == "run_values"
    logs = np.log(runs)
    statistic = (np.log(10.007) - logs.mean()) / (logs.std(ddof=1) * np.sqrt(1 + 1 / 11))
    assert entry.p_value == pytest.approx(2 * stats.t.sf(statistic, 10), rel=1e-9)


def test_run_values_of_a_time_may_be_of_a_second_mode() -> None:
    runs = (10.0, 10.2, 9.9, 10.1, 10.3)
    statistic = (np.log(11.0) - np.log(runs).mean()) / (np.log(runs).std(ddof=1) * np.sqrt(1.2))
    assert 2 * stats.t.sf(statistic, 4) < 0.01 < (assess(value(11.0), *map(value, runs)).p_value or 0.0)
    assert (assess(value(30.0), *map(value, runs)).p_value or 1.0) < 1e-3


def test_run_values_of_single_samples() -> None:
    assert assess(samples(11.0), *map(samples, (10.0, 10.2, 9.9, 10.1, 10.3))).test == "run_values"


def test_one_number_without_spread_decides_nothing_and_says_what_would() -> None:
    entry = assess(value(11.0), value(10.0))
    assert entry.p_value is None
    assert entry.relative_change == pytest.approx(0.1)
    assert (
        words_of(entry.evidence_reason)
        == "numbers without spread; 4 more runs in the history or repeated measurements would decide"
    )


@pytest.mark.parametrize(
    ("target", "run", "p_value", "change"),
    [(3.0, 3.0, 1.0, 0.0), (3.0, 2.0, 0.0, 0.5), (1.0, 0.0, 0.0, None), (0.0, 0.0, 1.0, 0.0)],
)
def test_counts_are_exact(target: float, run: float, p_value: float, change: float | None) -> None:
    entry = assess(value(target, ALLOCATIONS), value(run, ALLOCATIONS))
    assert (entry.test, entry.p_value, entry.relative_change) == ("exact", p_value, change)


def test_equal_times_of_many_runs_may_come_from_a_coarse_clock() -> None:
    entry = assess(value(2.0), *[value(1.0)] * 5)
    assert entry.p_value is None
    assert "clock" in (words_of(entry.evidence_reason) or "")
    assert assess(value(1.0), *[value(1.0)] * 5).p_value == 1.0


def test_different_statistics_are_not_compared() -> None:
    entry = assess(value(11.0, statistic="mean"), value(10.0, statistic="median"))
    assert entry.p_value is None
    assert "different statistics" in (words_of(entry.evidence_reason) or "")


@pytest.mark.parametrize(("statistic", "expected"), [("median", 2.0), ("min", 1.0), ("value", 3.0)])
def test_samples_follow_the_other_sides_statistic(statistic: str, expected: float) -> None:
    entry = assess(samples(1.0, 2.0, 6.0), value(2.0, statistic=statistic))
    assert entry.target is not None
    assert entry.target.value == expected


def test_of_two_statistics_that_both_sides_state_the_preferred_one_is_compared() -> None:
    target, run = (
        replace(moments(mean, 1, 9), summary=Summary(value=mean, median=8.0, count=9)) for mean in (12.0, 10.0)
    )
    pairs = pair_metrics(
        Baseline(runs=(Run(benchmarks=(run,)),), source=BaselineSource.FILES), Run(benchmarks=(target,))
    )
    (by_median,) = summary_tests.assess(pairs.pairs, DetectorOptions(), preferred="median")
    assert by_median.relative_change == 0.0
    assert by_median.target is not None
    assert (by_median.target.median, by_median.target.count) == (8.0, 9)
    assert assess(target, run).relative_change == pytest.approx(0.2)


def test_another_unit_is_an_obstacle() -> None:
    entry = assess(value(1.0), value(1.0, replace(TIME, unit="MB")))
    assert words_of(entry.evidence_reason) == "the unit changed from MB to ns"
    assert entry.baseline is None


def test_numbers_beyond_measure_are_refused() -> None:
    reason = "the numbers are too large or too small to calculate with"
    assert words_of(assess(moments(1e200, 1e200, 9), moments(10, 1, 20)).evidence_reason) == reason
    assert words_of(assess(moments(1e-200, 0, 9), moments(10, 1, 20)).evidence_reason) == reason


@pytest.mark.parametrize(
    ("entry", "measurable"),
    [
        (samples(1e-60, 1e60), True),
        (samples(0.0, -1e60), True),
        (samples(0.0, 1e-60), True),
        (samples(1.0, 9e-61), False),
        (samples(1.0, 1.1e60), False),
        (moments(1, 0, 9), True),
        (moments(1, 1.1e60, 9), False),
        (value(1.0, median=9e-61), False),
        (value(1.0, median=0.0), True),
        (value(1.0, confidence_interval=(0.0, 1e60)), True),
        (value(1.0, confidence_interval=(0.0, 1.1e60)), False),
    ],
)
def test_every_number_that_is_tested_has_a_magnitude_that_can_be(entry: Benchmark, measurable: bool) -> None:
    assert is_measurable(entry) is measurable


def test_zero_and_negative_summaries_have_a_defined_answer() -> None:
    assert assess(moments(0, 0, 9), moments(0, 0, 20)).p_value == 1.0
    assert assess(moments(-11, 1, 90), moments(-10, 1, 90)).relative_change == pytest.approx(-0.1)
    assert assess(value(1.0), *map(value, (0.0, -1.0, 1.0, -2.0, 2.0))).confidence_interval is None
