"""All that one comparison has to say: the only thing that renderers and publishers see."""

from dataclasses import dataclass, field
from enum import StrEnum

from bot.model.baseline import BaselineSource, RunChoice
from bot.model.call_tree import MethodCosts
from bot.model.environment import Environment, EnvironmentChange
from bot.model.finding import Finding, Level, Verdict
from bot.model.metric import MetricKey
from bot.model.reason import BaselineReason, Reason
from bot.model.run import NO_COST, Cost
from bot.model.tree_comparison import TreeComparison


class Conclusion(StrEnum):
    """The one-line verdict over a whole run, from loudest to quietest."""

    REGRESSION = "regression"
    OTHER_HARDWARE = "other_hardware"
    MACHINE_CHANGED = "machine_changed"
    INCONCLUSIVE = "inconclusive"
    IMPROVEMENT = "improvement"
    NO_CHANGE = "no_change"
    FIRST_RUN = "first_run"


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """The decision rule that was in force, for the report's small print. Rates and effects are fractions."""

    detector: str
    alpha: float
    false_discovery_rate: float
    minimum_effect: float
    minimum_samples: int
    fail: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """What a simulation says of a changed design: nothing of it was measured.

    `model` is the path of the model file.
    """

    model: str
    scenario: str
    conclusion: Conclusion
    findings: tuple[Finding, ...]
    detectable_effect: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Versioned by its JSON form (report.json v1, docs/report-v1.schema.json).

    `target_commit` is whom the verdict is about; `merge_commit` what was measured where that is GitHub's merge of it
    into `base_commit`. `findings` are ordered for reading: loudest verdict first, then by size. `missing` are metrics
    that the baseline has and the target lacks; `new` those that the target has and no baseline run.
    `detectable_effect`: a worsening of this fraction would have been seen in every metric judged `no_change`.
    `environment_changes`: what differs from the newest baseline run's environment.
    `diagnosis`: where the time went, compared by the call trees of the two revisions.
    `cost`: what measuring the target took, and what was measured beside it. `costs`: which methods of the target cost
    most. `predictions`: what simulations say of model files that changed;
    they fail nothing.
    """

    conclusion: Conclusion
    findings: tuple[Finding, ...]
    settings: Settings
    suite: str = "default"
    target_commit: str | None = None
    base_commit: str | None = None
    merge_commit: str | None = None
    baseline_source: BaselineSource = BaselineSource.FILES
    baseline_runs: int = 0
    choices: tuple[RunChoice, ...] = ()
    environment: Environment = field(default_factory=Environment)
    environment_changes: tuple[EnvironmentChange, ...] = ()
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    detectable_effect: float | None = None
    notes: tuple[Reason, ...] = ()
    failed: bool = False
    diagnosis: TreeComparison | None = None
    costs: MethodCosts | None = None
    predictions: tuple[Prediction, ...] = ()
    cost: Cost = NO_COST

    @property
    def blames_target(self) -> bool:
        """False where commits of the base that nobody measured may have brought what was found."""
        return all(note.code is not BaselineReason.BASE_NOT_MEASURED for note in self.notes)

    @property
    def is_consistent(self) -> bool:
        """Whether the verdict is what the findings say; of a report from elsewhere it need not be."""
        has_regression = any(finding.verdict is Verdict.REGRESSION for finding in self.findings)
        fails = self.blames_target and any(finding.level is Level.FAIL for finding in self.findings)
        return has_regression == (self.conclusion is Conclusion.REGRESSION) and fails == self.failed


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """`findings` are ordered for reading: loudest verdict first, then by size.

    `detectable_effect`: a change for the worse of at least this fraction would have been seen, with the policy's power,
    in every metric judged `no_change`; None where there is none. `failed`: some regression reached the fail threshold.
    """

    conclusion: Conclusion
    findings: tuple[Finding, ...] = ()
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    detectable_effect: float | None = None
    notes: tuple[Reason, ...] = ()
    failed: bool = False
