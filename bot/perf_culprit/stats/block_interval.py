"""By how much did the target's executions move? Every shift that the test of `block_test` does not reject."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from perf_culprit.stats.location_score import LEAST_SPREAD, bandwidths
from perf_culprit.stats.permutation import critical_values, statistics
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.side_blocks import Blocks, between

# Of the differences within rounds: where the search for the least rejected shift starts.
START_QUANTILES: Final = (0.1, 0.3, 0.5, 0.7, 0.9)
# Steps outwards are one bandwidth, doubled each time.
DOUBLINGS: Final = 12
HALVINGS: Final = 5
# Inside the interval: the estimate is the mean of the shifts, weighted by how little the test is against them.
INNER_SHIFTS: Final = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class ShiftInterval:
    """All (m,). `low` and `high` are infinite where there are too few arrangements to reject any shift."""

    shift: Floats
    low: Floats
    high: Floats


def shift_interval(values: Floats, blocks: Blocks, *, level: float) -> ShiftInterval:
    """The confidence interval of the shift for values (m, n): those shifts whose removal leaves nothing significant.

    It covers the true shift with probability `level` whatever the noise, as far as the test is exact; its critical
    value is taken at the estimate, for it hardly depends on the shift.
    """
    start = _start(values, blocks)
    aligned = _without(values, start, blocks)
    # The noise that is left within rounds: the smaller bandwidth of the two ways to look at it.
    noise = np.minimum(bandwidths(aligned), bandwidths(blocks.centred(aligned)))
    step = np.maximum(noise, LEAST_SPREAD)
    critical = critical_values(aligned, blocks, alpha=1 - level)
    if np.isinf(critical).all():
        unbounded = np.full_like(start, np.inf)
        return ShiftInterval(shift=start, low=-unbounded, high=unbounded)
    both, twice, limit = np.tile(start, 2), np.concatenate([values, values]), np.tile(critical, 2)
    sign = np.repeat([-1.0, 1.0], len(start))
    inside, outside = _bracket(twice, blocks, start=both, step=np.tile(step, 2) * sign, limit=limit)
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        accepted = statistics(_without(twice, middle, blocks), blocks) <= limit
        inside, outside = np.where(accepted, middle, inside), np.where(accepted, outside, middle)
    # What was not rejected belongs to the interval; without any noise the ends meet.
    low, high = np.split(np.where(np.abs(outside - both) <= 2 * LEAST_SPREAD, both, outside), 2)
    return ShiftInterval(shift=_weighted(values, blocks, low, high), low=low, high=high)


def _without(values: Floats, shift: Floats, blocks: Blocks) -> Floats:
    moved: Floats = values - shift[:, None] * blocks.is_target
    return moved


def _start(values: Floats, blocks: Blocks) -> Floats:
    """The least rejected of a few shifts that the differences within rounds suggest."""
    candidates = np.quantile(between(values, blocks), START_QUANTILES, axis=1, method="closest_observation")
    rejections = np.stack([statistics(_without(values, shift, blocks), blocks) for shift in candidates])
    # Of equals the middle one.
    middle = len(START_QUANTILES) // 2
    rejections[middle] -= LEAST_SPREAD
    best: Floats = np.take_along_axis(candidates, rejections.argmin(axis=0)[None], axis=0)[0]
    return best


def _bracket(values: Floats, blocks: Blocks, *, start: Floats, step: Floats, limit: Floats) -> tuple[Floats, Floats]:
    """The last shift that is accepted and the first that is rejected, going outwards from `start`."""
    inside, outside = start.copy(), start + step
    searching = np.arange(len(start))
    for doubling in range(DOUBLINGS):
        accepted = statistics(_without(values[searching], outside[searching], blocks), blocks) <= limit[searching]
        searching = searching[accepted]
        if not len(searching):
            break
        inside[searching] = outside[searching]
        outside[searching] = start[searching] + step[searching] * 2.0 ** (doubling + 1)
    return inside, outside


def _weighted(values: Floats, blocks: Blocks, low: Floats, high: Floats) -> Floats:
    shares = np.linspace(0, 1, INNER_SHIFTS + 2)[1:-1]
    shifts = np.stack([low + share * (high - low) for share in shares])
    against = np.stack([statistics(_without(values, shift, blocks), blocks) for shift in shifts])
    # As if normal: the likelihood of a statistic that large.
    weights = np.exp(-0.5 * (against**2 - against.min(axis=0) ** 2))
    estimate: Floats = (weights * shifts).sum(axis=0) / weights.sum(axis=0)
    return estimate
