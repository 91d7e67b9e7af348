"""How far two sides differ by noise alone: the suite's own variance, and a heavy tail learned from real executions."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy import special

from perf_culprit.stats.ragged import Booleans, Floats, Integers
from perf_culprit.stats.relabelling import Labellings
from perf_culprit.stats.shared_shift import RESOLUTION, widened
from perf_culprit.stats.unit_table import UnitTable

# Fitted on ten forks of each benchmark of 15 Java systems. The size of a jump does not depend on how quiet the
# benchmark was: a third of the jumps exceeds 10%, and 4% double the time.
JUMP: Final = 0.03  # probability that a side of one unit is in a mode of its own
STAYS: Final = 0.3  # factor for each further unit of the side: all of them would have to be in that mode
MOST_JUMP: Final = 0.5
GAP: Final = 0.1
SHAPE: Final = 1.5
SCALE: Final = 0.015  # standard deviation of a unit in the corpus
# Standard deviation of a suite's units on dedicated machines, at most. 15 of 15 Java systems are below 0.03, suites on
# a shared machine above 0.10. There, consecutive units of a side are more often in a slow spell together.
CALM: Final = 0.05
SCALE_FREEDOM: Final = 2.0  # how much benchmarks differ in the scale
SCALE_WORTH: Final = 3.0  # number of benchmarks of the suite that the corpus is worth
MOST_WORTH: Final = 8.0  # largest degrees of freedom that a suite is worth: some benchmark is always noisy
CONCENTRATION: Final = 60.0  # number of values of the suite that the corpus's tail is worth
FEWEST_FREEDOM: Final = 3  # per benchmark: three files and one show of 100 benchmarks proved .04 of runs falsely
LEARNED: Final = 0.05  # smallest share of the suite's relabelled tails, from which the tail is extrapolated


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Noise:
    """Differences between the sides and their noise, (B, n) for n labellings of the units.

    `change`: difference of the sides' means. `error`: its standard error. `jump`: the probability that a side is in a
    mode which the units did not show. `freedom` (B, 1). `is_told`: both sides have a unit in some block. `half_width`
    (B,): half the 95% interval of Student's t by the suite's own variance.
    """

    change: Floats
    error: Floats
    jump: Floats
    freedom: Floats
    is_told: Booleans
    half_width: Floats

    def tails(self, least_change: Floats | None = None) -> Floats:
        """(B, n): the probability of such a difference by noise; 1 if it is below `least_change` (B,)."""
        size = np.abs(self.change)
        tails = tail(size, self.error, self.freedom, self.jump)
        is_large = self.is_told if least_change is None else self.is_told & (size >= least_change[:, None])
        return np.where(is_large, tails, 1.0)

    def distance(self, level: float | Floats) -> Floats:
        """(B,): the observed difference whose tail is `level`."""
        of_observed = self.error[:, 0], self.freedom[:, 0], self.jump[:, 0]
        return largest_where(lambda size: tail(size, *of_observed) > level, len(self.change), -12.0, 12.0)

    def observed(self) -> "Noise":
        """Return the noise of the first labelling alone."""
        first = slice(0, 1)
        return Noise(
            change=self.change[:, first],
            error=self.error[:, first],
            jump=self.jump[:, first],
            freedom=self.freedom,
            is_told=self.is_told[:, first],
            half_width=self.half_width,
        )


def tail(size: Floats, error: Floats, freedom: Floats, jump: Floats) -> Floats:
    """P(|difference| ≥ size): Student's t and, with the probability `jump`, a power of the size."""
    student = 2 * special.stdtr(freedom, -size / error)
    tails: Floats = (1 - jump) * student + jump * (1 + size / GAP) ** -SHAPE
    return tails


def largest_where(holds: Callable[[Floats], Booleans], count: int, low_log: float, high_log: float) -> Floats:
    """(count,): the value up to which `holds` is true, by bisection of its logarithm."""
    low, high = np.full(count, low_log), np.full(count, high_log)
    for _ in range(50):
        middle = (low + high) / 2
        held = holds(np.exp(middle))
        low, high = np.where(held, middle, low), np.where(held, high, middle)
    largest: Floats = np.exp(low)
    return largest


def noise_of(
    centred: Floats, table: UnitTable, labellings: Labellings, *, present: Booleans, neighbours: Floats | None
) -> Noise:
    """Compute the noise of values without their blocks' means, `centred` (B, U), under each labelling."""
    labels = labellings.is_target
    pairing = _Pairing.of(labels, table.blocks, present)
    change = np.where(pairing.is_told, (centred @ labels.T.astype(float)) / pairing.weight, 0.0)
    total = (centred**2).sum(axis=1)
    inner = np.maximum(total[:, None] - change**2 * pairing.weight, 0.0)
    prior = _suite_priors(table.kind, total / pairing.spare, inner[:, 0], pairing)
    freedom = pairing.freedom
    error = ((prior.worth * prior.blind + inner) / (prior.worth + freedom) + RESOLUTION**2) / pairing.weight
    half = ((prior.worth_seen * prior.seen + inner[:, :1]) / (prior.worth_seen + freedom) + RESOLUTION**2) / (
        pairing.weight[:, :1]
    )
    if neighbours is not None:
        error = error * widened(labels, neighbours, freedom / (prior.worth + freedom))
        half = half * widened(labels[:1], neighbours, freedom / (prior.worth_seen + freedom))
    if table.sampling_variance is not None:
        error = np.maximum(error, _sampling_error(table.sampling_variance, present, labels, pairing))
    interval = special.stdtrit(prior.worth_seen + freedom, 0.975)
    return Noise(
        change=change,
        error=np.sqrt(error),
        jump=np.minimum(pairing.jump * np.maximum(np.sqrt(prior.blind) / CALM, 1.0), MOST_JUMP),
        # Jumps have a tail of their own, so the rest has a lighter one: 2, 4, 6, 10, 18 at 1, 2, 3, 5, 9 v 1.
        freedom=2 * (freedom + 1),
        is_told=pairing.is_told,
        half_width=(np.sqrt(half) * interval)[:, 0],
    )


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
    jump: Floats
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
        jump = JUMP * (STAYS ** (targets - 1) + STAYS ** (others - 1)) * (1 + 1 / (freedom + 1))
        return cls(
            weight=np.where(weight > 0, weight, 1.0)[pattern],
            targets=targets[pattern],
            others=others[pattern],
            spare=np.maximum(patterns.sum(axis=1) - levels, 1)[pattern],
            freedom=freedom[pattern],
            jump=jump[pattern],
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
        worth[rows], blind[rows], _ = suite_prior(blind_variance[rows], float(np.median(pairing.spare[rows])))
        worth_seen[rows], seen[rows] = worth[rows], blind[rows]
        told = rows & (freedom > 0)
        if told.any():
            worth_seen[told], with_corpus, own = suite_prior(
                inner[told] / freedom[told], float(np.median(freedom[told]))
            )
            seen[rows] = max(with_corpus, own)
    return _Priors(worth=worth, blind=blind, worth_seen=worth_seen, seen=seen)


def suite_prior(variances: Floats, freedom: float) -> tuple[float, float, float]:
    """Degrees of freedom and location of the suite's variances combined with the corpus; and the suite's own location.

    Smyth, Linear models and empirical Bayes methods (2004), with quartiles instead of moments.
    """
    logs = np.log(np.maximum(variances, RESOLUTION**2 / 4))
    quarter, middle, last = np.quantile(logs, [0.25, 0.5, 0.75])
    share = len(logs) / (len(logs) + SCALE_WORTH)
    spread = max(((last - quarter) / 1.349) ** 2 - float(special.polygamma(1, freedom / 2)), 0.01)
    spread = share * spread + (1 - share) * float(special.polygamma(1, SCALE_FREEDOM / 2))
    grid = np.geomspace(0.05, MOST_WORTH, 400)
    worth = float(np.interp(-spread, -special.polygamma(1, grid / 2), grid))
    own = float(np.exp(middle) * freedom / special.chdtri(freedom, 0.5))
    return worth, own**share * SCALE ** (2 * (1 - share)), own


def _sampling_error(variance: Floats, present: Booleans, labels: Booleans, pairing: _Pairing) -> Floats:
    """(B, n): squared error of the difference, if only the units' own samples varied."""
    squared = np.where(present, variance, 0.0)
    of_target, of_base = labels.T.astype(float), (~labels).T.astype(float)
    error: Floats = (squared @ of_target) / pairing.targets**2 + (squared @ of_base) / pairing.others**2
    return error


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SuiteTail:
    """The corpus's tail, corrected by the suite, for all B benchmarks of a run together.

    The same tail is computed for other labellings of the units. The prior is a Dirichlet process around the corpus
    (Ferguson 1973). The share of labellings with a tail as small is weighted by `worth`, the corpus by CONCENTRATION.
    Beyond the smallest LEARNED of them the share follows the power of the tail that fits there.
    """

    others: Floats
    worth: float
    benchmarks: int
    learned_at: float
    power: float

    @classmethod
    def of(cls, tails: Floats, is_observed: Booleans, freedom: int) -> "SuiteTail":
        """Learn the tail from `tails` (B, n); `freedom`: the units' degrees of freedom per benchmark."""
        others = np.sort(tails[:, ~is_observed].ravel())
        rank, at, power = max(3, int(np.ceil(LEARNED * len(others)))), 0.0, 1.0
        if rank <= len(others):
            at = float(others[rank - 1])
            power = min(np.log(rank / len(others)) / min(np.log(max(at, 1e-300)), -1e-9), 1.0)
        worth = float(len(tails) * freedom) if len(others) else 0.0
        return cls(others=others, worth=worth, benchmarks=len(tails), learned_at=at, power=power)

    def rates(self, tails: Floats) -> Floats:
        """The share of unchanged runs in which any benchmark has such a tail (Bonferroni over the suite)."""
        share = np.searchsorted(self.others, tails * (1 + 1e-9), side="right") / max(len(self.others), 1)
        beyond = np.maximum(np.maximum(tails, 1e-300) ** self.power - tails, 0)
        share = np.where(tails < self.learned_at, np.maximum(share, beyond), share)
        mixed = (CONCENTRATION * tails + self.worth * share) / (CONCENTRATION + self.worth)
        return np.minimum(self.benchmarks * mixed, 1.0)

    def critical(self, rate: float) -> float:
        """Return the tail that reaches `rate`."""
        return float(largest_where(lambda tails: self.rates(tails) <= rate, 1, -690.0, 0.0)[0])

    @property
    def is_the_suites_own(self) -> bool:
        """Whether the tail rests more on the suite than on the corpus: a proof may not rest on the noise of others."""
        return self.worth >= CONCENTRATION and self.worth >= FEWEST_FREEDOM * self.benchmarks
