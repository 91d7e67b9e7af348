"""Convert evidence to verdicts, and verdicts to a conclusion. docs/decision-rule.md states the rule in words."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge import exact_counts
from perf_culprit.judge.benchmark_findings import benchmark_findings
from perf_culprit.judge.categories import CategoryChange, category_changes
from perf_culprit.judge.common_machine import hardware_differences
from perf_culprit.judge.conclusion import conclusion_of, is_flagged, reading_order, smallest_detectable, withdrawn
from perf_culprit.judge.counter_pairs import CounterPairing, pair_counters
from perf_culprit.judge.detector import DetectorOptions, detector_of
from perf_culprit.judge.evidence_columns import EXACT
from perf_culprit.judge.limit_verdict import chance_notes, counter_findings
from perf_culprit.judge.machine_speed import scale_by_ruler
from perf_culprit.judge.metric_pairs import MetricPair, Pairing, lost_on_one_side, pair_metrics
from perf_culprit.judge.new_level import settled
from perf_culprit.judge.one_load import load_findings, load_notes
from perf_culprit.judge.shapes import with_shapes
from perf_culprit.judge.single_values import single_values
from perf_culprit.model.detectors import DEFAULT_COUNTER_DETECTOR, DEFAULT_DETECTOR
from perf_culprit.model.finding import (
    CALLED_VERDICTS,
    Acceptance,
    Baseline,
    BaselineSource,
    Finding,
    Level,
    SuiteChange,
    Verdict,
)
from perf_culprit.model.reason import BaselineReason, Reason, Remark, VerdictReason, because
from perf_culprit.model.report import Conclusion, Judgement
from perf_culprit.model.run import HARNESS, Direction, Metric, MetricKey, Run

__all__ = ["PolicySettings", "judge"]

# Common shift of all benchmarks from which on the report mentions it.
NOTABLE_SHIFT: Final = 0.01


def judge(
    baseline: Baseline,
    target: Run,
    *,
    detector: str = DEFAULT_DETECTOR,
    counter_detector: str = DEFAULT_COUNTER_DETECTOR,
    settings: PolicySettings,
) -> Judgement:
    """Judge every metric of `target`, and the run as a whole. A target without measurements is an error.

    `detector` judges the benchmarks, `counter_detector` the counters.
    """
    if not target.benchmarks and not target.counters and not lost_on_one_side(baseline, target):
        raise DataError("measured nothing", place="target", next_step="check that the benchmarks ran")
    baseline, of_levels = settled(baseline, target)
    baseline, target = single_values(baseline, target)
    heads = (run.environment.components.get(HARNESS) for run in baseline.runs[-1:])
    parts = [run.part for run in (*baseline.runs[-1:], target) if run.part]
    lacking = sorted({(index, part.count) for part in parts for index in part.missing})
    notes = [*(because(Remark.PART_MISSING, part=index, count=count) for index, count in lacking), *of_levels]
    notes += [because(Remark.HARNESS_OF_HEAD, commit=head[:10]) for head in heads if head]
    if settings.ruler is not None:
        baseline, target, scaled = scale_by_ruler(baseline, target, settings.ruler.key)
        notes.append(scaled)
    pairing = _pairing(baseline, target, settings)
    counters = _counter_pairing(baseline, target, settings)
    if not baseline.runs:
        return _nothing_to_compare(baseline, new=pairing.new + counters.new)
    options = DetectorOptions(settings=settings, paired=baseline.source is BaselineSource.PAIRED)
    assessed = exact_counts.detect(pairing.pairs, options, detector_of(detector))
    runs = None if options.paired else baseline.runs
    categories = category_changes(pairing.pairs, assessed.evidence, settings, runs=runs)
    inherits = options.paired or baseline.is_branched
    findings = benchmark_findings(pairing.pairs, assessed.evidence, categories, settings, inherits=inherits)
    if settings.shapes and options.paired and findings:
        findings = with_shapes(pairing.pairs, findings, rate=settings.proven)
    notes += [*assessed.notes, *_suite_notes(assessed.suite, paired=options.paired)]
    notes += [*_baseline_notes(baseline, findings), *_category_notes(pairing.pairs, findings, settings)]
    notes += _beyond_notes(categories, findings, inherits=inherits)
    notes += chance_notes(findings)
    if counters.tables:
        of_tables = detector_of(counter_detector)
        of_counters = of_tables.detect_counters(counters.tables, options)
        of_limits = counter_findings(counters.tables, of_counters, settings)
        findings = [*findings, *of_limits, *load_findings(counters.tables)]
        notes += [*_published_notes(counter_detector, settings), *counters.notes, *chance_notes(of_limits)]
        notes += load_notes(counters.tables)
        notes += of_tables.remarks(counters.tables, options)
    hardware = () if settings.ignore_environment else hardware_differences(baseline, target)
    if hardware:
        findings = [withdrawn(finding, hardware[0]) for finding in findings]
        # First, because the report shows the first note as the reason.
        conclusion, notes = Conclusion.OTHER_HARDWARE, [*hardware, *notes]
    else:
        conclusion = conclusion_of(findings, suite=assessed.suite)
    with_acceptances = [_set_aside(finding, baseline.accepted, settings) for finding in findings]
    if with_acceptances != findings:
        findings, conclusion = with_acceptances, conclusion_of(with_acceptances, suite=assessed.suite)
    return Judgement(
        conclusion=conclusion,
        findings=tuple(sorted(findings, key=reading_order)),
        # Metrics of other parts of the suite are neither missing nor new.
        missing=() if target.part else pairing.missing + counters.missing,
        new=() if any(run.part for run in baseline.runs) else pairing.new + counters.new,
        lost=pairing.lost,
        detectable_effect=smallest_detectable(findings),
        notes=tuple(notes),
        failed=any(finding.level is Level.FAIL for finding in findings),
    )


def _published_notes(detector: str, settings: PolicySettings) -> list[Reason]:
    """Report what share of unchanged counters the published method calls, if it judges."""
    rule = detector_of(detector).limit
    least, most = rule.alarms
    is_used = rule.is_published(settings)
    return [because(Remark.PUBLISHED_LIMIT, detector=detector, least=least, most=most)] if is_used else []


def _suite_notes(suite: SuiteChange | None, *, paired: bool) -> list[Reason]:
    """Report how far all benchmarks moved together, if it is notable."""
    if suite is None or abs(suite.change) < NOTABLE_SHIFT:
        return []
    if suite.is_suspected and not paired:
        return [because(Remark.SUITE_MOVED, change=suite.change)]
    return [because(Remark.SUITE_LEFT_IN if suite.is_left_in else Remark.SUITE_LEFT_OUT, change=suite.change)]


def _pairing(baseline: Baseline, target: Run, settings: PolicySettings) -> Pairing:
    def direction(metric: Metric, key: MetricKey) -> Direction:
        return settings.of(key).direction or metric.direction

    pairing = pair_metrics(baseline, target, direction=direction if settings.benchmarks else None)
    return Pairing(
        pairs=tuple(pair for pair in pairing.pairs if not settings.of(pair.key).ignore),
        missing=tuple(key for key in pairing.missing if not settings.of(key).ignore),
        new=tuple(key for key in pairing.new if not settings.of(key).ignore),
        lost=pairing.lost,
    )


def _counter_pairing(baseline: Baseline, target: Run, settings: PolicySettings) -> CounterPairing:
    if not settings.benchmarks:
        return pair_counters(baseline, target)
    return pair_counters(
        baseline,
        target,
        direction=lambda metric, key: settings.of(key).direction or metric.direction,
        ignored=lambda key: settings.of(key).ignore,
    )


def _nothing_to_compare(baseline: Baseline, *, new: tuple[MetricKey, ...]) -> Judgement:
    """The conclusion without a baseline: a first run, unless stored runs were left out only for their hardware."""
    if not baseline.only_other_hardware:
        return Judgement(conclusion=Conclusion.FIRST_RUN, new=new)
    left_out = (choice.reason for choice in baseline.choices if choice.reason.code is BaselineReason.OTHER_HARDWARE)
    newest = next(left_out, because(BaselineReason.OTHER_HARDWARE))
    arguments = {**newest.arguments, "count": baseline.left_out_for_hardware}
    reason = Reason(code=BaselineReason.ONLY_OTHER_HARDWARE, arguments=arguments)
    return Judgement(conclusion=Conclusion.OTHER_HARDWARE, new=new, notes=(reason,))


def _set_aside(finding: Finding, accepted: Sequence[Acceptance], settings: PolicySettings) -> Finding:
    """A regression or suspicion that was accepted, or is only watched, fails nothing; its numbers are still shown."""
    if not is_flagged(finding):
        return finding
    acceptances = [entry for entry in accepted if entry.covers(finding.key)]
    if not acceptances and not settings.is_watched(finding.key.benchmark):
        return finding
    return replace(
        finding,
        verdict=Verdict.NOT_SEEN,
        reason=because(VerdictReason.ACCEPTED if acceptances else VerdictReason.WATCHED),
        severity=None,
        level=Level.NOTE,
        accepted=acceptances[-1].by if acceptances else None,
    )


def _baseline_notes(baseline: Baseline, findings: Sequence[Finding]) -> list[Reason]:
    has_samples = any(finding.test != EXACT and not finding.is_by_sample for finding in findings)
    if has_samples and baseline.source is not BaselineSource.PAIRED and len(baseline.runs) == 1:
        return [because(Remark.LONE_BASELINE)]
    return []


def _category_notes(pairs: Sequence[MetricPair], findings: Sequence[Finding], settings: PolicySettings) -> list[Reason]:
    """Report newly assigned categories; stored ones were reported before."""
    slow = Counter[str]()
    for pair, finding in zip(pairs, findings, strict=True):
        own = settings.of(pair.key)
        new = not any(run.category for run in pair.baseline) and own.category is None
        if new and finding.category not in {None, *(one.name for one in own.categories[:1])}:
            slow[str(finding.category)] += 1
    return [because(Remark.CATEGORY_ASSIGNED, category=name, count=count) for name, count in slow.items()]


def _beyond_notes(categories: Sequence[CategoryChange], findings: Sequence[Finding], *, inherits: bool) -> list[Reason]:
    """Report levels beyond their category without a finding: the baseline was beyond too, or it may be noise."""
    beyond = Counter(
        (Remark.CATEGORY_LEFT_BEFORE if inherits and change.is_inherited else Remark.CATEGORY_UNSURE, change.assigned)
        for change, finding in zip(categories, findings, strict=True)
        if change.beyond is not None and finding.verdict not in CALLED_VERDICTS
    )
    in_order = sorted(beyond.items(), key=lambda item: item[0][0])
    return [because(code, category=str(name), count=count) for (code, name), count in in_order]
