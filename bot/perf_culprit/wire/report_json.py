"""A report as JSON (report v1): the file other steps read, and what a fork's run hands to the trusted job."""

from dataclasses import field, fields
from typing import Annotated, Any, Final, Literal

import msgspec
from pydantic import AwareDatetime, Field
from pydantic.dataclasses import dataclass

from perf_culprit.model.finding import (
    Acceptance,
    BaselineSource,
    Evidence,
    Excess,
    Finding,
    Interval,
    Level,
    Precision,
    RuleEvidence,
    RunChoice,
    Severity,
    Side,
    Verdict,
)
from perf_culprit.model.reason import Reason
from perf_culprit.model.report import Conclusion, Prediction, Report, Settings
from perf_culprit.model.run import (
    LONGEST_NAME,
    LONGEST_SECONDS,
    LONGEST_VALUE,
    MOST_COMPONENTS,
    MOST_EXECUTIONS,
    NO_COST,
    Cost,
    Direction,
    Environment,
    EnvironmentChange,
    Metric,
    MetricKey,
)
from perf_culprit.wire.analysis_json import (
    CostsEntry,
    TreeComparisonFile,
    costs,
    costs_entry,
    tree_comparison,
    tree_comparison_entry,
)
from perf_culprit.wire.checked_json import WIRE_CONFIG, Sentence, decode, encode, no_sentence, same_fields

SCHEMA_NAME = "report-v1"
MOST_PREDICTIONS = 20
MOST_CHANGES = 500


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class AcceptedEntry:
    """Who accepted this regression, at which commit and why."""

    commit: str
    author: str
    reason: str
    time: AwareDatetime


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class FindingEntry:
    """One metric; effects are fractions: relative_change 0.1 is 10% more."""

    benchmark: str
    metric: str
    unit: str
    direction: Direction
    verdict: Verdict
    reason: Reason
    level: Level
    test: str
    severity: Severity | None = None
    baseline: Side | None = None
    target: Side | None = None
    relative_change: float | None = None
    confidence_interval: Interval | None = None
    p_value: float | None = None
    q_value: float | None = None
    score: float | None = None
    threshold: float | None = None
    minimum_effect: float = 0.0
    more_samples: int | None = None
    detectable_effect: float | None = None
    samples_needed: int | None = None
    category: str | None = None
    category_now: str | None = None
    precision: Precision = Precision()
    excess: Excess = Excess()
    details: dict[str, float] = field(default_factory=dict)
    evidence_reason: Reason | None = None
    notes: tuple[Reason, ...] = ()
    rules: RuleEvidence | None = None
    series: tuple[float, ...] = ()
    accepted: AcceptedEntry | None = None


# In the file's order; a verdict's reason is the finding's.
ENTRY_NAMES: Final = tuple(one.name for one in fields(FindingEntry))
FINDING_NAMES: Final = frozenset(one.name for one in fields(Finding))


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class PredictionEntry:
    """What a simulated scenario of a changed model file says; nothing of it was measured."""

    model: Annotated[str, Field(max_length=4096)]
    scenario: Annotated[str, Field(max_length=100)]
    conclusion: Conclusion
    findings: tuple[FindingEntry, ...]
    detectable_effect: float | None = None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class CostEntry:
    """What measuring took: executions of the suite and the machine's time."""

    executions: Annotated[int, Field(ge=1, le=MOST_EXECUTIONS)]
    seconds: Annotated[float, Field(ge=0, le=LONGEST_SECONDS)]


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ReportFile:
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-report"]
    version: Literal[1]
    conclusion: Conclusion
    failed: bool
    findings: tuple[FindingEntry, ...]
    settings: Settings
    suite: str = "default"
    target_commit: str | None = None
    base_commit: str | None = None
    merge_commit: str | None = None
    baseline_source: BaselineSource = BaselineSource.FILES
    baseline_runs: int = 0
    choices: tuple[RunChoice, ...] = ()
    environment: Annotated[
        dict[Annotated[str, Field(max_length=LONGEST_NAME)], Annotated[str, Field(max_length=LONGEST_VALUE)]],
        Field(max_length=MOST_COMPONENTS),
    ] = field(default_factory=dict)
    environment_changes: Annotated[tuple[EnvironmentChange, ...], Field(max_length=MOST_CHANGES)] = ()
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    detectable_effect: float | None = None
    notes: tuple[Reason, ...] = ()
    diagnosis: TreeComparisonFile | None = None
    costs: CostsEntry | None = None
    predictions: Annotated[tuple[PredictionEntry, ...], Field(max_length=MOST_PREDICTIONS)] = ()
    cost: CostEntry | None = None


def encode_report(report: Report, *, sentence: Sentence = no_sentence) -> bytes:
    """The report as JSON, indented: people open it, so that reasons have their `sentence` beside them."""
    file = same_fields(
        ReportFile,
        report,
        format="perf-culprit-report",
        version=1,
        findings=(),
        environment=dict(report.environment.bounded.components),
        environment_changes=report.environment_changes[:MOST_CHANGES],
        diagnosis=None if report.diagnosis is None else tree_comparison_entry(report.diagnosis),
        costs=None if report.costs is None else costs_entry(report.costs),
        cost=same_fields(CostEntry, report.cost) if report.cost.executions else None,
        predictions=tuple(
            same_fields(PredictionEntry, each, findings=tuple(FindingEntry(**_entry(one)) for one in each.findings))
            for each in report.predictions[:MOST_PREDICTIONS]
        ),
    )
    whole = encode(file, indent=1, context={"sentence": sentence})
    if not report.findings:
        return whole
    # No string holds a line feed, and only the members of the file itself are indented by one.
    before, empty, after = whole.partition(b'\n "findings": []')
    findings = b",\n".join(_encoded(_entry(finding), sentence) for finding in report.findings)
    return before + empty[:-1] + b"\n  " + findings.replace(b"\n", b"\n  ") + b"\n ]" + after


def decode_report(data: bytes, *, place: str) -> Report:
    """The report in `data`; a DataError with file and place where it is none."""
    file = decode(ReportFile, data, place=place, what=SCHEMA_NAME)
    return same_fields(
        Report,
        file,
        findings=tuple(_finding(entry, suite=file.suite) for entry in file.findings),
        environment=Environment(components=file.environment).bounded,
        diagnosis=None if file.diagnosis is None else tree_comparison(file.diagnosis, place=place),
        costs=None if file.costs is None else costs(file.costs),
        cost=NO_COST if file.cost is None else same_fields(Cost, file.cost),
        predictions=tuple(
            same_fields(Prediction, each, findings=tuple(_finding(one, suite=file.suite) for one in each.findings))
            for each in file.predictions
        ),
    )


def _entry(finding: Finding) -> dict[str, Any]:
    """What a FindingEntry of it is made of, in order."""
    evidence, accepted = finding.evidence, finding.accepted
    own = {
        "benchmark": evidence.key.benchmark,
        "metric": evidence.metric.name,
        "unit": evidence.metric.unit,
        "direction": evidence.metric.direction,
        "evidence_reason": evidence.reason,
        "accepted": None if accepted is None else same_fields(AcceptedEntry, accepted),
    }
    return {
        name: own[name] if name in own else getattr(finding if name in FINDING_NAMES else evidence, name)
        for name in ENTRY_NAMES
    }


def _encoded(entry: dict[str, Any], sentence: Sentence) -> bytes:
    """As `encode` writes a FindingEntry, nearly always in a tenth of the time."""
    try:
        return _quickly_encoded(entry, sentence)
    except (UnicodeEncodeError, TypeError):  # names that were no UTF-8, numbers of numpy
        return encode(FindingEntry(**entry), indent=1, context={"sentence": sentence}).strip()


def _quickly_encoded(entry: dict[str, Any], sentence: Sentence) -> bytes:

    def written(reason: Reason) -> dict[str, Any]:
        return {"code": reason.code, "arguments": dict(reason.arguments), "text": sentence(reason)}

    reason, evidence_reason = entry["reason"], entry["evidence_reason"]
    reasons = {
        "reason": written(reason),
        "evidence_reason": None if evidence_reason is None else written(evidence_reason),
        "notes": tuple(map(written, entry["notes"])),
    }
    return msgspec.json.format(msgspec.json.encode(entry | reasons), indent=1)


def _finding(entry: FindingEntry, *, suite: str) -> Finding:
    accepted = entry.accepted
    return same_fields(
        Finding,
        entry,
        evidence=same_fields(
            Evidence,
            entry,
            key=MetricKey(entry.benchmark, entry.metric),
            metric=Metric(name=entry.metric, unit=entry.unit, direction=entry.direction),
            reason=entry.evidence_reason,
        ),
        accepted=None
        if accepted is None
        else same_fields(Acceptance, accepted, suite=suite, benchmark=entry.benchmark),
    )
