"""Is the change real, and is it this commit: log Bayes factors for the reproduction and for a confirmation."""

from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp, ndtri

from bot.bisect import evidence, shape
from bot.bisect.evidence import Design
from bot.bisect.samples import Samples
from bot.bisect.standing import Standing

Floats = npt.NDArray[np.float64]

CONVINCING: Final = 3.0  # log BF that counts as settled


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
    """Log BF of "slow from this candidate on" against "the same before and after it", on this phase's rounds alone.

    The rounds hold {before, after, good, bad}; steps that were named before are taken out first.
    """
    samples = standing.fresh
    before, after = standing.edges(candidate)
    if not samples.count or not np.isin(after, samples.commit) or samples.commit.min() == samples.commit.max():
        return 0.0
    at_bad = (samples.commit == standing.reach.size).astype(np.float64)
    at_before = np.isin(samples.commit, before) & (samples.commit != 0)
    at_after = samples.commit == after
    differ = np.maximum(at_bad, at_after)
    # "The same before and after": both fast, unless `after` is the bad end; both slow, unless `before` is the good one.
    both_fast = [at_bad] if after != standing.reach.size else []
    both_slow = [np.maximum(differ, at_before)] if at_before.any() else []
    equal = np.stack([*both_fast, *both_slow] or [np.zeros_like(at_bad)])
    if standing.named:
        return _log_contrast(_without_named(standing, samples), differ, equal, at_bad, at_before, at_after)
    modes = standing.model.modes
    if modes is None:
        return _log_contrast(samples, differ, equal, at_bad, at_before, at_after)
    patterns = np.vstack([differ, equal])
    references = int(standing.model.ends.sum())
    log_m = shape.log_classes(samples.y, samples.block, patterns, modes, references=references)
    return float(log_m[0] - logsumexp(log_m[1:]) + np.log(len(equal)))


def _log_contrast(  # noqa: PLR0917 - the formula's symbols in their order
    samples: Samples,
    differ: Floats,
    equal: Floats,
    at_bad: Floats,
    at_before: npt.NDArray[np.bool_],
    at_after: npt.NDArray[np.bool_],
) -> float:
    """Half of each side: the pair is on the ends' levels; half: it has levels of its own."""
    design = Design(samples)
    on_levels = evidence.log_one_step(design, np.vstack([differ, equal]))
    if not at_before.any() or (at_after * at_bad).any():
        # One of the pair is an end: nothing is left that could have a level of its own.
        return float(on_levels[0] - logsumexp(on_levels[1:]) + np.log(len(equal)))
    pair = np.maximum(at_before, at_after).astype(np.float64)
    base = np.stack([at_bad, pair])
    free = float(evidence.log_further_steps(design, base, at_after.astype(np.float64)[None])[0])
    level = float(evidence.log_steps(design, base[None])[0])
    some = logsumexp([on_levels[0], free])
    none = logsumexp([*(on_levels[1:] - np.log(len(equal))), level])
    return float(some - none)


def _without_named(standing: Standing, samples: Samples) -> Samples:
    """Fresh samples with the named steps' part taken out, turned so that what is left is positive."""
    model = standing.model
    fit = evidence.fit(model.design, model.named_columns)
    values = model.design.samples.y[-samples.count :]
    columns = np.stack([standing.reach.row(candidate)[samples.commit] for candidate in model.named])
    rest = values - fit.delta @ columns
    bad, good = rest[samples.commit == standing.reach.size], rest[samples.commit == 0]
    sign = -1.0 if bad.size and good.size and bad.mean() < good.mean() else 1.0
    return samples.with_values(sign * rest, model.design.samples.weight[-samples.count :])
