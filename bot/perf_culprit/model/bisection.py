"""Data types of a search for the commits that made a benchmark slower, and of its answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

import msgspec

from perf_culprit.model.call_tree import TouchedFunction
from perf_culprit.model.finding import Interval
from perf_culprit.model.minimum_effect import DEFAULTS, Kind
from perf_culprit.model.reason import Reason
from perf_culprit.model.report import ComparedSuspect, TreeComparison
from perf_culprit.model.run import Direction, EnvironmentChange, Metric, MetricKey

# Data types of a search for the commits that made a benchmark slower.
#
# A *round* measures a few commits once each, in shuffled order, on one machine; a `Job` asks for one round. The whole
# state of a search is its `SearchState`: ranges, settings, jobs and results. A search can resume from it at any point.


class CommitRange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The candidates between a good and a bad commit, as `search.candidate_graph` cuts them out of a history.

    `commits` are ancestors(bad) + bad without ancestors(good) and good, parents before children; the last is `bad`.
    `parents[i]` are the indices of commit i's parents among them (none: its parents are on the good side).
    `reverts` are pairs (reverting, reverted); `unchanged` commits have their only parent's build inputs.
    `merge_bases` is empty where `good` is an ancestor of `bad`.
    """

    good: str
    bad: str
    commits: tuple[str, ...]
    parents: tuple[tuple[int, ...], ...]
    reverts: tuple[tuple[int, int], ...] = ()
    unchanged: tuple[int, ...] = ()
    merge_bases: tuple[str, ...] = ()
    first_parent: bool = False


class ExecutedCode(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Code that a commit changes and the benchmark executes; without a `function` what the file runs when imported."""

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
    """How the next commit is chosen and judged."""

    BAYES = "bayes"
    WEIGHTED = "weighted"


NEGLIGIBLE: Final = 0.2  # rho: the part of the whole change that may stay unattributed
LEAST_FURTHER: Final = 0.1  # probability of an unnamed step above which an answer stays open


class Sought(StrEnum):
    """Which change from good to bad is looked for."""

    ANY = "any"
    WORSE = "worse"
    BETTER = "better"


class SearchSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`stop`: posterior at which a commit is named. `budget_executions` counts runs of the benchmark, ends included.

    Ends that differ by less than `minimum_effect` (a relative change) count as equal: counts are so exact that
    every change of the code would show.

    `suspects_per_round` is 1 to 3. Only rounds of `one_machine` can be compared without ends of their
    own. `repetitions` and `alpha` belong to the weighted engine. `expected_change`, of the logarithm, is what made
    somebody look: reproduction ends once the ends exclude half of it.
    """

    engine: Engine = Engine.BAYES
    direction: Direction = Direction.LOWER_IS_BETTER
    sought: Sought = Sought.ANY
    minimum_effect: float = DEFAULTS[Kind.SEARCHED_TIME]
    budget_executions: int = 400
    stop: float = 0.99
    suspects_per_round: int = 2
    one_machine: bool = True
    seed: int = 0
    repetitions: int = 10
    alpha: float = 0.01
    expected_change: float | None = None

    @property
    def counts(self) -> bool:
        """Whether the search is by counts, not times: nearly the same number at every execution of a commit."""
        return self.minimum_effect > DEFAULTS[Kind.SEARCHED_TIME]


class Purpose(StrEnum):
    """Why a round is measured, for people who watch."""

    MERGE_BASE = "merge_base"
    REPRODUCE = "reproduce"
    SEARCH = "search"
    CONFIRM = "confirm"
    RESIDUAL = "residual"


class Job(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One round: execute each of `commits` once, in this order, on one machine, one right after the other."""

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
    """What a round gave: a value per execution, or why there is none. A stored run may have several per commit."""

    job_id: str
    values: Mapping[str, tuple[float, ...]] = {}
    failures: Mapping[str, Failure] = {}


class Phase(StrEnum):
    """Where a search stands."""

    MERGE_BASE = "merge_base"
    REPRODUCE = "reproduce"
    SEARCH = "search"
    CONFIRM = "confirm"
    RESIDUAL = "residual"
    DONE = "done"


class OutcomeKind(StrEnum):
    """What a search can end with."""

    CULPRIT = "culprit"
    SEVERAL_CULPRITS = "several_culprits"
    SUSPECT_SET = "suspect_set"
    DECAY = "decay"
    NOT_REPRODUCED = "not_reproduced"
    INCONCLUSIVE = "inconclusive"
    FIXED_ON_GOOD_SIDE = "fixed_on_good_side"
    BUDGET_SPENT = "budget_spent"
    UNMEASURABLE = "unmeasurable"  # an end of the range gives no numbers


class Culprit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named commit. `relative_change` is its own part, signed as measured; `improvement` where it made things better.

    `posterior` is None from the weighted engine. `log_bayes_factor` compares "differs from its parent" with
    "equal", from fresh rounds only.
    """

    commit: str
    posterior: float | None
    relative_change: float
    confidence_interval: Interval
    log_bayes_factor: float | None = None
    improvement: bool = False


class Suspect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A commit that may be the culprit, with its posterior; `skipped` says why it could not be measured."""

    commit: str
    posterior: float
    skipped: str | None = None


class DecayPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stretch of a slow decay: after `after` up to and including `until`; `share` of the whole change."""

    after: str
    until: str
    relative_change: float
    share: float


class Noise(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the measurements looked like, for the report: of natural logarithms.

    `two_modes`: a fast and a slow state of the machine, `mode_ratio` apart, `slow_share` of the time in the slow one.
    """

    standard_deviation: float
    autocorrelation: float | None = None
    mode_ratio: float | None = None
    slow_share: float | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer of a search; its sentences are made in `perf_culprit.say.bisection_words`.

    `needed`: executions that the search would still take, where that is why it stopped. `relative_change` is bad
    against good. `visible_effect` is the change that would have been seen (not reproduced,
    inconclusive). `further_probability` is that of a step that nobody named; `unresolved` is the part of the change, as
    a fraction, that the residual check left open, most of it in the commits after the first of `unresolved_part` up to
    its second.
    """

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

    @property
    def is_open(self) -> bool:
        """Whether a further culprit is likely; also true for older answers, which have no probability."""
        return self.further_probability is None or self.further_probability > LEAST_FURTHER


@dataclass(frozen=True, kw_only=True, slots=True)
class Progress:
    """The state of a running search. `expected_executions`: how many are still expected; None before any result.

    The search gives up on a change that is not reproduced after `most_executions`. `suspects`: the likeliest commits,
    most likely first. During reproduction `relative_change` is the current one from good to bad.
    """

    phase: Phase
    executions: int
    entropy_bits: float
    expected_executions: int | None = None
    most_executions: int | None = None
    suspects: tuple[Suspect, ...] = ()
    relative_change: float | None = None
    confidence_interval: Interval | None = None


class NamedStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A commit that passed its confirmation; from then on a regressor of the model.

    `rounds` and `withdrawn`: how many results and withdrawn suspects there were then.
    """

    commit: str
    posterior: float
    log_bayes_factor: float
    rounds: int = 0
    withdrawn: int = 0


class SearchState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything a search knows; written and read by `perf_culprit.model.bisection_files`.

    `jobs` in the order of dispatch, `results` in the order of arrival. `abandoned` jobs will not come back.
    `since` counts the results that were there when the present phase began; `suspect` is the commit under confirmation
    and `withdrawn` those that failed it.
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


# The whole answer of one bisection, with the culprit's methods: the only input of its renderers.


class CulpritDiagnosis(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`counted`: functions whose instructions make up the change, counted exactly, the most first.

    `changed`: functions whose code the commit changed, tests left out, and `more` of them.

    `comparison`: the parent's profile against the commit's; without one `doubt` says why.
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
    }
)


class MeasuredCommit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measurements of one commit. `relative_change` is against the good end, within the same rounds.

    `confidence_interval` needs two rounds. `failures` are the distinct reasons why executions gave no number.
    """

    commit: str
    executions: int
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    failures: tuple[str, ...] = ()


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
