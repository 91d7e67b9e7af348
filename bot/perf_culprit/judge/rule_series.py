"""All counters of a run at a common rate (METHODS 4.1), whatever table and clock they come from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.counter_samples import idle_boundaries
from perf_culprit.judge.rule_options import RuleOptions
from perf_culprit.model.run import CounterTable, Run
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.common_rate import SAME_CLOCK, common_window, interval_medians
from perf_culprit.stats.density import idle_boundary

# [F11, 5.4.2]: 200 s for counters sampled every 180 s, because rates do not match exactly.
RATE_MARGIN = 1.1
IDLE_LEVEL = 0.2  # of the level under load: what a counter without work has at most


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CounterSeries:
    """`values` (n, m) of all tables' counters in order, then their loads; NaN where missing.

    `starts_s`: each table's first instant on its own clock. `interval_s` is the time between instants.
    """

    values: Floats
    starts_s: tuple[float, ...]
    interval_s: float


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Source:
    """One table of one run: its times on the run's clock, its counters, and the lead of its own clock."""

    times_s: Floats
    table: CounterTable | None
    values: Floats
    ahead_s: float


def normalise(tables: Sequence[TablePair], runs: Sequence[Run], options: RuleOptions) -> tuple[CounterSeries, ...]:
    """Return the runs and, last, the target, all with the same interval. A short run has few instants or none."""
    sources = [_sources(tables, run) for run in (*runs, None)]
    if not options.is_published:
        for of_table in zip(*sources, strict=True):
            _drop_idle_time(*(source.values for source in of_table))
    windows = [_window(entry, options) for entry in sources]
    interval_s = options.interval_s or _interval(sources, windows, options.intervals)
    return tuple(
        _series(entry, window, interval_s, options.intervals) for entry, window in zip(sources, windows, strict=True)
    )


def _sources(tables: Sequence[TablePair], run: Run | None) -> list[_Source]:
    sources = [_source(pair, run) for pair in tables]
    if spans := _spans(sources):
        overlap = min(last for _, last in spans) - max(first for first, _ in spans)
        if overlap < SAME_CLOCK * min(last - first for first, last in spans):
            return [_from_own_start(source) for source in sources]
    return sources


def _source(pair: TablePair, run: Run | None) -> _Source:
    """Return the target's source if `run` is None; without instants if the run lacks the table."""
    if run is None:
        values = pair.target_values(slice(None))
        return _Source(times_s=pair.target.times_s, table=pair.target, values=values, ahead_s=0.0)
    if (entry := next((entry for entry in pair.baseline if entry.run is run), None)) is None:
        return _Source(times_s=np.empty(0), table=None, values=np.empty((0, len(pair.metrics))), ahead_s=0.0)
    return _Source(times_s=entry.table.times_s, table=entry.table, values=entry.values(slice(None)), ahead_s=0.0)


def _drop_idle_time(*sides: Floats) -> None:
    """Blank the samples of the lower of a counter's two modes in the runs and, last, the target, as a chart does.

    A tenth of idle samples widens the medium level, so that it takes in large changes. The thesis keeps them. A lower
    mode that still works is a step of the load, which rules learn.
    """
    for counter in range(sides[-1].shape[1]):
        *runs, (column, target) = ((side[:, counter], _ordered(side[:, counter])) for side in sides)
        runs = [(values, ordered) for values, ordered in runs if len(ordered)]
        if (boundaries := idle_boundaries([ordered for _, ordered in runs], boundary=_end_of_idle)) is None:
            continue
        columns = (*(values for values, _ in runs), column)
        for values, boundary in zip(columns, (*boundaries, _end_of_idle(target)), strict=True):
            if boundary is not None:
                values[values < boundary] = np.nan


def _end_of_idle(ordered: Floats) -> float | None:
    if (boundary := idle_boundary(ordered)) is None:
        return None
    first = int(np.searchsorted(ordered, boundary))
    return boundary if np.median(ordered[:first]) <= IDLE_LEVEL * np.median(ordered[first:]) else None


def _ordered(values: Floats) -> Floats:
    """A limited number of the values, over all of the time, sorted."""
    some = values[:: -(-len(values) // WORK_LIMITS.mode_values) or 1]
    return np.sort(some[np.isfinite(some)])


def _from_own_start(source: _Source) -> _Source:
    ahead_s = float(source.times_s[0]) if len(source.times_s) else 0.0
    return _Source(times_s=source.times_s - ahead_s, table=source.table, values=source.values, ahead_s=ahead_s)


def _spans(sources: Sequence[_Source]) -> list[tuple[float, float]]:
    """Time spans of the sources that were sampled at least twice; one instant has no duration."""
    return [(float(s.times_s[0]), float(s.times_s[-1])) for s in sources if len(s.times_s) > 1]


def _window(sources: Sequence[_Source], options: RuleOptions) -> tuple[float, float]:
    spans = _spans(sources)
    return common_window(spans, warm_up=options.warm_up, cool_down=options.cool_down) if spans else (0.0, 0.0)


def _interval(
    sources: Sequence[Sequence[_Source]], windows: Sequence[tuple[float, float]], most_instants: int
) -> float:
    """Choose longer intervals for longer tests, because the cost depends on the number of instants."""
    steps = [float(np.median(np.diff(s.times_s))) for entry in sources for s in entry if len(s.times_s) > 1]
    longest = max((end - start for start, end in windows), default=0.0)
    return max(RATE_MARGIN * max(steps, default=1.0), longest / most_instants)


def _series(
    sources: Sequence[_Source], window: tuple[float, float], interval_s: float, most_instants: int
) -> CounterSeries:
    start, end = window
    # If rounding made a window slightly too short, it still holds its last interval.
    count = min(max(int((end - start) / interval_s + 1e-9), 0), most_instants)
    edges_s = start + interval_s * np.arange(count + 1, dtype=np.float64)
    columns = [_columns(source.times_s, source.values, edges_s) for source in sources]
    loads = [_columns(source.times_s, _load(source), edges_s) for source in sources]
    return CounterSeries(
        values=np.hstack([*columns, *loads]),
        starts_s=tuple(start + source.ahead_s for source in sources),
        interval_s=interval_s,
    )


def _columns(times_s: Floats, values: Floats, edges_s: Floats) -> Floats:
    if len(edges_s) < 2:
        return np.empty((0, values.shape[1]))
    return interval_medians(times_s, values, edges_s=edges_s)


def _load(source: _Source) -> Floats:
    if source.table is None or source.table.load is None:
        return np.full((len(source.times_s), 1), np.nan)
    return source.table.load[:, None]
