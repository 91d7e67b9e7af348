"""Files of bisections: the session, its jobs, the stored state and the answer.

The results of a bisect job are untrusted: untrusted code ran where the file was written. Sizes of numbers, texts and
counts are limited here. Other code checks that they match the request.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta, structs

from perf_culprit.errors import DataError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS as LIMITS
from perf_culprit.model.bisection import (
    BisectionReport,
    Culprit,
    CulpritDiagnosis,
    Engine,
    ExecutedCode,
    Failure,
    MeasuredCommit,
    Outcome,
    OutcomeKind,
    Result,
    SearchState,
    Suspect,
)
from perf_culprit.model.dispatch import Bisection, BisectJob, BisectJobResult, BisectRequest
from perf_culprit.model.json_files import decode, encode, explicit_default
from perf_culprit.model.reason import Sentence
from perf_culprit.model.run import Direction, EnvironmentChange, Metric, MetricKey

# Every real time, size or rate in any unit lies within these limits; values beyond distort the search's arithmetic.
LEAST_VALUE: Final = 1e-18
LARGEST_VALUE: Final = 1e18
_UPLOAD_STEP: Final = "upload what bisect-job wrote"

_Name = Annotated[str, Meta(min_length=1, max_length=100)]
Value = Annotated[float, Meta(gt=LEAST_VALUE, lt=LARGEST_VALUE)]


class JobRound(Result, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One round. A commit has the numbers of its one execution, or a failure, or neither if it was not reached."""

    job_id: _Name = msgspec.field(name="id")
    values: Annotated[
        dict[_Name, Annotated[tuple[Value, ...], Meta(min_length=1, max_length=LIMITS.job_values)]],
        Meta(max_length=LIMITS.job_commits),
    ] = msgspec.field(default_factory=dict)
    failures: Annotated[dict[_Name, Failure], Meta(max_length=LIMITS.job_commits)] = msgspec.field(default_factory=dict)


class BisectJobFile(
    BisectJobResult,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-bisect-job",
):
    """The results of one bisect job: `bisect-job.json` in its artifact.

    `metric` is the observed metric; null if no execution gave a number. `elapsed_seconds` is from the job's start to
    these results, builds included; null from older versions. `followed` has the numbers of further metrics by round and
    commit.
    """

    version: Literal[1] = explicit_default(1)
    bisection: _Name
    dispatch: _Name
    job: _Name
    rounds: Annotated[tuple[JobRound, ...], Meta(max_length=LIMITS.job_rounds)]
    environment: Annotated[
        dict[_Name, Annotated[str, Meta(max_length=200)]], Meta(max_length=LIMITS.job_components)
    ] = msgspec.field(default_factory=dict)
    elapsed_seconds: Annotated[float, Meta(ge=0, le=LIMITS.job_s)] | None = None
    followed: Annotated[
        dict[
            _Name,
            Annotated[
                dict[_Name, Annotated[tuple[Value | None, ...], Meta(max_length=LIMITS.followed_metrics)]],
                Meta(max_length=LIMITS.job_commits),
            ],
        ],
        Meta(max_length=LIMITS.job_rounds),
    ] = msgspec.field(default_factory=dict)


def encode_job_result(result: BisectJobResult) -> bytes:
    return encode(BisectJobFile(**structs.asdict(result) | {"rounds": tuple(map(_job_round, result.rounds))}))


def _job_round(result: Result) -> JobRound:
    failures = {
        commit: structs.replace(failure, message=failure.message[: LIMITS.failure_characters])
        for commit, failure in result.failures.items()
    }
    return JobRound(job_id=result.job_id, values=dict(result.values), failures=failures)


def decode_job_result(data: bytes, *, place: str) -> BisectJobResult:
    """Return the result in `data`; raise a DataError if it is invalid, too large or contains an entry twice."""
    if len(data) > LIMITS.job_bytes:
        raise DataError(f"is larger than {LIMITS.job_bytes:,} bytes", place=place, next_step=_UPLOAD_STEP)
    file = decode(BisectJobFile, data, place=place)
    fault = next(_job_faults(file), None)
    if fault is not None:
        raise DataError(fault, place=place, next_step=_UPLOAD_STEP)
    held = structs.asdict(file) | {"rounds": tuple(Result(**structs.asdict(one)) for one in file.rounds)}
    del held["version"]
    return BisectJobResult(**held)


def _job_faults(file: BisectJobFile) -> Iterator[str]:
    ids = [entry.job_id for entry in file.rounds]
    for entry in file.rounds:
        yield from (
            f"{commit[:12]!r} both failed and has numbers" for commit in entry.values if commit in entry.failures
        )
        if any(len(failure.message) > LIMITS.failure_characters for failure in entry.failures.values()):
            yield f"a failure's message has more than {LIMITS.failure_characters} characters"
    if len(set(ids)) < len(ids):
        yield "a round stands there twice"
    if (metric := file.metric) is not None:
        if len(metric.name) > 200 or len(metric.unit) > 100:
            yield "the metric's name or unit is too long"
        if metric.direction is Direction.UNKNOWN:
            yield "the metric does not say which way is good"


class BisectRequestFile(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-bisect-request",
):
    """A dispatch's request to its jobs. Its commands come from the default branch's configuration."""

    version: Literal[1] = explicit_default(1)
    request: BisectRequest


def encode_request(request: BisectRequest) -> bytes:
    return encode(BisectRequestFile(request=request))


def decode_request(data: bytes, *, place: str) -> BisectRequest:
    return decode(BisectRequestFile, data, place=place).request


def job_of(request: BisectRequest, job: str, *, place: str) -> BisectJob:
    """Return the job called `job`."""
    for entry in request.jobs:
        if entry.id == job:
            return entry
    names = ", ".join(job.id for job in request.jobs)
    raise DataError(f"asks for no job {job!r}", place=place, next_step=f"use one of: {names}")


class BisectSession(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-bisect-session",
):
    """A running local bisection. `run` and `build` are only compared with the given commands, never executed.

    `id` and `started_at` are those of its first start, so that whatever resumes it records no round twice. Older
    versions wrote neither.
    """

    version: Literal[1] = explicit_default(1)
    run: str
    build: str | None
    key: MetricKey
    metric: Metric
    search: SearchState
    runner_seconds: Annotated[float, Meta(ge=0)] = 0.0
    executed: Mapping[str, tuple[ExecutedCode, ...]] = {}
    id: str | None = None
    started_at: datetime | None = None


def encode_session(session: BisectSession) -> bytes:
    return encode(session)


def decode_session(data: bytes, *, place: str) -> BisectSession:
    """Return the session in `data`; raise a DataError if it is invalid or its results do not match its range."""
    session = decode(BisectSession, data, place=place)
    fault = next(search_faults(session.search), None)
    if fault is not None:
        raise DataError(f"is not the state of a search: {fault}", place=place, next_step="start again without --resume")
    return session


def search_faults(state: SearchState) -> Iterator[str]:
    """Yield the parts of a decoded state that do not match its range."""
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


class StoredBisection(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-stored-bisection",
):
    """A bisection on the history branch, recognized by its `format` and `version`."""

    version: Literal[1] = explicit_default(1)
    bisection: Bisection


def encode_stored(bisection: Bisection) -> bytes:
    return encode(StoredBisection(bisection=bisection))


def decode_stored(data: bytes, *, place: str) -> Bisection:
    """Return the bisection in `data`; raise a DataError if it is invalid or its parts do not match."""
    bisection = decode(StoredBisection, data, place=place).bisection
    fault = next(_faults(bisection), None)
    if fault is not None:
        raise DataError(f"is not a bisection: {fault}", place=place, next_step="ask for the bisection again")
    return bisection


def _faults(bisection: Bisection) -> Iterator[str]:
    yield from search_faults(bisection.search)
    rounds = {job.id for job in bisection.search.jobs}
    for dispatch in bisection.dispatches:
        yield from (f"dispatch {dispatch.id} has an unknown round" for name in dispatch.rounds if name not in rounds)
    if len({dispatch.id for dispatch in bisection.dispatches}) < len(bisection.dispatches):
        yield "two dispatches share an id"


class NamedCulprit(Culprit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named culprit with its `subject`: the first line of the commit's message.

    `relative_change` is its own effect, signed as measured; `improvement` if the metric got better. `posterior` is null
    from the weighted engine. `log_bayes_factor` compares "differs from its parent" with "equal", from fresh rounds
    only. In a search for a rate, `rates` are those of all commits without and with it, and `relative_change` is their
    difference. `updates` are the packages whose version the commit changed, `executed` is the code that it changes and
    the benchmark executes.
    """

    subject: str | None
    updates: tuple[EnvironmentChange, ...] = ()
    executed: tuple[ExecutedCode, ...] = ()


class NamedSuspect(Suspect, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A possible culprit. `skipped` is why it was not measured, `subject` the first line of the commit's message."""

    subject: str | None


class NamedCommit(MeasuredCommit, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measurements of one commit. `subject` is the first line of its message.

    `relative_change` is against the good end, within the same rounds; its interval needs two rounds. `failures` are the
    distinct reasons why executions gave no number. In a search for a rate, the command `failed` in some of those that
    `ran`, and the interval is that of this rate.
    """

    subject: str | None


class BisectionFile(
    Outcome, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="format", tag="perf-culprit-bisection"
):
    """The answer of a bisection. `definite`: the exit code was 0. `reason` states why the search ended.

    `needed` is the number of further executions that the search would take, if it stopped for that reason. In a search
    for a rate, they would prove that the ends differ.
    `relative_change` is that from good to bad. `visible_effect` is the change that would have been detected, if the
    change was not reproduced or the answer is inconclusive. `further_probability` is that of another culprit.
    `unresolved` is the fraction of the change that the named commits may leave unexplained. Most of it is in
    `unresolved_part`: the commits after its first, up to its second. `skipped` has the reasons why commits could not be
    measured. In a search for a rate, `rates` are those of both ends, and `visible_effect` is a difference of rates.
    """

    version: Literal[1] = explicit_default(1)
    kind: OutcomeKind = msgspec.field(name="outcome")
    definite: bool
    reason: str
    good: str
    bad: str
    benchmark: str
    metric: str
    unit: str
    direction: Direction
    culprits: tuple[NamedCulprit, ...] = ()
    suspects: tuple[NamedSuspect, ...] = ()
    candidates: int = 0
    measured: tuple[NamedCommit, ...] = ()
    engine: Engine = Engine.BAYES
    seed: int = 0
    command: str = ""
    runner_seconds: float = 0.0
    diagnosis: CulpritDiagnosis | None = None


def encode_bisection(
    report: BisectionReport, *, headline: Callable[[BisectionReport], str], sentence: Sentence
) -> bytes:
    """Encode the report. `headline` words why the search ended, `sentence` a reason: people read the JSON, too."""
    subject = report.subjects.get
    named = {
        "culprits": tuple(
            NamedCulprit(
                **structs.asdict(culprit),
                subject=subject(culprit.commit),
                updates=report.updates.get(culprit.commit, ()),
                executed=report.executed.get(culprit.commit, ()),
            )
            for culprit in report.outcome.culprits
        ),
        "suspects": tuple(
            NamedSuspect(**structs.asdict(suspect), subject=subject(suspect.commit))
            for suspect in report.outcome.suspects
        ),
    }
    file = BisectionFile(
        **structs.asdict(report.outcome) | named,
        definite=report.is_definite,
        reason=headline(report),
        good=report.commit_range.good,
        bad=report.commit_range.bad,
        benchmark=report.key.benchmark,
        metric=report.key.metric,
        unit=report.metric.unit,
        direction=report.metric.direction,
        candidates=len(report.commit_range.commits),
        measured=tuple(
            NamedCommit(**structs.asdict(commit), subject=subject(commit.commit)) for commit in report.measured
        ),
        engine=report.settings.engine,
        seed=report.settings.seed,
        command=report.command,
        runner_seconds=report.runner_seconds,
        diagnosis=report.diagnosis,
    )
    return encode(file, indent=2, sentence=sentence)
