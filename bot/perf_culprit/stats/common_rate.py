"""Counters at a common rate: the test's window is cut into equal intervals, each with the median of every counter."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.model.run import CounterTable

# Squares of larger numbers overflow; no counter has such values.
LARGEST_SQUARABLE: Final = float(np.sqrt(np.finfo(np.float64).max))

# Rows that are more than this factor shorter are noticeably noisier: a tenth less time per row means a tenth more
# variance. Then 11% instead of 10% of the samples are outside 5/95 limits.
SAME_ROWS: Final = 1.05
# With fewer rows a level's share is meaningless, and a target with fewer of a stored run's was another kind of test.
FEWEST_ROWS: Final = 10
# Sources of one run overlap in time; with less overlap than this, their clocks are unrelated.
SAME_CLOCK: Final = 0.5


def common_window(spans: Sequence[tuple[float, float]], *, warm_up: float, cool_down: float) -> tuple[float, float]:
    """Return the time that all sources of a test cover, without these fractions at its start and end [F11, 5.2.1].

    `spans`: first and last instant of each source, in seconds on one clock, at least one. If the sources have no time
    in common, the window is empty: its end is not after its start.
    """
    start, end = max(first for first, _ in spans), min(last for _, last in spans)
    length = end - start
    return start + warm_up * length, end - cool_down * length


def interval_medians(times_s: Floats, values: Floats, *, edges_s: Floats) -> Floats:
    """Return the median of each counter in each interval [edge, next edge), the last closed: shape (len(edges) - 1, m).

    `times_s` (n,) increasing, `values` (n, m), `edges_s` increasing. Values that are not finite or too large to
    calculate with are missing and do not count. NaN where an interval has no value. Medians tolerate clocks that differ
    by less than an interval [F11, 5.2.1].
    """
    bounds = np.searchsorted(times_s, edges_s)
    bounds[-1] = np.searchsorted(times_s, edges_s[-1], side="right")
    medians = np.full((len(edges_s) - 1, values.shape[1]), np.nan)
    sizes = np.diff(bounds)
    for size in np.unique(sizes[sizes > 0]):
        places = np.flatnonzero(sizes == size)
        medians[places] = _medians(values[bounds[places] + np.arange(size)[:, None]])
    return medians


def _medians(values: Floats) -> Floats:
    """Median of the usable values (n, ...) along the first axis; sorting puts missing values last."""
    usable = np.abs(values) <= LARGEST_SQUARABLE
    ordered = np.sort(values if usable.all() else np.where(usable, values, np.nan), axis=0)
    count = usable.sum(axis=0, keepdims=True)
    lower = np.take_along_axis(ordered, np.maximum(count - 1, 0) // 2, axis=0)[0]
    upper = np.take_along_axis(ordered, np.minimum(count // 2, len(values) - 1), axis=0)[0]
    # Halve first: the sum of two large numbers may be infinite.
    medians: Floats = np.where(count[0] > 0, lower / 2 + upper / 2, np.nan)
    return medians


def reduced(table: CounterTable, intervals: int) -> CounterTable:
    """Reduce counters and load to medians of `intervals` equal intervals; a row's time is the first of its interval.

    An interval without samples (the recorder was stopped) gets no row.
    """
    edges_s = np.linspace(table.times_s[0], table.times_s[-1], intervals + 1)
    first = np.searchsorted(table.times_s, edges_s[:-1])
    sampled = np.flatnonzero(np.diff(first, append=len(table.times_s)))
    values = interval_medians(table.times_s, table.values, edges_s=edges_s)[sampled]
    if (load := table.load) is not None:
        load = interval_medians(table.times_s, load[:, None], edges_s=edges_s)[sampled, 0]
    return replace(
        table,
        times_s=table.times_s[first[sampled]],
        values=values,
        load=load,
        interval_s=float(edges_s[1] - edges_s[0]),
    )


def row_seconds(table: CounterTable) -> float | None:
    """Duration that a row stands for: its interval, or the usual step between samples; None for a single sample."""
    if table.interval_s is not None:
        return table.interval_s
    return float(np.median(np.diff(table.times_s))) if len(table.times_s) > 1 else None


def span_seconds(table: CounterTable) -> float:
    """Time from the first sample to the last, including the last row's interval if it is known."""
    return float(table.times_s[-1] - table.times_s[0]) + (table.interval_s or 0.0)
