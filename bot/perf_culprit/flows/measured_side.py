"""One commit of a paired measurement: its whole rounds, in memory and in its file."""

import hashlib
import secrets
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import accumulate, chain
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from perf_culprit.errors import DataError, UsageError
from perf_culprit.files import read_limited, replace_file
from perf_culprit.measure.runner import ExecutionError
from perf_culprit.model.bisection import FailureKind
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.reason import Loss
from perf_culprit.model.run import Cost, Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.read.results.merge import join_executions
from perf_culprit.read.results.parsed import lost

DIGEST_CHARACTERS: Final = 8


@dataclass(kw_only=True, slots=True)
class MeasuredSide:
    """`run` holds `rounds` whole rounds, including an earlier call's. `made` is `commit` with the head's benchmarks.

    `failure`: the first error of its build or command in this call. A side that only fails `is_lost`; one whose failing
    command leaves results keeps them, with the loss.
    """

    file: Path
    commit: str
    run: Run
    rounds: int = 0
    made: str | None = None
    failure: ExecutionError | None = None

    @property
    def has_failed(self) -> bool:
        """Whether its command failed, in this call or in the one that it resumes."""
        return self.failure is not None or any(not loss.benchmark for loss in self.run.lost)

    @property
    def is_lost(self) -> bool:
        return bool(self.run.lost) and not self.rounds

    @property
    def checkout(self) -> str:
        return self.made or self.commit

    @property
    def name(self) -> str:
        return self.file.stem

    def end_round(self, executions: Sequence[tuple[Path, Run]], *, seconds: float, expected: int) -> None:
        """Add the round. A side that fails and left nothing is lost; half a round is no reliable failure: an error."""
        if self.failure is None or len(executions) >= expected:
            self.add(executions, seconds=seconds)
        elif executions:
            raise self.failure
        else:
            self.run = replace(with_loss(self.run, self.failure), commit=self.commit)

    def add(self, executions: Sequence[tuple[Path, Run]], *, seconds: float) -> None:
        """Add one round: each execution is a group of samples."""
        before = [(str(self.file), self.run)] if self.rounds else []
        number = self.rounds + 1
        joined = join_executions(
            [*before, *((str(path), run) for path, run in executions)],
            rounds=[self.rounds] * len(before) + [number] * len(executions),
            suite=self.run.suite,
            commit=self.commit,
            time=datetime.now(UTC),
            job=self.run.job,
        )
        self.run = replace(
            joined,
            analyses=self.run.analyses,
            unreached=self.run.unreached,
            environment=joined.environment.merged(self.run.environment),
            cost=self.run.cost + Cost(len(executions), seconds),
            part=self.run.part,
            seed=self.run.seed,
        )
        self.rounds = number

    def spend(self, executions: int, seconds: float) -> None:
        self.run = replace(self.run, cost=self.run.cost + Cost(executions, seconds))

    def write(self) -> None:
        replace_file(self.file, encode_run(self.run))


def with_loss(run: Run, error: ExecutionError) -> Run:
    """Note in the run that its command, or the build, failed."""
    what = "build " if error.kind is FailureKind.BUILD else ""
    return replace(run, lost=(*run.lost, lost("", what + error.fault, kind=Loss.COMMAND)))


def paired(baseline: Run) -> Baseline:
    return Baseline(runs=(baseline,), source=BaselineSource.PAIRED, base_commit=baseline.commit)


def new_job(kind: str, facts: Mapping[str, object]) -> str:
    """Create a job's id. Ids of measurements with equal options (`facts`, by name) share their beginning."""
    digests = (
        hashlib.sha256(repr(fact).encode(errors="surrogateescape")).hexdigest()[:DIGEST_CHARACTERS]
        for fact in facts.values()
    )
    return "-".join((kind, *digests, uuid.uuid4().hex))


def draw_seed() -> int:
    """Draw the seed of a measurement, which both sides share."""
    return secrets.randbits(32)


def resume_sides(sides: Sequence[MeasuredSide], facts: Mapping[str, object]) -> None:
    """Resume each side from its file. Raise UsageError if the files are of other commits, options or machines."""
    runs = [_read(side.file) for side in sides]
    different = [name for side, run in zip(sides, runs, strict=True) for name in _differences(side, run, facts)]
    if not different and len({run.job for run in runs}) > 1:
        different = ["the job of its files"]
    if different:
        raise UsageError(
            f"holds another measurement; different: {', '.join(dict.fromkeys(different))}",
            place=str(sides[0].file.parent),
            next_step="repeat the command line of that measurement, or start again without --resume",
        )
    # An interruption between two writes leaves one file a round behind, with nothing of that round: it is repeated.
    common = min(map(_rounds, runs))
    for side, run in zip(sides, runs, strict=True):
        side.run, side.rounds = _until(run, common), common


def _read(file: Path) -> Run:
    step = "start a measurement without --resume"
    data = read_limited(file, FILE_LIMITS.measured_side_bytes, next_step=step, error=UsageError)
    try:
        run = decode_run(data, place=str(file))
    except DataError as error:
        raise DataError(error.message, place=error.place, next_step=step) from None
    if not _rounds(run):
        raise UsageError("has no rounds to resume", place=str(file), next_step=step)
    return run


def _rounds(run: Run) -> int:
    return max((number for benchmark in run.benchmarks for number in benchmark.rounds), default=0)


def _until(run: Run, last: int) -> Run:
    """The run without later rounds. Their cost stays."""
    if _rounds(run) <= last:
        return run
    benchmarks = []
    for benchmark in run.benchmarks:
        ends = list(accumulate(benchmark.group_sizes, initial=0))
        groups = [at for at, number in enumerate(benchmark.rounds) if number <= last]
        samples = tuple(chain.from_iterable(benchmark.samples[ends[at] : ends[at + 1]] for at in groups))
        if not benchmark.rounds:
            benchmarks.append(benchmark)
        elif groups:
            sizes, rounds = (tuple(some[at] for at in groups) for some in (benchmark.group_sizes, benchmark.rounds))
            benchmarks.append(replace(benchmark, samples=samples, group_sizes=sizes, rounds=rounds))
    return replace(run, benchmarks=tuple(benchmarks))


def _differences(side: MeasuredSide, before: Run, facts: Mapping[str, object]) -> Iterator[str]:
    if before.commit != side.commit:
        yield f"--commits ({side.name} was {(before.commit or 'unknown')[:12]})"
    if before.suite != side.run.suite:
        yield "--suite"
    ours, theirs = ((run.job or "").split("-")[:-1] for run in (side.run, before))
    names = ("the command", *facts)
    yield from (name for name, mine, other in zip(names, ours, theirs, strict=False) if mine != other)
    if len(ours) != len(theirs):
        yield "the command"
    yield from (f"{name} of the machine" for name in side.run.environment.differences(before.environment))
