import pytest
from msgspec.structs import replace

from perf_culprit.judge.metric_pairs import metric_families, pair_metrics
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Loss, Untested, because
from perf_culprit.model.run import Benchmark, Direction, FailedSide, Lost, Metric, MetricKey, Run, Summary
from tests.support.noisy_runs import TIME
from tests.support.reasons import words_of

MILLISECONDS = replace(TIME, unit="ms")
BYTES = replace(TIME, unit="B")


def run(*benchmarks: Benchmark, regressions: tuple[MetricKey, ...] = ()) -> Run:
    return Run(benchmarks=benchmarks, regressions=regressions)


def bench(name: str, *samples: float, metric: Metric = TIME) -> Benchmark:
    return Benchmark.of(name=name, metric=metric, samples=samples)


def baseline(*runs: Run) -> Baseline:
    return Baseline(runs=runs, source=BaselineSource.HISTORY)


def test_runs_are_paired_by_benchmark_and_metric_oldest_first() -> None:
    pairing = pair_metrics(baseline(run(bench("a", 1)), run(bench("a", 2), bench("b", 3))), run(bench("a", 4)))
    (pair,) = pairing.pairs
    assert pair.series == (1, 2, 4)
    assert pairing.missing == (MetricKey("b", "time"),)


def test_new_metrics_are_no_pairs() -> None:
    pairing = pair_metrics(baseline(run(bench("a", 1))), run(bench("b", 4)))
    assert pairing.pairs == ()
    assert pairing.new == (MetricKey("b", "time"),)


def test_a_run_judged_a_regression_is_no_baseline_for_that_metric() -> None:
    bad = run(bench("a", 9), bench("b", 2), regressions=(MetricKey("a", "time"),))
    pairing = pair_metrics(baseline(run(bench("a", 1), bench("b", 1)), bad), run(bench("a", 1), bench("b", 1)))
    assert [pair.series for pair in pairing.pairs] == [(1, 1), (1, 2, 1)]


def test_units_of_time_are_converted_to_the_target() -> None:
    summary = Summary(value=2000.0, standard_deviation=100.0, confidence_interval=(1900.0, 2100.0))
    old = (
        run(bench("a", 1000, 2000)),
        run(Benchmark.of(name="a", metric=TIME, summary=summary)),
    )
    (pair,) = pair_metrics(baseline(*old), run(bench("a", 3, metric=MILLISECONDS))).pairs
    assert pair.obstacle is None
    assert pair.baseline[0].samples == pytest.approx((0.001, 0.002))
    scaled = pair.baseline[1].summary
    assert scaled is not None
    assert scaled.confidence_interval == pytest.approx((0.0019, 0.0021))
    assert scaled.minimum is None


def test_other_changes_of_unit_or_direction_are_an_obstacle() -> None:
    (pair,) = pair_metrics(baseline(run(bench("a", 1))), run(bench("a", 3, metric=BYTES))).pairs
    assert pair.obstacle == because(Untested.UNIT_CHANGED, before="ns", now="B")
    mirrored = replace(TIME, direction=Direction.HIGHER_IS_BETTER)
    (pair,) = pair_metrics(baseline(run(bench("a", 1))), run(bench("a", 3, metric=mirrored))).pairs
    assert words_of(pair.obstacle) == "the direction changed from lower_is_better to higher_is_better"


def test_the_users_direction_wins() -> None:
    (pair,) = pair_metrics(
        baseline(run(bench("a", 1))), run(bench("a", 3)), direction=lambda _metric, _key: Direction.HIGHER_IS_BETTER
    ).pairs
    assert pair.metric.direction is Direction.HIGHER_IS_BETTER
    assert pair.obstacle is None


def test_metrics_of_one_name_are_a_family() -> None:
    other = replace(TIME, name="memory")
    old = run(bench("a", 1), bench("b", 1), bench("a", 1, metric=other))
    assert metric_families(pair_metrics(baseline(old), old).pairs).tolist() == [0, 0, 1]


def failing(run: Run, *names: str, kind: Loss = Loss.FAILED) -> Run:
    return replace(run, lost=tuple(Lost(benchmark=name, kind=kind, message="why") for name in names))


def test_what_failed_on_one_side_only_is_lost() -> None:
    base = failing(run(bench("a", 1), bench("c", 1)), "b", "d", "gone")
    target = failing(run(bench("b", 2), bench("c", 2)), "a", "d", "new")
    lost = [(one.benchmark, one.side) for one in pair_metrics(baseline(base), target).lost]
    assert lost == [("a", FailedSide.TARGET), ("new", FailedSide.TARGET), ("b", FailedSide.BASELINE)]


def test_an_older_run_that_measured_it_replaces_a_failed_one() -> None:
    pairing = pair_metrics(baseline(run(bench("a", 1)), failing(run(bench("b", 1)), "a")), run(bench("a", 2)))
    assert pairing.lost == ()
    assert pairing.pairs[0].obstacle is None


@pytest.mark.parametrize(
    ("kind", "is_obstacle"), [(Loss.EXIT_CODES, True), (Loss.REQUESTS, True), (Loss.FAILED, False)]
)
def test_numbers_of_failures_are_not_compared(kind: Loss, is_obstacle: bool) -> None:
    sound, bad = run(bench("a", 1)), failing(run(bench("a", 0.1)), "a", kind=kind)
    obstacles = [pair_metrics(baseline(one), other).pairs[0].obstacle for one, other in ((sound, bad), (bad, sound))]
    assert [reason is not None for reason in obstacles] == [is_obstacle] * 2
    assert pair_metrics(baseline(bad), bad).pairs[0].obstacle is None
