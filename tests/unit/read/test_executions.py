"""Files of one side of a paired measurement become executions with rounds."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from perf_culprit.model.run import Benchmark, Direction, Metric, Run, Summary
from perf_culprit.read.results.collect import collect, collect_executions, collect_separate
from perf_culprit.read.results.merge import in_order, join_executions

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)


def written(folder: Path, name: str, *entries: Mapping[str, object]) -> str:
    benchmarks = [
        {"name": "a", "metric": "time", "unit": "s", "direction": "lower_is_better", **entry} for entry in entries
    ]
    (folder / name).write_text(json.dumps({"format": "perf-culprit-run", "version": 1, "benchmarks": benchmarks}))
    return str(folder / name)


def test_two_files_of_a_side_make_a_round() -> None:
    assert [in_order(count) for count in (1, 2, 3, 4, 5)] == [(1,), (1, 1), (1, 1, 1), (1, 1, 2, 2), (1, 1, 2, 2, 2)]


def test_each_file_is_one_group_whatever_its_processes(tmp_path: Path) -> None:
    for name in ("head-1-a", "head-1-b", "head-2-a", "head-2-b"):
        written(tmp_path, f"{name}.json", {"samples": [1.0, 2.0, 3.0], "group_sizes": [1, 2]})
    (benchmark,) = collect_executions([str(tmp_path / "head-*.json")]).benchmarks
    assert benchmark.group_sizes == (3, 3, 3, 3)
    assert benchmark.rounds == (1, 1, 2, 2)
    (merged,) = collect([str(tmp_path / "head-*.json")]).benchmarks
    assert merged.group_sizes == (1, 2) * 4
    assert merged.rounds == ()


def test_a_file_that_knows_its_rounds_keeps_them_and_a_second_one_goes_on(tmp_path: Path) -> None:
    fields: dict[str, object] = {"samples": [1.0, 2.0, 3.0, 4.0], "group_sizes": [2, 2], "rounds": [1, 2]}
    files = [written(tmp_path, name, fields) for name in ("a.json", "b.json")]
    (one,) = collect_executions(files[:1]).benchmarks
    assert (one.group_sizes, one.rounds) == ((2, 2), (1, 2))
    (both,) = collect_executions(files).benchmarks
    assert (both.group_sizes, both.rounds) == ((2, 2, 2, 2), (1, 2, 3, 4))


def test_several_files_of_a_target_are_runs_of_their_own(tmp_path: Path) -> None:
    files = [written(tmp_path, f"{name}.json", {"samples": [1.0, 2.0], "group_sizes": [1, 1]}) for name in "abc"]
    several = collect_separate(files)
    assert several.is_separate
    assert several.benchmarks[0].group_sizes == (2, 2, 2)
    assert not collect_separate(files[:1]).is_separate


def test_executions_that_shared_a_job_are_no_runs_of_their_own(tmp_path: Path) -> None:
    fields: dict[str, object] = {"samples": [1.0, 2.0, 3.0, 4.0], "group_sizes": [2, 2], "rounds": [1, 2]}
    assert not collect_separate([written(tmp_path, name, fields) for name in ("a.json", "b.json")]).is_separate


def test_summaries_become_executions_of_one_number() -> None:
    runs = [
        (f"{value}.json", Run(benchmarks=(Benchmark.of(name="a", metric=TIME, summary=Summary(value=value)),)))
        for value in (1.0, 2.0)
    ]
    (both,) = join_executions(runs).benchmarks
    assert (both.samples, both.group_sizes, both.rounds) == ((1.0, 2.0), (1, 1), (1, 1))
    (alone,) = join_executions(runs[:1], rounds=[1]).benchmarks
    assert (alone.summary, alone.group_sizes, alone.rounds) == (Summary(value=1.0), (), ())


def test_a_benchmark_that_failed_once_keeps_its_other_rounds(tmp_path: Path) -> None:
    both = {"samples": [1.0]}, {"name": "b", "samples": [2.0]}
    kept = {"1.json": both, "2.json": both[:1], "3.json": both}
    files = [written(tmp_path, name, *entries) for name, entries in kept.items()]
    benchmarks = {entry.name: entry for entry in join(files).benchmarks}
    assert benchmarks["a"].rounds == (1, 2, 3)
    assert benchmarks["b"].rounds == (1, 3)


def join(files: list[str]) -> Run:
    return join_executions([(file, collect([file])) for file in files], rounds=range(1, len(files) + 1))


@pytest.mark.parametrize("count", [1, 3])
def test_rounds_are_one_per_execution(count: int) -> None:
    run = Run(benchmarks=(Benchmark.of(name="a", metric=TIME, samples=(1.0,)),))
    with pytest.raises(ValueError, match="argument"):
        join_executions([("a", run), ("b", run)], rounds=range(count))


def test_executions_keep_what_a_second_measurement_confirmed() -> None:
    benchmark = Benchmark.of(name="a", metric=TIME, samples=(1.0,))
    judged = Run(benchmarks=(benchmark,), regressions=(benchmark.key,), confirmed=(benchmark.key,))
    for executions in ([("one", judged)], [("one", judged), ("two", judged)]):
        joined = join_executions(executions)
        assert (joined.regressions, joined.confirmed) == ((benchmark.key,), (benchmark.key,))
