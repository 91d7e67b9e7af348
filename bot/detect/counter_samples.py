"""From counter tables to samples that can be charted: known values, at one load, without idle time [N12, section 4]."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from bot.detect.counter_load import Load
from bot.detect.counters import TablePair
from bot.detect.run_medians import RunMedians, median_allowance
from bot.detect.statistic import LARGEST, SMALLEST
from bot.model.reason import Reason, Remark, Untested, because
from bot.stats.density import idle_boundary
from bot.stats.load_scaling import LEAST_SPEARMAN, fit_load, fit_quality, scaling_factors
from bot.stats.ragged import Floats

# Counters copied out of their tables at one time: enough to read memory in order, few enough to stay small.
BLOCK_COUNTERS: Final = 64
# Samples that have no value at another load are left out while they are few (a ramp-up); else nothing is scaled.
MOST_UNSCALABLE: Final = 0.05
# Samples without a load (before the test and after it) are left out while they are fewer; else nothing is scaled.
FEWEST_LOADED: Final = 0.5
# A difference of load between target and baseline that a reader has to know of where nothing could be scaled.
NOTABLE_LOAD_DIFFERENCE: Final = 0.05
# Of a change of load, what a counter does that follows it: a part of it, or as much and a little of its own noise.
FOLLOWED_LOAD: Final = (0.1, 1.25)
# Loads that the baseline knows well enough to say what a counter does under them: the percentiles of its limits.
USUAL_LOADS: Final = (5, 95)

Sides = tuple[Floats, tuple[Floats, ...]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Prepared:
    """Sorted samples of one metric: the target's, and one array per baseline run that has any.

    `parts`: the runs cut into pieces as long as the target's test, where any is longer. `load_difference`: of the
    target's load from any that the baseline knows, where nothing could be scaled. `unfiltered` is the target before
    its idle time was dropped, where that happened. `allowance` is that of `medians`.
    """

    target: Floats
    runs: tuple[Floats, ...]
    parts: tuple[tuple[Floats, ...], ...] = ()
    unfiltered: Floats | None = None
    details: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    load_difference: float = 0.0
    allowance: float = 0.0

    @property
    def medians(self) -> RunMedians:
        runs = np.array([np.median(run) for run in self.runs])
        return RunMedians(target=float(np.median(self.target)), runs=runs, allowance=self.allowance)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Loads:
    """The load at each instant on both sides; `target` is None, and `reason` says why, where nothing can be scaled."""

    target: Floats | None = None
    runs: tuple[Floats, ...] = ()
    reference: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    reason: Reason | None = None

    @property
    def level(self) -> float:
        """The target's median load."""
        finite = np.empty(0) if self.target is None else self.target[np.isfinite(self.target)]
        return float(np.median(finite)) if len(finite) else self.reference

    @property
    def unknown(self) -> float:
        """The share of the target's rows without a load."""
        return 0.0 if self.target is None else float(np.isnan(self.target).mean())

    @property
    def difference(self) -> float:
        """Of the target's median load from the baseline's, as a fraction."""
        return self.level / self.reference - 1 if self.reference else 0.0

    @property
    def unusual(self) -> float:
        """The difference where the target was under a load about which the baseline says nothing, else 0."""
        is_usual = abs(self.difference) < NOTABLE_LOAD_DIFFERENCE or self.lowest <= self.level <= self.highest
        return 0.0 if is_usual else self.difference


def load_as_cause(change: float | None, difference: float) -> Reason | None:
    """Whether a load that the baseline never saw explains a relative change of the medians.

    `difference` of the loads, 0 where the load is a usual one. A counter follows the load in part or wholly; what
    changes against it, more than it or not at all has other causes.
    """
    if change is None or not difference:
        return None
    least, most = FOLLOWED_LOAD
    return because(Untested.UNUSUAL_LOAD, change=difference) if least <= change / difference <= most else None


def without_load(medians: RunMedians, difference: float) -> RunMedians:
    """What is left of the target's median where it follows a load that is so different as far as a counter may."""
    usual = float(np.mean(medians.runs))
    if not difference or usual == 0:
        return medians
    low, high = sorted((0.0, FOLLOWED_LOAD[1] * difference))
    explained = min(max(medians.target / usual - 1, low), high)
    return replace(medians, target=medians.target / (1 + explained))


def prepare(pair: TablePair, *, drop_idle: bool) -> Iterator[Prepared]:
    """Each counter of the table, in order."""
    loads = table_loads(pair)
    cuts = [run.parts for run in pair.baseline]
    for start in range(0, len(pair.metrics), BLOCK_COUNTERS):
        chosen = slice(start, min(start + BLOCK_COUNTERS, len(pair.metrics)))
        target = _measured(pair.target_values(chosen))
        runs = [_measured(run.values(chosen)) for run in pair.baseline]
        for index in range(chosen.stop - start):
            own = tuple(run[index] for run in runs)
            yield _prepared(target[index], own, loads, cuts=cuts, drop_idle=drop_idle)


def at_one_load(pair: TablePair, index: int) -> tuple[Sides, bool]:
    """One counter as it is charted but for idle time, in the order of time; and whether it had to be scaled."""
    one = slice(index, index + 1)
    (target,), *runs = (
        _measured(values) for values in (pair.target_values(one), *(r.values(one) for r in pair.baseline))
    )
    sides, skipped = _scaled(target, tuple(run for (run,) in runs), table_loads(pair), {})
    return sides, skipped is None


def table_loads(pair: TablePair) -> Loads:
    recorded = (pair.load, *(run.load for run in pair.baseline))
    if (misfit := next((load for load in recorded if isinstance(load, Reason)), None)) is not None:
        return Loads(reason=misfit)
    loads = [load for load in recorded if isinstance(load, Load)]
    measured = [values for load in loads if np.isfinite(values := _measured(load.values)).any()]
    if len(measured) < len(recorded):
        code = Remark.UNSCALED_SOME_WITHOUT_LOAD if measured else Remark.UNSCALED_WITHOUT_LOAD
        return Loads(reason=because(code))
    if len({load.name for load in loads}) > 1:
        return Loads(reason=because(Remark.UNSCALED_OTHER_LOAD))
    pooled = np.concatenate(measured[1:])
    usual = pooled[np.isfinite(pooled)]
    low, high = np.percentile(usual, USUAL_LOADS)
    return Loads(
        target=measured[0],
        runs=tuple(measured[1:]),
        reference=float(np.median(usual)),
        lowest=float(low),
        highest=float(high),
    )


def _prepared(
    target: Floats, runs: tuple[Floats, ...], loads: Loads, *, cuts: Sequence[int], drop_idle: bool
) -> Prepared:
    details: dict[str, float] = {}
    notes = []
    (target, runs), skipped = _scaled(target, runs, loads, details)
    if skipped is None and loads.unknown > MOST_UNSCALABLE:
        notes.append(because(Remark.ROWS_WITHOUT_LOAD, share=loads.unknown))
    if skipped:
        notes.append(skipped)
        if abs(loads.difference) >= NOTABLE_LOAD_DIFFERENCE:
            notes.append(because(Remark.LOAD_DIFFERS, change=loads.difference))
    measured = [(run, cut) for run, cut in zip(runs, cuts, strict=True) if np.isfinite(run).any()]
    prepared = Prepared(
        target=_ordered(target),
        runs=tuple(_ordered(run) for run, _ in measured),
        parts=cut_runs(measured),
        details=details,
        notes=tuple(notes),
        load_difference=loads.unusual if skipped else 0.0,
        allowance=median_allowance(target, [run for run, _ in measured], longer=any(cut > 1 for _, cut in measured)),
    )
    return without_idle_time(prepared) if drop_idle else prepared


def cut_runs(runs: Sequence[tuple[Floats, int]]) -> tuple[tuple[Floats, ...], ...]:
    """Each run in so many pieces of equal length, sorted, NaN left out; empty where no run is cut."""
    if all(cut == 1 for _, cut in runs):
        return ()
    return tuple(tuple(piece for own in np.array_split(run, cut) if len(piece := _ordered(own))) for run, cut in runs)


def _ordered(values: Floats) -> Floats:
    return np.sort(values[np.isfinite(values)])


def _scaled(
    target: Floats, runs: tuple[Floats, ...], loads: Loads, details: dict[str, float]
) -> tuple[Sides, Reason | None]:
    """Both sides at the reference load [N12, section 4.1]; as they are, with the reason, where that cannot be."""
    if loads.target is None:
        return (target, runs), loads.reason
    load, values = np.concatenate(loads.runs), np.concatenate(runs)
    finite = np.isfinite(values) & np.isfinite(load)
    if int(finite.sum()) < 2:
        return (target, runs), because(Remark.UNSCALED_TOO_FEW)
    load, values = (load, values) if finite.all() else (load[finite], values[finite])
    model = fit_load(load, values)
    quality = fit_quality(load, values, model=model)
    details.update(load_r_squared=quality.r_squared, load_spearman=quality.spearman, load_error=quality.mean_error)
    if quality.spearman < LEAST_SPEARMAN:
        return (target, runs), because(Remark.UNSCALED_INDEPENDENT, spearman=quality.spearman)
    factors = [scaling_factors(side, model=model, reference=loads.reference) for side in (loads.target, *loads.runs)]
    sides = (target, *runs)
    for side, factor, under in zip(sides, factors, (loads.target, *loads.runs), strict=True):
        measured = np.isfinite(side)
        loaded = measured & np.isfinite(under)
        if loaded.sum() < FEWEST_LOADED * measured.sum():
            return (target, runs), because(Remark.UNSCALED_TOO_FEW)
        if (loaded & np.isnan(factor)).sum() > MOST_UNSCALABLE * measured.sum():
            return (target, runs), because(Remark.UNSCALED_NEAR_ZERO)
    details.update(load_slope=model.slope, load_intercept=model.intercept)
    scaled = [side * factor for side, factor in zip(sides, factors, strict=True)]
    return (scaled[0], tuple(scaled[1:])), None


def without_idle_time(prepared: Prepared) -> Prepared:
    """Drop each run's samples left of the minimum between its two modes, where most baseline runs have two modes.

    A target with a second mode that the baseline does not have shows a change, not idle time.
    """
    if (boundaries := _boundaries(prepared.runs)) is None or not len(prepared.target):
        return prepared
    runs = tuple(_right_of(run, boundary) for run, boundary in zip(prepared.runs, boundaries, strict=True))
    parts = tuple(
        tuple(busy for part in own if len(busy := _right_of(part, boundary)))
        for own, boundary in zip(prepared.parts, boundaries if prepared.parts else (), strict=True)
    )
    target = _right_of(prepared.target, idle_boundary(prepared.target))
    dropped = 1 - len(target) / len(prepared.target)
    usual = [1 - len(kept) / len(run) for kept, run in zip(runs, prepared.runs, strict=True)]
    notes = prepared.notes
    if not min(usual) <= dropped <= max(usual):
        idle = because(Remark.IDLE_TIME_DIFFERS, target=dropped, least=min(usual), most=max(usual))
        notes = (*notes, idle)
    return replace(
        prepared,
        target=target,
        runs=runs,
        parts=parts,
        unfiltered=prepared.target if dropped else None,
        details={**prepared.details, "idle_share": dropped, "idle_share_baseline": float(np.median(usual))},
        notes=notes,
    )


def _boundaries(runs: Sequence[Floats]) -> list[float | None] | None:
    """One per run; None as soon as too many runs have a single mode."""
    boundaries: list[float | None] = []
    single = 0
    for run in runs:
        boundaries.append(idle_boundary(run))
        single += boundaries[-1] is None
        if 2 * single >= len(runs):
            return None
    return boundaries or None


def _right_of(ordered: Floats, boundary: float | None) -> Floats:
    return ordered if boundary is None else ordered[np.searchsorted(ordered, boundary) :]


def _measured(values: Floats) -> Floats:
    """A transposed copy, a counter per row; infinite and absurd numbers are as good as missing, tiny ones are zero."""
    copied = np.array(values.T, order="C")
    sizes = np.abs(copied)
    copied[sizes > LARGEST] = np.nan
    copied[sizes < SMALLEST] = 0.0
    return copied
