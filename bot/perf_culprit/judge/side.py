"""How one side of a metric is described, and what to say about its precision."""

import math

import numpy as np
from scipy import special

from perf_culprit.model.finding import Side
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.stats.power import repetitions_for_half_width
from perf_culprit.stats.ragged import Floats, Moments

# METHODS 1: the 95% confidence interval of a mean should be within 10% of it [H13, section 3].
HALF_WIDTH_LEVEL = 0.95
WIDE_HALF_WIDTH = 0.10


def describe_sides(moments: Moments, medians: Floats, *, means: Floats, runs: Floats) -> list[Side]:
    """One side per metric. `means` are the ones to show: of the runs' means where there are several runs."""
    deviations = np.sqrt(moments.variance)
    critical = special.stdtrit(np.maximum(moments.count - 1, 1), 0.5 + HALF_WIDTH_LEVEL / 2)
    half_widths = np.full_like(deviations, np.nan)
    is_defined = (means != 0) & (moments.count > 1)
    np.divide(critical * deviations / np.sqrt(moments.count), np.abs(means), out=half_widths, where=is_defined)
    columns = (means, medians, deviations, moments.count, runs, half_widths)
    return [
        Side(
            value=mean,
            mean=mean,
            median=median,
            standard_deviation=deviation if count > 1 else None,
            count=int(count),
            runs=int(of_runs),
            relative_half_width=None if math.isnan(half_width) else half_width,
        )
        for mean, median, deviation, count, of_runs, half_width in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def precision_notes(side: Side) -> tuple[Reason, ...]:
    """A warning where the target's mean is known worse than [H13] asks for, with the repetitions that would do."""
    width, deviation = side.relative_half_width, side.standard_deviation
    if width is None or deviation is None or width <= WIDE_HALF_WIDTH:
        return ()
    needed = repetitions_for_half_width(deviation / abs(side.value), half_width=WIDE_HALF_WIDTH, level=HALF_WIDTH_LEVEL)
    return (because(Remark.MEAN_UNCERTAIN, width=width, repetitions=needed, wanted=WIDE_HALF_WIDTH),)
