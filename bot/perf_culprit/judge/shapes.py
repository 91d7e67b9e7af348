"""More noise without a change of the level: samples of one execution scatter more than before."""

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
from msgspec.structs import replace
from scipy import special

from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.paired_executions import executions_of
from perf_culprit.model.finding import Finding
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.stats.order_interval import MINIMUM_SAMPLES

LEAST_FACTOR: Final = 1.25  # docs/evidence/error-rates.md#shapes


def with_shapes(pairs: Sequence[MetricPair], findings: Sequence[Finding], *, rate: float) -> list[Finding]:
    """Add a note to each benchmark that became noisier; `rate`: largest share of unchanged runs with such a note."""
    noted = [noisier(pair, level=rate / len(pairs)) for pair in pairs]
    return [replace(one, notes=(*one.notes, *filter(None, (note,)))) for one, note in zip(findings, noted, strict=True)]


def noisier(pair: MetricPair, *, level: float) -> Reason | None:
    """Compare the ranks of the executions' spreads (Wilcoxon 1945): the 10th to 90th percentile of logarithms."""
    executions = None if pair.obstacle else executions_of(pair)
    if executions is None or any(len(own) < MINIMUM_SAMPLES or min(own) <= 0 for own in executions.samples):
        return None
    spreads = np.array([np.ptp(np.quantile(np.log(own), (0.1, 0.9))) for own in executions.samples])
    is_target = np.array(executions.is_target)
    target, usual, count = int(is_target.sum()), float(np.median(spreads[~is_target])), len(spreads)
    ranks = spreads.argsort().argsort()[is_target] + 1
    distance = ranks.sum() - target * (count + 1) / 2 - 0.5
    p_value = special.ndtr(-distance / math.sqrt(target * (count - target) * (count + 1) / 12))
    factor = float(np.median(spreads[is_target])) / usual if usual else 0.0
    return because(Remark.NOISIER, factor=factor) if p_value <= level and factor >= LEAST_FACTOR else None
