"""All that one bisection has to say, of the culprit's methods too: the only thing that its renderers see."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.model.bisection import CommitRange, Outcome, OutcomeKind, SearchSettings
from bot.model.environment import EnvironmentChange
from bot.model.finding import Interval
from bot.model.metric import Metric, MetricKey
from bot.model.reason import Reason
from bot.model.touched import TouchedFunction
from bot.model.tree_comparison import ComparedSuspect, TreeComparison


@dataclass(frozen=True, kw_only=True, slots=True)
class CulpritDiagnosis:
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


# Answers that need nobody's further work to be believed; docs/exit-codes.md.
DEFINITE = frozenset(
    {
        OutcomeKind.CULPRIT,
        OutcomeKind.SEVERAL_CULPRITS,
        OutcomeKind.DECAY,
        OutcomeKind.NOT_REPRODUCED,
        OutcomeKind.FIXED_ON_GOOD_SIDE,
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredCommit:
    """What was measured at one commit. `relative_change` is against the good end, within the same rounds.

    `confidence_interval` needs two rounds. `failures` are the different reasons why executions gave no number.
    """

    commit: str
    executions: int
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    failures: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class CommitFacts:
    """What git says about a named commit: who wrote it, when (ISO 8601), and how much it changes."""

    author: str
    date: str
    files: int = 0
    insertions: int = 0
    deletions: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectionReport:
    """`measured` in the order of the history, the good end first. `subjects`: first lines of commit messages.

    `facts` are of the named commits. `repository_url` is the one of a web page that has `/commit/HASH` beneath it.

    `command` is the command line that searches the same again. `diagnosis` is of the largest regression named.
    `updates`: the packages to which a candidate gave another version. `runner_seconds`: of all its jobs together,
    builds included; 0 where nobody knows.
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
    runner_seconds: float = 0.0

    @property
    def is_definite(self) -> bool:
        return self.outcome.kind in DEFINITE
