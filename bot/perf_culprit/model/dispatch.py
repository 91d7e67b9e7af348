"""A bisection that other machines measure, and why a search started automatically.

A *dispatch* is one run of the user's bisect workflow. It has a few *bisect jobs*, one machine each. A bisect job
executes one or more rounds (`perf_culprit.model.bisection.Job`) of the search, one after the other.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from math import log
from typing import Final, Protocol

import msgspec
from msgspec import structs

from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import (
    BisectionReport,
    CulpritDiagnosis,
    ExecutedCode,
    Job,
    Progress,
    Result,
    SearchState,
)
from perf_culprit.model.reason import Objection, Reason, because
from perf_culprit.model.run import Direction, EnvironmentChange, Metric, MetricKey, short_hash

FOLLOWED_CHARACTERS = 20_000


class CheckAnswer(StrEnum):
    """The answer of a search that checks whether an issue's regression is over."""

    OVER = "over"
    STILL_THERE = "still_there"
    UNKNOWN = "unknown"


class AlarmedMetric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric that got worse in the stored runs: its levels before and after, in its unit."""

    key: MetricKey
    metric: Metric
    before: float
    after: float

    @property
    def size(self) -> float:
        """The size of the step, in logarithms."""
        return abs(log(self.after / self.before))


class Proof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The suspicions that a bisection proves or refutes: those of workflow run `run_id`, in at most `minutes`."""

    run_id: int
    minutes: int


class Alarm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a search started automatically: `metrics` got worse at the same place. The search follows the first.

    `changes` are other differences between the runs at both ends. `reported`: the answer was published. `tracked`: an
    issue follows it. `beside` are metrics that did not get worse there. The same executions measure them, to answer
    later alarms. `left` are metrics that changed elsewhere and need their own search. `closes` are the commits that
    identify an issue whose regression seems to be over: the search only checks that. `proves`: suspicions are measured
    again, without a search.
    """

    metrics: tuple[AlarmedMetric, ...]
    changes: tuple[EnvironmentChange, ...] = ()
    reported: bool = False
    tracked: bool = False
    beside: tuple[MetricKey, ...] = ()
    left: frozenset[MetricKey] = frozenset()
    closes: tuple[str, ...] = ()
    proves: Proof | None = None

    @property
    def keys(self) -> frozenset[MetricKey]:
        """The metrics that the search answers for."""
        return frozenset(metric.key for metric in self.metrics) - self.left

    @property
    def followed(self) -> tuple[MetricKey, ...]:
        """The further metrics to measure, limited to the space in a dispatch."""
        keys: list[MetricKey] = []
        room = FOLLOWED_CHARACTERS
        for key in (*(metric.key for metric in self.metrics[1:]), *self.beside)[: ARTIFACT_LIMITS.followed_metrics]:
            room -= len(key.benchmark) + len(key.metric)
            if room < 0:
                break
            keys.append(key)
        return tuple(keys)


class BisectCommands(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Shell commands from the default branch's configuration, never from the commits under search.

    `count` is a quantity to measure instead of the results of `run`. `direction` is the configured direction of the
    followed metric, used if the results do not state one. `profile` writes a profile; null is our tracer.
    `profile_seconds` limits the profiling of the suspect and its parent each; 0 is no profile.
    """

    run: str
    build: str | None = None
    tool: str = "auto"
    run_timeout_seconds: float = 600.0
    build_timeout_seconds: float = 3600.0
    count: str | None = None
    direction: Direction | None = None
    profile: str | None = None
    profile_seconds: float = 0.0


class BisectJob(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The rounds that one machine executes in this order. It then profiles the commit `diagnose` and its parent."""

    id: str
    rounds: tuple[Job, ...]
    diagnose: str | None = None


# By round and commit: a number per followed metric; None where an execution gave no number.
FollowedValues = Mapping[str, Mapping[str, tuple[float | None, ...]]]


class BisectRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The request of a dispatch: the jobs, and everything that a job needs.

    `followed` are further metrics of the same executions. No round starts that would end after `minutes`.
    """

    bisection: str
    dispatch: str
    key: MetricKey
    commands: BisectCommands
    jobs: tuple[BisectJob, ...]
    followed: tuple[MetricKey, ...] = ()
    minutes: float | None = None


class BisectJobResult(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The results of one job. `BisectJobFile` describes the members."""

    bisection: str
    dispatch: str
    job: str
    rounds: tuple[Result, ...]
    metric: Metric | None = None
    environment: Mapping[str, str] = {}
    diagnosis: CulpritDiagnosis | None = None
    elapsed_seconds: float | None = None
    followed: FollowedValues = {}


class Dispatch(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of the bisect workflow. It is stored before it is sent, and gets its `run_id` afterwards.

    Only the controller `sender` may send it at first; another one may do so some time after `stored_at`. `closed`: no
    more results of it are expected.
    """

    id: str
    jobs: tuple[BisectJob, ...]
    sender: str
    stored_at: datetime
    run_id: int | None = None
    closed: bool = False

    @property
    def rounds(self) -> tuple[str, ...]:
        return tuple(entry.id for job in self.jobs for entry in job.rounds)


class ByTime(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The metric to search by time after a search by counts (`auto`). `counted` is that search, once it has ended."""

    key: MetricKey
    metric: Metric | None
    counted: SearchState | None = None


class Bisection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The state of one bisection: a file on the history branch.

    `id` identifies the request, such as a comment. `metric` is null until a job has measured the benchmark. The answer
    goes to `requested_by` in `pull_request`. `head` is that pull request's head at the request; it is null in an issue,
    and `pull_request` is then the issue's number. `trusted`: every commit of the range is on the default branch, so the
    measurements may enter the history. `fruitless` is the number of latest dispatches in a row without a result.
    `stopped` is the objection that ended the search early. `times`: times follow a search by counts, or confirm it.
    `notes` are remarks of earlier searches for the answer. `updates` are the packages whose version a candidate
    changed, `executed` the code that it changes and the benchmark executes. `alarm`: the search started automatically,
    and `followed` has the numbers of its further metrics. `diagnoses` are those of suspects, confirmed or not.
    `runner_seconds` is the time of all jobs whose results count.
    """

    id: str
    key: MetricKey
    metric: Metric | None
    commands: BisectCommands
    search: SearchState
    started_at: datetime
    deadline: datetime | None = None
    suite: str = "default"
    jobs_per_dispatch: int = 4
    rounds_per_job: int = 3
    runner: str = "ubuntu-24.04"
    subjects: Mapping[str, str] = {}
    pull_request: int | None = None
    requested_by: str | None = None
    head: str | None = None
    trusted: bool = False
    recorded: bool = False
    dispatches: tuple[Dispatch, ...] = ()
    fruitless: int = 0
    stopped: Objection | None = None
    environments: tuple[Mapping[str, str], ...] = ()
    times: ByTime | None = None
    notes: tuple[Reason, ...] = ()
    diagnoses: tuple[CulpritDiagnosis, ...] = ()
    runner_seconds: float = 0.0
    updates: Mapping[str, tuple[EnvironmentChange, ...]] = {}
    executed: Mapping[str, tuple[ExecutedCode, ...]] = {}
    alarm: Alarm | None = None
    followed: FollowedValues = {}

    @property
    def is_done(self) -> bool:
        return self.search.outcome is not None

    @property
    def open_dispatch(self) -> Dispatch | None:
        """The open dispatch; there is at most one."""
        return next((dispatch for dispatch in self.dispatches if not dispatch.closed), None)

    def objected(self, objection: Objection) -> Reason:
        """Return the objection, with the head of the request."""
        return because(objection, head=None if self.head is None else short_hash(self.head))

    def with_dispatch(self, changed: Dispatch) -> "Bisection":
        dispatches = tuple(changed if dispatch.id == changed.id else dispatch for dispatch in self.dispatches)
        return structs.replace(self, dispatches=dispatches)


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectionStep:
    """The result of one call. It may be reported more than once after it was stored: reporting must be idempotent.

    `report` is set once the bisection has an outcome. `waiting` is the reason why nothing was done. `remarks` belong to
    the answer: refused results, lost jobs, a rewritten branch.
    """

    bisection: Bisection
    progress: Progress
    report: BisectionReport | None = None
    waiting: Reason | None = None
    remarks: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """GitHub's data about a run of the bisect workflow. The title is the workflow's own `run-name`."""

    title: str
    is_completed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class RunArtifact:
    """A zip file of a run, which is untrusted data; or the `problem` that prevented its download."""

    name: str
    zip_bytes: bytes = b""
    problem: str | None = None


class WorkflowRuns(Protocol):
    """Starts runs of the bisect workflow and reads their artifacts."""

    def send(self, inputs: Mapping[str, str], *, title: str | None = None) -> int | None:
        """Start a run; return its id, None if the host gives none. `title`: that of a run without a bisection."""

    def find(self, title: str) -> int | None:
        """Return the run with this title; None if no run is visible (yet)."""

    def look(self, run_id: int) -> RunFacts | None:
        """Return the facts of a run; None if the bisect workflow has no such run."""

    def artifacts(self, run_id: int, names: Sequence[str]) -> tuple[RunArtifact, ...]:
        """Return the run's artifacts among `names`."""


RUN_TITLE_WORD = "perf-bisect"
ARTIFACT_PREFIX = "perf-culprit-bisect-"


def run_title(bisection: str, dispatch: str) -> str:
    """Return the workflow's `run-name`, which identifies the run of a dispatch."""
    return f"{RUN_TITLE_WORD} {bisection} {dispatch}"


def parse_run_title(title: str) -> tuple[str, str] | None:
    """(bisection, dispatch) of a run's title, or None if it is another kind of run."""
    words = title.split(" ")
    return (words[1], words[2]) if len(words) == 3 and words[0] == RUN_TITLE_WORD and all(words) else None


_REQUEST: Final = re.compile(
    r"perf-run ([1-9][0-9]{0,9}) ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([1-9][0-9]{0,17}) (all|part)(?: (\S{1,100}))?"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestedRun:
    """A measurement of a pull request's head, requested by comment `comment`; `against`: its name for `base`."""

    pull_request: int
    head: str
    base: str
    comment: int
    is_whole: bool
    against: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether a push would be measured the same way: all benchmarks, against the start of the pull request."""
        return self.is_whole and self.against is None

    @property
    def title(self) -> str:
        """The run's `run-name`."""
        extent = "all" if self.is_whole else "part"
        words = ("perf-run", self.pull_request, self.head, self.base, self.comment, extent, self.against)
        return " ".join(str(word) for word in words if word is not None)


def parse_request_title(title: str) -> RequestedRun | None:
    match = _REQUEST.fullmatch(title)
    if match is None:
        return None
    return RequestedRun(
        pull_request=int(match[1]),
        head=match[2],
        base=match[3],
        comment=int(match[4]),
        is_whole=match[5] == "all",
        against=match[6],
    )


def artifact_name(bisection: str, job: str) -> str:
    return f"{ARTIFACT_PREFIX}{bisection}-{job}"
