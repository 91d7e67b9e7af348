"""Bisections and accepted changes as JSON: the session, its jobs, the stored file and the answer."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field, replace
from typing import Annotated, Final, Literal, TypeVar

from pydantic import AwareDatetime, Field
from pydantic.dataclasses import dataclass

from perf_culprit.errors import DataError
from perf_culprit.model.bisection import (
    BisectionReport,
    Culprit,
    CulpritDiagnosis,
    DecayPart,
    Engine,
    Failure,
    FailureKind,
    MeasuredCommit,
    Noise,
    OutcomeKind,
    Result,
    SearchState,
    Suspect,
)
from perf_culprit.model.dispatch import MOST_FOLLOWED, Bisection, BisectJob, BisectJobResult, BisectRequest
from perf_culprit.model.finding import Acceptance, Interval
from perf_culprit.model.reason import Reason
from perf_culprit.model.run import FULL_HASH_PATTERN, Direction, EnvironmentChange, Metric, MetricKey
from perf_culprit.wire.analysis_json import require_callers_first
from perf_culprit.wire.checked_json import WIRE_CONFIG, Sentence, decode, encode, same_fields

# An accepted change as JSON (acceptance v1): one small file on the history branch.

ACCEPTANCE_SCHEMA: Final = "acceptance-v1"
MAX_BYTES: Final = 16 * 1024
REASON_LIMIT: Final = 300
AUTHOR_LIMIT: Final = 100
BENCHMARK_LIMIT: Final = 500


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class AcceptanceFile:
    """`benchmark` null: every benchmark that got worse at `commit`."""

    format: Literal["perf-culprit-acceptance"]
    version: Literal[1]
    suite: Annotated[str, Field(min_length=1, max_length=100)]
    benchmark: Annotated[str, Field(min_length=1, max_length=BENCHMARK_LIMIT)] | None
    commit: Annotated[str, Field(pattern=f"^{FULL_HASH_PATTERN}$")]
    reason: Annotated[str, Field(min_length=1, max_length=REASON_LIMIT)]
    author: Annotated[str, Field(min_length=1, max_length=AUTHOR_LIMIT)]
    time: AwareDatetime
    pull_request: Annotated[int, Field(ge=1)] | None = None


def encode_acceptance(acceptance: Acceptance) -> bytes:
    file = same_fields(AcceptanceFile, acceptance, format="perf-culprit-acceptance", version=1)
    return encode(file, indent=1)


def decode_acceptance(data: bytes, *, place: str) -> Acceptance:
    if len(data) > MAX_BYTES:
        raise DataError(f"more than {MAX_BYTES:,} bytes", place=place, next_step="write it with `perf-culprit accept`")
    return same_fields(Acceptance, decode(AcceptanceFile, data, place=place, what=ACCEPTANCE_SCHEMA))


# What a bisect job measured, as JSON (bisect-job v1): written beside a stranger's code, so nothing in it is believed.
#
# Numbers, texts and counts are bounded here; that they belong to what was asked for is checked where that is known.

BISECT_JOB_SCHEMA: Final = "bisect-job-v1"
MOST_RESULT_BYTES: Final = 1 << 20
MOST_ROUNDS: Final = 64
MOST_COMMITS: Final = 16
MOST_VALUES: Final = 10_000
MOST_COMPONENTS: Final = 50
SHOWN_CHARACTERS: Final = 400
# GitHub ends a job on a machine of one's own after five days.
LONGEST_JOB_SECONDS: Final = 5 * 86_400.0
# Any time, size or rate there is, in any unit; beyond it the search's arithmetic would be led astray.
LEAST_VALUE: Final = 1e-18
LARGEST_VALUE: Final = 1e18

Name = Annotated[str, Field(min_length=1, max_length=100)]
Text = Annotated[str, Field(max_length=SHOWN_CHARACTERS)]
Value = Annotated[float, Field(gt=LEAST_VALUE, lt=LARGEST_VALUE)]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class FailureEntry:
    kind: FailureKind
    message: Text = ""


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class RoundEntry:
    """One round: a commit has numbers of its one execution, or a failure, or was not reached."""

    id: Name
    values: Annotated[
        dict[Name, Annotated[tuple[Value, ...], Field(min_length=1, max_length=MOST_VALUES)]],
        Field(max_length=MOST_COMMITS),
    ] = field(default_factory=dict)
    failures: Annotated[dict[Name, FailureEntry], Field(max_length=MOST_COMMITS)] = field(default_factory=dict)


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class MetricEntry:
    name: Annotated[str, Field(max_length=200)]
    unit: Annotated[str, Field(max_length=100)]
    direction: Literal[Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectJobFile:
    """The whole file: `bisect-job.json` in the artifact."""

    format: Literal["perf-culprit-bisect-job"]
    version: Literal[1]
    bisection: Name
    dispatch: Name
    job: Name
    rounds: Annotated[tuple[RoundEntry, ...], Field(max_length=MOST_ROUNDS)]
    metric: MetricEntry | None = None
    environment: Annotated[dict[Name, Annotated[str, Field(max_length=200)]], Field(max_length=MOST_COMPONENTS)] = (
        field(default_factory=dict)
    )
    diagnosis: CulpritDiagnosis | None = None
    elapsed_seconds: Annotated[float, Field(ge=0, le=LONGEST_JOB_SECONDS)] | None = None
    followed: Annotated[
        dict[
            Name,
            Annotated[
                dict[Name, Annotated[tuple[Value | None, ...], Field(max_length=MOST_FOLLOWED)]],
                Field(max_length=MOST_COMMITS),
            ],
        ],
        Field(max_length=MOST_ROUNDS),
    ] = field(default_factory=dict)


def encode_job_result(result: BisectJobResult) -> bytes:
    file = same_fields(
        BisectJobFile,
        result,
        format="perf-culprit-bisect-job",
        version=1,
        rounds=tuple(map(_round_entry, result.rounds)),
        metric=None if result.metric is None else same_fields(MetricEntry, result.metric),
        environment=dict(result.environment),
        followed={name: dict(values) for name, values in result.followed.items()},
    )
    return encode(file)


def _round_entry(result: Result) -> RoundEntry:
    failures = {
        commit: FailureEntry(kind=failure.kind, message=failure.message[:SHOWN_CHARACTERS])
        for commit, failure in result.failures.items()
    }
    return RoundEntry(id=result.job_id, values=dict(result.values), failures=failures)


def decode_job_result(data: bytes, *, place: str) -> BisectJobResult:
    """The result in `data`; a DataError where it is none, too large, or says a thing twice."""
    if len(data) > MOST_RESULT_BYTES:
        raise DataError(
            f"is larger than {MOST_RESULT_BYTES:,} bytes", place=place, next_step="upload what bisect-job wrote"
        )
    file = decode(BisectJobFile, data, place=place, what=BISECT_JOB_SCHEMA)
    ids = [entry.id for entry in file.rounds]
    both = [commit for entry in file.rounds for commit in entry.values if commit in entry.failures]
    if both or len(set(ids)) < len(ids):
        fault = f"{both[0][:12]!r} both failed and has numbers" if both else "a round stands there twice"
        raise DataError(fault, place=place, next_step="upload what bisect-job wrote")
    if file.diagnosis is not None and file.diagnosis.comparison is not None:
        require_callers_first(file.diagnosis.comparison, place=f"{place}: diagnosis.comparison")
    return same_fields(
        BisectJobResult,
        file,
        rounds=tuple(map(_round, file.rounds)),
        metric=None if file.metric is None else same_fields(Metric, file.metric),
    )


def _round(entry: RoundEntry) -> Result:
    failures = {commit: same_fields(Failure, failure) for commit, failure in entry.failures.items()}
    return Result(job_id=entry.id, values=entry.values, failures=failures)


# What a dispatch asks its jobs to measure, as JSON (bisect-request v1): the input `request` of the bisect workflow.

BISECT_REQUEST_SCHEMA: Final = "bisect-request-v1"
# GitHub takes at most 65,535 characters for all inputs of a dispatch.
MOST_REQUEST_BYTES: Final = 60_000


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectRequestFile:
    """The whole file. Its commands come from the default branch's configuration, by way of the dispatch."""

    request: BisectRequest
    format: Literal["perf-culprit-bisect-request"]
    version: Literal[1]


def encode_request(request: BisectRequest) -> bytes:
    file = BisectRequestFile(request=request, format="perf-culprit-bisect-request", version=1)
    return encode(file)


def decode_request(data: bytes, *, place: str) -> BisectRequest:
    return decode(BisectRequestFile, data, place=place, what=BISECT_REQUEST_SCHEMA).request


def job_of(request: BisectRequest, job: str, *, place: str) -> BisectJob:
    """The job called `job`."""
    for entry in request.jobs:
        if entry.id == job:
            return entry
    names = ", ".join(entry.id for entry in request.jobs)
    raise DataError(f"asks for no job {job!r}", place=place, next_step=f"use one of: {names}")


# A running bisection as JSON: the state of its search, and what it measures.

BISECT_SESSION_SCHEMA: Final = "bisect-session-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectSession:
    """`run` and `build` are kept to be compared, never to be executed: a file is no reason to run a command."""

    run: str
    build: str | None
    key: MetricKey
    metric: Metric
    search: SearchState
    runner_seconds: Annotated[float, Field(ge=0)] = 0.0
    format: Literal["perf-culprit-bisect-session"] = "perf-culprit-bisect-session"
    version: Literal[1] = 1


def encode_session(session: BisectSession) -> bytes:
    return encode(session)


def decode_session(data: bytes, *, place: str) -> BisectSession:
    """The session in `data`; a DataError where it is none, or where its results cannot be of its range."""
    session = decode(BisectSession, data, place=place, what=BISECT_SESSION_SCHEMA)
    fault = next(search_faults(session.search), None)
    if fault is not None:
        raise DataError(f"is no state of a search: {fault}", place=place, next_step="start again without --resume")
    return session


def search_faults(state: SearchState) -> Iterator[str]:
    """What in a decoded state cannot be of its range."""
    commit_range = state.commit_range
    in_range = {commit_range.good, *commit_range.merge_bases, *commit_range.commits}
    suspects = () if state.suspect is None else (state.suspect,)
    results = (*state.stored, *state.results)
    named = [
        *(step.commit for step in state.named),
        *state.withdrawn,
        *suspects,
        *(commit for job in state.jobs for commit in job.commits),
        *(commit for result in results for commit in (*result.values, *result.failures)),
    ]
    yield from (f"commit {commit[:12]!r} is not in its range" for commit in named if commit not in in_range)
    jobs = {job.id for job in state.jobs}
    yield from ("a result is of no round" for result in state.results if result.job_id not in jobs)
    for result in results:
        for commit, values in result.values.items():
            if not values or min(values) <= 0:
                yield f"a value of {commit[:12]} is not a positive number"


# A bisection on the history branch, as JSON (stored-bisection v1).

STORED_BISECTION_SCHEMA: Final = "stored-bisection-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class StoredBisectionFile:
    bisection: Bisection
    format: Literal["perf-culprit-stored-bisection"]
    version: Literal[1]


def encode_stored(bisection: Bisection) -> bytes:
    file = StoredBisectionFile(bisection=bisection, format="perf-culprit-stored-bisection", version=1)
    return encode(file)


def decode_stored(data: bytes, *, place: str) -> Bisection:
    """The bisection in `data`; a DataError where it is none, or where its parts do not fit together."""
    bisection = decode(StoredBisectionFile, data, place=place, what=STORED_BISECTION_SCHEMA).bisection
    fault = next(_faults(bisection), None)
    if fault is not None:
        raise DataError(f"is no bisection: {fault}", place=place, next_step="ask for the bisection again")
    return bisection


def _faults(bisection: Bisection) -> Iterator[str]:
    yield from search_faults(bisection.search)
    rounds = {job.id for job in bisection.search.jobs}
    for dispatch in bisection.dispatches:
        yield from (f"dispatch {dispatch.id} has an unknown round" for name in dispatch.rounds if name not in rounds)
    if len({dispatch.id for dispatch in bisection.dispatches}) < len(bisection.dispatches):
        yield "two dispatches share an id"


# A bisection's answer as JSON (bisection v1): what `bisect --json` writes.

BISECTION_SCHEMA: Final = "bisection-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class CulpritEntry(Culprit):
    """`updates`: the packages to which this commit gave another version."""

    subject: str | None
    updates: tuple[EnvironmentChange, ...] = ()


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class SuspectEntry(Suspect):
    subject: str | None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class MeasuredEntry(MeasuredCommit):
    subject: str | None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class BisectionFile:
    """The whole file. `definite` says whether the exit code was 0."""

    format: Literal["perf-culprit-bisection"]
    version: Literal[1]
    outcome: OutcomeKind
    definite: bool
    reason: str
    needed: int | None = None
    good: str
    bad: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    culprits: tuple[CulpritEntry, ...] = ()
    suspects: tuple[SuspectEntry, ...] = ()
    decay: tuple[DecayPart, ...] = ()
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    visible_effect: float | None = None
    further_probability: float | None = None
    unresolved: float | None = None
    unresolved_part: tuple[str, str] | None = None
    noise: Noise | None = None
    executions: int = 0
    rounds: int = 0
    candidates: int = 0
    measured: tuple[MeasuredEntry, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    engine: Engine = Engine.BAYES
    seed: int = 0
    command: str = ""
    runner_seconds: float = 0.0
    diagnosis: CulpritDiagnosis | None = None


def encode_bisection(
    report: BisectionReport, *, headline: Callable[[BisectionReport], str], sentence: Sentence
) -> bytes:
    """`headline` words why the search ended, `sentence` a reason: JSON is read by people as well."""
    outcome = report.outcome
    file = same_fields(
        BisectionFile,
        outcome,
        format="perf-culprit-bisection",
        version=1,
        outcome=outcome.kind,
        definite=report.is_definite,
        reason=headline(report),
        good=report.commit_range.good,
        bad=report.commit_range.bad,
        benchmark=report.key.benchmark,
        metric=report.key.metric,
        unit=report.metric.unit,
        direction=report.metric.direction,
        culprits=tuple(
            replace(entry, updates=report.updates.get(entry.commit, ()))
            for entry in _with_subjects(CulpritEntry, outcome.culprits, report)
        ),
        suspects=_with_subjects(SuspectEntry, outcome.suspects, report),
        measured=_with_subjects(MeasuredEntry, report.measured, report),
        candidates=len(report.commit_range.commits),
        skipped=dict(outcome.skipped),
        engine=report.settings.engine,
        seed=report.settings.seed,
        command=report.command,
        runner_seconds=report.runner_seconds,
        diagnosis=report.diagnosis,
    )
    return encode(file, indent=2, context={"sentence": sentence})


Entry = TypeVar("Entry", CulpritEntry, SuspectEntry, MeasuredEntry)


def _with_subjects(
    kind: type[Entry], parts: Sequence[Culprit | Suspect | MeasuredCommit], report: BisectionReport
) -> tuple[Entry, ...]:
    return tuple(same_fields(kind, part, subject=report.subjects.get(part.commit)) for part in parts)
