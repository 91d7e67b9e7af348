"""The whole result of one comparison: findings, call trees of both revisions, conclusion."""

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import UNSET, structs

from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.call_tree import Certainty, ChangeKind, ImpactedService, MethodCosts
from perf_culprit.model.finding import BaselineSource, Finding, Interval, Level, RunChoice, Verdict
from perf_culprit.model.json_files import decode, encode, explicit_default
from perf_culprit.model.reason import BaselineReason, Reason, Remark, Sentence, no_sentence
from perf_culprit.model.run import FULL_HASH, Cost, Environment, EnvironmentChange, FailedSide, Losses, Lost, MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS


class Answer(StrEnum):
    """Whether the target got slower. `not_slower` rules out a slowdown of a stated size, `undecided` does not."""

    SLOWER = "slower"
    NOT_SLOWER = "not_slower"
    UNDECIDED = "undecided"


class Basis(StrEnum):
    """The data behind the answer, strongest first: repetitions, one sampled profile of each side, or only totals."""

    SAMPLES = "samples"
    COUNTS = "counts"
    TOTALS = "totals"


class NodeState(StrEnum):
    """The result for one call path. `not_tested`: its share of the whole is too small to be tested."""

    SLOWER = "slower"
    FASTER = "faster"
    UNDECIDED = "undecided"
    ADDED = "added"
    REMOVED = "removed"
    NOT_TESTED = "not_tested"


class ChangeCause(StrEnum):
    """Why a path got slower: its caller calls it more often, each call takes longer, or both."""

    MORE_CALLS = "more_calls"
    TIME_PER_CALL = "time_per_call"
    BOTH = "both"


class SuspectReason(StrEnum):
    """Why a slower method is a suspect, and not only a caller of one (docs/diagnosis.md)."""

    PATH_END = "path_end"
    OWN_TIME = "own_time"
    ORIGIN = "origin"
    CHANGED_CALLS = "changed_calls"
    CALLS_MORE_OFTEN = "calls_more_often"
    ADDED = "added"
    TOUCHED = "touched"
    CALLS_TOUCHED = "calls_touched"


class NodeAmount(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Means per repetition, in the service's unit. `elapsed` includes callees, `self_time` excludes them."""

    elapsed: float
    self_time: float
    calls: float | None = None


class ComparedNode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One call path in both revisions. `parent` is the caller's index in `nodes`. A side without the path is null.

    `relative_change`, its interval, `p_value` and `q_value` are of the elapsed time, `self_q_value` of the time without
    callees. They are null if untested. `changed_calls`: the method's direct callees differ between the revisions.
    """

    method: str
    state: NodeState
    parent: int | None = None
    baseline: NodeAmount | None = None
    target: NodeAmount | None = None
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    p_value: float | None = None
    q_value: float | None = None
    self_q_value: float | None = None
    cause: ChangeCause | None = None
    changed_calls: bool = False
    reasons: tuple[SuspectReason, ...] = ()


class ServiceComparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One service in both revisions. All amounts are in `unit`, where "share" is a share of the whole.

    The tests rest on the repetitions. `nodes` has the paths of both sides, except `hidden_nodes` beyond the limit. A
    method that gained the share `visible` of the whole would have been detected; null if untested, or if no share is
    large enough. `aligned` is the share of time in methods that both revisions have. `common_factor` is the change of
    all methods, such as from another machine state; null if unknown. Totals are means per repetition; of shares, they
    count samples. `doubts` are the reasons why the answer is undecided, most important first.
    """

    service: str
    unit: str
    basis: Basis
    baseline_repetitions: int
    target_repetitions: int
    nodes: tuple[ComparedNode, ...]
    hidden_nodes: int = 0
    answer: Answer = Answer.UNDECIDED
    visible: float | None = None
    aligned: float = 1.0
    common_factor: float | None = None
    baseline_total: float = 0.0
    target_total: float = 0.0
    doubts: tuple[Reason, ...] = ()

    def __post_init__(self) -> None:
        for index, node in enumerate(self.nodes):
            if node.parent is not None and not 0 <= node.parent < index:
                raise ValueError(f"nodes.{index}.parent: its parent {node.parent} does not come before it")


class TouchedCode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The changed function that a method belongs to, at the head. `name` is empty if only its file is known.

    `first_line` is the first changed line, or the function's first line if that is unknown. Lines are null if the
    function was deleted or is unknown.
    """

    file: str
    name: str
    certainty: Certainty
    first_line: int | None = None
    last_line: int | None = None


class ScoreParts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The parts of a suspect's score, each from 0 to 1 (docs/diagnosis.md).

    All but `touched` are shares of the services' slowdown. `own_time` excludes callees, `slowdown` includes them.
    `origin` begins in the method; `branch` is not explained by any single callee. `touched` is 1 if the commit
    certainly changed the method, and less if only a bare name or the file matches.
    """

    own_time: float
    origin: float
    branch: float
    slowdown: float
    touched: float


class ComparedSuspect(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One method in all services. Amounts are sums over its paths in `service`, where it gained most.

    `path` leads from the root to the method there. `services` run the method, largest share first: test these again.
    """

    method: str
    score: float
    parts: ScoreParts
    reasons: tuple[SuspectReason, ...]
    service: str
    unit: str
    path: tuple[str, ...]
    baseline: NodeAmount | None = None
    target: NodeAmount | None = None
    relative_change: float | None = None
    q_value: float | None = None
    cause: ChangeCause | None = None
    services: tuple[ImpactedService, ...] = ()
    touched: TouchedCode | None = None
    file: str | None = None
    line: int | None = None


class SuspectShare(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The share of a service's time in the suspects and the methods that they call."""

    service: str
    share: float


class TreeComparison(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    omit_defaults=True,
    tag_field="format",
    tag="perf-culprit-tree-comparison",
):
    """The comparison of the call trees of two revisions, from `base` to `head`.

    `suspects` come most suspicious first. `impacted` has every service of the target, largest share first. `commit`
    introduced the change, if known; `subject` is its message's first line. Without `services`, `notes` say why.
    `touched` counts the functions that the commits changed; null without a repository.
    `added_methods` are in the target's trees alone, `removed_methods` in the baseline's. `touched_methods` says what
    the commits did with the source of these, and of the suspects and their callers.
    `answer` is slower if any service is, else undecided if any is.
    """

    version: Literal[1] = explicit_default(1)
    # Written for readers of the JSON alone. When a file is read, it is computed from the services.
    _answer: Answer | None = msgspec.field(default=None, name="answer")
    services: tuple[ServiceComparison, ...]
    suspects: tuple[ComparedSuspect, ...]
    impacted: tuple[SuspectShare, ...] = ()
    added_methods: tuple[str, ...] = ()
    removed_methods: tuple[str, ...] = ()
    touched_methods: Mapping[str, ChangeKind] = msgspec.field(default_factory=dict)
    added_services: tuple[str, ...] = ()
    removed_services: tuple[str, ...] = ()
    commit: str | None = None
    subject: Annotated[str, msgspec.Meta(max_length=ARTIFACT_LIMITS.subject_characters)] | None = None
    author: Annotated[str, msgspec.Meta(max_length=ARTIFACT_LIMITS.subject_characters)] | None = None
    base: str | None = None
    head: str | None = None
    touched: int | None = None
    alpha: float
    minimum_effect: float
    notes: tuple[Reason, ...] = ()

    def __post_init__(self) -> None:
        structs.force_setattr(self, "_answer", self.answer)

    @property
    def answer(self) -> Answer:
        """The answer over all services: slower if any is slower, else undecided if any is undecided."""
        answers = {service.answer for service in self.services}
        if Answer.SLOWER in answers:
            return Answer.SLOWER
        return Answer.UNDECIDED if Answer.UNDECIDED in answers or not answers else Answer.NOT_SLOWER


class Conclusion(StrEnum):
    """The one-line verdict over a whole run, from loudest to quietest."""

    REGRESSION = "regression"
    OTHER_HARDWARE = "other_hardware"
    SUSPECTED = "suspected"
    NOT_COMPARABLE = "not_comparable"
    INCONCLUSIVE = "inconclusive"
    IMPROVEMENT = "improvement"
    NO_CHANGE = "no_change"
    FIRST_RUN = "first_run"
    NOT_AFFECTED = "not_affected"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The decision rule that was in force (docs/decision-rule.md). All rates and effects are fractions.

    `looks`: a measurement that is judged while it grows shares both rates equally among the planned times.
    """

    detector: str
    proven: float
    suspected: float
    minimum_effect: float
    fail: float
    looks: int = 1


class Prediction(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A simulation's prediction for the changed model file `model`. Nothing was measured."""

    model: Annotated[str, msgspec.Meta(max_length=4096)]
    scenario: Annotated[str, msgspec.Meta(max_length=100)]
    conclusion: Conclusion
    findings: tuple[Finding, ...]
    detectable_effect: float | None = None


class GroupMean(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The geometric mean of one metric's changes in a group: `count` of its `total` benchmarks have a change."""

    name: str
    metric: str
    count: int
    total: int
    change: float
    confidence_interval: Interval | None = None


class BudgetState(StrEnum):
    """Whether a value exceeds its limit. `unsure`: the limit lies within the run's own noise."""

    OVER = "over"
    UNSURE = "unsure"
    WITHIN = "within"


class BudgetCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A metric's `value`, its range from `low` to `high`, and its configured `limit`, all in `unit`."""

    benchmark: str
    metric: str
    unit: str
    value: float
    low: float
    high: float
    limit: float
    because: str
    state: BudgetState


class Report(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="format", tag="perf-culprit-report"
):
    """The content of report.json, recognized by its `format` and `version` (docs/report-v2.schema.json).

    `target_commit` is judged. `merge_commit` is GitHub's merge of it into `base_commit`, if that was measured instead.
    `findings` are ordered for reading: loudest verdict first, then by size. `missing` are metrics that the target
    lacks, `new` those that every baseline run lacks. `lost` failed on one side only. `detectable_effect`: this
    worsening, a fraction, would have been detected in every metric in which none was. `environment_changes` are the
    differences from the newest baseline run's environment. `diagnosis` compares the call trees of both revisions.
    `reference` names a base that is not the commit just before, such as a release. `verify` is the command that
    checks whether a fix undoes the culprit's change; null without a culprit. `cost` is the cost of measuring the
    target and everything measured with it; null if unknown. `costs` has the target's most expensive methods. `groups`
    are means of the configured groups, and `budgets` the checks of configured limits. `predictions` come from
    simulations of changed model files; they never fail a check.
    """

    version: Literal[2] = explicit_default(2)
    conclusion: Conclusion
    findings: tuple[Finding, ...]
    settings: Settings
    suite: str = "default"
    target_commit: str | None = None
    base_commit: str | None = None
    merge_commit: str | None = None
    reference: Annotated[str, msgspec.Meta(max_length=200)] | None = None
    baseline_source: BaselineSource = BaselineSource.FILES
    baseline_runs: int = 0
    choices: tuple[RunChoice, ...] = ()
    environment: Environment = msgspec.field(default_factory=Environment)
    environment_changes: Annotated[
        tuple[EnvironmentChange, ...], msgspec.Meta(max_length=ARTIFACT_LIMITS.environment_changes)
    ] = ()
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    lost: Losses = ()
    detectable_effect: float | None = None
    notes: tuple[Reason, ...] = ()
    failed: bool = False
    diagnosis: TreeComparison | None = None
    costs: MethodCosts | None = None
    predictions: Annotated[tuple[Prediction, ...], msgspec.Meta(max_length=ARTIFACT_LIMITS.predictions)] = ()
    cost: Cost | None = None
    groups: tuple[GroupMean, ...] = ()
    verify: str | None = None
    budgets: tuple[BudgetCheck, ...] = ()

    @property
    def blames_target(self) -> bool:
        """False if unmeasured commits of the base may have caused the findings."""
        return all(note.code is not BaselineReason.BASE_NOT_MEASURED for note in self.notes)

    @property
    def has_failed_command(self) -> bool:
        """Whether the target's command failed, whatever it left."""
        return any(one.side is FailedSide.TARGET and not one.benchmark for one in self.lost)

    @property
    def has_nothing_in_common(self) -> bool:
        """Whether both sides were measured, but share no metric."""
        return not self.findings and bool(self.missing and self.new)

    @property
    def is_consistent(self) -> bool:
        """Whether the conclusion agrees with the findings; a report from elsewhere may disagree."""
        has_regression = any(finding.verdict is Verdict.REGRESSION for finding in self.findings)
        if self.conclusion is Conclusion.NOT_AFFECTED and self.findings:
            return False
        return has_regression == (self.conclusion is Conclusion.REGRESSION) and self.fails == self.failed

    @property
    def fails(self) -> bool:
        """Whether a finding exceeds the fail threshold, a budget is exceeded, or what must not be lost is."""
        over = any(check.state is BudgetState.OVER for check in self.budgets)
        lost = any(note.code is Remark.LOST for note in self.notes)
        return (
            over
            or lost
            or self.has_failed_command
            or (self.blames_target and any(finding.level is Level.FAIL for finding in self.findings))
        )


def encode_report(report: Report, *, sentence: Sentence = no_sentence) -> bytes:
    """Encode the report as indented JSON. People open it, so reasons include their `sentence`."""
    file = structs.replace(
        report,
        findings=_undrawn(report.findings),
        verify=_verifying(report),
        environment_changes=report.environment_changes[: ARTIFACT_LIMITS.environment_changes],
        predictions=tuple(
            structs.replace(each, findings=_undrawn(each.findings))
            for each in report.predictions[: ARTIFACT_LIMITS.predictions]
        ),
    )
    return encode(file, indent=1, sentence=sentence)


def _verifying(report: Report) -> str | None:
    """The command that verifies a fix. Names may be untrusted, so each is quoted as one word for the shell."""
    commit = report.diagnosis.commit if report.diagnosis is not None else None
    if commit is None or FULL_HASH.fullmatch(commit) is None:
        return None
    worse = dict.fromkeys(finding.benchmark for finding in report.findings if finding.verdict is Verdict.REGRESSION)
    is_short = 0 < len(worse) <= TEXT_LIMITS.verified_benchmarks and not any(name.startswith("-") for name in worse)
    only = ["--only", *worse] if is_short else []
    command = ["perf-culprit", "verify", "--culprit", commit, "--fix", "HEAD", "--output", "verified", *only]
    return shlex.join(command)


def _undrawn(findings: tuple[Finding, ...]) -> tuple[Finding, ...]:
    return tuple(structs.replace(finding, drawn=UNSET) if finding.drawn else finding for finding in findings)


def decode_report(data: bytes, *, place: str) -> Report:
    """Return the report in `data`; raise a DataError with file and place if it is invalid."""
    report = decode(Report, data, place=place, from_version_1=_from_version_1)
    return report if report.costs is None else structs.replace(report, costs=report.costs.bounded)


_DROPPED: Final = frozenset({"alpha", "false_discovery_rate", "minimum_samples", "more_samples", "samples_needed"})
_UNCHANGED: Final = ("excluded", "exactly_equal", "below_minimum_effect")
_SUSPECTED: Final = ("looks_worse", "lone_run")


def _from_version_1(report: dict[str, Any]) -> dict[str, Any]:
    settings = {"proven": 0.01, "suspected": 0.1, **_without_legacy(report.get("settings"))}
    predictions = _each(report, "predictions", _report_part_of_version_1)
    return {**_report_part_of_version_1(report), "version": 2, "settings": settings, "predictions": predictions}


def _report_part_of_version_1(part: dict[str, Any]) -> dict[str, Any]:
    """Convert the report, or a prediction in it; it is suspected if a finding of an open one looks worse."""
    findings = _each(part, "findings", _finding_of_version_1)
    conclusion = part.get("conclusion")
    looks_worse = any(finding["verdict"] == Verdict.SUSPECTED for finding in findings)
    if conclusion == "machine_changed" or (conclusion == Conclusion.INCONCLUSIVE and looks_worse):
        conclusion = Conclusion.SUSPECTED
    return {**part, "conclusion": conclusion, "findings": findings}


def _finding_of_version_1(old: dict[str, Any]) -> dict[str, Any]:
    reason, verdict, precision = (old.get(name) for name in ("reason", "verdict", "precision"))
    code = str(reason.get("code")) if isinstance(reason, dict) else ""
    if verdict == "no_change":
        verdict = Verdict.UNCHANGED if code in _UNCHANGED else Verdict.NOT_SEEN
    elif verdict == "inconclusive":
        verdict = Verdict.SUSPECTED if code.startswith(_SUSPECTED) else Verdict.UNTESTED
    finding = {**_without_legacy(old), "verdict": verdict, "rate": old.get("q_value")}
    # The codes of that version had other meanings.
    if isinstance(reason, dict) and isinstance(reason.get("text"), str):
        finding["reason"] = reason["text"]
    if isinstance(precision, dict):
        finding["precision"] = {"rounds": precision.get("rounds")}
    return {name: value for name, value in finding.items() if name != "q_value"}


def _without_legacy(value: Any) -> dict[str, Any]:
    return {name: one for name, one in value.items() if name not in _DROPPED} if isinstance(value, dict) else {}


def _each(part: dict[str, Any], name: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
    values = part.get(name, [])
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise msgspec.ValidationError(f"Expected an `array` of `object` - at `$.{name}`")
    return [change(value) for value in values]


def encode_tree_comparison(comparison: TreeComparison) -> bytes:
    """Encode the comparison without empty fields: a tree has thousands of nodes."""
    return encode(comparison, indent=1)


def decode_tree_comparison(data: bytes, *, place: str) -> TreeComparison:
    """Return the comparison in `data`; raise a DataError with file and place if it is invalid."""
    return decode(TreeComparison, data, place=place)


@dataclass(frozen=True, kw_only=True, slots=True)
class Judgement:
    """`findings` are ordered for reading: loudest verdict first, then by size.

    `detectable_effect`: the smallest worsening that would have been seen, with the policy's power, in all metrics
    without one. None if there is no such metric. `failed`: some regression reached the fail threshold.
    """

    conclusion: Conclusion
    findings: tuple[Finding, ...] = ()
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    lost: tuple[Lost, ...] = ()
    detectable_effect: float | None = None
    notes: tuple[Reason, ...] = ()
    failed: bool = False
