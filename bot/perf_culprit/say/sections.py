"""A report's findings by their verdict, always in the same order."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from perf_culprit.model.count import COMMAND_BENCHMARK
from perf_culprit.model.detectors import Scale
from perf_culprit.model.finding import PROVEN, QUIET_VERDICTS, Finding, Level, Severity, Verdict
from perf_culprit.model.reason import VerdictReason
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import PERCENTILE, Direction, MetricKey
from perf_culprit.say.numbers import is_time

# Conclusions after which the numbers do not judge the code.
UNJUDGED = (Conclusion.OTHER_HARDWARE, Conclusion.FIRST_RUN, Conclusion.NOT_AFFECTED)

# The scores of single counters; a strength is that of a whole history.
_LOUDEST_FIRST = {Level.FAIL: 0, Level.WARN: 1, Level.NOTE: 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sections:
    """All metrics of the report, each exactly once.

    `several_metrics`: a benchmark has more than one, or is a whole command, which only its metric describes.
    `suspected` look like an unproven change, those for the worse first. `differing` ones differ, and nothing tells the
    code from the machine. `untested` give no evidence of a change. `quiet` ones show none. `accepted` ones got worse,
    and that was accepted; `watched` ones got or look worse, and fail nothing. `unjudged` are all metrics that differ or
    may differ if the conclusion forbids judging them. `beside` are further times of a benchmark (CPU with wall) with
    the same verdict. They share a row and are counted once.
    """

    regressions: tuple[Finding, ...]
    improvements: tuple[Finding, ...]
    suspected: tuple[Finding, ...]
    differing: tuple[Finding, ...]
    untested: tuple[Finding, ...]
    quiet: tuple[Finding, ...]
    unjudged: tuple[Finding, ...]
    several_metrics: bool
    accepted: tuple[Finding, ...] = ()
    watched: tuple[Finding, ...] = ()
    beside: Mapping[MetricKey, tuple[Finding, ...]] = field(default_factory=dict)

    @property
    def changed(self) -> tuple[Finding, ...]:
        return self.regressions + self.improvements

    @property
    def all(self) -> tuple[Finding, ...]:
        return (
            *self.changed,
            *self.suspected,
            *self.differing,
            *self.accepted,
            *self.watched,
            *self.unjudged,
            *self.untested,
            *self.quiet,
        )

    @property
    def looking_worse(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.suspected if finding.looks_worse)

    @property
    def looking_better(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.suspected if not finding.looks_worse)

    @property
    def not_comparable(self) -> tuple[Finding, ...]:
        """The metrics whose benchmark itself changed."""
        return tuple(finding for finding in self.untested if finding.is_of_other_benchmark)

    @property
    def not_seen(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.quiet if finding.verdict is Verdict.NOT_SEEN)

    @property
    def outside(self) -> tuple[Finding, ...]:
        """The metrics that clearly left their limits or broke their rules, and were not called."""
        trifle = VerdictReason.OVER_LIMIT_SMALL_EFFECT
        return tuple(
            finding for finding in self.not_seen if leaves_limits(finding) and finding.reason.code is not trifle
        )

    @property
    def unchanged(self) -> tuple[Finding, ...]:
        return tuple(
            finding
            for finding in self.quiet
            if finding.verdict is Verdict.UNCHANGED and finding.reason.code is not VerdictReason.REFUTED
        )

    @property
    def constants(self) -> tuple[Finding, ...]:
        """Counts and sizes that are equal in all runs, so noise cannot have hidden anything."""
        return tuple(
            finding
            for finding in self.unchanged
            if finding.reason.code is VerdictReason.EXACTLY_EQUAL and not is_time(finding.metric.unit)
        )

    @property
    def varying(self) -> "Sections":
        """The sections without the constants."""
        varying = replace(self, quiet=tuple(finding for finding in self.quiet if finding not in self.constants))
        return replace(varying, several_metrics=has_several_metrics(varying.all))

    @property
    def refuted(self) -> tuple[Finding, ...]:
        """The metrics that looked worse until they were measured again."""
        return tuple(finding for finding in self.quiet if finding.reason.code is VerdictReason.REFUTED)

    @property
    def total(self) -> int:
        return len(self.all)

    @property
    def noun(self) -> str:
        return "metric" if self.several_metrics else "benchmark"


def by_benchmark(keys: Sequence[MetricKey]) -> tuple[MetricKey, ...]:
    """Merge missing or new metrics: each benchmark once, with all of its metrics as one."""
    metrics: dict[str, list[str]] = {}
    for key in keys:
        metrics.setdefault(key.benchmark, []).append(key.metric)
    return tuple(MetricKey(name, ", ".join(own)) for name, own in metrics.items())


def leaves_limits(finding: Finding) -> bool:
    return finding.is_by_limit and finding.violation > 1


def left_what(findings: Sequence[Finding], its: str) -> str:
    """Return words like "left their limits" or "broke their rules"."""
    return f"broke {its} rules" if all(finding.scale is Scale.VOTES for finding in findings) else f"left {its} limits"


def split(report: Report) -> Sections:
    findings, beside = _one_time_each(sorted(report.findings, key=_reading_order))
    is_judged = report.conclusion not in UNJUDGED

    def of(*verdicts: Verdict) -> tuple[Finding, ...]:
        return tuple(finding for finding in findings if is_judged and finding.verdict in verdicts)

    return Sections(
        regressions=of(Verdict.REGRESSION),
        improvements=of(Verdict.IMPROVEMENT),
        suspected=tuple(sorted(of(Verdict.SUSPECTED), key=lambda finding: not finding.looks_worse)),
        differing=of(Verdict.DIFFERS),
        untested=of(Verdict.UNTESTED),
        quiet=tuple(finding for finding in findings if finding.verdict in QUIET_VERDICTS and not finding.is_set_aside),
        accepted=tuple(finding for finding in findings if finding.accepted is not None),
        watched=tuple(finding for finding in findings if finding.is_watched),
        unjudged=() if is_judged else tuple(finding for finding in findings if finding.verdict not in QUIET_VERDICTS),
        several_metrics=has_several_metrics(findings),
        beside=beside,
    )


def has_several_metrics(findings: Sequence[Finding]) -> bool:
    """Return whether any benchmark has more than one metric, or is a whole command."""
    names = [finding.key.benchmark for finding in findings]
    return len(set(names)) < len(names) or COMMAND_BENCHMARK in names


def _one_time_each(findings: Sequence[Finding]) -> tuple[Sequence[Finding], dict[MetricKey, tuple[Finding, ...]]]:
    """Return the findings with one time per benchmark and verdict, and the others by its key."""
    if not has_several_metrics(findings):
        return findings, {}
    together: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        together.setdefault(_sameness(finding), []).append(finding)
    main: list[Finding] = []
    beside: dict[MetricKey, tuple[Finding, ...]] = {}
    for group in together.values():
        first = min(group, key=lambda finding: (_LOUDEST_FIRST[finding.level], finding.key.metric != "time"))
        main.append(first)
        if len(group) > 1:
            beside[first.key] = tuple(finding for finding in group if finding is not first)
    return main, beside


def _sameness(finding: Finding) -> tuple[object, ...]:
    timed = finding.metric.direction is Direction.LOWER_IS_BETTER and is_time(finding.metric.unit)
    is_own = finding.is_set_aside or PERCENTILE.fullmatch(finding.key.metric)
    metric = None if timed and not is_own else finding.key.metric
    return finding.key.benchmark, metric, finding.verdict


def worsening(finding: Finding) -> float | None:
    """Return the relative change, positive if it is for the worse."""
    change = finding.relative_change
    return None if change is None else change * finding.metric.direction.worse_sign


def crossing(finding: Finding) -> tuple[str, str] | None:
    """Return the assigned category and the target's current one. None if they are equal."""
    if finding.category is None or finding.category_now is None or finding.category == finding.category_now:
        return None
    return finding.category, finding.category_now


def _reading_order(finding: Finding) -> tuple[int, int, int, float, float, float, str, str]:
    """Sort the loudest first, then the largest change. Unchanged metrics are sorted by name: their size means nothing.

    Findings judged by a limit come after these: the farthest from the limit first, then the longest beyond it.
    """
    key, level = finding.key, _LOUDEST_FIRST[finding.level]
    change = worsening(finding)
    size = 0.0 if change is None or math.isnan(change) or finding.verdict in QUIET_VERDICTS else abs(change)
    if finding.is_by_limit and finding.verdict not in QUIET_VERDICTS:
        return 1, level, 0, -finding.violation, -finding.excess.time_in_violation, -size, key.benchmark, key.metric
    # A regression or improvement without a relative change started from zero: it is the largest of all.
    if change is None and finding.verdict in PROVEN:
        size = math.inf
    return 0, level, 0 if finding.severity is Severity.MAJOR else 1, -size, 0.0, 0.0, key.benchmark, key.metric
