"""Response-time categories [H13]: the one that a benchmark was given, and whether its level has left it.

The level is judged against the category's upper bound, not the baseline: many small steps exceed it too.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import CategoryConfig, MetricSettings, PolicySettings
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.paired_executions import executions_of
from perf_culprit.judge.unit_factors import milliseconds_per
from perf_culprit.model.count import Count
from perf_culprit.model.finding import Evidence
from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from perf_culprit.stats.conventions import FEW_RUNS
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.unit_table import Tiers, UnitTable

FEWEST_BEFORE: Final = FEW_RUNS + 1  # runs that show the variation about a line, one more than about a level


@dataclass(frozen=True, kw_only=True, slots=True)
class CategoryChange:
    """`assigned` and `now`: names of categories; None if the metric has none.

    `limit_ms` is the upper bound of `assigned`. `beyond`: how far the target exceeds it, as a fraction, or None if it
    does not. `rate`: the share of unchanged runs at the bound in which any benchmark looks this far beyond.
    `is_inherited`: the level before the target was already beyond it.
    """

    assigned: str | None = None
    now: str | None = None
    limit_ms: float | None = None
    beyond: float | None = None
    rate: float = 1.0
    is_inherited: bool = False


def category_changes(
    pairs: Sequence[MetricPair], evidence: Sequence[Evidence], settings: PolicySettings, *, runs: Sequence[Run] | None
) -> list[CategoryChange]:
    """Return one per pair. Only benchmarks beyond their bound are judged, all of them together.

    `runs`: the baseline's, oldest to newest, also those excluded for this metric; None for a paired baseline.
    """
    changes = [_change(pair, entry, settings.of(pair.key)) for pair, entry in zip(pairs, evidence, strict=True)]
    beyond = {pairs[row].key: row for row, change in enumerate(changes) if change.beyond is not None}
    earlier: dict[int, list[_Placed]] = {row: [] for row in beyond.values()}
    for position, one in ((at, one) for at, run in enumerate(runs or ()) if beyond for one in run.benchmarks):
        if (row := beyond.get(one.key)) is not None:
            earlier[row].append((pairs[row].blocks.of_baseline(position), one))
    levels = {
        row: level
        for row, own in earlier.items()
        if (level := _Level.of(pairs[row], evidence[row], None if runs is None else own, changes[row].limit_ms or 1.0))
    }
    rates = _rates(list(levels.values()), Tiers(proven=settings.proven, suspected=settings.suspected))
    for (row, level), rate in zip(levels.items(), rates, strict=True):
        changes[row] = replace(changes[row], rate=rate, is_inherited=level.started_beyond)
    return changes


def _change(pair: MetricPair, evidence: Evidence, settings: MetricSettings) -> CategoryChange:
    """Find the category that was set by hand, stored with the baseline or that of its oldest run; and the target's.

    Only response times have categories. A stored name that is no longer configured is ignored.
    """
    milliseconds = milliseconds_per(pair.metric.unit)
    is_judged = settings.categories and has_categories(pair.metric) and pair.obstacle is None
    if evidence.target is None or milliseconds is None or not is_judged:
        return CategoryChange()
    by_name = {category.name: category for category in settings.categories}
    stored = (settings.category, *(run.category for run in pair.baseline))
    candidates = (name for name in stored if name in by_name)
    assigned = next(candidates, None) or category_of(pair.baseline[0].value * milliseconds, settings.categories)
    target_ms = evidence.target.value * milliseconds
    limit_ms = by_name[assigned].below
    return CategoryChange(
        assigned=assigned,
        now=category_of(target_ms, settings.categories),
        limit_ms=limit_ms,
        beyond=target_ms / limit_ms - 1 if limit_ms is not None and target_ms >= limit_ms else None,
    )


def has_categories(metric: Metric) -> bool:
    is_time = milliseconds_per(metric.unit) is not None and metric.direction is Direction.LOWER_IS_BETTER
    return is_time and metric.name != Count.BUILD_TIME


def category_limits(metric: Metric, categories: Sequence[CategoryConfig]) -> tuple[tuple[str, float], ...]:
    """Names and upper bounds in the metric's unit; empty if it has no categories."""
    milliseconds = milliseconds_per(metric.unit)
    if milliseconds is None or not has_categories(metric):
        return ()
    return tuple((one.name, one.below / milliseconds) for one in categories if one.below is not None)


def category_of(time_ms: float, categories: Sequence[CategoryConfig]) -> str:
    """Return the first category whose upper bound is above `time_ms`; the last one if there is none."""
    return next((one.name for one in categories if one.below is None or time_ms < one.below), categories[-1].name)


# A run and its block.
_Placed = tuple[int, Benchmark]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Level:
    """Logarithms of blocks over the bound: of the newest (t,), and the deviations of those before (b,)."""

    newest: Floats
    before: Floats
    started_beyond: bool

    @classmethod
    def of(
        cls, pair: MetricPair, evidence: Evidence, earlier: Sequence[_Placed] | None, limit_ms: float
    ) -> "_Level | None":
        """Add the newest runs before the target if it has too few runs: a single run does not make a level."""
        if earlier is None:
            executions = executions_of(pair)
            if executions is None:
                return None
            sides, is_target = executions.medians(), np.array(executions.is_target)
            factor = milliseconds_per(pair.metric.unit) or 1.0
            values = [factor * sides[~is_target], factor * sides[is_target]]
        else:
            targets = [(block, run) for (block, is_target, _), run in pair.placed if is_target]
            values = [_of_blocks(side) for side in (earlier, targets)]
        if not all(len(side) and (side > 0).all() for side in values):
            return None
        before, newest = (np.log(side / limit_ms) for side in values)
        lent = 0 if earlier is None else max(min(FEW_RUNS - len(newest), len(before) - FEWEST_BEFORE), 0)
        split = len(before) - lent
        return cls(
            newest=np.concatenate([before[split:], newest - _machine_shift(evidence)]),
            before=_without_trend(before[:split]),
            started_beyond=bool(before[0 if earlier is None else -FEW_RUNS :].mean() > 0),
        )


def _of_blocks(runs: Sequence[_Placed]) -> Floats:
    """Milliseconds of each block, the mean of its runs: what shares a machine and a time counts once."""
    blocks: dict[int, list[float]] = {}
    for block, run in runs:
        blocks.setdefault(block, []).append(_milliseconds(run))
    return np.array([np.mean(values) for values in blocks.values()])


def _milliseconds(run: Benchmark) -> float:
    """The run's median in milliseconds; NaN, which no level contains, if the unit is not a time."""
    factor = milliseconds_per(run.metric.unit)
    if factor is None:
        return math.nan
    if (summary := run.summary) is None:
        return float(np.median(run.samples)) * factor
    return (summary.value if summary.median is None else summary.median) * factor


def _machine_shift(evidence: Evidence) -> float:
    """The shift that the engine removed from the target's change, as a logarithm."""
    baseline, target, change = evidence.baseline, evidence.target, evidence.relative_change
    if evidence.rate is None or baseline is None or target is None or change is None or baseline.value <= 0:
        return 0.0
    return math.log(target.value / baseline.value) - math.log1p(change)


def _without_trend(values: Floats) -> Floats:
    """(b,): residuals about a straight line, so that slow drift is not noise; about the mean if there are few."""
    count, rest = len(values), np.asarray(values - values.mean())
    if count < FEWEST_BEFORE:
        return rest
    place = np.arange(count) - (count - 1) / 2
    rest -= place * (place @ rest) / (place @ place)
    rest *= math.sqrt((count - 1) / (count - 2))
    return rest


def _rates(levels: Sequence[_Level], tiers: Tiers) -> list[float]:
    """Rates from the engine, each side's units in order of time; 1 for a level below the bound."""
    if not levels:
        return []
    before, newest = (max(len(getattr(one, side)) for one in levels) for side in ("before", "newest"))
    values = np.full((len(levels), before + newest), np.nan)
    for row, level in enumerate(levels):
        values[row, before - len(level.before) : before] = level.before
        values[row, before : before + len(level.newest)] = level.newest
    is_target = np.arange(before + newest) >= before
    judgement = judge_units(UnitTable.of(values, is_target, kind=np.arange(len(levels))), least_change=0.0, tiers=tiers)
    rates: list[float] = np.where(judgement.change > 0, judgement.rate, 1.0).tolist()
    return rates
