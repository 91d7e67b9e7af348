"""Scores for many units that recognize modes, and a difference that modes do not affect."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from perf_culprit.arrays import Booleans, Floats, Integers, row_blocks
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.relabelling import Labellings
from perf_culprit.stats.suite_prior import RESOLUTION

MANY_UNITS: Final = 8  # on the smaller side
MANY_WAYS: Final = 600  # ways to split the units: enough to learn the shape of the noise
MOVES: Final = (1, 2, 4, 8, 16)  # shifts that are tested, in widths of the kernel
EM_ROUNDS: Final = 3  # iterations of expectation maximisation


def has_many_units(is_target: Booleans, labellings: Labellings) -> bool:
    return min(int(is_target.sum()), int((~is_target).sum())) >= MANY_UNITS and labellings.ways >= MANY_WAYS


def median_difference(x: Floats, is_target: Booleans, blocks: Integers, *, present: Booleans) -> Floats:
    """(B,): median difference of a target's and a baseline's unit (Hodges & Lehmann 1963), `x` without block means."""
    of_block = (blocks[:, None] == np.arange(blocks.max() + 1)).astype(float)
    both = ((present & is_target) @ of_block) * ((present & ~is_target) @ of_block) > 0
    present = present & both[:, blocks]
    units, others = np.flatnonzero(is_target), np.flatnonzero(~is_target)
    change, step = np.zeros(len(x)), max(1, WORK_LIMITS.relabelled_values // (len(units) * len(others)))
    for rows in (slice(start, start + step) for start in range(0, len(x), step)):
        gaps = x[rows, units][:, :, None] - x[rows, others][:, None, :]
        pairs = present[rows, units][:, :, None] & present[rows, others][:, None, :]
        change[rows] = quantile(gaps.reshape(len(gaps), -1), pairs.reshape(len(gaps), -1))
    return change


def shift_loudness(x: Floats, labellings: Labellings, *, present: Booleans) -> Floats:
    """(B, n): the largest standardised sum of the target's scores, for each labelling.

    A unit's scores are its value y and, for some moves d, log f(y - d) / f(y). The kernel density f assumes that half
    of the values may have moved by d. It is learned without the labels.
    """
    labels = labellings.is_target
    by_label = np.ascontiguousarray(labels.T, dtype=np.float32)
    loudest = np.zeros((len(present), len(labels)), np.float32)
    for rows in row_blocks(len(present), cells=present.shape[1] ** 2):
        for score in _scores(np.where(present[rows], x[rows], 0.0), present[rows]):
            np.maximum(loudest[rows], _standardise(score @ by_label), out=loudest[rows])
    return loudest.astype(np.float64)


def _standardise(sums: NDArray[np.float32]) -> NDArray[np.float32]:
    """(B, n): distance of each sum from the mean of its benchmark's sums, in their standard deviations."""
    scale: NDArray[np.float32] = sums.std(axis=1, keepdims=True)
    away: NDArray[np.float32] = np.abs(sums - sums.mean(axis=1, keepdims=True))
    return np.divide(away, scale, out=np.zeros_like(away), where=scale > 1e-5)


def _scores(x: Floats, present: Booleans) -> Iterator[NDArray[np.float32]]:
    v = (x / _kernel_width(x, present)[:, None]).astype(np.float32)
    yield v
    gaps, here = v[:, :, None] - v[:, None, :], present[:, None].astype(np.float32)
    level = _kernel(gaps)
    for move in MOVES:
        ahead = _kernel(gaps + np.float32(move))
        unmoved: NDArray[np.float32] = np.full(here.shape, 0.5, np.float32)
        for _ in range(EM_ROUNDS):  # f at y and at y - d, for values y where unmoved and y - d where moved
            stay, gone = unmoved * here, (1 - unmoved) * here
            stays, moves = stay @ level + gone @ ahead.transpose(0, 2, 1), stay @ ahead + gone @ level
            unmoved = np.divide(stays, stays + moves, dtype=np.float32)
        yield (here * (np.log1p(-unmoved) - np.log(unmoved)))[:, 0]


def _kernel(gaps: NDArray[np.float32]) -> NDArray[np.float32]:
    density: NDArray[np.float32] = np.exp(np.float32(-0.5) * gaps**2) + np.float32(1e-4)
    return density


def _kernel_width(x: Floats, present: Booleans) -> Floats:
    """(B,): kernel width by Silverman's rule."""
    count = np.maximum(present.sum(axis=1), 1)
    spread = quantile(x, present, 0.75) - quantile(x, present, 0.25)
    deviation = np.sqrt((x**2).sum(axis=1) / count)
    width = np.where(spread > 0, np.minimum(spread / 1.34, deviation), deviation)
    widths: Floats = np.maximum(0.9 * width * count**-0.2, RESOLUTION / 2)
    return widths


def quantile(x: Floats, present: Booleans, share: float = 0.5) -> Floats:
    """(B,): the quantile of each row's present values; 0 if there are none."""
    ordered, last = np.sort(np.where(present, x, np.inf), axis=1), np.maximum(present.sum(axis=1) - 1, 0)
    low = (share * last).astype(np.intp)
    ends = np.take_along_axis(ordered, np.stack([low, np.minimum(low + 1, last)], axis=1), axis=1)
    ends = np.where(np.isfinite(ends), ends, 0.0)
    result: Floats = ends[:, 0] + (share * last - low) * (ends[:, 1] - ends[:, 0])
    return result
