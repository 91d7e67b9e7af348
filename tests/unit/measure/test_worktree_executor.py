"""A search's job becomes measurements: for each of its commits, samples or the reason that there are none."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from perf_culprit.measure.runner import Commands, ExecutionError
from perf_culprit.measure.worktree_executor import WorktreeExecutor
from perf_culprit.model.bisection import Failure, FailureKind, Job, Purpose
from perf_culprit.model.run import Benchmark, Direction, Metric, MetricKey, Run, Summary

if TYPE_CHECKING:
    from perf_culprit.measure.workplace import Workplace

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
KEY = MetricKey("parse", "time")


class FakeWorkplace:
    """A workplace with a prepared run or failure per commit. It records the order of the requests."""

    def __init__(self, results: dict[str, Run | ExecutionError]) -> None:
        self.asked: list[str] = []
        self.commands = Commands(run="true")
        self._results = results

    def warm_up(self, commit: str) -> None:
        self.asked.append(f"build {commit}")
        result = self._results[commit]
        if isinstance(result, ExecutionError) and result.kind is FailureKind.BUILD:
            raise result

    def execute(self, commit: str, *, variables: Mapping[str, str]) -> tuple[Path, Run]:
        assert variables == {"PERF_CULPRIT_BENCHMARKS": "parse"}
        self.asked.append(f"run {commit}")
        result = self._results[commit]
        if isinstance(result, ExecutionError):
            raise result
        return Path(commit), result


def failing(kind: FailureKind, message: str) -> ExecutionError:
    return ExecutionError(kind, message, place="here", next_step="none")


def run_of(*benchmarks: Benchmark) -> Run:
    return Run(benchmarks=benchmarks, commit="f" * 40)


def test_everything_is_built_before_anything_is_timed() -> None:
    parse = run_of(Benchmark.of(name="parse", metric=TIME, samples=(1.0, 2.0)))
    place = FakeWorkplace({"a": parse, "b": parse, "c": parse})
    job = Job(id="1", commits=("b", "a", "c"), purpose=Purpose.SEARCH)
    result = WorktreeExecutor(cast("Workplace", place), key=KEY).execute(job)
    assert place.asked == ["build b", "build a", "build c", "run b", "run a", "run c"]
    assert result.samples == dict.fromkeys("bac", (1.0, 2.0))
    assert not result.failures


def test_every_kind_of_failure_is_told() -> None:
    place = FakeWorkplace(
        {
            "built": failing(FailureKind.BUILD, "no compiler"),
            "crashed": failing(FailureKind.CRASHED, "took longer than 5 s"),
            "renamed": run_of(Benchmark.of(name="parse2", metric=TIME, samples=(1.0,))),
            "summary": run_of(Benchmark.of(name="parse", metric=TIME, summary=Summary(value=3.0))),
        }
    )
    job = Job(id="1", commits=("built", "crashed", "renamed", "summary"), purpose=Purpose.SEARCH)
    result = WorktreeExecutor(cast("Workplace", place), key=KEY).execute(job)
    assert result.samples == {"summary": (3.0,)}
    assert result.failures == {
        "built": Failure(kind=FailureKind.BUILD, message="no compiler"),
        "crashed": Failure(kind=FailureKind.CRASHED, message="took longer than 5 s"),
        "renamed": Failure(
            kind=FailureKind.MISSING,
            message=f"there is no benchmark 'parse' with a metric 'time' at {'f' * 12}",
        ),
    }
    assert "run built" not in place.asked
