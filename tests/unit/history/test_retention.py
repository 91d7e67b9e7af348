import math
import statistics
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.codec.run import encode_run
from bot.errors import DataError
from bot.history.layout import RunFile
from bot.history.retention import MEBIBYTE, Retention, compact, fit_file, runs_to_compact, runs_to_drop
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Run, Summary

TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)


def file(number: int, *, suite: str = "default", size: int = 10, compacted: bool = False) -> RunFile:
    return RunFile(
        suite_slug=suite,
        commit=f"{number:040x}",
        time=f"20260101T{number:06d}Z",
        digest=f"{number:016x}",
        size=size,
        compacted=compacted,
    )


def test_the_defaults_stay_below_github_s_limits() -> None:
    assert Retention().file_bytes <= 50 * MEBIBYTE
    assert Retention().raw_runs == 100


def test_the_newest_runs_of_every_suite_keep_their_samples() -> None:
    files = [file(number, suite=suite) for suite in ("a", "b") for number in (1, 3, 2)]
    due = runs_to_compact(files, Retention(raw_runs=2))
    assert {(entry.suite_slug, entry.digest[-1]) for entry in due} == {("a", "1"), ("b", "1")}
    assert runs_to_compact([file(1, compacted=True), file(2)], Retention(raw_runs=1)) == ()


def test_the_oldest_go_until_the_rest_fits() -> None:
    files = [file(number) for number in (3, 1, 4, 2)]
    assert runs_to_drop(files, Retention(branch_bytes=40), keep=files[0]) == ()
    assert runs_to_drop(files, Retention(branch_bytes=39), keep=files[0]) == (file(1),)
    assert runs_to_drop(files, Retention(branch_bytes=20), keep=files[0]) == (file(1), file(2))


def test_the_run_being_recorded_is_never_dropped() -> None:
    files = [file(number) for number in (1, 2, 3)]
    assert runs_to_drop(files, Retention(branch_bytes=0), keep=file(1)) == (file(2), file(3))


@settings(derandomize=True, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 100), min_size=1, max_size=30),
    raw_runs=st.integers(1, 10),
    budget=st.integers(0, 1000),
)
def test_what_stays_fits_the_budget_and_is_newest(sizes: list[int], raw_runs: int, budget: int) -> None:
    files = [file(number, size=size) for number, size in enumerate(sizes)]
    retention = Retention(raw_runs=raw_runs, branch_bytes=budget)
    assert runs_to_compact(files, retention) == tuple(reversed(files[: max(0, len(files) - raw_runs)]))
    dropped = runs_to_drop(files, retention, keep=files[-1])
    kept = files[len(dropped) :]
    assert dropped == tuple(files[: len(dropped)])
    assert sum(entry.size for entry in kept) <= budget or kept == [files[-1]]
    if dropped:
        assert sum(entry.size for entry in kept) + dropped[-1].size > budget


def benchmark(samples: tuple[float, ...]) -> Benchmark:
    return Benchmark(name="sort", metric=TIME, samples=samples, group_sizes=(len(samples),), category="fast")


@settings(derandomize=True, deadline=None)
@given(st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=50))
def test_compacting_keeps_moments_and_extremes(samples: list[float]) -> None:
    (small,) = compact(Run(benchmarks=(benchmark(tuple(samples)),))).benchmarks
    assert small.samples == ()
    assert small.group_sizes == ()
    assert small.category == "fast"
    assert small.summary is not None
    assert small.summary.statistic == "mean"
    assert small.summary.count == len(samples)
    assert (small.summary.minimum, small.summary.maximum) == (min(samples), max(samples))
    assert small.summary.value == statistics.fmean(samples)
    assert small.summary.standard_deviation is not None
    expected = statistics.stdev(samples)
    assert math.isclose(small.summary.standard_deviation, expected, rel_tol=1e-9, abs_tol=1e-3)


def test_one_sample_has_no_spread_and_summaries_stay() -> None:
    (small,) = compact(Run(benchmarks=(benchmark((5.0,)),))).benchmarks
    assert small.summary == Summary(value=5.0, statistic="mean", count=1, minimum=5.0, maximum=5.0)
    run = Run(benchmarks=(small,))
    assert compact(run) == run


def test_a_run_without_room_for_its_summaries_is_refused() -> None:
    run = Run(benchmarks=tuple(replace(benchmark((1.0,)), name=f"b{i}") for i in range(50)))
    with pytest.raises(DataError, match="50 benchmarks"):
        fit_file(run, encode_run(run), Retention(file_bytes=500))
