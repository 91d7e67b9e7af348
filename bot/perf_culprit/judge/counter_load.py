"""The load of a table of counters: its own, or that of another table of the run, aligned in time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import CounterTable
from perf_culprit.stats.common_rate import SAME_CLOCK, SAME_ROWS, reduced, row_seconds, span_seconds

# Recordings with different clocks are aligned by their starts if their lengths differ by less than this share.
SAME_LENGTH: Final = 0.2


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Load:
    """`values` (n,) at the rows of a table, NaN where unknown; `name` of the quantity; `remark` on the source."""

    values: Floats
    name: str | None
    remark: Reason | None = None


def load_of(table: CounterTable, beside: Sequence[CounterTable], *, name: str | None = None) -> Load | Reason | None:
    """Find the load at each row of `table`: its own, or else that of other tables `beside` it in its run.

    `name` selects the quantity if several are recorded; default the first. Loads of one name come from several drivers
    and are added. Returns a reason if a load exists but shares no clock with the table.
    """
    if table.load is not None:
        return Load(values=table.load, name=table.load_name)
    drivers = [entry for entry in beside if entry.load is not None]
    chosen = (
        name
        if any(entry.load_name == name for entry in drivers)
        else next((entry.load_name for entry in drivers), None)
    )
    drivers = [entry for entry in drivers if entry.load_name == chosen]
    if not drivers:
        return None
    shifts = [_shift(table, driver) for driver in drivers]
    if any(shift is None for shift in shifts):
        return because(Remark.LOAD_ON_OTHER_CLOCK, table=table.name, driver=drivers[0].name)
    aligned = np.array([_aligned(table, driver, shift or 0.0) for driver, shift in zip(drivers, shifts, strict=True)])
    values = np.where(np.isnan(aligned).all(axis=0), np.nan, np.nansum(aligned, axis=0))
    code = Remark.LOAD_BY_START if any(shifts) else Remark.LOAD_BESIDE
    return Load(values=values, name=chosen, remark=because(code, table=table.name, driver=drivers[0].name))


def _shift(table: CounterTable, driver: CounterTable) -> float | None:
    """Seconds to add to the driver's clock; None if unknown. Skews of less than a row need no correction."""
    spans = span_seconds(table), span_seconds(driver)
    overlap = min(table.times_s[-1], driver.times_s[-1]) - max(table.times_s[0], driver.times_s[0])
    if overlap >= SAME_CLOCK * min(spans):
        return 0.0
    if abs(spans[0] - spans[1]) <= SAME_LENGTH * max(spans):
        return float(table.times_s[0] - driver.times_s[0])
    return None


def _aligned(table: CounterTable, driver: CounterTable, shift: float) -> Floats:
    """The driver's load in the middle of each of the table's rows, NaN where it did not record.

    A sampled row usually covers the time since the previous one (sar, perfmon, perf), a row of medians the time after
    its instant. A finer driver is first reduced to such rows: the load of one second does not represent a minute.
    """
    row_s, own_s = row_seconds(table), row_seconds(driver)
    if row_s is not None and own_s is not None and own_s * SAME_ROWS < row_s:
        alone = replace(driver, metrics=(), values=driver.values[:, :0])
        driver = reduced(alone, max(1, round(span_seconds(driver) / row_s)))
    at = table.times_s + (table.interval_s or 0.0) / 2
    if table.interval_s is None and driver.interval_s is not None:
        at = at - (row_s or 0.0) / 2
    middles = driver.times_s + shift + (driver.interval_s or 0.0) / 2
    load = driver.load if driver.load is not None else np.full(len(middles), np.nan)
    finite = np.isfinite(load)
    if not finite.any():
        return np.full(len(at), np.nan)
    margin = max(row_s or 0.0, row_seconds(driver) or 0.0)
    inside = (at >= middles[finite][0] - margin) & (at <= middles[finite][-1] + margin)
    return np.where(inside, np.interp(at, middles[finite], load[finite]), np.nan)
