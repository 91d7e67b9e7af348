"""One engine for every comparison: one block a side, several, a run against a history, rounds, a search.

1. Counts that are constant on each side are compared directly. The other steps judge all other values.
2. Units become blocks, unless the sides took turns in rounds (`block_means`).
3. The shift that all benchmarks of a kind share in a block is removed and judged separately (`machine_shift`).
4. The suite's variances and a heavy tail give the likelihood of a difference. There are three ways: one block against
   one (`one_block`), a new one against stored ones (`stored_blocks`), several a side (`labelled_sides`).
5. `Tiers` sets the share of unchanged runs in which anything is suspected or proven, all tests together.
"""

from dataclasses import fields, replace
from typing import Any, Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.stats.block_means import BlockMeans
from perf_culprit.stats.compared_sides import ComparedSides
from perf_culprit.stats.conventions import ALPHA, LEVEL, POWER, ROUNDING
from perf_culprit.stats.labelled_sides import compare_rounds, compare_sides
from perf_culprit.stats.machine_shift import FIRST_JUDGED_BLOCK, JudgedShift
from perf_culprit.stats.one_block import compare_blocks
from perf_culprit.stats.stored_blocks import compare_newest
from perf_culprit.stats.unit_table import SuiteShift, Tiers, UnitJudgement, UnitTable, log_change

# Units of the corpus of counts, and how many of them differ: 0 of 14,000 in Go's library, 2% of an OCaml suite's, where
# few counts differ often and most never.
COUNTS: Final = 5.0
ODD_COUNTS: Final = 0.05
# A larger change is not reported as visible: nobody plans with it.
LARGEST_VISIBLE: Final = log_change(3.0)
LEAST_CHANGE: Final = log_change(0.05)
INTERVAL_ERRORS: Final = float(special.ndtri((1 + LEVEL) / 2))
NO_SHIFT: Final = JudgedShift(change=0.0, error=0.0, rate=1.0)
FOUND: Final = 0.8
BENCHMARK_FIELDS: Final = tuple(one.name for one in fields(UnitJudgement) if one.name != "suite")


def judge_units(
    table: UnitTable, *, least_change: float | Floats = LEAST_CHANGE, tiers: Tiers | None = None
) -> UnitJudgement:
    """Judge which benchmarks changed. `least_change` (a logarithm, common or (B,)): a smaller change does not count."""
    tiers = tiers or Tiers()
    here = np.isfinite(table.location)
    least_change = np.broadcast_to(np.asarray(least_change, dtype=np.float64), len(here))
    fixed = _fixed_counts(table)
    noisy = ~fixed & here[:, table.is_target].any(axis=1) & here[:, ~table.is_target].any(axis=1)
    whole = _merge(_nothing(len(table.location)), fixed, _counts_compared(table, fixed, least_change, tiers))
    if not noisy.any():
        return whole
    part, rng = table.part(noisy), np.random.default_rng(0)
    part = part.ordered if part.is_in_rounds else part
    is_swapped = not part.has_smaller_target
    compared = _compare(part.mirrored() if is_swapped else part, least_change[noisy], tiers, rng)
    judgement = _judgement(compared, least_change[noisy], tiers)
    if is_swapped:
        judgement = _turn(judgement, np.full(len(part.location), -1.0))
        judgement = replace(judgement, suite=replace(judgement.suite, change=-judgement.suite.change))
    judgement = _turn(judgement, np.where(part.orientation < 0, -1.0, 1.0))
    return replace(_merge(whole, noisy, judgement), suite=judgement.suite)


def _nothing(size: int) -> UnitJudgement:
    unknown, certain, no = np.full(size, np.nan), np.ones(size), np.zeros(size, np.bool_)
    return UnitJudgement(
        change=unknown,
        low=unknown,
        high=unknown,
        p_value=certain,
        rate=certain,
        is_proven=no,
        is_suspected=no,
        visible_change=unknown,
        error=unknown,
        differs=no,
        suite=SuiteShift(),
    )


def _merge(whole: UnitJudgement, rows: Booleans, part: UnitJudgement) -> UnitJudgement:
    def placed(name: str) -> Any:
        values = getattr(whole, name).copy()
        values[rows] = getattr(part, name)
        return values

    return replace(whole, **{name: placed(name) for name in BENCHMARK_FIELDS})


def _turn(judgement: UnitJudgement, sign: Floats) -> UnitJudgement:
    """Multiply changes by `sign` (B,), and put the interval's ends in order again."""
    ends = judgement.low * sign, judgement.high * sign
    return replace(judgement, change=judgement.change * sign, low=np.minimum(*ends), high=np.maximum(*ends))


def _fixed_counts(table: UnitTable) -> Booleans:
    """(B,): whether the benchmark is a count with a single value on each side."""
    y, counted = table.location, ~np.isnan(table.location) & table.is_exact[:, None]
    fixed = table.is_exact.copy()
    for side in (counted & table.is_target, counted & ~table.is_target):
        lowest, highest = np.where(side, y, np.inf).min(axis=1), np.where(side, y, -np.inf).max(axis=1)
        fixed &= side.any(axis=1) & (lowest == highest)
    return fixed


def _wobble(table: UnitTable, least_change: Floats) -> Floats:
    """(B,): the rate at which any count of a kind differs between sides by chance.

    A count divided by a varying number of iterations is not exact. The variation within sides gives the share of units
    that differ from their side's median by at least the least change. A corpus of counts is its prior. For a
    chance difference between two constant sides, all units of a side would have to differ.
    """
    y, rate = table.location, np.zeros(len(table.location))
    units = min(int(table.is_target.sum()), int((~table.is_target).sum()))
    sides = [y[:, side] for side in (table.is_target, ~table.is_target) if side.sum() > 1]
    for kind in np.unique(table.kind[table.is_exact]):
        rows = table.is_exact & (table.kind == kind)
        parts, least = [side[rows] for side in sides], least_change[rows, None]
        odd = sum(int((_distance(part) >= least).sum()) for part in parts)
        count = sum(int((~np.isnan(part)).sum()) for part in parts)
        # With one unit a side the other counts are seen: as the code can change many, none of them is odd.
        count = count if sides else int(rows.sum()) - 1
        rate[rows] = min(rows.sum() * ((ODD_COUNTS + odd) / (COUNTS + count)) ** units, 1.0)
    return np.where(table.repeats, 0.0, rate)


def _distance(part: Floats) -> Floats:
    """(B, n): distance from a middle value that occurs; 0 for that value itself or a missing one."""
    ordered = np.sort(part, axis=1)  # NaN last
    middle = np.maximum((~np.isnan(part)).sum(axis=1) - 1, 0) // 2
    middles = np.take_along_axis(ordered, middle[:, None], axis=1)
    with np.errstate(invalid="ignore"):  # both may be zero, whose logarithm is infinite
        distance: Floats = np.where(np.isnan(part) | (part == middles), 0.0, np.abs(part - middles))
    return distance


def _counts_compared(table: UnitTable, fixed: Booleans, least_change: Floats, tiers: Tiers) -> UnitJudgement:
    y, wobble, least_change = table.location[fixed], _wobble(table, least_change)[fixed], least_change[fixed]
    counted = ~np.isnan(y)
    target = np.where(counted & table.is_target, y, np.inf).min(axis=1)
    base = np.where(counted & ~table.is_target, y, np.inf).min(axis=1)
    with np.errstate(invalid="ignore"):  # both may be zero
        change = np.where(target == base, 0.0, target - base)
    called = (np.abs(change) >= least_change - ROUNDING) & (change != 0)
    rate = np.where(change == 0, 1.0, wobble)
    # With one unit a side nothing shows how much a count varies, so nothing is proven but of an exact source.
    is_single = ~table.repeats[fixed] & (min(table.is_target.sum(), (~table.is_target).sum()) == len(y.T) - 1)
    rate_of_call = np.where(called, np.maximum(rate, np.where(is_single, np.nextafter(tiers.proven, 1.0), 0.0)), 1.0)
    # Counts may vary by chance, so a difference that is not called may be smaller.
    is_open = called & (rate > tiers.suspected)
    return replace(
        _nothing(len(y)),
        change=change,
        low=np.where(is_open, np.minimum(change, least_change), change),
        high=np.where(is_open, np.maximum(change, -least_change), change),
        p_value=rate,
        rate=rate_of_call,
        is_proven=called & (rate <= tiers.proven) & ~is_single,
        is_suspected=called & (rate <= tiers.suspected),
        differs=is_open & is_single,
        visible_change=np.where(wobble > tiers.suspected, np.inf, least_change),
    )


def _compare(table: UnitTable, least_change: Floats, tiers: Tiers, rng: np.random.Generator) -> ComparedSides:
    """Choose by the blocks on each side."""
    if table.is_in_rounds:
        return compare_rounds(table, least_change=least_change, tiers=tiers, rng=rng)
    blocks = BlockMeans.of(table)
    base, target = blocks.sides
    if base == target == 1:
        return compare_blocks(blocks, least_change=least_change, suspected=tiers.suspected)
    if target == 1 and base > FIRST_JUDGED_BLOCK:
        return compare_newest(blocks.with_target_last, least_change=least_change, suspected=tiers.suspected)
    return compare_sides(blocks, least_change=least_change, tiers=tiers, rng=rng)


def _judgement(compared: ComparedSides, least_change: Floats, tiers: Tiers) -> UnitJudgement:
    shift = compared.shift or NO_SHIFT
    is_common = abs(shift.change) >= float(np.median(least_change)) and shift.rate <= tiers.suspected
    # A shift that is not small is part of the reported change, so a call has to hold with it.
    part = compared.raw_change - compared.change
    differs = compared.differs & (compared.rate > tiers.suspected)
    is_left_in = (np.abs(part) >= least_change) | (part != 0) & (is_common | differs)
    change = np.where(is_left_in, compared.raw_change, compared.change)
    is_small = is_left_in & (change * np.sign(compared.change) < least_change)
    rate = np.where(is_small, 1.0, compared.rate)
    is_suspected = rate <= tiers.suspected
    is_proven = is_suspected & ~is_small & (compared.proof <= tiers.proven)
    half = np.maximum(compared.tail.distance(ALPHA), compared.half_width)
    half = np.sqrt(half**2 + (INTERVAL_ERRORS * shift.error) ** 2 * is_left_in)
    # The next run estimates its noise again.
    freedom = np.maximum(compared.tail.freedom, 1)
    wobble = np.sqrt(special.fdtri(freedom, freedom, FOUND))
    visible = np.maximum(compared.limit * wobble, least_change) + compared.tail.distance(2 * (1 - POWER))
    # If the suite moved, only a change beyond its shift is visible. A change not found may still be as large as shown.
    visible = visible + np.abs(change - compared.change)
    visible = np.where(is_suspected, visible, np.maximum(visible, np.abs(change)))
    low, high = _interval(change, half, least_change, is_suspected=is_suspected, is_proven=is_proven)
    return UnitJudgement(
        change=change,
        low=low,
        high=high,
        p_value=compared.tail.of(np.abs(compared.change)),
        rate=np.where(is_proven, compared.proof, np.maximum(rate, np.nextafter(tiers.proven, 1.0))),
        is_proven=is_proven,
        is_suspected=is_suspected,
        differs=differs,
        visible_change=np.where(visible <= LARGEST_VISIBLE, visible, np.inf),
        error=compared.tail.error,
        suite=SuiteShift(change=shift.change, rate=shift.rate, is_suspected=is_common),
    )


def _interval(
    change: Floats, half: Floats, least_change: Floats, *, is_suspected: Booleans, is_proven: Booleans
) -> tuple[Floats, Floats]:
    """Return the interval's ends (B,), consistent with the call: an unsuspected change may be below the least change.

    The interval of a proven change excludes zero.
    """
    low, high = change - half, change + half
    low = np.where(is_suspected, low, np.minimum(low, least_change))
    high = np.where(is_suspected, high, np.maximum(high, -least_change))
    return (
        np.where(is_proven & (change > 0), np.maximum(low, 0.0), low),
        np.where(is_proven & (change < 0), np.minimum(high, 0.0), high),
    )
