"""How far two sides differ by noise alone: the suite's own variance, and a heavy tail learned from real executions."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.stats.heavy_tail import STAYS, TO_PROVE, Jumps, Tail
from perf_culprit.stats.machine_shift import widened
from perf_culprit.stats.relabelling import Labellings
from perf_culprit.stats.suite_prior import CALM, RESOLUTION, suite_prior


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SideNoise:
    """Differences between the sides and their noise, (B, n) for n labellings of the units.

    `change`: difference of the sides' means, and the `tail` of its size. `is_told`: both sides have a unit in some
    block. `half_width` (B,): half the 95% interval of Student's t by the suite's own variance.
    """

    change: Floats
    tail: Tail
    is_told: Booleans
    half_width: Floats

    def tails(self, least_change: Floats | None = None, *, jumps: Jumps = TO_PROVE) -> Floats:
        """(B, n): the probability of such a difference by noise; 1 if it is below `least_change` (B,)."""
        size = np.abs(self.change)
        is_large = self.is_told if least_change is None else self.is_told & (size >= least_change[:, None])
        return np.where(is_large, self.tail.of(size, jumps), 1.0)

    def observed(self) -> Tail:
        """(B,): the tail of the first labelling's difference."""
        tail = self.tail
        return Tail(error=tail.error[:, 0], freedom=tail.freedom[:, 0], jumps=tail.jumps[:, 0])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CentredValues:
    """The values that are compared: `centred` (B, U), without their blocks' means, and the units' `block` (U,).

    `correlation`: of neighbours in time, None where time says nothing. `variance` (B, U): of each value by its samples.
    """

    centred: Floats
    present: Booleans
    block: Integers
    kind: Integers
    correlation: float | None = None
    variance: Floats | None = None


def noise_of(values: CentredValues, labellings: Labellings, *, heavy: float = 1.0) -> SideNoise:
    """Compute the noise of the values under each labelling. `heavy`: the part of the freedom that Student's t gets."""
    labels, centred = labellings.is_target, values.centred
    pairing = _Pairing.of(labels, values.block, values.present)
    change = np.where(pairing.is_told, (centred @ labels.T.astype(float)) / pairing.weight, 0.0)
    total = (centred**2).sum(axis=1)
    inner = np.maximum(total[:, None] - change**2 * pairing.weight, 0.0)
    prior = _suite_priors(values.kind, total / pairing.spare, inner[:, 0], pairing)
    freedom = pairing.freedom
    error = ((prior.worth * prior.blind + inner) / (prior.worth + freedom) + RESOLUTION**2) / pairing.weight
    half = ((prior.worth_seen * prior.seen + inner[:, :1]) / (prior.worth_seen + freedom) + RESOLUTION**2) / (
        pairing.weight[:, :1]
    )
    if values.correlation is not None:
        error = error * widened(labels, values.correlation, freedom / (prior.worth + freedom))
        half = half * widened(labels[:1], values.correlation, freedom / (prior.worth_seen + freedom))
    if values.variance is not None:
        error = np.maximum(error, _sampling_error(values.variance, values.present, labels, pairing))
    interval = special.stdtrit(prior.worth_seen + freedom, 0.975)
    jumps = pairing.jumps * np.maximum(np.sqrt(prior.blind) / CALM, 1.0)
    # Jumps have a tail of their own, so the rest has a lighter one: 2, 4, 6, 10, 18 at 1, 2, 3, 5, 9 v 1.
    tail = Tail(error=np.sqrt(error), freedom=heavy * 2 * (freedom + 1), jumps=jumps)
    return SideNoise(change=change, tail=tail, is_told=pairing.is_told, half_width=(np.sqrt(half) * interval)[:, 0])


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Pairing:
    """Results of the numbers of units on both sides, (B, n): a difference has the variance of a unit / `weight`.

    `targets`, `others`: units per side. `spare` (B,): degrees of freedom ignoring sides; `freedom` (B, 1): within.
    """

    weight: Floats
    targets: Floats
    others: Floats
    spare: Floats
    freedom: Floats
    jumps: Floats
    is_told: Booleans

    @classmethod
    def of(cls, labels: Booleans, blocks: Integers, present: Booleans) -> "_Pairing":
        of_target, of_base = labels.T.astype(float), (~labels).T.astype(float)
        unique, pattern = np.unique(present, axis=0, return_inverse=True)
        patterns, pattern = unique.astype(float), pattern.ravel()
        weight, levels = np.zeros((len(patterns), len(labels))), np.zeros(len(patterns))
        for block in (blocks == block for block in range(blocks.max() + 1)):
            total = patterns[:, block].sum(axis=1)
            product = (patterns[:, block] @ of_target[block]) * (patterns[:, block] @ of_base[block])
            weight, levels = weight + product / np.maximum(total, 1)[:, None], levels + (total > 0)
        targets, others = np.maximum(patterns @ of_target, 1), np.maximum(patterns @ of_base, 1)
        freedom = np.maximum(patterns.sum(axis=1) - levels - 1, 0)[:, None]
        # With few units, more of the unexplained variation comes from an uncertain scale.
        jumps = (STAYS ** (targets - 1) + STAYS ** (others - 1)) * (1 + 1 / (freedom + 1))
        return cls(
            weight=np.where(weight > 0, weight, 1.0)[pattern],
            targets=targets[pattern],
            others=others[pattern],
            spare=np.maximum(patterns.sum(axis=1) - levels, 1)[pattern],
            freedom=freedom[pattern],
            jumps=jumps[pattern],
            is_told=(weight > 0)[pattern],
        )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Priors:
    """The prior of each benchmark's kind, (B, 1): variance of a unit and degrees of freedom that it is worth.

    `blind`: ignores the sides, for the tails. `seen`: for the interval, no less than the suite's within sides.
    """

    worth: Floats
    blind: Floats
    worth_seen: Floats
    seen: Floats


def _suite_priors(kinds: Integers, blind_variance: Floats, inner: Floats, pairing: _Pairing) -> _Priors:
    worth, blind, worth_seen, seen = (np.zeros((len(kinds), 1)) for _ in range(4))
    freedom = pairing.freedom[:, 0]
    for rows in (kinds == kind for kind in range(kinds.max() + 1)):
        prior = suite_prior(blind_variance[rows], float(np.median(pairing.spare[rows])))
        worth[rows], blind[rows] = prior.worth, prior.variance
        worth_seen[rows], seen[rows] = worth[rows], blind[rows]
        has_freedom = rows & (freedom > 0)
        if has_freedom.any():
            prior = suite_prior(inner[has_freedom] / freedom[has_freedom], float(np.median(freedom[has_freedom])))
            worth_seen[has_freedom], seen[rows] = prior.worth, max(prior.variance, prior.own)
    return _Priors(worth=worth, blind=blind, worth_seen=worth_seen, seen=seen)


def _sampling_error(variance: Floats, present: Booleans, labels: Booleans, pairing: _Pairing) -> Floats:
    """(B, n): squared error of the difference, if only the units' own samples varied."""
    squared = np.where(present, variance, 0.0)
    of_target, of_base = labels.T.astype(float), (~labels).T.astype(float)
    error: Floats = (squared @ of_target) / pairing.targets**2 + (squared @ of_base) / pairing.others**2
    return error
