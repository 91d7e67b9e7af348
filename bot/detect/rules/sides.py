"""The two sides of a counter described, from the medians of its intervals."""

from collections.abc import Sequence

import numpy as np

from bot.model.finding import Side
from bot.stats.ragged import Floats


def side(runs: Sequence[Floats]) -> Side | None:
    """Of the intervals' medians, over runs; None without any value."""
    measured = [kept for values in runs if len(kept := values[np.isfinite(values)])]
    if not measured:
        return None
    values = np.concatenate(measured)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None
    usable = deviation is not None and np.isfinite(deviation)
    return Side(
        value=(median := float(np.median(values))),
        statistic="median",
        mean=finite(mean),
        median=median,
        standard_deviation=deviation if usable else None,
        count=len(values),
        runs=len(measured),
    )


def change_of_medians(target: Side | None, baseline: Side | None) -> float | None:
    """Of the medians."""
    if target is None or baseline is None:
        return None
    if target.value == baseline.value:
        return 0.0
    return (target.value - baseline.value) / abs(baseline.value) if baseline.value else None


def finite(value: float) -> float:
    return float(np.nan_to_num(value))
