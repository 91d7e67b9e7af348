"""A report as JSON (report v1): the file other steps read, and what a fork's run hands to the trusted job."""

from dataclasses import field
from functools import cache
from typing import Final, Literal

from pydantic import AwareDatetime, TypeAdapter
from pydantic.dataclasses import dataclass

from bot.codec.diagnosis import CostsEntry, costs, costs_entry
from bot.codec.reason import ReasonEntry, Sentence, no_sentence, reason_entry, reason_of
from bot.codec.tree_comparison import TreeComparisonFile, tree_comparison, tree_comparison_entry
from bot.codec.wire import WIRE_CONFIG, decode
from bot.model.acceptance import Acceptance
from bot.model.baseline import BaselineSource, RunChoice
from bot.model.environment import Environment
from bot.model.finding import Evidence, Finding, Interval, Level, Severity, Side, Verdict
from bot.model.metric import Direction, Metric, MetricKey
from bot.model.report import Conclusion, Report, Settings
from bot.model.rules import RuleEvidence

REPORT_FORMAT: Final = "perf-culprit-report"
SCHEMA_NAME = "report-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class AcceptedEntry:
    """Who accepted this regression, at which commit and why."""

    commit: str
    author: str
    reason: str
    time: AwareDatetime


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class FindingEntry:
    """One metric; effects are fractions: relative_change 0.1 is 10 % more."""

    benchmark: str
    metric: str
    unit: str
    direction: Direction
    verdict: Verdict
    reason: ReasonEntry | str
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
    details: dict[str, float] = field(default_factory=dict)
    evidence_reason: ReasonEntry | str | None = None
    notes: tuple[ReasonEntry | str, ...] = ()
    rules: RuleEvidence | None = None
    series: tuple[float, ...] = ()
    accepted: AcceptedEntry | None = None


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class ChoiceEntry:
    commit: str | None
    time: str | None
    chosen: bool
    reason: ReasonEntry | str


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
    choices: tuple[ChoiceEntry, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    missing: tuple[MetricKey, ...] = ()
    new: tuple[MetricKey, ...] = ()
    detectable_effect: float | None = None
    notes: tuple[ReasonEntry | str, ...] = ()
    diagnosis: TreeComparisonFile | None = None
    costs: CostsEntry | None = None


@cache
def report_adapter() -> TypeAdapter[ReportFile]:
    """Built on first use: building a validator costs milliseconds that `--help` need not pay."""
    return TypeAdapter(ReportFile)


def encode_report(report: Report, *, sentence: Sentence = no_sentence) -> bytes:
    """The report as JSON, indented: people open it, so that reasons have their `sentence` beside them."""
    file = ReportFile(
        format=REPORT_FORMAT,
        version=1,
        conclusion=report.conclusion,
        failed=report.failed,
        findings=tuple(_finding_entry(finding, sentence) for finding in report.findings),
        settings=report.settings,
        suite=report.suite,
        target_commit=report.target_commit,
        base_commit=report.base_commit,
        merge_commit=report.merge_commit,
        baseline_source=report.baseline_source,
        baseline_runs=report.baseline_runs,
        choices=tuple(
            ChoiceEntry(
                commit=choice.commit,
                time=choice.time,
                chosen=choice.chosen,
                reason=reason_entry(choice.reason, sentence),
            )
            for choice in report.choices
        ),
        environment=dict(report.environment.components),
        missing=report.missing,
        new=report.new,
        detectable_effect=report.detectable_effect,
        notes=tuple(reason_entry(note, sentence) for note in report.notes),
        diagnosis=None if report.diagnosis is None else tree_comparison_entry(report.diagnosis),
        costs=None if report.costs is None else costs_entry(report.costs),
    )
    return report_adapter().dump_json(file, indent=1) + b"\n"


def decode_report(data: bytes, *, place: str) -> Report:
    """The report in `data`; a DataError with file and place where it is none."""
    file = decode(report_adapter(), data, place=place, what=SCHEMA_NAME)
    return Report(
        conclusion=file.conclusion,
        failed=file.failed,
        findings=tuple(_finding(entry, suite=file.suite) for entry in file.findings),
        settings=file.settings,
        suite=file.suite,
        target_commit=file.target_commit,
        base_commit=file.base_commit,
        merge_commit=file.merge_commit,
        baseline_source=file.baseline_source,
        baseline_runs=file.baseline_runs,
        choices=tuple(
            RunChoice(commit=entry.commit, time=entry.time, chosen=entry.chosen, reason=reason_of(entry.reason))
            for entry in file.choices
        ),
        environment=Environment(components=file.environment),
        missing=file.missing,
        new=file.new,
        detectable_effect=file.detectable_effect,
        notes=tuple(map(reason_of, file.notes)),
        diagnosis=None if file.diagnosis is None else tree_comparison(file.diagnosis, place=place),
        costs=None if file.costs is None else costs(file.costs),
    )


def _finding_entry(finding: Finding, sentence: Sentence) -> FindingEntry:
    evidence = finding.evidence
    return FindingEntry(
        benchmark=evidence.key.benchmark,
        metric=evidence.metric.name,
        unit=evidence.metric.unit,
        direction=evidence.metric.direction,
        verdict=finding.verdict,
        reason=reason_entry(finding.reason, sentence),
        level=finding.level,
        test=evidence.test,
        severity=finding.severity,
        baseline=evidence.baseline,
        target=evidence.target,
        relative_change=evidence.relative_change,
        confidence_interval=evidence.confidence_interval,
        p_value=evidence.p_value,
        score=evidence.score,
        threshold=evidence.threshold,
        q_value=finding.q_value,
        minimum_effect=finding.minimum_effect,
        more_samples=finding.more_samples,
        detectable_effect=finding.detectable_effect,
        samples_needed=evidence.samples_needed,
        category=finding.category,
        category_now=finding.category_now,
        details=dict(evidence.details),
        evidence_reason=None if evidence.reason is None else reason_entry(evidence.reason, sentence),
        notes=tuple(reason_entry(note, sentence) for note in evidence.notes),
        rules=evidence.rules,
        series=finding.series,
        accepted=_accepted_entry(finding.accepted),
    )


def _accepted_entry(accepted: Acceptance | None) -> AcceptedEntry | None:
    if accepted is None:
        return None
    return AcceptedEntry(commit=accepted.commit, author=accepted.author, reason=accepted.reason, time=accepted.time)


def _finding(entry: FindingEntry, *, suite: str) -> Finding:
    return Finding(
        evidence=Evidence(
            key=MetricKey(entry.benchmark, entry.metric),
            metric=Metric(name=entry.metric, unit=entry.unit, direction=entry.direction),
            test=entry.test,
            baseline=entry.baseline,
            target=entry.target,
            relative_change=entry.relative_change,
            confidence_interval=entry.confidence_interval,
            p_value=entry.p_value,
            score=entry.score,
            threshold=entry.threshold,
            samples_needed=entry.samples_needed,
            reason=None if entry.evidence_reason is None else reason_of(entry.evidence_reason),
            details=entry.details,
            notes=tuple(map(reason_of, entry.notes)),
            rules=entry.rules,
        ),
        verdict=entry.verdict,
        reason=reason_of(entry.reason),
        q_value=entry.q_value,
        severity=entry.severity,
        level=entry.level,
        more_samples=entry.more_samples,
        detectable_effect=entry.detectable_effect,
        minimum_effect=entry.minimum_effect,
        category=entry.category,
        category_now=entry.category_now,
        series=entry.series,
        accepted=_accepted(entry, suite=suite),
    )


def _accepted(entry: FindingEntry, *, suite: str) -> Acceptance | None:
    said = entry.accepted
    if said is None:
        return None
    return Acceptance(
        suite=suite,
        benchmark=entry.benchmark,
        commit=said.commit,
        reason=said.reason,
        author=said.author,
        time=said.time,
    )
