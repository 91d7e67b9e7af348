import math
import statistics
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Metric, Run, Summary
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.store.retention import (
    FILES_SHARE,
    MEBIBYTE,
    Retention,
    compact,
    fit_file,
    runs_to_compact,
    runs_to_drop,
)
from perf_culprit.store.run_names import RunFile

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
    packed = 4 * files[0].packed_size
    enough = int(packed / FILES_SHARE) + 1
    assert runs_to_drop(files, Retention(branch_bytes=enough), keep=files[0]) == ()
    assert runs_to_drop(files, Retention(branch_bytes=enough - 1), keep=files[0]) == (file(1),)
    assert runs_to_drop(files, Retention(branch_bytes=enough // 2), keep=files[0]) == (file(1), file(2))


def test_the_run_being_recorded_is_never_dropped() -> None:
    files = [file(number) for number in (1, 2, 3)]
    assert runs_to_drop(files, Retention(branch_bytes=0), keep=file(1)) == (file(2), file(3))


@given(
    sizes=st.lists(st.integers(5, 100), min_size=1, max_size=30),
    raw_runs=st.integers(1, 10),
    budget=st.integers(0, 1000),
)
def test_what_stays_fits_the_budget_and_is_newest(sizes: list[int], raw_runs: int, budget: int) -> None:
    files = [file(number, size=size) for number, size in enumerate(sizes)]
    retention = Retention(raw_runs=raw_runs, branch_bytes=budget)
    assert runs_to_compact(files, retention) == tuple(reversed(files[: max(0, len(files) - raw_runs)]))
    dropped = runs_to_drop(files, retention, keep=files[-1])
    kept = [entry for entry in files if entry not in dropped]
    assert len(kept) + len(set(dropped)) == len(files)
    assert sum(entry.packed_size for entry in kept) <= retention.files_bytes or kept == [files[-1]]
    # One of the newest runs is dropped only if no older run is left.
    newest = files[-raw_runs:]
    assert kept[-len(newest) :] == newest or set(kept) <= set(newest)


START = datetime(2016, 1, 4, tzinfo=UTC)
EVERY = timedelta(minutes=101)  # 100 runs a week


def runs_of(count: int, *, every: timedelta = EVERY, size: int = 300_000) -> list[RunFile]:
    times = [START + number * every for number in range(count)]
    return [
        replace(file(number, size=size, compacted=True), time=f"{time:%Y%m%dT%H%M%SZ}")
        for number, time in enumerate(times)
    ]


def test_four_years_stay_in_the_budget_and_the_oldest_are_only_sparser() -> None:
    files = runs_of(20_000)
    dropped = set(runs_to_drop(files, Retention(), keep=files[-1]))
    kept = [number for number, entry in enumerate(files) if entry not in dropped]
    assert 2_200 < len(kept) <= Retention().files_bytes // files[0].packed_size
    assert kept[-300:] == list(range(19_700, 20_000))
    ages = 20_000.0 - np.array(kept[:-300])
    # At any age, the next older run is at most 1% of that age away: 14 days at four years.
    assert np.max(-np.diff(ages) / ages[:-1]) < 0.01
    assert ages[0] > 19_800


def test_it_hardly_matters_whether_runs_are_thinned_out_one_by_one_or_at_once() -> None:
    files = runs_of(700, every=timedelta(days=1), size=100)
    retention = Retention(raw_runs=20, branch_bytes=200 * 20)
    at_once = set(files) - set(runs_to_drop(files, retention, keep=files[-1]))
    one_by_one: list[RunFile] = []
    for entry in files:
        one_by_one.append(entry)
        dropped = set(runs_to_drop(one_by_one, retention, keep=entry))
        one_by_one = [other for other in one_by_one if other not in dropped]
    assert len(at_once) > 100
    assert len(at_once - set(one_by_one)) <= len(at_once) // 5
    assert len(one_by_one) >= len(at_once) * 9 // 10


def test_one_run_of_a_clock_that_is_years_ahead_changes_nothing_for_the_others() -> None:
    files = runs_of(700, every=timedelta(days=1), size=100)
    retention = Retention(raw_runs=20, branch_bytes=200 * 20)
    ahead = replace(files[-1], time="20990101T000000Z")
    dropped = [set(runs_to_drop([*files[:-1], last], retention, keep=files[-2])) for last in (files[-1], ahead)]
    assert dropped[0]
    assert dropped[0] == dropped[1]


def benchmark(samples: tuple[float, ...]) -> Benchmark:
    return Benchmark.of(name="sort", metric=TIME, samples=samples, group_sizes=(len(samples),), category="fast")


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
    assert small.summary.median == statistics.median(samples)
    assert small.summary.value == statistics.fmean(samples)
    assert small.summary.standard_deviation is not None
    expected = statistics.stdev(samples)
    assert math.isclose(small.summary.standard_deviation, expected, rel_tol=1e-9, abs_tol=1e-3)


def test_one_sample_has_no_spread_and_summaries_stay() -> None:
    (small,) = compact(Run(benchmarks=(benchmark((5.0,)),))).benchmarks
    assert small.summary == Summary(value=5.0, statistic="mean", count=1, minimum=5.0, maximum=5.0, median=5.0)
    run = Run(benchmarks=(small,))
    assert compact(run) == run


def test_a_run_of_a_search_can_be_read_when_it_is_compacted() -> None:
    searched = structs.replace(benchmark((1.0, 2.0, 4.0)), group_sizes=(2, 1), rounds=(7, 8))
    small = compact(Run(benchmarks=(searched,), commit="a" * 40))
    assert decode_run(encode_run(small), place="here") == small


def test_a_run_without_room_for_its_summaries_is_refused() -> None:
    run = Run(benchmarks=tuple(structs.replace(benchmark((1.0,)), name=f"b{i}") for i in range(50)))
    with pytest.raises(DataError, match="50 benchmarks"):
        fit_file(run, encode_run(run), Retention(file_bytes=500))
