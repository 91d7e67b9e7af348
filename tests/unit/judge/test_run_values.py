"""A run's value in a series: one number that is comparable with those of all other runs."""

import math
from collections.abc import Sequence

from msgspec.structs import replace

from perf_culprit.judge.run_values import metric_series, run_values
from perf_culprit.model.reason import SeriesReason, because
from perf_culprit.model.run import Benchmark, Direction, Metric, Run, Summary
from perf_culprit.model.series import Series

MS = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)
SAMPLES = Benchmark.of(name="sort", metric=MS, samples=(1.0, 2.0, 9.0))


def summary(value: float, statistic: str) -> Benchmark:
    return replace(SAMPLES, samples=(), summary=Summary(value=value, statistic=statistic))


def series_of(runs: Sequence[Run], *, pattern: str = "*") -> tuple[Series, ...]:
    return metric_series(runs, minimum_effect=lambda key: 0.02 if key.benchmark == "sort" else 0.05, pattern=pattern)


def test_samples_count_as_their_median() -> None:
    assert run_values([SAMPLES, SAMPLES]) == (2.0, 2.0)


def test_beside_a_mean_samples_count_as_theirs() -> None:
    assert run_values([summary(3.0, "mean"), SAMPLES]) == (3.0, 4.0)


def test_different_statistics_make_no_series() -> None:
    assert run_values([summary(3.0, "mean"), summary(3.0, "median")]) is None
    (series,) = series_of([Run(benchmarks=(summary(3.0, kind),)) for kind in ("mean", "median")])
    assert all(map(math.isnan, series.values))
    assert [note.code for note in series.notes] == [SeriesReason.MIXED_STATISTICS]


def test_runs_without_the_metric_keep_their_places() -> None:
    (series,) = series_of([Run(), Run(benchmarks=(SAMPLES,)), Run()])
    assert math.isnan(series.values[0])
    assert (series.values[1], series.unit) == (2.0, "ms")


def test_all_are_in_the_newest_unit_and_what_has_another_is_left_out() -> None:
    seconds = replace(SAMPLES, unit="s")
    megabytes = replace(SAMPLES, unit="MB")
    (series,) = series_of([Run(benchmarks=(entry,)) for entry in (seconds, megabytes, SAMPLES)])
    assert (series.values[0], series.values[2], series.unit) == (2000.0, 2.0, "ms")
    assert math.isnan(series.values[1])
    assert series.notes == (because(SeriesReason.OTHER_UNIT, unit="ms", count=1),)


def test_patterns_and_names() -> None:
    size = replace(SAMPLES, metric_name="size", unit="B")
    run = Run(benchmarks=(SAMPLES, size, replace(SAMPLES, name="parse")))
    assert [series.name for series in series_of([run])] == ["parse time", "sort size", "sort time"]
    assert [series.name for series in series_of([run], pattern="p*")] == ["parse"]


def test_each_has_its_own_minimum_effect() -> None:
    runs = [Run(benchmarks=(SAMPLES, replace(SAMPLES, name="parse")))]
    assert [series.minimum_effect for series in series_of(runs)] == [0.05, 0.02]
