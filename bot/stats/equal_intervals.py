"""Counter tables as medians of equal intervals: how the history stores long ones, and how a target is made alike."""

from dataclasses import replace

import numpy as np

from bot.model.counter import CounterTable
from bot.stats.common_rate import interval_medians


def reduced(table: CounterTable, intervals: int) -> CounterTable:
    """Medians of `intervals` equal intervals of counters and load; a row's time is the first one in its interval.

    An interval in which nothing was sampled (the recorder was stopped) is no row.
    """
    edges_s = np.linspace(table.times_s[0], table.times_s[-1], intervals + 1)
    first = np.searchsorted(table.times_s, edges_s[:-1])
    sampled = np.flatnonzero(np.diff(first, append=len(table.times_s)))
    values = interval_medians(table.times_s, table.values, edges_s=edges_s)[sampled]
    load = table.load
    if load is not None:
        load = interval_medians(table.times_s, load[:, None], edges_s=edges_s)[sampled, 0]
    return replace(
        table,
        times_s=table.times_s[first[sampled]],
        values=values,
        load=load,
        interval_s=float(edges_s[1] - edges_s[0]),
    )


def row_seconds(table: CounterTable) -> float | None:
    """How long a row stands for: its interval, or the usual step between samples; None for a single sample."""
    if table.interval_s is not None:
        return table.interval_s
    return float(np.median(np.diff(table.times_s))) if len(table.times_s) > 1 else None


def span_seconds(table: CounterTable) -> float:
    """From the first sample to the last, as far as the rows tell."""
    return float(table.times_s[-1] - table.times_s[0]) + (table.interval_s or 0.0)
