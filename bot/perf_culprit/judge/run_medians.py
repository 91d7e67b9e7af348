"""Evidence from whole runs about a counter: the target's median among the medians of the baseline's runs.

Samples of one run share its machine and its time. Any number of them outside limits is the evidence of one run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.model.run import Metric
from perf_culprit.stats.conventions import FEW_RUNS, FEW_SAMPLES
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.unit_table import Tiers, UnitTable

MEDIAN_BATCHES: Final = 8
# Factor for a normal sample: the variance of its median times its size, over its variance (pi / 2).
MEDIAN_FACTOR: Final = float(np.pi / 2)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunMedians:
    """`runs` (r,), r >= 1. `allowance`: squared error of the target's median beyond the variation between the runs."""

    target: float
    runs: Floats
    allowance: float = 0.0


def median_allowance(target: Floats, runs: Sequence[Floats], *, longer: bool) -> float:
    """Estimate it from samples in order of time, NaN where missing. `longer`: some runs are longer than the target.

    With at least three runs as long as the target, their medians already show the uncertainty of such medians.
    """
    few = len(runs) < FEW_RUNS
    if not runs or not (few or longer):
        return 0.0
    level, usual = _level(target), _level(np.concatenate(runs))
    # The baseline's noise at the target's level; not reduced for a level that is lower by chance.
    scale = min(2 * level / usual, 1.0) ** 2 if level > 0 < usual else 1.0
    own, others = median_error(target), [scale * median_error(run) for run in runs]
    return own + sum(others) / len(runs) ** 2 if few else max(own - float(np.mean(others)), 0.0)


def _level(values: Floats) -> float:
    """The median; 0 without values."""
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else 0.0


def median_error(values: Floats) -> float:
    """Return the squared standard error of the median of `values` (n,), in order of time; NaN is ignored.

    Long series use medians of batches, which reflect the dependence of samples [Alexopoulos & Seila 1998, section 3].
    Short series are treated as independent.
    """
    values = values[np.isfinite(values)]
    size = len(values) // MEDIAN_BATCHES
    if size >= FEW_SAMPLES:
        batches = np.median(values[: size * MEDIAN_BATCHES].reshape(MEDIAN_BATCHES, size), axis=1)
        return float(batches.var(ddof=1)) / MEDIAN_BATCHES
    return MEDIAN_FACTOR * float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class LevelChance:
    """How often an unchanged run's median is this far from those of the baseline's runs: for this counter, for any."""

    p_value: float
    rate: float


def level_chances(entries: Sequence[tuple[RunMedians, Metric]], *, tiers: Tiers) -> list[LevelChance]:
    """Judge by the engine, one per entry. Counters share the variation of runs, but no shift: quantities differ."""
    if not entries:
        return []
    medians, metrics = zip(*entries, strict=True)
    most = max(len(entry.runs) for entry in medians)
    values = np.full((len(medians), most + 1), np.nan)
    for row, entry in enumerate(medians):
        values[row, most - len(entry.runs) : most], values[row, most] = entry.runs, entry.target
    # A counter that was zero is measured relative to its new value.
    size = np.array([abs(float(np.median(entry.runs))) or abs(entry.target) or 1.0 for entry in medians])
    allowance = np.zeros_like(values)
    allowance[:, most] = [entry.allowance for entry in medians]
    table = UnitTable.of(
        _locations(values, size),
        np.arange(most + 1) == most,
        block=np.zeros(most + 1, dtype=np.intp),
        sampling_variance=(np.sqrt(allowance) / size[:, None]) ** 2,
        kind=np.array([depends_on_machine(metric.unit) for metric in metrics], dtype=np.intp),
    )
    judgement = judge_units(table, least_change=0.0, tiers=tiers)
    return [LevelChance(*one) for one in zip(judgement.p_value.tolist(), judgement.rate.tolist(), strict=True)]


def _locations(values: Floats, size: Floats) -> Floats:
    """Logarithms if all numbers of a counter are positive, else multiples of its usual size."""
    positive = np.nanmin(values, axis=1) > 0
    logs = np.log(values, out=np.full_like(values, np.nan), where=positive[:, None] & ~np.isnan(values))
    return np.where(positive[:, None], logs, values / size[:, None])
