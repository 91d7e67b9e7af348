"""One-way ANOVA of the target's samples against the baseline's [H13], in addition to the engine's judgement.

docs/detectors/anova.md explains why samples of one file do not decide; with `unit: sample` they do.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from scipy import special

from perf_culprit.judge.by_sample import Published, SampleTest
from perf_culprit.judge.detector import Detector, DetectorOptions
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.statistic import MEAN
from perf_culprit.judge.suite_units import SuiteUnits
from perf_culprit.judge.unit_evidence import Description, named_numbers
from perf_culprit.model.finding import Evidence, Side
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.stats.conventions import ALPHA, LEVEL
from perf_culprit.stats.power import repetitions_for_half_width
from perf_culprit.stats.ragged import Moments
from perf_culprit.stats.two_groups import levene, one_way_anova, welch

if TYPE_CHECKING:
    from perf_culprit.arrays import Floats

# The 95% confidence interval of a mean should be within 10% of it [H13, section 3].
WIDE_HALF_WIDTH: Final = 0.10


def _by_sample(evidence: Evidence, before: Side, after: Side, options: DetectorOptions) -> SampleTest | None:
    if (p_value := evidence.details.get("p_anova")) is None:
        return None
    sides, freedom = (before, after), before.count + after.count - 2
    squares = sum((side.standard_deviation or 0.0) ** 2 * (side.count - 1) for side in sides)
    error = math.sqrt(squares / freedom * sum(1 / side.count for side in sides))
    half, difference = float(special.stdtrit(freedom, 0.5 + LEVEL / 2)) * error, after.value - before.value
    differs = p_value < options.settings.proven
    return SampleTest(p_value=p_value, low=difference - half, high=difference + half, differs=differs)


def _describe(pairs: Sequence[MetricPair], suite: SuiteUnits, options: DetectorOptions) -> Sequence[Description]:
    del options  # no setting affects this
    target, baseline = suite.target, suite.baseline
    of_target, of_baseline = target.moments(), baseline.moments()
    is_sampled = np.minimum(of_target.count, of_baseline.count) > 1
    tested, p_levene = one_way_anova(of_target, of_baseline), levene(target, baseline).p_value
    columns = {
        "f": tested.statistic,
        "p_anova": tested.p_value,
        "p_levene": p_levene,
        "p_welch": np.where(p_levene < ALPHA, welch(of_target, of_baseline).p_value, np.nan),
    }
    details = named_numbers(
        {name: np.where(is_sampled, column, np.nan) for name, column in columns.items()}, len(pairs)
    )
    widths = [_half_widths(moments) for moments in (of_baseline, of_target)]
    deviations = np.sqrt(of_target.variance).tolist()
    return [
        Description(
            details=own,
            half_widths=(before, after),
            notes=_uncertain(after, deviation / abs(mean)) if after is not None else (),
        )
        for own, before, after, deviation, mean in zip(
            details, *widths, deviations, of_target.mean.tolist(), strict=True
        )
    ]


def _half_widths(moments: Moments) -> list[float | None]:
    """Relative half-widths of the means' 95% intervals; None for fewer than two samples or a zero mean."""
    critical = special.stdtrit(np.maximum(moments.count - 1, 1), 0.5 + LEVEL / 2)
    error: Floats = np.sqrt(moments.variance / moments.count)
    is_told = (moments.mean != 0) & (moments.count > 1)
    widths = np.divide(critical * error, np.abs(moments.mean), out=np.full_like(error, np.nan), where=is_told)
    return [None if np.isnan(width) else width for width in widths.tolist()]


def _uncertain(half_width: float, coefficient_of_variation: float) -> tuple[Reason, ...]:
    """Warn if the target's mean is less certain than [H13] requires, and give the repetitions that would do."""
    if half_width <= WIDE_HALF_WIDTH:
        return ()
    needed = repetitions_for_half_width(coefficient_of_variation, half_width=WIDE_HALF_WIDTH, level=LEVEL)
    return (because(Remark.MEAN_UNCERTAIN, width=half_width, repetitions=needed, wanted=WIDE_HALF_WIDTH),)


_PUBLISHED: Final = Published(
    name="anova", describe=_describe, statistic=MEAN, of_benchmarks=0.14, of_runs=0.75, test=_by_sample
)
DETECTOR: Final = Detector(detect=_PUBLISHED.detect)
