"""What runs as wholes say of a counter: the target's median among the medians of the baseline's runs.

Samples of one run share its machine and its hour. However many of them are outside limits, that is one run's word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.model.run import Metric
from perf_culprit.stats.engine import judge
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.unit_table import Tiers, UnitTable

FEW_RUNS: Final = 3  # fewer do not show how runs differ by themselves
BATCHES: Final = 8
# Batches of fewer samples have medians too rough to tell anything.
SMALLEST_BATCH: Final = 4
# Of a normal sample: the variance of its median times its size, over its variance (pi / 2).
MEDIAN_FACTOR: Final = float(np.pi / 2)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RunMedians:
    """`runs` (r,), r >= 1. `allowance`: the squared error that the target's median has beyond what the runs show."""

    target: float
    runs: Floats
    allowance: float = 0.0


def median_allowance(target: Floats, runs: Sequence[Floats], *, longer: bool) -> float:
    """Of samples in the order of time, NaN where missing. `longer`: some runs are longer than the target.

    From three runs on, as long as the target, their medians show what such medians are not sure of.
    """
    few = len(runs) < FEW_RUNS
    if not runs or not (few or longer):
        return 0.0
    scale = _scale(_level(target), _level(np.concatenate(runs))) ** 2
    own, others = median_error(target), [scale * median_error(run) for run in runs]
    return own + sum(others) / len(runs) ** 2 if few else max(own - float(np.mean(others)), 0.0)


def _level(values: Floats) -> float:
    """The median; 0 of no values."""
    values = values[np.isfinite(values)]
    return float(np.median(values)) if len(values) else 0.0


def _scale(target: float, baseline: float) -> float:
    """What the baseline's noise is worth at the target's level; no less at one that is lower by chance."""
    return min(2 * target / baseline, 1.0) if target > 0 < baseline else 1.0


def median_error(values: Floats) -> float:
    """The squared standard error of the median of `values` (n,), in the order of time, NaN left out.

    By the medians of batches, which know how samples depend on each other [Alexopoulos & Seila 1998, section 3]; of a
    short series as if they did not.
    """
    values = values[np.isfinite(values)]
    size = len(values) // BATCHES
    if size >= SMALLEST_BATCH:
        batches = np.median(values[: size * BATCHES].reshape(BATCHES, size), axis=1)
        return float(batches.var(ddof=1)) / BATCHES
    return MEDIAN_FACTOR * float(values.var(ddof=1)) / len(values) if len(values) > 1 else 0.0


@dataclass(frozen=True, slots=True)
class LevelChance:
    """How often an unchanged run's median is as far from those of the baseline's runs: of this counter, of any."""

    p_value: float
    rate: float


def level_chances(entries: Sequence[tuple[RunMedians, Metric]], *, tiers: Tiers) -> list[LevelChance]:
    """By the engine, one per entry. Counters share how much runs differ, but no shift: each is another quantity."""
    if not entries:
        return []
    medians, metrics = zip(*entries, strict=True)
    most = max(len(entry.runs) for entry in medians)
    values = np.full((len(medians), most + 1), np.nan)
    for row, entry in enumerate(medians):
        values[row, most - len(entry.runs) : most], values[row, most] = entry.runs, entry.target
    # Of a counter that was zero: whatever it becomes is all of it.
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
    judged = judge(table, least_change=0.0, tiers=tiers)
    return [LevelChance(*one) for one in zip(judged.p_value.tolist(), judged.rate.tolist(), strict=True)]


def _locations(values: Floats, size: Floats) -> Floats:
    """Logarithms where all numbers of a counter are positive, else multiples of its usual size."""
    positive = np.nanmin(values, axis=1) > 0
    logs = np.log(values, out=np.full_like(values, np.nan), where=positive[:, None] & ~np.isnan(values))
    return np.where(positive[:, None], logs, values / size[:, None])
