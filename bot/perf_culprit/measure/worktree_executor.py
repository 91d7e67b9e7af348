"""The order and pace of executions, the choice of the metric, and the executor of a search on this machine."""

import math
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from statistics import median
from typing import Final, TypeVar

from perf_culprit.errors import DataError, UsageError, list_names
from perf_culprit.measure.processes import shown_output
from perf_culprit.measure.runner import BENCHMARKS_VARIABLE, ExecutionError, short
from perf_culprit.measure.workplace import Workplace
from perf_culprit.model.bisection import Failure, FailureKind, Job
from perf_culprit.model.run import Benchmark, Direction, Metric, MetricKey, Run

_T = TypeVar("_T")


def interleaved(sides: Sequence[_T], *, rounds: int) -> Iterator[tuple[int, _T]]:
    """Yield (round, side): A B B A, A B B A, …; a steady drift affects all sides equally. Rounds count from 1."""
    for number in range(1, rounds + 1):
        for side in (*sides, *reversed(sides)):
            yield number, side


# Where the stack begins depends on the environment's length, and can change times by several percent (Mytkowicz, Diwan,
# Hauswirth & Sweeney, "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009).
FILLER_LENGTHS: Final = 4096


def balanced_round(sides: Sequence[_T], *, seed: int, number: int) -> Iterator[tuple[_T, int]]:
    """Yield each execution's side and the length of its filler: A B B A or B A A B, and both halves have one length.

    So neither a drift nor the place of the stack prefers a side, and nothing that the sides do can follow the order.
    """
    generator = random.Random(f"{seed} {number}")  # noqa: S311 - an order, no secret
    order = generator.sample(sides, len(sides))
    for half in (order, order[::-1]):
        length = generator.randrange(FILLER_LENGTHS)
        yield from ((side, length) for side in half)


_LISTED: Final = 20


def require_benchmark(run: Run, *, benchmark: str | None, metric: str | None, end: str) -> None:
    """Refuse names that are missing in the run of one end, before the other end is built and measured."""
    if not _matching(run, benchmark, metric):
        raise _unknown(run, benchmark, metric, where=f" at the {end} commit")


def choose_metric(
    good: Run, bad: Run, *, benchmark: str | None, metric: str | None, say: Callable[[str], None]
) -> tuple[MetricKey, Metric]:
    """Choose the metric that matches the names and is measured at both ends; of several, the one that changed most.

    Raises:
        UsageError: the names match no metric, or none says whether lower or higher is better.
        DataError: only one end has it.
    """
    at_good, at_bad = _matching(good, benchmark, metric), _matching(bad, benchmark, metric)
    both = [key for key in at_good if key in at_bad]
    if not both and (at_good or at_bad):
        key, end = next(((key, "bad") for key in at_good), None) or next((key, "good") for key in at_bad)
        raise DataError(
            f"{_names([key])} is not measured at the {end} commit",
            place="--benchmark",
            next_step="choose ends that both have the benchmark, or another benchmark",
        )
    if not both:
        raise _unknown(good, benchmark, metric)
    changes = {
        key: _change(at_good[key].value, at_bad[key].value)
        for key in both
        if at_good[key].metric.direction is not Direction.UNKNOWN
    }
    if not changes:
        raise UsageError(
            f"{_names(both)} does not say whether lower or higher is better",
            place="--metric",
            next_step="choose another metric, or name the format with --tool",
        )
    key = max(changes, key=lambda change: abs(changes[change]))
    if len(both) > 1:
        size = f"{math.expm1(changes[key]):+.1%}" if math.isfinite(changes[key]) else "from or to zero"
        say(
            f"the search follows {_names([key])}, which changed most of {len(both)} metrics ({size}, one execution of "
            "each end); --benchmark and --metric choose another"
        )
    return key, at_good[key].metric


def _change(good: float, bad: float) -> float:
    """The logarithm of the factor; infinite if one of them is zero."""
    if good == bad:
        return 0.0
    return math.log(bad / good) if good > 0 and bad > 0 else math.inf


def _unknown(run: Run, benchmark: str | None, metric: str | None, *, where: str = "") -> UsageError:
    wanted = f"benchmark {benchmark!r}" if benchmark else "benchmark"
    wanted += f" with a metric {metric!r}" if metric else ""
    keys = list(_matching(run, None, None))
    close = get_close_matches(benchmark or "", [key.benchmark for key in keys], n=3)
    keys.sort(key=lambda key: close.index(key.benchmark) if key.benchmark in close else len(close))
    return UsageError(
        f"there is no {wanted}{where}",
        place="--benchmark" if benchmark else "--metric",
        next_step=f"use one of: {_names(keys)}",
    )


def _matching(run: Run, benchmark: str | None, metric: str | None) -> dict[MetricKey, Benchmark]:
    return {
        entry.key: entry
        for entry in run.benchmarks
        if benchmark in (None, entry.name) and metric in (None, entry.metric.name)
    }


def _names(keys: Sequence[MetricKey]) -> str:
    return list_names([shown_key(key) for key in keys], most=_LISTED)


def shown_key(key: MetricKey) -> str:
    return shown_output(f"{key.benchmark} ({key.metric})".encode(errors="replace"))


@dataclass(frozen=True, kw_only=True, slots=True)
class RoundResult:
    """The input of `Search.record`: samples by commit, and failures. `followed`: medians of other metrics."""

    samples: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)
    followed: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)


class WorktreeExecutor:
    """Measures one metric of one benchmark, and `followed` metrics in the same executions.

    `metric`: the metric as last reported, None before. The command gets the names of these benchmarks.
    """

    def __init__(self, workplace: Workplace, *, key: MetricKey, followed: Sequence[MetricKey] = ()) -> None:
        self._workplace = workplace
        self._key = key
        self._followed = followed
        names = dict.fromkeys(each.benchmark for each in (key, *followed))
        self._variables = {} if workplace.commands.count else {BENCHMARKS_VARIABLE: "\n".join(names)}
        self.metric: Metric | None = None

    def execute(self, job: Job) -> RoundResult:
        """Build and warm up new commits first, then execute the round without a pause."""
        samples: dict[str, tuple[float, ...]] = {}
        failures: dict[str, Failure] = {}
        beside: dict[str, tuple[float | None, ...]] = {}
        for commit in job.commits:
            self._attempt(commit, failures, build_only=True)
        for commit in job.commits:
            run = None if commit in failures else self._attempt(commit, failures)
            if run is not None:
                benchmark = next((benchmark for benchmark in run.benchmarks if benchmark.key == self._key), None)
                if benchmark is None:
                    failures[commit] = Failure(kind=FailureKind.MISSING, message=missing_message(run, self._key))
                else:
                    samples[commit] = benchmark.samples or (benchmark.value,)
                    self.metric = benchmark.metric
                if self._followed:
                    medians = {
                        benchmark.key: median(benchmark.samples or (benchmark.value,)) for benchmark in run.benchmarks
                    }
                    beside[commit] = tuple(medians.get(key) for key in self._followed)
        return RoundResult(samples=samples, failures=failures, followed=beside)

    def _attempt(self, commit: str, failures: dict[str, Failure], *, build_only: bool = False) -> Run | None:
        try:
            if build_only:
                self._workplace.warm_up(commit)
                return None
            return self._workplace.execute(commit, variables=self._variables)[1]
        except ExecutionError as error:
            failures[commit] = Failure(kind=error.kind, message=error.message)
            return None


def missing_message(run: Run, key: MetricKey) -> str:
    where = f" at {short(run.commit)}" if run.commit else ""
    return f"there is no benchmark {key.benchmark!r} with a metric {key.metric!r}{where}"


class Pace:
    """`deadline` is on the monotonic clock. `guess`: estimated seconds of a round before the first one."""

    def __init__(self, *, deadline: float = math.inf) -> None:
        self.deadline = deadline
        self.guess: float | None = None
        self._seconds: list[float] = []

    def add(self, seconds: float) -> None:
        self._seconds.append(seconds)

    @property
    def allows_a_round(self) -> bool:
        """Whether another round fits. The first one always does, so that repeated calls make progress."""
        return time.monotonic() + max(self._seconds, default=-math.inf) <= self.deadline

    def to_go(self, rounds: int) -> str:
        """Return the remaining time in words, for this number of rounds; empty if no estimate exists yet."""
        each = sum(self._seconds) / len(self._seconds) if self._seconds else self.guess
        if each is None:
            return ""
        minutes = min(each * rounds, max(self.deadline - time.monotonic(), 0.0)) / 60
        if minutes < 1:
            return ", less than a minute to go"
        return f", about {minutes:.0f} minute{'s' if round(minutes) > 1 else ''} to go"
