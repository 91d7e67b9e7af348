"""The executor of a search on this machine: a job's round in worktrees, one execution after the other."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.measure.failure import ExecutionError
from bot.measure.runner import short
from bot.measure.workplace import Workplace
from bot.model.bisection import Failure, FailureKind, Job
from bot.model.metric import MetricKey
from bot.model.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundResult:
    """Samples by commit, and why commits gave none: what `Search.record` takes."""

    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)


class WorktreeExecutor:
    """Measures one metric of one benchmark."""

    def __init__(self, workplace: Workplace, *, key: MetricKey) -> None:
        self._workplace = workplace
        self._key = key

    def execute(self, job: Job) -> RoundResult:
        """First build what is not built, then execute the round without a pause."""
        samples: dict[str, tuple[float, ...]] = {}
        failures: dict[str, Failure] = {}
        for commit in job.commits:
            self._attempt(commit, failures, build_only=True)
        for commit in job.commits:
            run = None if commit in failures else self._attempt(commit, failures)
            if run is not None:
                found = samples_of(run, self._key)
                if found:
                    samples[commit] = found
                else:
                    failures[commit] = Failure(kind=FailureKind.MISSING, message=missing_message(run, self._key))
        return RoundResult(samples=samples, failures=failures)

    def _attempt(self, commit: str, failures: dict[str, Failure], *, build_only: bool = False) -> Run | None:
        try:
            if build_only:
                self._workplace.prepare(commit)
                return None
            return self._workplace.execute(commit)[1]
        except ExecutionError as error:
            failures[commit] = Failure(kind=error.kind, message=error.message)
            return None


def samples_of(run: Run, key: MetricKey) -> tuple[float, ...]:
    """The metric's samples; a summary's value is one."""
    for benchmark in run.benchmarks:
        if benchmark.key == key:
            return benchmark.samples or (benchmark.value,)
    return ()


def missing_message(run: Run, key: MetricKey) -> str:
    where = f" at {short(run.commit)}" if run.commit else ""
    return f"there is no benchmark {key.benchmark!r} with a metric {key.metric!r}{where}"
