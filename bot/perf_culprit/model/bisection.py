"""Data types of a search for the commits that made a benchmark slower, and of its answer.

A *round* measures a few commits once each, in shuffled order, on one machine; a `Job` asks for one round. The whole
state of a search is its `SearchState`: ranges, settings, jobs and results. A search can resume from it at any point.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import msgspec

from perf_culprit.model.call_tree import TouchedFunction
from perf_culprit.model.finding import Interval
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.model.reason import Reason
from perf_culprit.model.report import ComparedSuspect, TreeComparison
from perf_culprit.model.run import Direction, EnvironmentChange, Metric, MetricKey


class CommitRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidates for the culprit, between a good and a bad commit.

    `commits` are `bad` and its ancestors, without `good` and its ancestors; parents come before children, `bad` comes
    last. `parents[i]` are the indices of commit i's parents in `commits`, empty if its parents are on the good side.
    `reverts` are pairs (reverting, reverted). `unchanged` commits have the same build inputs as their only parent.
    `merge_bases` is empty if `good` is an ancestor of `bad`. `outside`: candidates whose first parent is neither a
    candidate nor an end, but an ancestor of `good`, and that parent.
    """

    good: str
    bad: str
    commits: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    reverts: tuple[tuple[int, int], ...] = ()
    unchanged: tuple[int, ...] = ()
    merge_bases: tuple[str, ...] = ()
    outside: Mapping[str, str] = {}
    first_parent: bool = False


class ExecutedCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Changed code that the benchmark executes. Without a `function`, it is what the file executes when imported."""

    path: str
    function: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangeFacts:
    """The facts about a commit's change before anything is measured; `churn` counts changed lines.

    `executed`: the changed code that the benchmark executes at the ends; None if unknown.
    """

    churn: int = 0
    changes_dependency: bool = False
    only_documents: bool = False
    clean_merge: bool = False
    executed: tuple[ExecutedCode, ...] | None = None


class Engine(StrEnum):
    """The search engine, which chooses and judges the commits to measure."""

    BAYES = "bayes"
    WEIGHTED = "weighted"


NEGLIGIBLE: Final = 0.2  # rho: the part of the whole change that may stay unattributed
LEAST_FURTHER: Final = 0.1  # probability of an unnamed step above which an answer stays open


class Sought(StrEnum):
    """The kind of change from good to bad that the search is for."""

    ANY = "any"
    WORSE = "worse"
    BETTER = "better"


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a search. It names a commit whose posterior probability reaches `stop`.

    `budget_executions` limits the executions of the benchmark, those of the range's ends included. Ends count as equal
    if they differ by less than `minimum_effect` (a relative change): exact counts would otherwise show every change of
    code. `suspects_per_round` is 1 to 3. Without `one_machine`, rounds are comparable only if they measure the ends,
    too. `repetitions` and `alpha` belong to the weighted engine. `expected_change`, in logarithms, is the change that
    started the search: it stops as not reproduced once measurements of the ends exclude half of it. `of_failures`: the
    search is for a rate of failures, and executions tell whether the command failed.
    """

    engine: Engine = Engine.BAYES
    direction: Direction = Direction.LOWER_IS_BETTER
    sought: Sought = Sought.ANY
    minimum_effect: float = DEFAULTS[DataKind.SEARCHED_TIME]
    budget_executions: int = 400
    stop: float = 0.99
    suspects_per_round: int = 2
    one_machine: bool = True
    seed: int = 0
    repetitions: int = 10
    alpha: float = 0.01
    expected_change: float | None = None
    of_failures: bool = False

    @property
    def counts(self) -> bool:
        """Whether the search is by counts, not times: nearly the same number at every execution of a commit."""
        return self.minimum_effect > DEFAULTS[DataKind.SEARCHED_TIME]


class Purpose(StrEnum):
    """Why a round is measured; only for display."""

    MERGE_BASE = "merge_base"
    REPRODUCE = "reproduce"
    SEARCH = "search"
    CONFIRM = "confirm"
    RESIDUAL = "residual"


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One round: one machine executes each of `commits` once, in this order, directly after each other."""

    id: str
    commits: tuple[str, ...]
    purpose: Purpose


class FailureKind(StrEnum):
    """Why an execution gave no number."""

    BUILD = "build"
    MISSING = "missing"  # the benchmark does not exist at this commit
    CRASHED = "crashed"
    UNUSABLE = "unusable"  # a number was reported, but it has no logarithm


class Failure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: FailureKind
    message: str = ""


class Result(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The result of a round: each commit's value, or its failure. A stored run may have several values per commit."""

    job_id: str
    values: Mapping[str, tuple[float, ...]] = {}
    failures: Mapping[str, Failure] = {}


class Phase(StrEnum):
    """The phase of a search."""

    MERGE_BASE = "merge_base"
    REPRODUCE = "reproduce"
    SEARCH = "search"
    CONFIRM = "confirm"
    RESIDUAL = "residual"
    DONE = "done"


class OutcomeKind(StrEnum):
    """The kind of a search's answer."""

    CULPRIT = "culprit"
    SEVERAL_CULPRITS = "several_culprits"
    SUSPECT_SET = "suspect_set"
    DECAY = "decay"
    NOT_REPRODUCED = "not_reproduced"
    INCONCLUSIVE = "inconclusive"
    FIXED_ON_GOOD_SIDE = "fixed_on_good_side"
    BUDGET_SPENT = "budget_spent"
    CHANGE_OF_GOOD = "change_of_good"  # the suspect's parent, an ancestor of good, measures like the suspect
    UNMEASURABLE = "unmeasurable"  # an end of the range gives no numbers


class Rates(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How often a command failed: `failed_before` in `before` executions, and `failed_since` in `since`."""

    failed_before: int
    before: int
    failed_since: int
    since: int


class Culprit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named commit. `relative_change` is its own effect, signed as measured; `improvement` if the metric got better.

    `posterior` is null from the weighted engine. `log_bayes_factor` compares "differs from its parent" with "equal",
    from fresh rounds only. In a search for a rate, `rates` are those of all commits without and with it, and
    `relative_change` is their difference.
    """

    commit: str
    posterior: float | None
    relative_change: float
    confidence_interval: Interval
    log_bayes_factor: float | None = None
    improvement: bool = False
    rates: Rates | None = None


class Suspect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A possible culprit with its posterior probability. `skipped` is the reason why it could not be measured."""

    commit: str
    posterior: float
    skipped: str | None = None


class DecayPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of a slow decay: the commits after `after`, up to `until`, caused this `share` of the whole change."""

    after: str
    until: str
    relative_change: float
    share: float


class Noise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The noise of the measurements. `standard_deviation` is of natural logarithms.

    If the machine has two states, the slow one is slower by the factor `mode_ratio`, for `slow_share` of the time.
    """

    standard_deviation: float
    autocorrelation: float | None = None
    mode_ratio: float | None = None
    slow_share: float | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer of a search. docs/bisection-v1.schema.json describes the members."""

    kind: OutcomeKind
    needed: int | None = None
    culprits: tuple[Culprit, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    decay: tuple[DecayPart, ...] = ()
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    visible_effect: float | None = None
    further_probability: float | None = None
    unresolved: float | None = None
    unresolved_part: tuple[str, str] | None = None
    executions: int = 0
    rounds: int = 0
    noise: Noise | None = None
    skipped: Mapping[str, str] = {}
    notes: tuple[Reason, ...] = ()
    rates: Rates | None = None

    @property
    def is_open(self) -> bool:
        """Whether a further culprit is likely; also true for older answers, which have no probability."""
        return self.further_probability is None or self.further_probability > LEAST_FURTHER


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """The state of a running search. `expected_executions`: how many are still expected; None before any result.

    `suspects`: the likeliest commits, most likely first. During reproduction `relative_change` is the current one from
    good to bad; `rates` are those of both ends. `failing`: the commits that do not run.
    """

    phase: Phase
    executions: int
    entropy_bits: float
    expected_executions: int | None = None
    suspects: tuple[Suspect, ...] = ()
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    rates: Rates | None = None
    failing: int = 0


class NamedStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A commit that passed its confirmation, after this number of results (`rounds`) and `withdrawn` suspects."""

    commit: str
    posterior: float
    log_bayes_factor: float
    rounds: int = 0
    withdrawn: int = 0


class SearchState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole state of a search, which can resume from it.

    `jobs` are in the order of dispatch, `results` in the order of arrival. No results will come for `abandoned` jobs.
    `since` is the number of results before the present phase. `suspect` is the commit under confirmation; `withdrawn`
    suspects failed theirs.
    """

    commit_range: CommitRange
    settings: SearchSettings
    prior: Mapping[str, float] = {}
    stored: tuple[Result, ...] = ()
    jobs: tuple[Job, ...] = ()
    results: tuple[Result, ...] = ()
    abandoned: tuple[str, ...] = ()
    phase: Phase = Phase.REPRODUCE
    since: int = 0
    suspect: str | None = None
    named: tuple[NamedStep, ...] = ()
    withdrawn: tuple[str, ...] = ()
    outcome: Outcome | None = None


class CulpritDiagnosis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The code behind a culprit. `counted` functions make up the change by exact instruction counts, most first.

    `changed` are functions whose code the commit changed, tests excluded; `more` counts those beyond the list.
    `comparison` compares the parent's profile with the commit's. Without one, `doubt` gives the reason.
    """

    commit: str
    counted: tuple[ComparedSuspect, ...] = ()
    changed: tuple[TouchedFunction, ...] = ()
    more: int = 0
    comparison: TreeComparison | None = None
    doubt: Reason | None = None


# Answers that are reliable without further work; docs/exit-codes.md.
DEFINITE = frozenset(
    {
        OutcomeKind.CULPRIT,
        OutcomeKind.SEVERAL_CULPRITS,
        OutcomeKind.DECAY,
        OutcomeKind.NOT_REPRODUCED,
        OutcomeKind.FIXED_ON_GOOD_SIDE,
        OutcomeKind.CHANGE_OF_GOOD,
    }
)


class MeasuredCommit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measurements of one commit. `NamedCommit` describes the members."""

    commit: str
    executions: int
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    failures: tuple[str, ...] = ()
    failed: int | None = None
    ran: int = 0

    @property
    def shown(self) -> float | None:
        """The number that plots show: the rate of failures, or the change against the good end."""
        return self.relative_change if self.failed is None else self.failed / self.ran


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitFacts:
    """Git's data about a named commit: author, date (ISO 8601), and the size of its change."""

    author: str
    date: str
    files: int = 0
    insertions: int = 0
    deletions: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectionReport:
    """The answer of a bisection. `measured` is in the order of the history; `subjects`: first lines of commit messages.

    `facts` are those of the named commits. `repository_url` is the web page that has `/commit/HASH` beneath it.
    `command` is the command line that repeats the search. `diagnosis` is that of the largest named regression.
    `updates`: the packages whose version a candidate changed; `executed`: the code that a candidate changes and the
    benchmark executes. `runner_seconds`: of all its jobs together, builds included; 0 if unknown.
    """

    outcome: Outcome
    commit_range: CommitRange
    settings: SearchSettings
    key: MetricKey
    metric: Metric
    measured: tuple[MeasuredCommit, ...] = ()
    subjects: Mapping[str, str] = field(default_factory=dict)
    facts: Mapping[str, CommitFacts] = field(default_factory=dict)
    repository_url: str | None = None
    command: str = ""
    diagnosis: CulpritDiagnosis | None = None
    updates: Mapping[str, tuple[EnvironmentChange, ...]] = field(default_factory=dict)
    executed: Mapping[str, tuple[ExecutedCode, ...]] = field(default_factory=dict)
    runner_seconds: float = 0.0

    @property
    def is_definite(self) -> bool:
        return self.outcome.kind in DEFINITE


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredNoise:
    """A benchmark's noise from one stored run to the next, and the cost of finding steps at that noise."""

    benchmark: str
    metric: str
    spread: float
    runs: int
    executions: tuple[tuple[float, int], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSearch:
    """A search before its first measurement.

    `executions`: expected for a clear step, and for one hidden in the noise of one execution. `tests`: the number of
    tests by the weighted engine, each of one commit against the good end. `prior`: each commit's chance before any
    measurement, by its `facts`. None: all are equal. `noise`: the stored noise. None: not requested. `seconds`: the
    time of an execution, with its share of builds.
    """

    commit_range: CommitRange
    subjects: Mapping[str, str]
    executions: tuple[int, int]
    budget: int
    tests: int | None = None
    prior: Mapping[str, float] | None = None
    facts: Mapping[str, ChangeFacts] | None = None
    noise: Sequence[StoredNoise] | None = None
    seconds: float | None = None
    of_failures: bool = False
