"""Stored runs become a dashboard's panels: a value per run and metric, and the changes of each series.

A panel extends that of an earlier build: only new runs are read, and only series with new values are judged again.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Final
from zlib import crc32

import numpy as np
from msgspec.structs import replace

from perf_culprit.arrays import Floats, Integers
from perf_culprit.judge.series_changes import judge_one
from perf_culprit.judge.statistic import LARGEST_NUMBER, MEDIAN, states
from perf_culprit.judge.unit_factors import conversion_factor
from perf_culprit.model.run import HARDWARE_COMPONENTS, Benchmark, Metric, MetricKey, Run
from perf_culprit.model.series import Panel, PanelRun, PanelSeries, Series
from perf_culprit.model.work_limits import WORK_LIMITS

# The reduction of a run that matches a summary's statistic; "value" and unknown statistics are means.
_REDUCTIONS: Final[Mapping[str, int]] = {MEDIAN: 1, "min": 2, "minimum": 2}
# Larger panels judge a series at every fourth value, each at its own turn: a level needs eight runs anyway. The build
# after one new run then takes a quarter of the time.
_TURNS: Final = 4


class StatisticChangedError(Exception):
    """A run states another statistic than the earlier panel: rebuild the panel from scratch."""


@dataclass(slots=True)
class _Column:
    """A run's `points`, shape (3, k): mean, median and minimum of the metrics in `rows`. `order`: oldest first."""

    order: tuple[int, int]
    run: PanelRun
    rows: Sequence[int] | Integers
    points: Floats


@dataclass(slots=True)
class _Row:
    """A metric's place. `stated`: the statistics that its summaries name. `before`: the values of `earlier`."""

    number: int
    metric: Metric
    stated: set[str] = field(default_factory=set)
    earlier: PanelSeries | None = None
    before: Floats = field(default_factory=lambda: np.empty(0))


class PanelGrowth:
    """The runs of one suite in one environment. `line`: each commit's place, the newest at 0."""

    def __init__(
        self, suite: str, environment: Mapping[str, str], line: Mapping[str, int], earlier: Panel | None = None
    ) -> None:
        self._suite, self._environment, self._line = suite, environment, line
        self._earlier = earlier
        self._columns: list[_Column] = []
        self._rows: dict[MetricKey, _Row] = {}
        for number, series in enumerate(earlier.series if earlier else ()):
            stated = set() if series.statistic == MEDIAN else {series.statistic}
            before = np.array(series.values, dtype=float)
            self._rows[series.key] = _Row(number, series.metric, stated, series, before)

    def keep(self, commits: Collection[str]) -> None:
        """Keep the earlier panel's runs of these commits."""
        if self._earlier is None:
            return
        values = np.array([row.before for row in self._rows.values()])
        rows = np.arange(len(values))
        for index, run in enumerate(self._earlier.runs):
            if run.commit in commits:
                points = np.tile(values[:, index], (3, 1))
                self._columns.append(_Column((-self._line[run.commit], index), run, rows, points))

    def add(self, run: Run) -> None:
        """Add a run; newer ones come first."""
        rows, points = [], []
        for benchmark in run.benchmarks:
            row = self._rows.setdefault(benchmark.key, _Row(len(self._rows), benchmark.metric))
            if (factor := conversion_factor(benchmark.metric.unit, row.metric.unit)) is None:
                continue
            if benchmark.summary is not None and not states(benchmark.summary, MEDIAN):
                if row.earlier is not None and not row.stated:
                    raise StatisticChangedError
                row.stated.add(benchmark.summary.statistic)
            rows.append(row.number)
            points.append([_round(value * factor) for value in _reduce(benchmark)])
        commit = run.commit or ""
        order = (-self._line[commit], -len(self._columns))
        panel_run = PanelRun(commit=commit, judged=run.regressions, seconds=run.cost.seconds)
        self._columns.append(_Column(order, panel_run, rows, np.array(points).reshape(-1, 3).T))

    def panel(self, minimum_effect: Callable[[MetricKey], float]) -> Panel:
        columns = sorted(self._columns, key=lambda column: column.order)
        values = np.full((3, len(self._rows), len(columns)), np.nan)
        for index, column in enumerate(columns):
            values[:, column.rows, index] = column.points
        labels = tuple(column.run.commit for column in columns)
        turns = _TURNS if len(self._rows) > WORK_LIMITS.panel_series else 1
        series = []
        for key, row in sorted(self._rows.items()):
            # Same rule as `run_values`: medians if all runs have them, else the summaries' statistic, if they agree.
            named = row.stated - {"value"} or row.stated
            statistic = MEDIAN if not named else next(iter(named)) if len(named) == 1 else None
            numbers = values[_REDUCTIONS.get(statistic or "", 0), row.number]
            is_finite = np.isfinite(numbers)
            if not is_finite.any():
                continue
            listed = numbers.tolist()
            one = PanelSeries(
                benchmark=key.benchmark,
                metric=row.metric,
                statistic=statistic or "",
                minimum_effect=minimum_effect(key),
                values=tuple(listed if is_finite.all() else [v if math.isfinite(v) else None for v in listed]),
            )
            series.append(_judge(one, row, numbers, labels, turns=turns) if statistic else one)
        return Panel(
            suite=self._suite,
            environment=self._environment,
            runs=tuple(column.run for column in columns),
            series=tuple(series),
        )


def _round(value: float) -> float:
    """Round to six digits; NaN for an implausibly large number."""
    return float(f"{value:g}") if abs(value) <= LARGEST_NUMBER else math.nan


def _reduce(benchmark: Benchmark) -> tuple[float, float, float]:
    if (summary := benchmark.summary) is not None:
        return summary.value, summary.value if summary.median is None else summary.median, summary.value
    return fmean(benchmark.samples), median(benchmark.samples), min(benchmark.samples)


def _judge(one: PanelSeries, row: _Row, values: Floats, labels: Sequence[str], *, turns: int) -> PanelSeries:
    places = np.flatnonzero(np.isfinite(values))
    turn = crc32(f"{one.benchmark} {one.metric.name}".encode()) % turns
    judged_count = max(len(places) - (len(places) + turn) % turns, 0)
    earlier = row.earlier
    if earlier is not None and (earlier.judged, earlier.minimum_effect) == (judged_count, one.minimum_effect):
        same = np.flatnonzero(np.isfinite(row.before))
        if np.array_equal(row.before[same[:judged_count]], values[places[:judged_count]]):
            # The same values may now belong to other runs.
            changes = tuple(
                replace(change, index=int(places[np.searchsorted(same, change.index)])) for change in earlier.changes
            )
            return replace(one, changes=changes, judged=judged_count, values_lacking=earlier.values_lacking)
    end = places[judged_count - 1] + 1 if judged_count else 0
    series = Series(name="", values=tuple(values[:end].tolist()), minimum_effect=one.minimum_effect)
    again = judge_one(series, labels)
    return replace(one, changes=again.changes, judged=judged_count, values_lacking=again.values_lacking)


def environment_of(run: Run) -> dict[str, str]:
    """Return the components that separate its numbers from those of other machines."""
    components = run.environment.components
    return {name: components[name] for name in HARDWARE_COMPONENTS if name in components}
