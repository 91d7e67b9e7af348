"""How strong a split of a series is, and how often chance alone would give one."""

import numpy as np

from perf_culprit.stats.change_point_scan import facing_t, weighted_t
from perf_culprit.stats.ragged import Floats

# strength = 0.5 ln t_local + 0.9 ln t_segment + 4 separation + ln (1 + share of spread): weights learned on the tuning
# half of the labelled series, rounded (docs/detectors/change-point.md).
LOCAL_WEIGHT = 0.5
SEGMENT_WEIGHT = 0.9
SEPARATION_WEIGHT = 4.0
LOCAL_REACH = 20
SEGMENT_REACH = 200
SEPARATION_REACH = 40
SPREAD_REACH = 400
LEAST_T = 0.1
# Blocks of 2 keep part of the dependence of neighbouring runs; 499 draws give p-values down to 0.002.
BLOCK_LENGTH = 2
PERMUTATIONS = 499


def strength(t_local: float, t_segment: float, separation: float, share: float) -> float:
    """One number for a step: larger where it is steep here, lasts, its sides do not overlap, and it is no usual one."""
    return (
        LOCAL_WEIGHT * float(np.log(t_local + LEAST_T))
        + SEGMENT_WEIGHT * float(np.log(t_segment + LEAST_T))
        + SEPARATION_WEIGHT * separation
        + float(np.log1p(share))
    )


def share_of_spread(near: Floats, after: Floats, around: Floats) -> float:
    """Difference of the means on both sides of a split in standard deviations of the series around it, steps included.

    Experts call a step a change by its size beside what the series does elsewhere; 0 where it never moves.
    """
    spread = float(around.std())
    return float(abs(after.mean() - near.mean())) / spread if spread > 0 else 0.0


def separation(left: Floats, right: Floats) -> float:
    """|P(right > left) + P(right = left) / 2 - 1/2| over all pairs: 0 (sides alike) to 0.5 (no overlap)."""
    order = np.sort(left)
    below = np.searchsorted(order, right, side="left") + np.searchsorted(order, right, side="right")
    return float(abs(below.mean() / (2 * len(left)) - 0.5))


def split_strength(values: Floats, split: int, *, low: int, high: int, levels: slice | None = None) -> float:
    """`strength` of `split` in the segment pair [low, high) of a whole series of clipped values.

    `levels`: where the two levels are compared for their share of the spread; by default the 20 runs on each side.
    """
    sides = levels or slice(max(split - LOCAL_REACH, 0), split + LOCAL_REACH)
    left, right = values[low:split], values[split:high]
    far_left, far_right = left[-SEGMENT_REACH:], right[:SEGMENT_REACH]
    return strength(
        facing_t(values, split, low=0, high=len(values), reach=LOCAL_REACH),
        weighted_t(far_left, far_right, left_weights=np.ones(len(far_left)), right_weights=np.ones(len(far_right))),
        separation(left[-SEPARATION_REACH:], right[:SEPARATION_REACH]),
        share_of_spread(
            values[sides.start : split],
            values[split : sides.stop],
            values[max(split - SPREAD_REACH, 0) : split + SPREAD_REACH],
        ),
    )


def largest_rank_sum(ranks: Floats) -> Floats:
    """Pettitt's K of each row, shape (m, n) -> (m,): the largest |rank sum - its expectation| over all splits.

    Source: Pettitt 1979, A non-parametric approach to the change-point problem, section 2.
    """
    return np.asarray(np.abs(np.cumsum(ranks - ranks.mean(axis=1, keepdims=True), axis=1)).max(axis=1))


def mid_ranks(values: Floats) -> Floats:
    """Ranks from 0, ties sharing their mean, shape (n,)."""
    order = np.sort(values)
    below = np.searchsorted(order, values, side="left")
    return np.asarray((below + np.searchsorted(order, values, side="right")) / 2.0)


def block_permutations(count: int, rng: np.random.Generator) -> np.ndarray[tuple[int, ...], np.dtype[np.intp]]:
    """Orders of `count` runs, shape (PERMUTATIONS, count), that move blocks of neighbours as one."""
    blocks = -(-count // BLOCK_LENGTH)
    order = np.argsort(rng.random((PERMUTATIONS, blocks)), axis=1)
    orders = (order[:, :, None] * BLOCK_LENGTH + np.arange(BLOCK_LENGTH)).reshape(PERMUTATIONS, -1)
    # The last block may be shorter: what lies beyond the end is left out of each order.
    return orders if orders.shape[1] == count else orders[orders < count].reshape(PERMUTATIONS, count)


def permutation_p_value(values: Floats, rng: np.random.Generator) -> float:
    """How often reordered runs hold a change as large as these do: (extreme + 1) / (n + 1).

    `values`, shape (n,): the unclipped runs around one split. Assumes that without a change, pairs of neighbours are
    exchangeable; any distribution, any direction.
    """
    ranks = mid_ranks(values)
    drawn = largest_rank_sum(ranks[block_permutations(len(values), rng)])
    extreme = int(np.count_nonzero(drawn >= largest_rank_sum(ranks[None, :])[0] - 1e-9))
    return (extreme + 1) / (PERMUTATIONS + 1)
