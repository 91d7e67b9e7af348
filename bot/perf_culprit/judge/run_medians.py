"""What runs as wholes say of a counter: the target's median among the medians of the baseline's runs.

Samples of one run share its machine and its hour. However many of them are outside limits, that is one run's word.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.model.run import Metric
from perf_culprit.stats.ragged import Floats, Ragged
from perf_culprit.stats.run_comparison import FEW_RUNS, scale_at, unit_test

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
    scale = float(scale_at(_level(target), _level(np.concatenate(runs)))[0]) ** 2
    own, others = median_error(target), [scale * median_error(run) for run in runs]
    return own + sum(others) / len(runs) ** 2 if few else max(own - float(np.mean(others)), 0.0)


def _level(values: Floats) -> Floats:
    """The median, shape (1,); 0 of no values, by which nothing is scaled."""
    values = values[np.isfinite(values)]
    return np.array([np.median(values) if len(values) else 0.0])


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


def level_p_values(entries: Sequence[tuple[RunMedians, Metric]], *, paired: bool, level: float) -> list[float]:
    """How often an unchanged run's median is so far from those of the baseline's runs, one per entry.

    `paired` runs shared their machine, so that it moved no median.
    """
    if not entries:
        return []
    medians, metrics = zip(*entries, strict=True)
    timed = np.array([not paired and depends_on_machine(metric.unit) for metric in metrics], dtype=np.bool_)
    sizes = np.array([len(entry.runs) for entry in medians], dtype=np.intp)
    p_values: list[float] = unit_test(
        Ragged(np.array([entry.target for entry in medians]), np.ones(len(medians), dtype=np.intp)),
        Ragged(np.concatenate([entry.runs for entry in medians]), sizes),
        # Counters have names of their own; what they share is the machine that they depend on, or do not.
        families=timed.astype(np.intp),
        timed=timed,
        level=level,
        target_allowance=np.array([entry.allowance for entry in medians]),
    ).p_value.tolist()
    return p_values
