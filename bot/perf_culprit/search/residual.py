"""Do the named steps explain the whole change: what is left before, between and after them."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit, stdtr, stdtrit

from perf_culprit.model.bisection import NEGLIGIBLE
from perf_culprit.search import pattern_evidence
from perf_culprit.search.culprit_sizes import FEWEST_DOF, level_difference
from perf_culprit.search.parent_pairs import step_size
from perf_culprit.search.pattern_evidence import Design
from perf_culprit.search.search_view import Standing

SURE: Final = 0.95
OPEN: Final = 0.25  # below it nothing was seen that would have to be looked at again
Z_SURE: Final = 1.645
LEFT_OVER: Final = 0.99  # probability at which a further step is looked for without knowing where
Z_CHANGE: Final = 3.0  # a change that would stand out this much is worth its executions
LEAST_BUDGET: Final = 30
LARGEST_BUDGET: Final = 40  # executions of a residual check, where the search cost more than that


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """From commit `low` to `high` (0..N) without a named step: P(its change exceeds rho * Delta), and its upper bound.

    `upper` is the 95% bound of its change as a fraction of the whole. In standard errors: `distance`, how far its
    change lies from rho * Delta, and `size`, how far from none. `samples`: executions at the end that has fewer.
    """

    low: int
    high: int
    probability: float
    upper: float
    distance: float = 0.0
    size: float = 0.0
    samples: int = 0

    @property
    def open(self) -> bool:
        return OPEN <= self.probability < LEFT_OVER

    def decidable(self, more: int) -> bool:
        """Whether `more` executions at each end would tell, if its change is what it seems to be."""
        if not self.samples:
            return more > 0
        sharper = float(np.sqrt((self.samples + more) / self.samples))
        return self.distance * sharper >= Z_SURE or self.size * sharper >= Z_CHANGE


def budget(standing: Standing) -> int:
    """Executions that the residual check may spend: as many as the search, or those that a cheap search saved."""
    return max(min(standing.executions - standing.fresh_executions, LARGEST_BUDGET), LEAST_BUDGET)


def stretches(standing: Standing) -> tuple[Stretch, ...]:
    """The stretches beside the named steps, with what their ends' samples say about a change between them."""
    corners = [0]
    for candidate in standing.named:
        before, after = standing.edges(candidate)
        corners += [before[0], after]
    corners.append(standing.reach.size)
    pairs = [(low, high) for low, high in zip(corners[::2], corners[1::2], strict=True) if low < high]
    return tuple(_stretch(standing, low, high) for low, high in pairs)


def contradicted(standing: Standing) -> Stretch | None:
    """From the nearest commit that the named steps explain to the first that they surely do not.

    The same change on another side of a merge is such a one: neither side's commits descend from the other's. Only
    where an execution tells a level by itself.
    """
    model, samples = standing.model, standing.samples
    sizes = {candidate: step_size(standing, candidate) for candidate in standing.named}
    if not (model.is_quiet or model.is_stable) or None in sizes.values():
        return None
    left, unsure = samples.y - samples.y[samples.commit == 0].mean(), np.zeros(samples.count)
    for candidate, size in sizes.items():
        left = left - (size.center if size else 0.0) * model.column_of(candidate)
        unsure = unsure + (size.half if size else 0.0) * model.column_of(candidate)
    whole, bound = _whole(standing), Z_CHANGE * model.spread_bound
    shares = {}
    for commit in map(int, samples.measured()):
        own = samples.commit == commit
        allowance = bound / np.sqrt(own.sum()) + float(unsure[own][0])
        shares[commit] = max(abs(float(left[own].mean())) - allowance, 0.0) / whole
    high = next((commit for commit, share in shares.items() if share > NEGLIGIBLE), 0)
    if not high:
        return None
    earlier = [one for one in shares if 0 < one < high and standing.reach.column(high)[one - 1]]
    return Stretch(low=max(earlier, default=0), high=high, probability=1.0, upper=shares[high])


def is_left_over(standing: Standing) -> bool:
    """The named steps surely leave a change over that matters, wherever it may be.

    Only where the noise is plain: samples cleaned of modes look surer than they are.
    """
    return standing.model.modes is None and any(stretch.probability > LEFT_OVER for stretch in stretches(standing))


def further_probability(standing: Standing) -> float:
    """P(a step that nobody named), prices paid; 1 where the samples contradict the named ones."""
    if standing.exhausted:
        return 0.0
    if is_left_over(standing) or contradicted(standing) is not None:
        return 1.0
    return float(expit(standing.model.log_further))


def _stretch(standing: Standing, low: int, high: int) -> Stretch:
    design = Design(standing.model.design.samples, lambdas=standing.model.lambdas)
    size = level_difference(design, low, high)
    if size is None:
        return Stretch(low=low, high=high, probability=0.5, upper=1.0)
    if high == standing.reach.size and low == 0:
        return Stretch(low=low, high=high, probability=1.0, upper=1.0)
    whole = _whole(standing)
    change, spread = size.center, size.spread
    if spread < 1e-9 or size.dof < FEWEST_DOF:
        return Stretch(
            low=low, high=high, probability=float(abs(change) > NEGLIGIBLE * whole), upper=abs(change) / whole
        )
    limit = NEGLIGIBLE * whole
    above = 1 - float(stdtr(size.dof, (limit - change) / spread))
    below = float(stdtr(size.dof, (-limit - change) / spread))
    upper = (abs(change) + float(stdtrit(size.dof, SURE)) * spread) / whole
    counts = standing.samples.counts(standing.reach.size + 1)
    return Stretch(
        low=low,
        high=high,
        probability=above + below,
        upper=upper,
        distance=abs(abs(change) - limit) / spread,
        size=abs(change) / spread,
        samples=int(min(counts[low], counts[high])),
    )


def _whole(standing: Standing) -> float:
    """Delta: the change from end to end, or the largest named step where steps cancel."""
    named = pattern_evidence.fit(standing.model.design, standing.model.named_columns).delta
    return max(abs(float(standing.model.step.delta[0])), float(np.abs(named).max()), 1e-9)
