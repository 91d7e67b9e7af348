"""The shift that benchmarks of a kind share in a block, the machine's or the code's."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.stats.conventions import UPPER_QUARTILE
from perf_culprit.stats.heavy_tail import TO_SUSPECT, Tail
from perf_culprit.stats.suite_prior import RESOLUTION

FEWEST_WITNESSES: Final = 6  # benchmarks of a kind that tell a block's shift
QUIETEST: Final = 4.0  # no benchmark counts for more than this many usual ones
# Of a block's shift: standard deviation in the corpus, and the number of steps that it is worth.
SHIFT: Final = 0.05
SHIFT_WORTH: Final = 0.5
SHIFT_OF_UNIT: Final = 2 * SHIFT  # within rounds, where the units themselves tell it
ROUNDS_WORTH: Final = 0.1
NEIGHBOURS: Final = 0.6  # correlation of the shifts of neighbouring blocks
# Of a benchmark, and the pairs that the corpus is worth.
CORRELATION: Final = 0.2
PAIRS_WORTH: Final = 60.0
HALF: Final = 2  # blocks in a row tell half as much as independent ones
FOLLOWS: Final = 0.2  # weight of the newest shift in the level that the next one is compared with
SLOW: Final = 4  # steps that tell as much as an independent one
FIRST_JUDGED_BLOCK: Final = 4  # stored blocks before the first that is judged by those before it


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Shared:
    """`of_others` (B, K): in each block the median of the other benchmarks of the kind; 0 with too few of them.

    `common` (G, K): the median of each kind that has enough benchmarks. `is_certain` (B,): the kind has enough, or it
    knows no machine.
    """

    of_others: Floats
    common: Floats
    is_certain: Booleans

    @property
    def is_told(self) -> bool:
        return len(self.common) > 0


def shared_shift(x: Floats, kind: Integers, follows_machine: Booleans) -> Shared:
    """Return the shift in each block, by values (B, K) without their own level; NaN where missing.

    Quiet benchmarks count for more: ten that vary by 1% find the shift that ten of 30% hide.
    """
    of_others, common, is_certain = np.zeros_like(x), [], ~follows_machine
    for rows in (np.flatnonzero((kind == one) & follows_machine) for one in np.unique(kind)):
        if len(rows) < FEWEST_WITNESSES:
            continue
        part, is_certain[rows] = x[rows], True
        weight = 1 / _noise(part)
        medians = np.zeros(x.shape[1])
        for block in range(x.shape[1]):
            of_others[rows, block], medians[block] = _median_of_others(part[:, block], weight)
        common.append(medians)
    return Shared(of_others=of_others, common=np.array(common).reshape(len(common), x.shape[1]), is_certain=is_certain)


def _noise(x: Floats) -> Floats:
    """(b,): each benchmark's spread over blocks; equal for all if there are too few blocks to tell."""
    if x.shape[1] <= FIRST_JUDGED_BLOCK - 1:
        return np.ones(len(x))
    own = x - middle(x, axis=0)[None]
    spread = middle(np.abs(own - middle(own, axis=1)[:, None]), axis=1) / UPPER_QUARTILE
    return np.maximum(spread, max(float(np.median(spread)) / QUIETEST, RESOLUTION))


def _median_of_others(values: Floats, weight: Floats) -> tuple[Floats, float]:
    """(b,): the weighted median of the other values, and the plain median of all; zeros with too few."""
    present = np.flatnonzero(np.isfinite(values))
    others = np.zeros(len(values))
    if len(present) < FEWEST_WITNESSES:
        return others, 0.0
    order = present[np.argsort(values[present], kind="stable")]
    ordered, own, rank = values[order], weight[order], np.arange(len(order))
    below = own.cumsum()
    before = np.searchsorted(below, (below[-1] - own) / 2 * (1 - 1e-12))
    behind = np.searchsorted(below, (below[-1] + own) / 2 * (1 - 1e-12))
    others[order] = ordered[np.where(before < rank, before, np.minimum(behind, len(order) - 1))]
    return others, float(np.median(ordered))


def middle(x: Floats, *, axis: int) -> Floats:
    """Return the median of the values that exist; 0 if there are none."""
    ordered = np.sort(x, axis=axis)  # NaN last
    count = np.isfinite(x).sum(axis=axis, keepdims=True)
    ends = [np.take_along_axis(ordered, np.maximum(at, 0), axis=axis) for at in ((count - 1) // 2, count // 2)]
    middle: Floats = np.where(count > 0, (ends[0] + np.where(count > 0, ends[1], 0.0)) / 2, 0.0).squeeze(axis=axis)
    return middle


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgedShift:
    """A shift between the sides, its standard error, and how often unchanged sides shift as far."""

    change: float
    error: float
    rate: float


def shift_between(common: Floats, is_target: Booleans) -> JudgedShift:
    """Judge the shift of one kind between sides of several blocks by how its blocks (K,) differ within sides."""
    target, base = common[is_target], common[~is_target]
    change = float(target.mean() - base.mean())
    inner = float(((target - target.mean()) ** 2).sum() + ((base - base.mean()) ** 2).sum())
    worth = (len(common) - 2) / HALF
    variance = (SHIFT_WORTH * SHIFT**2 + inner / HALF) / (SHIFT_WORTH + worth) * (1 / len(target) + 1 / len(base))
    own_part = (len(common) - 2) / (len(common) - 2 + SHIFT_WORTH)
    error = math.sqrt(variance * float(widened(is_target[None], NEIGHBOURS, own_part)[0]))
    return JudgedShift(change=change, error=error, rate=_rate(abs(change), error, SHIFT_WORTH + worth))


def newest_shifts(common: Floats) -> tuple[JudgedShift, Floats]:
    """Judge the newest block's shift (K,) from a level that follows the past, and return all blocks' rates."""
    level, steps = float(common[0]), np.zeros(len(common))
    for block in range(1, len(common)):
        steps[block] = common[block] - level
        level += max(FOLLOWS, 1 / (block + 1)) * steps[block]
    rates, error = np.ones(len(common)), SHIFT
    for block in range(FIRST_JUDGED_BLOCK, len(common)):
        steps_inside = steps[1:block]
        worth = len(steps_inside) / SLOW
        error = math.sqrt((SHIFT_WORTH * SHIFT**2 + float((steps_inside**2).mean()) * worth) / (SHIFT_WORTH + worth))
        rates[block] = _rate(abs(float(steps[block])), error, SHIFT_WORTH + worth)
    return JudgedShift(change=float(steps[-1]), error=error, rate=float(rates[-1])), rates


def shift_in_rounds(common: Floats, is_target: Booleans, block: Integers) -> JudgedShift:
    """Judge the shift of a kind between sides that took turns, by how its units (K,) differ within blocks."""
    x = without_block_means(common[None], np.ones((1, len(common)), np.bool_), block)[0]
    count = int(block.max()) + 1
    targets, others = (np.bincount(block[side], minlength=count) for side in (is_target, ~is_target))
    weight = float((targets * others / (targets + others)).sum())
    freedom = max(len(x) - count - 1, 0)
    change = float(x[is_target].sum()) / weight
    inner = max(float((x**2).sum()) - change**2 * weight, 0.0) + RESOLUTION**2 * freedom
    error = math.sqrt((ROUNDS_WORTH * SHIFT_OF_UNIT**2 + inner) / (ROUNDS_WORTH + freedom) / weight)
    return JudgedShift(change=change, error=error, rate=float(2 * special.stdtr(freedom + 1, -abs(change) / error)))


def without_block_means(x: Floats, present: Booleans, block: Integers) -> Floats:
    """(B, U): the values without the mean of their block; 0 where missing."""
    of_block = (block[:, None] == np.arange(block.max() + 1)).astype(float)
    mean = (np.where(present, x, 0.0) @ of_block) / np.maximum(present @ of_block, 1)
    return np.where(present, x - mean[:, block], 0.0)


def _rate(size: float, error: float, freedom: float) -> float:
    tail = Tail(error=np.array([error]), freedom=np.array([freedom]), jumps=np.ones(1))
    return float(tail.of(np.array([size]), TO_SUSPECT)[0])


def correlation_of_neighbours(x: Floats, is_target: Booleans) -> float:
    """Correlation of blocks that follow each other on a side, pooled over benchmarks (B, K), and with the corpus.

    `x` is NaN where missing; sides' means are removed, which the estimate corrects for.
    """
    own = np.where(np.isfinite(x), x, 0.0)
    for side in (is_target, ~is_target):
        count = np.maximum(np.isfinite(x[:, side]).sum(axis=1, keepdims=True), 1)
        own[:, side] = np.where(
            np.isfinite(x[:, side]), own[:, side] - own[:, side].sum(axis=1, keepdims=True) / count, 0
        )
    pairs = np.flatnonzero(is_target[1:] == is_target[:-1])
    power = np.maximum((own**2).mean(axis=1), 1e-12)
    bias = 1 / max(int(is_target.sum()), 1) / 2 + 1 / max(int((~is_target).sum()), 1) / 2
    products = [(own[:, at] * own[:, at + 1] / power).mean() for at in pairs]
    estimate = float(np.mean(products)) + bias if products else 0.0
    weight = len(pairs) * max(len(x) / 4, 1)  # benchmarks of one block are not independent
    return float(np.clip((PAIRS_WORTH * CORRELATION + weight * estimate) / (PAIRS_WORTH + weight), 0, 0.9))


def widened(labels: Booleans, correlation: float, own_part: Floats | float) -> Floats:
    """(…, n): factor by which the variance between sides exceeds that of independent blocks, per labelling (n, K).

    `own_part`: the part of the variance within sides that these blocks told; neighbours make it too small.
    """
    count = labels.shape[1]
    decay = correlation ** np.abs(np.subtract.outer(np.arange(count), np.arange(count)))
    targets, others = labels.sum(axis=1), (~labels).sum(axis=1)
    contrast = labels / targets[:, None] - ~labels / others[:, None]
    inside = ((labels @ decay) * labels).sum(axis=1) / targets + ((~labels @ decay) * ~labels).sum(axis=1) / others
    narrow = (count - inside) / max(count - 2, 1)
    between = ((contrast @ decay) * contrast).sum(axis=1) / (1 / targets + 1 / others)
    wide: Floats = between / np.maximum(1 - np.asarray(own_part) * (1 - narrow), 0.2)
    return wide
