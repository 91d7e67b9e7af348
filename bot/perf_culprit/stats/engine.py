"""One engine for every comparison: one file per side, k files against k, a run against a history, rounds, a search.

1. Counts that are constant on each side are compared directly. The other steps judge all other values.
2. The common shift of all benchmarks of a kind is removed (`shared_shift`) and judged separately.
3. The variance within sides, moderated over the suite, and a heavy tail give the likelihood of a difference
   (`unit_noise`).
4. The suite's other labellings correct the tail. With enough of them, a call must exceed the loudest benchmark under
   every other labelling (`relabelling`). With many units the shape of the noise is learned (`mode_scores`).
5. `Tiers` sets the share of unchanged runs in which any benchmark is suspected or proven.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Final

import numpy as np

from perf_culprit.stats.mode_scores import has_many_units, median_difference, shift_loudness
from perf_culprit.stats.ragged import Booleans, Floats
from perf_culprit.stats.relabelling import MOST_VALUES, Labellings, loudest_first, relabelled, relabelled_rates
from perf_culprit.stats.shared_shift import WITH_SHIFT, WITHOUT_SHIFT, Deviations, deviations, neighbours_correlation
from perf_culprit.stats.unit_noise import Noise, SuiteTail, noise_of
from perf_culprit.stats.unit_table import Judgement, SuiteShift, Tiers, UnitTable, log_change

# A larger change is not reported as visible: nobody plans with it.
LARGEST_VISIBLE: Final = log_change(3.0)
# With many units the interval is that of the median difference, whose standard error is larger than the mean's.
MEDIAN_INTERVAL: Final = 1.05
LEAST_CHANGE: Final = log_change(0.05)
INTERVAL_ALPHA: Final = 0.05  # of the 95% interval
RESOLVED: Final = 1e-9  # in logarithms: tolerance for changes as large as the least change
DIFFERENT: Final = 0.01  # largest p-value of samples that differ between two units
UNSEEN: Final = 0.25  # two-sided share of the noise that hides a larger change, if the noise were known
OF_BENCHMARKS: Final = tuple(one.name for one in fields(Judgement) if one.name not in ("suite", "least_rate"))
MIRRORED: Final = ("change", "raw_change")


def judge(
    table: UnitTable,
    *,
    least_change: float | Floats = LEAST_CHANGE,
    tiers: Tiers | None = None,
    sampled: Floats | None = None,
    seed: int = 0,
) -> Judgement:
    """Judge which benchmarks changed. `least_change` (a logarithm, common or (B,)): a smaller change does not count.

    `sampled` (B,): p-values of the medians' difference by the samples in the units, NaN where a unit has one number.
    `seed` seeds the random choice of labellings.
    """
    least_change = np.broadcast_to(np.asarray(least_change, dtype=np.float64), len(table.location))
    judged = _judged(table, least_change, tiers or Tiers(), seed)
    if sampled is None or table.block is not None or len(table.is_target) > 2:
        return judged
    # With one unit a side, the shift of all benchmarks is no less a difference than that of one.
    differs = ~judged.is_suspected & (np.abs(judged.raw_change) >= least_change - RESOLVED) & ~(sampled > DIFFERENT)
    moved = np.zeros(len(differs))
    moved[differs] = judged.raw_change[differs] - judged.change[differs]
    ends = {name: getattr(judged, name) + moved for name in ("change", "low", "high")}
    return replace(judged, differs=differs, **ends)


def _judged(table: UnitTable, least_change: Floats, tiers: Tiers, seed: int) -> Judgement:
    here = np.isfinite(table.location)
    fixed = _fixed_counts(table)
    noisy = ~fixed & here[:, table.is_target].any(axis=1) & here[:, ~table.is_target].any(axis=1)
    whole = _merged(_nothing(len(table.location)), fixed, _counts_compared(table, fixed, least_change, tiers))
    if not noisy.any():
        return whole
    part = table.part(noisy).ordered
    is_swapped = not part.has_smaller_target
    rng = np.random.default_rng(seed)
    judged = _judge_noisy(part.mirrored() if is_swapped else part, least_change[noisy], tiers, rng)
    if is_swapped:
        judged = _turned(judged, np.full(len(part.location), -1.0))
        judged = replace(judged, suite=replace(judged.suite, change=-judged.suite.change))
    judged = _turned(judged, part.orientation)
    return replace(_merged(whole, noisy, judged), suite=judged.suite, least_rate=judged.least_rate)


def _nothing(size: int) -> Judgement:
    unknown, certain, no = np.full(size, np.nan), np.ones(size), np.zeros(size, np.bool_)
    return Judgement(
        change=unknown,
        low=unknown,
        high=unknown,
        raw_change=unknown,
        p_value=certain,
        rate=certain,
        model_rate=certain,
        relabelled_rate=certain,
        is_proven=no,
        is_suspected=no,
        visible_change=unknown,
        error=unknown,
        differs=no,
        suite=SuiteShift(),
        least_rate=1.0,
    )


def _merged(whole: Judgement, rows: Booleans, part: Judgement) -> Judgement:
    def placed(name: str) -> Any:
        values = getattr(whole, name).copy()
        values[rows] = getattr(part, name)
        return values

    return replace(whole, **{name: placed(name) for name in OF_BENCHMARKS})


def _turned(judged: Judgement, sign: Floats) -> Judgement:
    """Multiply changes by `sign` (B,), and put the interval's ends in order again."""
    ends = judged.low * sign, judged.high * sign
    turned = {name: getattr(judged, name) * sign for name in MIRRORED}
    return replace(judged, low=np.minimum(*ends), high=np.maximum(*ends), **turned)


def _fixed_counts(table: UnitTable) -> Booleans:
    """(B,): whether the benchmark is a count with a single value on each side."""
    y, counted = table.location, ~np.isnan(table.location) & table.is_exact[:, None]
    fixed = table.is_exact.copy()
    for side in (counted & table.is_target, counted & ~table.is_target):
        lowest, highest = np.where(side, y, np.inf).min(axis=1), np.where(side, y, -np.inf).max(axis=1)
        fixed &= side.any(axis=1) & (lowest == highest)
    return fixed


def _wobble(table: UnitTable, least_change: Floats) -> Floats:
    """(B,): the rate at which counts of a kind differ between sides by chance; 0 where no such difference was seen.

    A count divided by a varying number of iterations is not exact. The variation within sides gives the share of units
    that differ from their side's median by at least the least change. For a chance difference between two constant
    sides, all units of a side would have to differ.
    """
    y, rate = table.location, np.zeros(len(table.location))
    units = min(int(table.is_target.sum()), int((~table.is_target).sum()))
    sides = [y[:, side] for side in (table.is_target, ~table.is_target) if side.sum() > 1]
    for kind in np.unique(table.kind[table.is_exact]) if sides else ():
        rows = table.is_exact & (table.kind == kind)
        parts, least = [side[rows] for side in sides], least_change[rows, None]
        odd = sum(int((_distance(part) >= least).sum()) for part in parts)
        seen = sum(int((~np.isnan(part)).sum()) for part in parts)
        rate[rows] = min(rows.sum() * (odd / max(seen, 1)) ** units, 1.0)
    return rate


def _distance(part: Floats) -> Floats:
    """(B, n): distance from a middle value that occurs; 0 for that value itself or a missing one."""
    ordered = np.sort(part, axis=1)  # NaN last
    middle = np.maximum((~np.isnan(part)).sum(axis=1) - 1, 0) // 2
    middles = np.take_along_axis(ordered, middle[:, None], axis=1)
    with np.errstate(invalid="ignore"):  # both may be zero, whose logarithm is infinite
        distance: Floats = np.where(np.isnan(part) | (part == middles), 0.0, np.abs(part - middles))
    return distance


def _counts_compared(table: UnitTable, fixed: Booleans, least_change: Floats, tiers: Tiers) -> Judgement:
    y, wobble, least_change = table.location[fixed], _wobble(table, least_change)[fixed], least_change[fixed]
    counted = ~np.isnan(y)
    target = np.where(counted & table.is_target, y, np.inf).min(axis=1)
    base = np.where(counted & ~table.is_target, y, np.inf).min(axis=1)
    with np.errstate(invalid="ignore"):  # both may be zero
        change = np.where(target == base, 0.0, target - base)
    called = (np.abs(change) >= least_change - RESOLVED) & (change != 0)
    rate = np.where(change == 0, 1.0, wobble)
    rate_of_call = np.where(called, rate, 1.0)
    # Counts may vary by chance, so a difference that is not called may be smaller.
    is_open = called & (rate > tiers.suspected)
    return replace(
        _nothing(len(y)),
        change=change,
        low=np.where(is_open, np.minimum(change, least_change), change),
        high=np.where(is_open, np.maximum(change, -least_change), change),
        raw_change=change,
        p_value=rate,
        rate=rate_of_call,
        model_rate=rate,
        relabelled_rate=rate,
        is_proven=called & (rate <= tiers.proven),
        is_suspected=called & (rate <= tiers.suspected),
        visible_change=np.where(wobble > tiers.suspected, np.inf, least_change),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Compared:
    """Results of steps 2 to 4 for a table in which every benchmark has units on both sides.

    `noise` and `tails` (B, n) are without the suite's shift, or with it where that is larger. `loudness` (B, n).
    """

    values: Deviations
    noise: Noise
    tails: Floats
    raw_change: Floats
    loudness: Floats
    labellings: Labellings
    has_many: bool


def _judge_noisy(table: UnitTable, least_change: Floats, tiers: Tiers, rng: np.random.Generator) -> Judgement:
    present = np.isfinite(table.location)
    compared = _compare(table, present=present, least_change=least_change, tiers=tiers, rng=rng)
    values, noise, labellings = compared.values, compared.noise, compared.labellings
    observed = labellings.is_observed[: compared.tails.shape[1]]
    freedom = max(len(table.is_target) - int(table.blocks.max()) - 2, 0)
    suite_tail = SuiteTail.of(compared.tails, observed, freedom)
    model_rate = np.where(compared.tails[:, 0] < 1, suite_tail.rates(compared.tails[:, 0]), 1.0)
    change = noise.change[:, 0]
    half = np.maximum(noise.distance(INTERVAL_ALPHA), noise.half_width)
    if compared.has_many:
        change = median_difference(values.centred, table.is_target, table.blocks, present=present)
        half = MEDIAN_INTERVAL * half
    # A shift that is not small is part of the reported change, so a call has to hold with it.
    is_left_in = values.moved | (np.abs(compared.raw_change - noise.change[:, 0]) >= least_change)
    is_small = np.abs(change) < least_change
    is_small |= is_left_in & (compared.raw_change * np.sign(change) < least_change)
    loudest = loudest_first(compared.loudness)
    relabelled_rate = np.where(is_small, 1.0, relabelled_rates(compared.loudness, loudest))
    # Labellings of a single unit are weak evidence: the corrected tail is reliable on its own.
    are_labels_asked = labellings.least_rate <= tiers.suspected and int(table.is_target.sum()) > 1
    heard = [np.where(is_small, 1.0, 0.0)]
    heard += [relabelled_rate] if are_labels_asked else []
    heard += [] if compared.has_many else [model_rate]
    is_proof_by_model = values.is_certain & (suite_tail.is_the_suites_own and not compared.has_many)
    rate = _rate(np.max(heard, axis=0), np.where(is_proof_by_model, model_rate, relabelled_rate), tiers)
    critical = suite_tail.critical(tiers.suspected)
    if are_labels_asked and not compared.has_many:
        critical = min(critical, float(np.exp(-loudest[-max(int(tiers.suspected * len(loudest)), 1)])))
    shown = np.where(is_left_in, compared.raw_change, change)
    # Few units estimate the noise poorly: 90% of changes of the reported size must be found with any number of units.
    unseen = UNSEEN * noise.freedom[:, 0] / (noise.freedom[:, 0] + 2)
    visible = np.maximum(noise.distance(critical), least_change) + noise.distance(unseen)
    # If the suite moved, only a change beyond its shift is visible. A change not found may still be as large as shown.
    visible += np.abs(shown - change)
    visible = np.where(rate > tiers.suspected, np.maximum(visible, np.abs(shown)), visible)
    low, high = _interval(shown, half, least_change, rate=rate, tiers=tiers)
    return Judgement(
        change=shown,
        low=low,
        high=high,
        raw_change=compared.raw_change,
        p_value=noise.observed().tails()[:, 0],
        rate=rate,
        model_rate=model_rate,
        relabelled_rate=relabelled_rate,
        is_proven=rate <= tiers.proven,
        is_suspected=rate <= tiers.suspected,
        visible_change=np.where(visible <= LARGEST_VISIBLE, visible, np.inf),
        error=noise.error[:, 0],
        differs=np.zeros(len(rate), np.bool_),
        suite=values.suite,
        least_rate=labellings.least_rate,
    )


def _rate(heard: Floats, proof: Floats, tiers: Tiers) -> Floats:
    """(B,): the rate that is compared with the tiers: that of the proof if there is one, otherwise above `proven`."""
    unproven = np.maximum(heard, np.nextafter(tiers.proven, 1.0))
    return np.where((heard <= tiers.suspected) & (proof <= tiers.proven), proof, unproven)


def _interval(
    change: Floats, half: Floats, least_change: Floats, *, rate: Floats, tiers: Tiers
) -> tuple[Floats, Floats]:
    """Return the interval's ends (B,), consistent with the call: an unsuspected change may be below the least change.

    The interval of a proven change excludes zero.
    """
    low, high = change - half, change + half
    is_suspected, is_proven = rate <= tiers.suspected, rate <= tiers.proven
    low = np.where(is_suspected, low, np.minimum(low, least_change))
    high = np.where(is_suspected, high, np.maximum(high, -least_change))
    return (
        np.where(is_proven & (change > 0), np.maximum(low, 0.0), low),
        np.where(is_proven & (change < 0), np.minimum(high, 0.0), high),
    )


def _compare(
    table: UnitTable, *, present: Booleans, least_change: Floats, tiers: Tiers, rng: np.random.Generator
) -> _Compared:
    size = len(present)
    labellings = relabelled(table.is_target, table.blocks, benchmarks=size, rng=rng)
    has_many = has_many_units(table.is_target, labellings)
    values = deviations(table, present=present, least_change=float(np.median(least_change)), tiers=tiers)
    neighbours = None
    if table.block is None:
        believed = WITHOUT_SHIFT if values.is_certain.any() else WITH_SHIFT
        neighbours = neighbours_correlation(values.centred, present, table.is_target, believed)
    # With many units the labellings decide; the model is only reported.
    told = _first(labellings, MOST_VALUES // 4 // size + 2) if has_many else labellings
    noise = noise_of(values.centred, table, told, present=present, neighbours=neighbours)
    tails, raw_change = noise.tails(least_change), noise.change[:, 0]
    if table.block is None:
        asked = told if values.moved.any() else _first(told, 1)
        raw = noise_of(values.raw, table, asked, present=present, neighbours=neighbours)
        raw_change = raw.change[:, 0]
        if values.moved.any():
            tails[values.moved] = np.maximum(tails, raw.tails(least_change))[values.moved]
    if has_many:
        heard = (values.uncentred,) if table.block is None else (values.uncentred, values.centred)
        loudness = shift_loudness(heard, labellings, present=present, neighbours=neighbours)
    else:
        loudness = -np.log(np.maximum(tails, 1e-300))
    return _Compared(
        values=values,
        noise=noise,
        tails=tails,
        raw_change=raw_change,
        loudness=loudness,
        labellings=labellings,
        has_many=has_many,
    )


def _first(labellings: Labellings, count: int) -> Labellings:
    return replace(labellings, is_target=labellings.is_target[:count], is_observed=labellings.is_observed[:count])
