"""A report's findings by what is said about them, the tables that show them, and words that sentences share."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from perf_culprit.model.count import BENCHMARK
from perf_culprit.model.finding import Finding, Level, Severity, Verdict
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import Cost, Direction, Metric, MetricKey
from perf_culprit.say.inert import Safe, code, join, own, prose, row
from perf_culprit.say.numbers import is_time

# A report's findings by what is said about them, always in the same order.

# Conclusions that say: these numbers do not judge the code.
UNJUDGED = (Conclusion.OTHER_HARDWARE, Conclusion.MACHINE_CHANGED, Conclusion.FIRST_RUN)

_LOUDEST_FIRST = {Level.FAIL: 0, Level.WARN: 1, Level.NOTE: 2}


@dataclass(frozen=True, kw_only=True, slots=True)
class Sections:
    """Each metric of the report exactly once.

    `several_metrics`: some benchmark has more than one, or is a whole command, of which the metric alone says what was
    measured. `undecided` look like a change that is not proven; `untested` could not be tested. `accepted` got worse,
    and somebody accepted that. `unjudged` are all metrics that differ or may differ, where the conclusion is that
    nobody may judge them. `beside` are further times of a benchmark (CPU beside wall) with the same verdict: one row,
    and counted once.
    """

    regressions: tuple[Finding, ...]
    improvements: tuple[Finding, ...]
    undecided: tuple[Finding, ...]
    untested: tuple[Finding, ...]
    unchanged: tuple[Finding, ...]
    unjudged: tuple[Finding, ...]
    several_metrics: bool
    accepted: tuple[Finding, ...] = ()
    beside: Mapping[MetricKey, tuple[Finding, ...]] = field(default_factory=dict)

    @property
    def changed(self) -> tuple[Finding, ...]:
        return self.regressions + self.improvements

    @property
    def all(self) -> tuple[Finding, ...]:
        return self.changed + self.accepted + self.unjudged + self.undecided + self.untested + self.unchanged

    @property
    def total(self) -> int:
        return len(self.all)

    @property
    def noun(self) -> str:
        return "metric" if self.several_metrics else "benchmark"


def by_benchmark(keys: Sequence[MetricKey]) -> tuple[MetricKey, ...]:
    """Metrics that are missing or new: each benchmark once, with all of its metrics as one."""
    metrics: dict[str, list[str]] = {}
    for key in keys:
        metrics.setdefault(key.benchmark, []).append(key.metric)
    return tuple(MetricKey(name, ", ".join(own)) for name, own in metrics.items())


def split(report: Report) -> Sections:
    findings, beside = _one_time_each(sorted(report.findings, key=_reading_order))
    judged = report.conclusion not in UNJUDGED

    def of(verdict: Verdict) -> tuple[Finding, ...]:
        return tuple(finding for finding in findings if finding.verdict is verdict)

    open_findings = of(Verdict.INCONCLUSIVE) if judged else ()
    return Sections(
        regressions=of(Verdict.REGRESSION) if judged else (),
        improvements=of(Verdict.IMPROVEMENT) if judged else (),
        undecided=tuple(entry for entry in open_findings if not entry.is_untested),
        untested=tuple(entry for entry in open_findings if entry.is_untested),
        unchanged=tuple(finding for finding in of(Verdict.NO_CHANGE) if finding.accepted is None),
        accepted=tuple(finding for finding in findings if finding.accepted is not None),
        unjudged=() if judged else tuple(entry for entry in findings if entry.verdict is not Verdict.NO_CHANGE),
        several_metrics=_have_several(findings) or any(one.evidence.key.benchmark == BENCHMARK for one in findings),
        beside=beside,
    )


def _have_several(findings: Sequence[Finding]) -> bool:
    """Whether any benchmark has more than one."""
    return len({finding.evidence.key.benchmark for finding in findings}) < len(findings)


def _one_time_each(findings: Sequence[Finding]) -> tuple[Sequence[Finding], dict[MetricKey, tuple[Finding, ...]]]:
    """The findings with one time per benchmark and verdict, and the others by its key."""
    if not _have_several(findings):
        return findings, {}
    together: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        together.setdefault(_sameness(finding), []).append(finding)
    kept: list[Finding] = []
    beside: dict[MetricKey, tuple[Finding, ...]] = {}
    for group in together.values():
        first = min(group, key=lambda finding: (_LOUDEST_FIRST[finding.level], finding.evidence.key.metric != "time"))
        kept.append(first)
        if len(group) > 1:
            beside[first.evidence.key] = tuple(finding for finding in group if finding is not first)
    return kept, beside


def _sameness(finding: Finding) -> tuple[object, ...]:
    evidence = finding.evidence
    timed = evidence.metric.direction is Direction.LOWER_IS_BETTER and is_time(evidence.metric.unit)
    metric = None if timed and finding.accepted is None else evidence.key.metric
    return evidence.key.benchmark, metric, finding.verdict, finding.is_untested


def worsening(finding: Finding) -> float | None:
    """The relative change, positive where it is for the worse."""
    change = finding.evidence.relative_change
    return None if change is None else change * finding.evidence.metric.direction.worse_sign


def crossing(finding: Finding) -> tuple[str, str] | None:
    """The assigned category and the one that the target is in now, where they differ."""
    if finding.category is None or finding.category_now is None or finding.category == finding.category_now:
        return None
    return finding.category, finding.category_now


def _reading_order(finding: Finding) -> tuple[int, int, int, float, str, str]:
    """Loudest first, then the largest change; unchanged metrics by name, since their size says nothing.

    What was judged by a limit comes after, in the order of its distance from the limit.
    """
    key = finding.evidence.key
    score, threshold = finding.evidence.score, finding.evidence.threshold
    if score is not None and threshold is not None and finding.verdict is not Verdict.NO_CHANGE:
        beyond = score / threshold if threshold else math.inf
        return 1, 0, 0, -beyond, key.benchmark, key.metric
    change = worsening(finding)
    size = 0.0 if change is None or math.isnan(change) or finding.verdict is Verdict.NO_CHANGE else abs(change)
    # No relative change in a regression or improvement: it started from zero, which is the largest of all.
    if change is None and finding.verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT):
        size = math.inf
    return (
        0,
        _LOUDEST_FIRST[finding.level],
        0 if finding.severity is Severity.MAJOR else 1,
        -size,
        key.benchmark,
        key.metric,
    )


# Words that several sentences share.

MORE_ROUNDS = "measure more rounds of both sides"
BOTH_SIDES = "measure both sides in one job"


def took(cost: Cost | None) -> str:
    """What measuring took, in words; empty where nobody knows."""
    if not cost:
        return ""
    minutes = f" in {counted(math.ceil(cost.seconds / 60), 'runner minute')}" if cost.seconds else ""
    return f"{counted(cost.executions, 'execution')}{minutes}"


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def share(count: int, sections: Sections, *, all_of: str = "all ") -> str:
    if count == sections.total == 2 and all_of:
        return f"both {sections.noun}s"
    if count == sections.total:
        return f"{all_of if count > 1 else ''}{counted(count, sections.noun)}"
    return f"{count:,} of {counted(sections.total, sections.noun)}"


def word(findings: tuple[Finding, ...], *, better: bool) -> str:
    if all(is_timed(finding.evidence.metric) for finding in findings):
        return "faster" if better else "slower"
    return "better" if better else "worse"


def is_timed(metric: Metric) -> bool:
    return metric.direction is Direction.LOWER_IS_BETTER and is_time(metric.unit)


# Tables of text: columns for a terminal, and Markdown's, whose cells are inert.

_RULES: Final = {"l": ":--", "r": "--:", " ": "---"}


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), indent: str = "") -> list[str]:
    """A line per row; the columns at the places `right` are aligned to the right. Nothing else is touched."""
    from tabulate import tabulate

    align = ["right" if place in right else "left" for place in range(max(map(len, rows)))]
    text = tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=align, preserve_whitespace=True)
    return [f"{indent}{line.rstrip()}" for line in text.split("\n")]


def ruled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text with a rule below the columns' names."""
    from tabulate import tabulate

    return tabulate(rows, headers=head, tablefmt="simple", disable_numparse=True)


def header(names: Sequence[str], alignment: str) -> tuple[Safe, Safe]:
    """The first two lines in Markdown; `alignment` has "l", "r" or " " for each column."""
    return row([Safe(name) for name in names]), Safe("|" + "|".join(_RULES[side] for side in alignment) + "|")


def markdown_table(names: Sequence[str], alignment: str, rows: Iterable[Sequence[Safe]]) -> Safe:
    return join("\n", (*header(names, alignment), *map(row, rows)))


# What a Markdown template shows: Safe text and tables of it, nothing to decide.


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A table (with `header`) or a list, of which `total` rows exist and the first `rows` are shown.

    `block` comes before them, whole or not at all; its length is bounded where it is made.
    """

    rows: tuple[Safe, ...]
    total: int
    title: Safe | None = None
    header: tuple[Safe, Safe] | None = None
    block: Safe | None = None

    @property
    def hidden(self) -> int:
        return self.total - len(self.rows)

    @property
    def more(self) -> Safe | None:
        return Safe(f"{self.hidden:,}") if self.hidden else None

    def cut(self, most: int) -> "Part":
        return replace(self, rows=self.rows[:most])


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """A <details> block. `summary` holds no foreign text: GitHub parses it as HTML."""

    summary: Safe
    parts: tuple[Part, ...]

    def cut(self, most: int) -> "Fold":
        return replace(self, parts=tuple(part.cut(most) for part in self.parts))


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """The whole comment, from top to bottom."""

    marker: Safe | None
    headline: Safe
    next_step: Safe
    remarks: tuple[Safe, ...]
    changed: Part | None
    folds: tuple[Fold, ...]
    footer: Safe
    more_at: Safe

    @property
    def longest(self) -> int:
        """Rows of the longest folded part."""
        return max((len(part.rows) for fold in self.folds for part in fold.parts), default=0)

    def cut(self, *, changed: int, folded: int) -> "View":
        return replace(
            self,
            changed=self.changed.cut(changed) if self.changed else None,
            folds=tuple(fold.cut(folded) for fold in self.folds),
        )


T = TypeVar("T")


def table(
    entries: tuple[T, ...],
    cells_of: Callable[[T], Iterable[Safe]],
    *,
    head: tuple[tuple[str, ...], str],
    most_rows: int,
) -> Part:
    """`head`: the columns' names, and their alignment, "l" or "r" each."""
    return Part(
        header=header(*head),
        rows=tuple(row(tuple(cells_of(entry))) for entry in entries[:most_rows]),
        total=len(entries),
    )


def titled(title: str, part: Part) -> Part:
    return Part(title=Safe(title[0].upper() + title[1:]), header=part.header, rows=part.rows, total=part.total)


def keys(names: tuple[MetricKey, ...], *, most_rows: int) -> Part:
    return Part(rows=bullets(key(name, with_metric=True) for name in names[:most_rows]), total=len(names))


def key(name: MetricKey, *, with_metric: bool) -> Safe:
    shown = code(name.benchmark)
    return own("{} · {}", shown, prose(name.metric, limit=60)) if with_metric else shown


def bullets(lines: Iterable[Safe]) -> tuple[Safe, ...]:
    return tuple(own("- {}", line) for line in lines)
