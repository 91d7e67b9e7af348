"""Effects that units of one machine share: its shift in each unit, and the correlation of neighbours in time."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.stats.ragged import Booleans, Floats, Integers
from perf_culprit.stats.unit_table import SuiteShift, Tiers, UnitTable

# Fitted on ten forks each of the benchmarks of 15 Java systems, and on executions on a shared machine.
FEWEST_WITNESSES: Final = 6  # benchmarks of a kind needed to estimate their machine's shift
SHIFT: Final = 0.10  # prior scale of a unit's shift by its machine; little weight where the units show it themselves
SHIFT_FREEDOM: Final = 0.1
RESOLUTION: Final = 0.002  # no unit is more precise
REACH: Final = 3  # distance in units up to which two units resemble each other
LARGEST_CORRELATION: Final = 0.9


@dataclass(frozen=True, kw_only=True, slots=True)
class Correlation:
    """Prior correlation of neighbours in time, and the number of pairs that it is worth."""

    prior: float
    worth: float


WITHOUT_SHIFT: Final = Correlation(prior=0.2, worth=100.0)
WITH_SHIFT: Final = Correlation(prior=0.25, worth=100.0)
OF_SHIFT: Final = Correlation(prior=0.7, worth=40.0)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Deviations:
    """Each benchmark's deviations from its own median.

    `centred`, `raw` (B, U): without the block's mean; without and with the machine's shift (equal in blocks).
    `uncentred` (B, U): without the shift, with the block's mean. `is_certain` (B,): the shift is known. `moved` (B,):
    its kind moved more than the units' own variation explains.
    """

    raw: Floats
    uncentred: Floats
    centred: Floats
    is_certain: Booleans
    moved: Booleans
    suite: SuiteShift


def deviations(table: UnitTable, *, present: Booleans, least_change: float, tiers: Tiers) -> Deviations:
    """Remove the shared shift and the block means from the table's values."""
    y = np.where(present, table.location * table.orientation[:, None], 0.0)
    own = np.where(present, y - quantile(y, present)[:, None], 0.0)
    raw, blocks = without_block_means(own, present, table.blocks), table.blocks
    in_blocks = table.block is not None
    uncentred, is_certain = own.copy(), np.full(len(y), in_blocks)
    moved, shifts = np.zeros(len(y), np.bool_), [(1.0, 0.0)]
    for rows in (np.flatnonzero(table.kind == kind) for kind in range(table.kind.max() + 1)):
        if len(rows) < FEWEST_WITNESSES:
            continue
        x, here = (raw if in_blocks else own)[rows], present[rows]
        shifts.append(_shift(quantile(x.T, here.T), table.is_target, blocks))
        if not in_blocks:
            uncentred[rows] = np.where(here, x - _median_of_others(x, here), 0.0)
            is_certain[rows], moved[rows] = True, shifts[-1][0] <= tiers.proven
    return Deviations(
        raw=raw,
        uncentred=uncentred,
        centred=raw if in_blocks else without_block_means(uncentred, present, blocks),
        is_certain=is_certain,
        moved=moved,
        suite=_suite_shift(shifts, is_large=bool(moved.any()), least_change=least_change, tiers=tiers),
    )


def _suite_shift(shifts: list[tuple[float, float]], *, is_large: bool, least_change: float, tiers: Tiers) -> SuiteShift:
    p_value, change = min(shifts)
    p_value = min(p_value * max(len(shifts) - 1, 1), 1.0)
    judged = p_value if abs(change) >= least_change else 1.0
    return SuiteShift(
        change=change,
        p_value=p_value,
        is_suspected=judged <= tiers.suspected,
        is_proven=judged <= tiers.proven,
        is_large=is_large,
    )


def _shift(common: Floats, is_target: Booleans, blocks: Integers) -> tuple[float, float]:
    """p-value and size of the suite's shift; the units' own common shifts `common` (U,) show how far machines move."""
    everywhere = np.ones((1, len(common)), np.bool_)
    x = without_block_means(common[None], everywhere, blocks)[0]
    count = int(blocks.max()) + 1
    targets, others = (np.bincount(blocks[side], minlength=count) for side in (is_target, ~is_target))
    weight = float((targets * others / (targets + others)).sum())
    if weight == 0:
        return 1.0, 0.0
    freedom = max(len(x) - count - 1, 0)
    shift = float(x[is_target].sum()) / weight
    inner = max(float((x**2).sum()) - shift**2 * weight, 0.0) + RESOLUTION**2 * freedom
    error = (SHIFT_FREEDOM * SHIFT**2 + inner) / (SHIFT_FREEDOM + freedom) / weight
    neighbours = neighbours_correlation(x[None], everywhere, is_target, OF_SHIFT) if count == 1 else None
    if neighbours is not None:
        error *= float(widened(is_target[None], neighbours, freedom / (SHIFT_FREEDOM + freedom))[0])
    return float(2 * special.stdtr(freedom + 1, -abs(shift) / math.sqrt(error))), shift


def _median_of_others(x: Floats, present: Booleans) -> Floats:
    """(B, U): for each benchmark and unit, the median of the other benchmarks' deviations in that unit."""
    result = np.zeros_like(x)
    for unit in range(x.shape[1]):
        rows = np.flatnonzero(present[:, unit])
        if len(rows) >= FEWEST_WITNESSES:
            order = rows[np.argsort(x[rows, unit], kind="stable")]
            ordered, ranks = x[order, unit], np.arange(len(order))
            low, high = (len(order) - 2) // 2, (len(order) - 1) // 2
            result[order, unit] = (ordered[low + (ranks <= low)] + ordered[high + (ranks <= high)]) / 2
    return result


def without_block_means(x: Floats, present: Booleans, blocks: Integers) -> Floats:
    of_block = (blocks[:, None] == np.arange(blocks.max() + 1)).astype(float)
    mean = (np.where(present, x, 0.0) @ of_block) / np.maximum(present @ of_block, 1)
    return np.where(present, x - mean[:, blocks], 0.0)


def neighbours_correlation(x: Floats, present: Booleans, side: Booleans, believed: Correlation) -> Floats | None:
    """(U, U): correlation of units by distance in time, from values without their sides' means; None below four units.

    Sides whose units are consecutive differ by it although nothing changed.
    """
    n = x.shape[1]
    if n < 4:
        return None
    centred = without_block_means(x, present, side.astype(np.intp))
    square = (centred**2).sum(axis=1) / (n - 2)
    unit = 1 / np.maximum(square + np.median(square), 1e-12)  # no single noisy benchmark dominates
    pairs = [(a, a + lag) for lag in range(1, REACH + 1) for a in range(n - lag) if side[a] == side[a + lag]]
    total = sum((unit * centred[:, a] * centred[:, b]).sum() for a, b in pairs) / max((unit * square).sum(), 1e-300)
    bias = sum(1 / (side == side[a]).sum() for a, _ in pairs)  # of the means that were removed
    worth = len(pairs) * max(len(x) / 4, 1)  # benchmarks of one unit are not independent
    seen = (total + bias) / max(len(pairs), 1)
    rho = (believed.worth * believed.prior + worth * seen) / (believed.worth + worth)
    gap = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    decay = np.exp(-np.maximum(gap - REACH, 0) / REACH)
    return np.where(gap == 0, 1.0, float(np.clip(rho, 0.0, LARGEST_CORRELATION)) * decay)


def widened(labels: Booleans, neighbours: Floats, share: Floats | float) -> Floats:
    """(…, n): factor by which the variance between sides exceeds that of independent units, per labelling (n, U).

    `share`: the part of the variance within sides that was estimated from these units; neighbours make it too small.
    """
    targets, others = labels.sum(axis=1), (~labels).sum(axis=1)
    contrast = labels / targets[:, None] - (~labels) / others[:, None]
    within_target = ((labels @ neighbours) * labels).sum(axis=1) / targets
    within_base = ((~labels @ neighbours) * ~labels).sum(axis=1) / others
    narrow = (labels.shape[1] - within_target - within_base) / max(labels.shape[1] - 2, 1)
    between = ((contrast @ neighbours) * contrast).sum(axis=1) / (1 / targets + 1 / others)
    wide: Floats = between / np.maximum(1 - share * (1 - narrow), 0.2)
    return wide


def quantile(x: Floats, present: Booleans, share: float = 0.5) -> Floats:
    """(B,): the quantile of each row's present values; 0 if there are none."""
    ordered, last = np.sort(np.where(present, x, np.inf), axis=1), np.maximum(present.sum(axis=1) - 1, 0)
    low = (share * last).astype(np.intp)
    ends = np.take_along_axis(ordered, np.stack([low, np.minimum(low + 1, last)], axis=1), axis=1)
    ends = np.where(np.isfinite(ends), ends, 0.0)
    result: Floats = ends[:, 0] + (share * last - low) * (ends[:, 1] - ends[:, 0])
    return result
