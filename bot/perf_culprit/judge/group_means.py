"""Groups of benchmarks from the configuration: the geometric mean of their changes, with its interval.

benchstat prints such a mean without an interval. Benchmarks of one run are not independent, so their number narrows
nothing here. On logarithms the group's bounds are the means of the metrics' bounds. For normal errors their coverage is
at least that of each metric under any dependence. The reason: a mean's standard deviation is at most the mean of the
standard deviations.
"""

import math
from collections.abc import Iterable, Iterator, Sequence

from perf_culprit.config.policy_settings import GroupConfig
from perf_culprit.model.finding import Finding, Interval
from perf_culprit.model.report import GroupMean


def group_means(findings: Sequence[Finding], groups: Iterable[GroupConfig]) -> tuple[GroupMean, ...]:
    """Return one mean per group and metric name; metrics of different names are never combined."""
    return tuple(mean for group in groups for mean in _of_group(group, findings))


def _of_group(group: GroupConfig, findings: Sequence[Finding]) -> Iterator[GroupMean]:
    by_metric: dict[str, list[Finding]] = {}
    for one in findings:
        if group.matches(one.key):
            by_metric.setdefault(one.key.metric, []).append(one)
    for metric, matching in by_metric.items():
        changed = [one for one in matching if one.relative_change is not None and one.relative_change > -1]
        if changed:
            yield GroupMean(
                name=group.name,
                metric=metric,
                count=len(changed),
                total=len(matching),
                change=_mean(one.relative_change or 0.0 for one in changed),
                confidence_interval=_interval(changed),
            )


def _interval(findings: Sequence[Finding]) -> Interval | None:
    known_ones = [one.confidence_interval for one in findings if one.confidence_interval is not None]
    if len(known_ones) < len(findings) or any(one.low <= -1 for one in known_ones):
        return None
    low, high = _mean(one.low for one in known_ones), _mean(one.high for one in known_ones)
    return Interval(low=low, high=high, level=min(one.level for one in known_ones))


def _mean(changes: Iterable[float]) -> float:
    logarithms = [math.log1p(change) for change in changes]
    return math.expm1(math.fsum(logarithms) / len(logarithms))
