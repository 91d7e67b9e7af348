"""One block against one: nothing can be proven, and the other benchmarks tell what a block's effect is."""

from typing import Final

import numpy as np
from scipy import special

from perf_culprit.arrays import Floats
from perf_culprit.stats.block_means import BlockMeans
from perf_culprit.stats.compared_sides import ComparedSides
from perf_culprit.stats.conventions import RARE
from perf_culprit.stats.heavy_tail import Tail
from perf_culprit.stats.machine_shift import FEWEST_WITNESSES, JudgedShift, shared_shift
from perf_culprit.stats.suite_prior import RESOLUTION

# Fitted on ten forks each of the benchmarks of 15 Java systems.
FREEDOM: Final = 3.7  # of Student's t, where units in the blocks tell each benchmark's own noise
SAMPLED: Final = 1.35  # where only the samples of a single unit do
BLIND: Final = 1.1  # where nothing does: unlike noise is not seen either
JUMPS: Final = 0.3
EFFECT: Final = 0.08  # standard deviation of a block's effect on a benchmark, beyond its suite's shift
EFFECT_WORTH: Final = 2.0  # benchmarks that it is worth


def compare_blocks(blocks: BlockMeans, *, least_change: Floats, suspected: float) -> ComparedSides:
    """Judge the target's only block against the baseline's only one."""
    y = (blocks.location[:, blocks.is_target] - blocks.location[:, ~blocks.is_target])[:, 0]
    raw = y * blocks.sign
    shared = shared_shift(raw[:, None], blocks.kind, blocks.orientation != 0)
    change, size = raw - shared.of_others[:, 0], len(raw)
    scatter = np.nan_to_num(blocks.scatter.sum(axis=1))
    freedom = (FREEDOM if blocks.has_units else SAMPLED) if scatter.any() else BLIND
    tail = Tail(
        error=np.sqrt(scatter + _effect(change, scatter, freedom) ** 2),
        freedom=np.full(size, freedom),
        jumps=np.full(size, JUMPS),
    )
    is_large = np.abs(change) >= least_change
    shifts = [JudgedShift(change=float(common[0]), error=2 * EFFECT, rate=1.0) for common in shared.common]
    return ComparedSides(
        change=change,
        raw_change=raw,
        tail=tail,
        rate=np.where(is_large, np.minimum(size * tail.of(np.abs(change)), 1.0), 1.0),
        proof=np.ones(size),
        limit=tail.distance(suspected / size),
        differs=(np.abs(raw) >= least_change) & (np.abs(raw) >= float(special.ndtri(1 - RARE / 2)) * np.sqrt(scatter)),
        shift=max(shifts, key=lambda shift: abs(shift.change), default=None),
    )


def _effect(change: Floats, scatter: Floats, freedom: float) -> Floats:
    """(B,): the block's effect by the *other* benchmarks, whose median of t² is Student's. Half may have changed."""
    if len(change) < 2:
        return np.full(len(change), EFFECT)
    middle = special.stdtrit(freedom, 0.75) ** 2
    square = np.clip(change**2 / middle - scatter, RESOLUTION**2, 9.0)
    order = np.argsort(square, kind="stable")
    ordered, ranks = square[order], np.arange(len(order))
    low, high = (len(order) - 2) // 2, (len(order) - 1) // 2
    others = np.empty_like(square)
    others[order] = (ordered[low + (ranks <= low)] + ordered[high + (ranks <= high)]) / 2
    share = (len(change) - 1) / (len(change) - 1 + EFFECT_WORTH) if len(change) >= FEWEST_WITNESSES else 0.0
    effect: Floats = np.sqrt(others) ** share * EFFECT ** (1 - share)
    return effect
