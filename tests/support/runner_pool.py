"""A pool of simulated machines behind a dispatcher: each has its own speed, and jobs are lost, late or duplicated.

The result of an execution depends only on its round and commit. A disturbed search that resumes correctly therefore
equals an undisturbed one.
`Branch` is the history branch in memory, with the same guarantee: a version is replaced as a whole or not at all.
"""

import io
import json
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np

from perf_culprit.dispatch.controller import Controller, advance_bisection, settle
from perf_culprit.dispatch.workflow_dispatcher import Workflow
from perf_culprit.model.bisection import CommitRange, Engine, Outcome, Result, SearchSettings
from perf_culprit.model.bisection_files import decode_request, decode_stored, encode_job_result, encode_stored
from perf_culprit.model.dispatch import (
    BisectCommands,
    Bisection,
    BisectionStep,
    BisectJob,
    BisectJobResult,
    BisectRequest,
    RunArtifact,
    RunFacts,
    artifact_name,
    run_title,
)
from perf_culprit.model.run import Direction, Metric, MetricKey
from perf_culprit.search.search import Search
from perf_culprit.store.branch_files import BisectionConflictError
from perf_culprit.store.protocol import LoadedBisection

KEY = MetricKey("parse", "time")
TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
START = datetime(2026, 1, 1, tzinfo=UTC)
JOB_SECONDS = 90.0
NAME = "4711"


class Killed(BaseException):
    """`kill -9`: nothing of ours may catch it."""


def commits(count: int) -> tuple[str, ...]:
    """Return full hashes by number; 0 is the good end."""
    return tuple(f"{number:040x}" for number in range(count + 1))


def chain_range(count: int) -> CommitRange:
    good, *others = commits(count)
    parents = tuple((place - 1,) if place else () for place in range(count))
    return CommitRange(good=good, bad=others[-1], commits=tuple(others), parents=parents)


def new_bisection(
    *, size: int = 16, engine: Engine = Engine.BAYES, seed: int = 0, budget: int = 400, metric: Metric | None = TIME
) -> Bisection:
    settings = SearchSettings(engine=engine, seed=seed, budget_executions=budget)
    return Bisection(
        id=NAME,
        key=KEY,
        metric=metric,
        commands=BisectCommands(run="./bench"),
        search=Search.start(chain_range(size), settings=settings).state,
        started_at=START,
    )


@dataclass
class Branch:
    """A history branch in memory. `before` and `after` are called around every successful store, with its number."""

    content: bytes | None = None
    stores: int = 0
    before: Callable[[int], None] = lambda _: None
    after: Callable[[int], None] = lambda _: None

    def load(self, bisection_id: str) -> LoadedBisection | None:
        if self.content is None:
            return None
        return LoadedBisection(bisection=decode_stored(self.content, place=bisection_id), version=self.version or "")

    @property
    def version(self) -> str | None:
        return None if self.content is None else self.content.decode()

    def store(self, bisection: Bisection, *, expected: str | None) -> str:
        self.before(self.stores + 1)
        if self.version != expected:
            raise BisectionConflictError(is_there=True, place="branch")
        self.content = encode_stored(bisection)
        self.stores += 1
        self.after(self.stores)
        return self.version or ""

    @property
    def bisection(self) -> Bisection:
        assert self.content is not None
        return decode_stored(self.content, place="branch")


@dataclass
class Run:
    id: int
    inputs: Mapping[str, str]
    completed: bool = False
    artifacts: list[RunArtifact] = field(default_factory=list)

    @property
    def request(self) -> BisectRequest:
        return decode_request(self.inputs["request"].encode(), place="request")

    @property
    def title(self) -> str:
        return run_title(self.inputs["bisection"], self.inputs["dispatch"])


@dataclass
class Pool:
    """Machines: `offset` is the standard deviation of their level, `lost` the share of jobs that leave nothing.

    `tells_run`: a dispatch answers with its run's id. `hidden`: how often a new run is missing from the listing.
    """

    slow_from: int
    effect: float = 0.2
    noise: float = 0.03
    offset: float = 0.15
    lost: float = 0.0
    seed: int = 0
    tells_run: bool = True
    hidden: int = 0
    runs: list[Run] = field(default_factory=list)
    metric: Metric = TIME
    before: Callable[[int], None] = lambda _: None
    after: Callable[[int], None] = lambda _: None

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)

    def send(self, inputs: Mapping[str, str], *, title: str | None = None) -> int | None:  # noqa: ARG002
        self.before(len(self.runs) + 1)
        run = Run(id=1000 + len(self.runs), inputs=dict(inputs))
        self.runs.append(run)
        self.after(len(self.runs))
        return run.id if self.tells_run else None

    def find(self, title: str) -> int | None:
        if self.hidden:
            self.hidden -= 1
            return None
        return next((run.id for run in reversed(self.runs) if run.title == title), None)

    def look(self, run_id: int) -> RunFacts | None:
        run = next((run for run in self.runs if run.id == run_id), None)
        return None if run is None else RunFacts(title=run.title, is_completed=run.completed)

    def artifacts(self, run_id: int, names: Sequence[str]) -> tuple[RunArtifact, ...]:
        left = [artifact for run in self.runs if run.id == run_id for artifact in run.artifacts]
        return tuple(artifact for artifact in left if artifact.name in names)

    def measure(self, run: Run) -> None:
        """Run each job on its own machine; jobs finish in random order."""
        request = run.request
        jobs = list(request.jobs)
        self.rng.shuffle(jobs)
        for job in jobs:
            if self.rng.random() >= self.lost:
                run.artifacts.append(packed(request, job, self.result(request, job)))
        run.completed = True

    def result(self, request: BisectRequest, job: BisectJob) -> BisectJobResult:
        machine = self.drawn(f"{request.dispatch.partition('-')[0]} {job.id}") * self.offset
        rounds = tuple(
            Result(
                job_id=entry.id,
                values={commit: (self.value(f"{entry.id} {commit}", commit, machine),) for commit in entry.commits},
            )
            for entry in job.rounds
        )
        return BisectJobResult(
            bisection=request.bisection,
            dispatch=request.dispatch,
            job=job.id,
            rounds=rounds,
            metric=self.metric,
            elapsed_seconds=JOB_SECONDS,
        )

    def drawn(self, what: str) -> float:
        """Draw a standard normal number that is always the same for `what`."""
        return float(np.random.default_rng([self.seed, zlib.crc32(what.encode())]).normal())

    def value(self, what: str, commit: str, machine: float) -> float:
        slow = self.effect * self.metric.direction.worse_sign * (int(commit, 16) >= self.slow_from)
        return float(np.exp(machine + self.noise * self.drawn(what) + slow))


def packed(request: BisectRequest, job: BisectJob, result: BisectJobResult) -> RunArtifact:
    return zipped(artifact_name(request.bisection, job.id), encode_job_result(result))


def zipped(name: str, data: bytes, *, member: str = "bisect-job.json") -> RunArtifact:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, data)
    return RunArtifact(name=name, zip_bytes=file.getvalue())


def altered(artifact: RunArtifact, change: Callable[[dict[str, object]], object]) -> RunArtifact:
    """Return the artifact with its JSON changed; text that `change` returns is used unchanged."""
    with zipfile.ZipFile(io.BytesIO(artifact.zip_bytes)) as archive:
        file = json.loads(archive.read("bisect-job.json"))
    text = change(file)
    return zipped(artifact.name, text.encode() if isinstance(text, str) else json.dumps(file).encode())


@dataclass
class Clock:
    time: datetime = START

    def __call__(self) -> datetime:
        return self.time

    def pass_minutes(self, minutes: float) -> None:
        self.time += timedelta(minutes=minutes)


@dataclass
class Scene:
    """One bisection, its branch, its machines and a clock; every call uses a new controller."""

    pool: Pool
    branch: Branch = field(default_factory=Branch)
    clock: Clock = field(default_factory=Clock)
    told: list[BisectionStep] = field(default_factory=list)

    def controller(self) -> Controller:
        return Controller(
            bisections=self.branch, dispatcher=Workflow(self.pool), report=self.told.append, now=self.clock
        )

    def begin(self, bisection: Bisection) -> None:
        settle(self.controller(), bisection, loaded=None)

    def work(self, *, most: int = 60) -> Outcome:
        """Measure the dispatched runs and report every finished one, until there is an outcome."""
        for _ in range(most):
            waiting = [run for run in self.pool.runs if not run.completed]
            for run in waiting:
                self.pool.measure(run)
                advance_bisection(self.controller(), run_id=run.id)
            if not waiting:
                self.clock.pass_minutes(10)
                advance_bisection(self.controller(), bisection=NAME)
            outcome = self.branch.bisection.search.outcome
            if outcome is not None:
                return outcome
        raise AssertionError("no outcome")
