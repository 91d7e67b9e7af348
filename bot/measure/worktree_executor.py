"""The executor of a search on this machine: a job's round in worktrees, one execution after the other."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from bot.measure.failure import ExecutionError
from bot.measure.runner import short
from bot.measure.workplace import Workplace
from bot.model.bisection import Failure, FailureKind, Job
from bot.model.metric import Metric, MetricKey
from bot.model.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundResult:
    """Samples by commit, and why commits gave none: what `Search.record` takes. `followed`: other metrics' medians."""

    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)
    followed: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)


class WorktreeExecutor:
    """Measures one metric of one benchmark, and what the same executions say of `followed` ones.

    `metric` is what the last execution said of it, None before one did.

    With `warm` commits, those that ran before, every other one runs once before its first execution: a search on a
    quiet machine executes some only once, and a first run is slower.
    """

    def __init__(
        self,
        workplace: Workplace,
        *,
        key: MetricKey,
        warm: Collection[str] | None = None,
        followed: Sequence[MetricKey] = (),
    ) -> None:
        self._workplace = workplace
        self._key = key
        self._followed = followed
        self._warm = None if warm is None else set(warm)
        self.metric: Metric | None = None

    def execute(self, job: Job) -> RoundResult:
        """First build what is not built, then execute the round without a pause."""
        samples: dict[str, tuple[float, ...]] = {}
        failures: dict[str, Failure] = {}
        beside: dict[str, tuple[float | None, ...]] = {}
        for commit in job.commits:
            self._attempt(commit, failures, build_only=True)
        for commit in job.commits:
            run = None if commit in failures else self._attempt(commit, failures)
            if run is not None:
                benchmark = next((entry for entry in run.benchmarks if entry.key == self._key), None)
                if benchmark is None:
                    failures[commit] = Failure(kind=FailureKind.MISSING, message=missing_message(run, self._key))
                else:
                    samples[commit] = benchmark.samples or (benchmark.value,)
                    self.metric = benchmark.metric
                if self._followed:
                    medians = {entry.key: median(entry.samples or (entry.value,)) for entry in run.benchmarks}
                    beside[commit] = tuple(medians.get(key) for key in self._followed)
        return RoundResult(samples=samples, failures=failures, followed=beside)

    def _warm_up(self, commit: str) -> None:
        if self._warm is not None and commit not in self._warm:
            self._workplace.warm_up(commit)
            self._warm.add(commit)

    def _attempt(self, commit: str, failures: dict[str, Failure], *, build_only: bool = False) -> Run | None:
        try:
            if build_only:
                self._workplace.prepare(commit)
                self._warm_up(commit)
                return None
            return self._workplace.execute(commit)[1]
        except ExecutionError as error:
            failures[commit] = Failure(kind=error.kind, message=error.message)
            return None


def missing_message(run: Run, key: MetricKey) -> str:
    where = f" at {short(run.commit)}" if run.commit else ""
    return f"there is no benchmark {key.benchmark!r} with a metric {key.metric!r}{where}"
