"""The statistic of a metric's summaries that is compared."""

import pytest

from perf_culprit.judge.statistic import MEDIAN, common_statistic, unmeasurable
from perf_culprit.model.run import Benchmark, Direction, Metric, Summary

METRIC = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)


def summarised(statistic: str, *, median: float | None = None, value: float = 1.0) -> Benchmark:
    return Benchmark.of(name="b", metric=METRIC, summary=Summary(value=value, statistic=statistic, median=median))


SAMPLES = Benchmark.of(name="b", metric=METRIC, samples=(1.0, 2.0))


@pytest.mark.parametrize(
    ("benchmarks", "preferred", "common"),
    [
        ([SAMPLES], "mean", "mean"),
        ([summarised("mean"), SAMPLES], "mean", "mean"),
        ([summarised("mean", median=1.0), summarised("median")], "median", "median"),
        ([summarised("mean"), summarised("median")], "median", None),
        ([summarised("minimum"), summarised("minimum"), SAMPLES], "mean", "minimum"),
        ([summarised("value"), summarised("minimum")], "mean", "minimum"),
        ([summarised("value"), summarised("value")], "mean", "value"),
        ([summarised("value"), summarised("minimum"), summarised("median")], "mean", None),
    ],
)
def test_the_common_statistic_is_the_preferred_one_or_what_all_state(
    benchmarks: list[Benchmark], preferred: str, common: str | None
) -> None:
    assert common_statistic(benchmarks, preferred=preferred) == common


def test_the_mean_is_preferred() -> None:
    assert common_statistic([summarised("mean", median=1.0)]) == "mean"
    assert common_statistic([summarised("median")]) == MEDIAN


@pytest.mark.parametrize(
    ("value", "measurable"), [(0.0, True), (1e-60, True), (-1e60, True), (9e-61, False), (1.1e60, False)]
)
def test_numbers_whose_quotients_overflow_are_not_measurable(value: float, measurable: bool) -> None:
    assert (unmeasurable(summarised("mean", value=value)) is None) is measurable
