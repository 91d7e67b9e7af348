"""Is the change real, and is it this commit: log Bayes factors for the reproduction and for a confirmation."""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from bot.bisect import evidence, shape
from bot.bisect.evidence import Design
from bot.bisect.exchange import DifferenceShape, log_exchange
from bot.bisect.samples import Samples
from bot.bisect.standing import Standing

Floats = npt.NDArray[np.float64]

CONVINCING: Final = 3.0  # log BF that counts as settled
SMALLEST_STEP: Final = 0.2  # of the whole change: smaller ones are not looked for
ROOT_TWO: Final = float(np.sqrt(2))
NORMAL_QUARTILE: Final = 0.6745


def log_reproduced(standing: Standing) -> float:
    """Log BF10 of "the bad end is slower" against "no change", on the ends alone.

    Where a shape was learned: under that shape. Else the mean of the BF on logarithms (an e-value under normal noise)
    and the one on normal scores of the pooled ranks, which keeps its power under heavy tails.
    """
    samples = standing.samples.select(standing.model.ends)
    bad = (samples.commit == standing.reach.size).astype(np.float64)
    if not 0 < bad.sum() < samples.count:
        return 0.0
    if standing.model.modes is not None:
        return shape.log_bayes_factor(samples.y, bad, samples.block)
    scores = ndtri((_ranks(samples.y) - 0.5) / samples.count)
    raw, ranked = (_log_step(samples.with_values(y), bad) for y in (samples.y, scores))
    return 0.5 * (raw + ranked)


def _ranks(y: Floats) -> Floats:
    """From 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[place])


def _log_step(samples: Samples, x: Floats) -> float:
    design = Design(samples)
    return float(evidence.log_one_step(design, x[None])[0]) - evidence.log_no_step(design)


def log_pair(standing: Standing, candidate: int) -> float:
    """Log e-value of "differs from the commit before it" against "equally fast", on this phase's rounds alone.

    A merge must differ from each of its parents: the weakest pair counts.
    """
    before, after = standing.edges(candidate)
    shape_of_pairs = _difference_shape(standing.before_phase, candidate)
    return min(log_exchange(_differences(standing.fresh, commit, after), shape_of_pairs) for commit in before)


def _differences(samples: Samples, before: int, after: int) -> Floats:
    """After less before in each round that has both [rounds]."""
    pairs = []
    for block in range(samples.blocks):
        inside = samples.block == block
        first, second = (samples.y[inside & (samples.commit == commit)] for commit in (before, after))
        if first.size and second.size:
            pairs.append(float(second.mean() - first.mean()))
    return np.array(pairs)


def _difference_shape(standing: Standing, candidate: int) -> DifferenceShape:
    """What was known before the confirming rounds, so that they do not judge themselves."""
    model = standing.model
    columns = np.vstack([*(model.column_of(named) for named in model.named), model.column_of(candidate)])
    step = float(evidence.fit(model.design, columns).delta[-1])
    whole = float(model.step.delta[0])
    width, gap, apart = _round_noise(standing)
    size = max(abs(step), SMALLEST_STEP * abs(whole), 0.1 * width)
    return DifferenceShape(step=size if step >= 0 else -size, width=width, gap=gap, apart=apart)


def _round_noise(standing: Standing) -> tuple[float, float, float]:
    """Width, gap and share of mixed pairs of differences inside a round, without steps."""
    modes = standing.model.modes
    if modes is not None:
        share = modes.slow_share
        inside = share * modes.slow_sd + (1 - share) * modes.fast_sd
        return ROOT_TWO * inside, modes.gap, 2 * share * (1 - share) * (1 - modes.stickiness)
    ends = standing.samples.select(standing.model.ends)
    differences = _differences(ends, 0, standing.reach.size)
    center = float(np.median(differences)) if differences.size else 0.0
    robust = float(np.median(np.abs(differences - center))) / NORMAL_QUARTILE if differences.size else 0.0
    return max(robust, 1e-9), 0.0, 0.0
