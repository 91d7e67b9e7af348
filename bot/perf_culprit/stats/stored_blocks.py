"""One new block against stored ones: the suite's own past tells how far a block differs from those before it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.stats.block_means import BlockMeans
from perf_culprit.stats.compared_sides import OF_SHIFT, ComparedSides, any_kind, of_benchmarks
from perf_culprit.stats.heavy_tail import CORPUS, TO_PROVE, TO_SUSPECT, Jumps, SuiteTail, Tail, how_often
from perf_culprit.stats.machine_shift import (
    FIRST_JUDGED_BLOCK,
    JudgedShift,
    correlation_of_neighbours,
    middle,
    newest_shifts,
    shared_shift,
    widened,
)
from perf_culprit.stats.suite_prior import CALM, RESOLUTION, SCALE, suite_prior

ENOUGH_BLOCKS: Final = 7  # stored blocks from which on a change can be proven, and earlier blocks count as runs
WINDOW: Final = 40  # of the stored blocks, the newest
RESERVE: Final = 0.9  # the tail beyond few stored blocks is a guess
# What the past tells counts for less than it seems to: of its freedom, as noise is not Gaussian and no labelling
# checks the tail; of its values, for a suspicion; of its error.
PAST: Final = 0.7
RATE_WORTH: Final = 10.0  # earlier runs that the model's rate is worth


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Steps:
    """Blocks judged by others, (B, K): `change` and the `tail` of its size; `is_told` where enough others exist."""

    change: Floats
    tail: Tail
    is_told: Booleans

    def tails(self, jumps: Jumps, least_change: Floats | float, *, heavy: float) -> Floats:
        """(B, K): tails of the changes; 1 below the least change, NaN where none is told."""
        size = np.abs(self.change)
        tail = replace(self.tail, freedom=heavy * self.tail.freedom)
        tails_of_jumps = np.where(size >= least_change, tail.of(size, jumps), 1.0)
        return np.where(self.is_told, tails_of_jumps, np.nan)


def compare_newest(blocks: BlockMeans, *, least_change: Floats, suspected: float) -> ComparedSides:
    """Judge the target's only block, the last, against more than FIRST_JUDGED_BLOCK earlier ones, in order of time."""
    x = blocks.location[:, -WINDOW - 1 :] * blocks.sign[:, None]
    x = x - middle(x[:, :-1], axis=1)[:, None]
    shared = shared_shift(x, blocks.kind, blocks.orientation != 0)
    own, size, count = x - shared.of_others, len(x), x.shape[1] - 1
    share = of_benchmarks(is_shift_told=shared.is_told)
    # By the blocks before it; and each stored one by all other stored ones, as if it were the newest.
    before = _widen(_by_others(own, blocks.kind, partial(np.cumsum, axis=1)), own)
    left_out = _by_others(own[:, :-1], blocks.kind, partial(np.sum, axis=1, keepdims=True))
    is_large = np.abs(before.change) >= least_change[:, None]
    least = least_change[:, None]
    to_prove, past_proofs = _with_past(before, left_out, TO_PROVE, least, heavy=1.0)
    to_suspect, past = _with_past(before, left_out, TO_SUSPECT, 0.0, heavy=PAST)
    worth = size * (count - 1)
    rate = size * _correct(to_suspect[:, -1], past, PAST * worth) / RESERVE / share
    newest = Tail(
        error=before.tail.error[:, -1], freedom=PAST * before.tail.freedom[:, -1], jumps=before.tail.jumps[:, -1]
    )
    z = np.abs(before.change) / before.tail.error
    shifts = [newest_shifts(common) for common in shared.common]
    # Run by run: how often was a run of this history as odd?
    odd = np.where(is_large & before.is_told, to_suspect, 1.0) * size / share
    odd_shifts = [rates * len(shifts) / OF_SHIFT for _, rates in shifts]
    runs = np.minimum.reduce([np.ones(count + 1), odd.min(axis=0), *odd_shifts])
    earlier = np.sort(runs[ENOUGH_BLOCKS:-1])
    proof = np.ones(size)
    if count >= ENOUGH_BLOCKS:
        # The suite's past outweighs only the corpus's jumps, not the noise of these runs.
        by_noise = 2 * special.stdtr(before.tail.freedom[:, -1], -z[:, -1])
        proof = size * np.maximum(SuiteTail.of(past_proofs, worth).corrected(to_prove[:, -1]), by_noise)
    return ComparedSides(
        change=before.change[:, -1],
        raw_change=before.change[:, -1] + shared.of_others[:, -1],
        tail=newest,
        rate=np.where(is_large[:, -1], _run_by_run(rate, odd[:, -1], earlier), 1.0),
        # Without the machine's shift, no stored run proves what changed.
        proof=np.where(is_large[:, -1] & shared.is_certain, np.minimum(proof, 1.0), 1.0),
        limit=newest.distance(suspected * share * RESERVE / size),
        shift=_shift_by_run([shift for shift, _ in shifts], earlier),
        half_width=_drift(z[:, FIRST_JUDGED_BLOCK:-1]) * newest.error,
    )


def _with_past(
    before: _Steps, left_out: _Steps, jumps: Jumps, least: Floats | float, *, heavy: float
) -> tuple[Floats, Floats]:
    """The tails (B, K), and sorted those of stored blocks: each by all others and by those before it."""
    tails = before.tails(jumps, least, heavy=heavy)
    past = np.concatenate([left_out.tails(jumps, least, heavy=heavy).ravel(), tails[:, ENOUGH_BLOCKS:-1].ravel()])
    return tails, np.sort(past[np.isfinite(past)])


def _widen(steps: _Steps, x: Floats) -> _Steps:
    """The steps with the error of neighbours in time that resemble each other: their spread says too little."""
    count = x.shape[1]
    newest = np.arange(count) == count - 1
    correlation = correlation_of_neighbours(x, newest)
    wide = [math.sqrt(float(widened(newest[None, -size:], correlation, PAST)[0])) for size in range(2, count + 1)]
    return replace(steps, tail=replace(steps.tail, error=steps.tail.error * np.array([1.0, *wide])))


def _by_others(x: Floats, kind: Integers, summed: Callable[..., Any]) -> _Steps:
    """Each block judged by the mean of others: those that `summed` adds up, without itself."""
    present = np.isfinite(x)
    y = np.where(present, x, 0.0)
    count = summed(present) - present
    mean = (summed(y) - y) / np.maximum(count, 1)
    squares = np.maximum(summed(y**2) - y**2 - count * mean**2, 0.0)
    return _steps(np.where(present, x - mean, np.nan), squares, count, kind)


def _steps(change: Floats, squares: Floats, count: Integers, kind: Integers) -> _Steps:
    """Judge by the other blocks, `squares` and `count` (B, K); one is enough if the suite knows its noise."""
    freedom, is_told = np.maximum(count - 1, 0), np.isfinite(change) & (count > 0)
    error, worth, jumps = np.full(change.shape, SCALE**2), np.ones_like(change), how_often(count.astype(float))
    for rows in (kind == one for one in np.unique(kind)):
        for block in np.flatnonzero((is_told & (freedom > 0))[rows].any(axis=0)):
            of_block = rows & is_told[:, block]
            of_prior = of_block & (freedom[:, block] > 0)
            own = squares[of_prior, block], freedom[of_prior, block]
            prior = suite_prior(own[0] / own[1], float(np.median(own[1])))
            error[of_block, block] = prior.moderated(squares[of_block, block], freedom[of_block, block]) + RESOLUTION**2
            worth[of_block, block] = prior.worth
            # A loud suite jumps more often, and so does a loud benchmark.
            jumps[of_block, block] *= np.maximum(
                np.sqrt(np.maximum(error[of_block, block], prior.variance)) / CALM, 1.0
            )
    tail = Tail(error=np.sqrt(error * (1 + 1 / np.maximum(count, 1))), freedom=worth + freedom, jumps=jumps)
    return _Steps(change=np.where(is_told, change, 0.0), tail=tail, is_told=is_told)


def _correct(tails: Floats, past: Floats, worth: float) -> Floats:
    """Tails by the corpus and by the suite's own past ones, sorted; a power law beyond these (Hill 1975)."""
    few = min(max(int(0.015 * len(past)), 6), len(past) - 1)
    if few < 1:
        return tails
    share, knee = np.searchsorted(past, tails, "right") / len(past), past[few]
    power = (few + 4) / (np.log(knee / np.maximum(past[:few], 1e-12)).sum() + 4)
    beyond = few / len(past) * (np.minimum(tails, knee) / knee) ** min(power, 2.0)
    corrected: Floats = (CORPUS * tails + worth * np.where(tails < knee, beyond, share)) / (CORPUS + worth)
    return corrected


def _run_by_run(rate: Floats, odd: Floats, earlier: Floats) -> Floats:
    """The model's rate, corrected by how many of the `earlier` runs, sorted, were as `odd`."""
    odder = np.searchsorted(earlier, np.minimum(odd, 1.0) + 1e-15, "right")
    corrected: Floats = (RATE_WORTH * np.minimum(rate, 1.0) + odder) / (RATE_WORTH + len(earlier))
    return corrected


def _shift_by_run(shifts: list[JudgedShift], earlier: Floats) -> JudgedShift | None:
    shift = any_kind(shifts)
    if shift is None:
        return None
    rate = _run_by_run(np.array([shift.rate / RESERVE]), np.array([shift.rate]), earlier)
    return replace(shift, rate=float(rate[0]))


def _drift(z: Floats) -> float:
    """The suite's own 95% of a step in standard errors: neighbours resemble each other more than later blocks."""
    return float(np.quantile(z, 0.95)) if z.shape[1] > ENOUGH_BLOCKS - FIRST_JUDGED_BLOCK else 0.0
