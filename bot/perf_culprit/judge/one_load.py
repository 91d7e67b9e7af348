"""Scale both sides of a counter to one load [N12, section 4.1]; if impossible, keep them and give the reason."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats
from perf_culprit.judge.counter_load import Load
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.run_medians import RunMedians
from perf_culprit.judge.statistic import LARGEST_NUMBER, SMALLEST_NUMBER
from perf_culprit.judge.unit_factors import milliseconds_per
from perf_culprit.model.finding import Evidence, Finding, Side, Verdict
from perf_culprit.model.reason import Reason, Remark, Untested, because
from perf_culprit.model.run import Direction, Metric, MetricKey
from perf_culprit.stats.chart_limits import DEFAULT_LIMITS, PERCENTILES
from perf_culprit.stats.conventions import FEW_RUNS, RARE
from perf_culprit.stats.load_scaling import (
    FEWEST_LOADS,
    LEAST_SPEARMAN,
    FitQuality,
    LinearLoad,
    fit_load,
    fit_quality,
    scaling_factors,
)

# Up to this share of samples without a value at another load (a ramp-up) is left out; with more, nothing is scaled.
UNSCALABLE: Final = 0.05
# At least this share of samples must have a load; the others (before and after the test) are left out.
FEWEST_LOADED: Final = 0.5
# Difference of load between target and baseline that is reported if nothing could be scaled.
NOTABLE_LOAD_DIFFERENCE: Final = 0.05
WRONG_LOAD: Final = 0.1  # of fewer baseline runs than FEWEST_LOADS: a difference that is no variation of one load
LOAD: Final = "load"  # names the finding about the load
# Range of a counter's change relative to the load's if it follows the load: a part of it, or all and some noise.
FOLLOWED_LOAD: Final = (0.1, 1.25)
# Percentiles between which the baseline's loads are frequent enough to predict a counter: those of its limits.
USUAL_LOADS: Final = PERCENTILES[DEFAULT_LIMITS]
# Beyond these loads by more than they are apart, up to this share of the usual load, slopes are taken as uncertain.
FARTHEST: Final = 0.15

ValueSides = tuple[Floats, tuple[Floats, ...]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Loads:
    """The load at each instant on both sides; if nothing can be scaled, `target` is None and `reason` explains it.

    `at_any_load`: a line is extrapolated to any distance, as published.
    """

    target: Floats | None = None
    runs: tuple[Floats, ...] = ()
    reference: float = 0.0
    lowest: float = 0.0
    highest: float = 0.0
    at_any_load: bool = False
    reason: Reason | None = None

    @property
    def level(self) -> float:
        """The target's median load."""
        finite = np.empty(0) if self.target is None else self.target[np.isfinite(self.target)]
        return float(np.median(finite)) if len(finite) else self.reference

    @property
    def count(self) -> int:
        return sum(map(len, self.runs))

    @property
    def unknown(self) -> float:
        """The share of the target's rows without a load."""
        return 0.0 if self.target is None else float(np.isnan(self.target).mean())

    @property
    def difference(self) -> float:
        """Difference between the target's and the baseline's median load, as a fraction."""
        return self.level / self.reference - 1 if self.reference else 0.0

    @property
    def unusual(self) -> float:
        """The difference if the target's load is outside the usual loads of the baseline, else 0."""
        is_usual = abs(self.difference) < NOTABLE_LOAD_DIFFERENCE or self.lowest <= self.level <= self.highest
        return 0.0 if is_usual else self.difference

    @property
    def wrong(self) -> float:
        """The difference if the target was measured under another load, else 0. Few runs do not show how loads vary."""
        is_told = len(self.runs) >= FEWEST_LOADS or abs(self.difference) >= WRONG_LOAD
        return self.unusual if is_told else 0.0

    @property
    def beyond(self) -> float:
        """Distance of the target's load from all usual loads, if it is larger than these are apart, else 0.

        A line may be extrapolated by its own length: beyond it, its slope may be wrong, and queues may bend it.
        """
        distance = max(self.lowest - self.level, self.level - self.highest)
        is_far = not self.at_any_load and bool(self.unusual) and distance > self.highest - self.lowest
        return distance if is_far else 0.0

    @property
    def unseen(self) -> bool:
        return self.beyond > FARTHEST * abs(self.reference)


def load_as_cause(change: float | None, difference: float) -> Reason | None:
    """Return the reason if a load that the baseline never saw explains a relative change of the medians, else None.

    `difference` of the loads, 0 if the load is usual. A counter follows the load partly or fully. A change in the
    opposite direction, a larger one or none at all has other causes.
    """
    if change is None or not difference:
        return None
    least, most = FOLLOWED_LOAD
    return because(Untested.UNUSUAL_LOAD, change=difference) if least <= change / difference <= most else None


def without_load(medians: RunMedians, difference: float) -> RunMedians:
    """Remove the change that an unusual load can explain from the target's median."""
    usual = float(np.mean(medians.runs))
    if not difference or usual == 0:
        return medians
    low, high = sorted((0.0, FOLLOWED_LOAD[1] * difference))
    explained = min(max(medians.target / usual - 1, low), high)
    return replace(medians, target=medians.target / (1 + explained))


def table_loads(pair: TablePair, *, at_any_load: bool = False) -> Loads:
    recorded = (pair.load, *(run.load for run in pair.baseline))
    if (misfit := next((load for load in recorded if isinstance(load, Reason)), None)) is not None:
        return Loads(reason=misfit)
    loads = [load for load in recorded if isinstance(load, Load)]
    finite = [values for load in loads if np.isfinite(values := measured_values(load.values)).any()]
    if len(finite) < len(recorded):
        code = Remark.UNSCALED_SOME_WITHOUT_LOAD if finite else Remark.UNSCALED_WITHOUT_LOAD
        return Loads(reason=because(code))
    if len({load.name for load in loads}) > 1:
        return Loads(reason=because(Remark.UNSCALED_OTHER_LOAD))
    pooled = np.concatenate(finite[1:])
    usual = pooled[np.isfinite(pooled)]
    low, high = np.percentile(usual, USUAL_LOADS)
    return Loads(
        target=finite[0],
        runs=tuple(finite[1:]),
        reference=float(np.median(usual)),
        lowest=float(low),
        highest=float(high),
        at_any_load=at_any_load,
    )


def load_findings(tables: Sequence[TablePair]) -> list[Finding]:
    """Return a finding per load that is another one than the baseline's. Several tables may share a driver."""
    by_load: dict[str, Finding] = {}
    for pair in tables:
        loads = table_loads(pair)
        if not loads.wrong or not isinstance(pair.load, Load) or (unit := pair.load.name or "") in by_load:
            continue
        name = f"offered {LOAD}" if MetricKey(pair.name, LOAD) in pair.keys else LOAD
        by_load[unit] = Finding.judged(
            Evidence.of(
                key=MetricKey(pair.name, name),
                metric=Metric(name=name, unit=unit, direction=Direction.UNKNOWN),
                test=LOAD,
                baseline=Side(value=loads.reference, statistic="median", count=loads.count, runs=len(loads.runs)),
                target=Side(value=loads.level, statistic="median", count=len(pair.load.values)),
                relative_change=loads.wrong,
            ),
            verdict=Verdict.UNTESTED,
            reason=because(Untested.OTHER_LOAD, change=loads.wrong),
        )
    return list(by_load.values())


def load_notes(tables: Sequence[TablePair]) -> list[Reason]:
    """Report a smaller difference of the loads, which readers of the counters need to know."""
    loads = [table_loads(pair) for pair in tables]
    largest = max((one.difference for one in loads if not one.wrong), key=abs, default=0.0)
    return [because(Remark.LOAD_DIFFERS, change=largest)] if abs(largest) >= NOTABLE_LOAD_DIFFERENCE else []


def at_one_load(pair: TablePair, index: int, *, at_any_load: bool) -> tuple[ValueSides, bool]:
    """Return one counter as charted but with idle time, in order of time, and whether it had to be scaled."""
    one = slice(index, index + 1)
    (target,), *runs = (
        measured_values(values) for values in (pair.target_values(one), *(r.values(one) for r in pair.baseline))
    )
    loads = table_loads(pair, at_any_load=at_any_load)
    sides, skipped = scale(pair.metrics[index], target, tuple(run for (run,) in runs), loads, {})
    return sides, skipped is None


def scale(
    metric: Metric, target: Floats, runs: tuple[Floats, ...], loads: Loads, details: dict[str, float]
) -> tuple[ValueSides, Reason | None]:
    """Scale both sides to the reference load, or return the reason why not; the quality of fit goes into `details`."""
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
    if misfit := _misfit(metric, model, quality, loads, runs=sum(bool(np.isfinite(run).any()) for run in runs)):
        return (target, runs), misfit
    factors = [scaling_factors(side, model=model, reference=loads.reference) for side in (loads.target, *loads.runs)]
    sides = (target, *runs)
    for side, factor, under in zip(sides, factors, (loads.target, *loads.runs), strict=True):
        is_finite = np.isfinite(side)
        loaded = is_finite & np.isfinite(under)
        if loaded.sum() < FEWEST_LOADED * is_finite.sum():
            return (target, runs), because(Remark.UNSCALED_TOO_FEW)
        if (loaded & np.isnan(factor)).sum() > UNSCALABLE * is_finite.sum():
            return (target, runs), because(Remark.UNSCALED_NEAR_ZERO)
    details.update(load_slope=model.slope, load_intercept=model.intercept)
    scaled = [side * factor for side, factor in zip(sides, factors, strict=True)]
    if loads.beyond:
        share = abs(loads.level - loads.reference) / abs(model.slope * loads.level + model.intercept)
        details["load_doubt"] = share * _slope_error(runs, loads)
        scaled[0] = _nearer(scaled[0], np.concatenate(scaled[1:]), details["load_doubt"])
    return (scaled[0], tuple(scaled[1:])), None


def _slope_error(runs: Sequence[Floats], loads: Loads) -> float:
    """Half the slope's interval by the jackknife over runs: samples of one run depend on each other."""
    pairs = [
        (load[finite], run[finite])
        for load, run in zip(loads.runs, runs, strict=True)
        if (finite := np.isfinite(load) & np.isfinite(run)).any()
    ]
    others = (pairs[:own] + pairs[own + 1 :] for own in range(len(pairs)))
    slopes = [fit_load(*map(np.concatenate, zip(*rest, strict=True))).slope for rest in others]
    freedom = len(slopes) - 1
    return float(np.std(slopes) * math.sqrt(freedom) * special.stdtrit(freedom, 1 - RARE / 2))


def _nearer(target: Floats, baseline: Floats, doubt: float) -> Floats:
    """Bring the target's median nearer to the baseline's, by the doubt at most: limits are so as much wider."""
    own, usual = (float(np.median(side[np.isfinite(side)])) for side in (target, baseline))
    return target * min(max(usual / own, 1 / (1 + doubt)), 1 + doubt) if own else target


def _misfit(metric: Metric, model: LinearLoad, quality: FitQuality, loads: Loads, *, runs: int) -> Reason | None:
    """Reason why a line does not describe the counter under the target's load; None if it does.

    A time that falls with more load is no effect of load: clients that wait for each answer send less to a slow system.
    Scaled, a slower system would look like a smaller load. A counter that grows faster than the load, such as a queue,
    does so even more beyond the usual loads.
    """
    if quality.spearman < LEAST_SPEARMAN:
        return because(Remark.UNSCALED_INDEPENDENT, spearman=quality.spearman)
    if model.slope < 0 and milliseconds_per(metric.unit) is not None:
        return because(Remark.UNSCALED_CLOSED_LOOP)
    growth = model.slope * loads.reference
    is_bent = abs(growth) > FOLLOWED_LOAD[1] * abs(growth + model.intercept)
    if loads.unseen or (loads.beyond and (is_bent or runs < FEW_RUNS)):
        return because(Remark.UNSCALED_UNSEEN_LOAD, load=loads.level, lowest=loads.lowest, highest=loads.highest)
    return None


def measured_values(values: Floats) -> Floats:
    """Copy and transpose, one counter per row; infinite and absurd numbers become missing, tiny ones zero."""
    copied = np.array(values.T, order="C")
    sizes = np.abs(copied)
    copied[sizes > LARGEST_NUMBER] = np.nan
    copied[sizes < SMALLEST_NUMBER] = 0.0
    return copied
