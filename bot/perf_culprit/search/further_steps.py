"""Changes that the named steps leave unexplained: whether to check them again, and whether to search a further step."""

from dataclasses import dataclass
from typing import Final

import numpy as np
from scipy.special import expit, ndtri, stdtr, stdtrit

from perf_culprit.model.bisection import NEGLIGIBLE
from perf_culprit.search import pattern_evidence
from perf_culprit.search.level_sizes import level_difference, mean_difference, named_sizes, round_differences
from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.round_samples import samples_of
from perf_culprit.search.search_view import FAILURES_TO_STOP, SearchView, executions
from perf_culprit.stats.conventions import LEVEL, ROUNDING

OPEN: Final = 0.25  # a remaining change less probable than this needs no further check
LEFT_OVER: Final = 0.99  # probability at which a further step is searched without knowing where
Z_SURE: Final = float(ndtri(LEVEL))  # standard errors from the limit at which a stretch is decided
Z_CHANGE: Final = 3.0  # a change this many standard errors large is worth its executions
# Share of the budget for the search of a further step, because a confirmed culprit is an answer already; and for the
# ends of a search for failures, before it begins.
BUDGET_SHARE: Final = 0.25
CONFIRMED_SHARE: Final = 0.4  # the same including the confirmation of that search's result


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """Commits `low` to `high` (0..N) without a named step: P(its change exceeds rho * Delta), and its upper bound.

    `upper` is the 95% bound of its change as a fraction of the whole. In standard errors, `distance` is how far its
    change lies from rho * Delta, and `size` how far from zero. `samples`: executions at the end that has fewer.
    """

    low: int
    high: int
    probability: float = 0.5
    upper: float = 1.0
    distance: float = 0.0
    size: float = 0.0
    samples: int = 0

    @property
    def open(self) -> bool:
        return OPEN <= self.probability < LEFT_OVER

    def decidable(self, more: int) -> bool:
        """Return whether `more` executions at each end would decide, if its change is as large as it seems."""
        if not self.samples:
            return more > 0
        sharper = float(np.sqrt((self.samples + more) / self.samples))
        return self.distance * sharper >= Z_SURE or self.size * sharper >= Z_CHANGE


def stretches(standing: SearchView) -> tuple[Stretch, ...]:
    """Return the stretches next to the named steps, with their ends' evidence for a change between them."""
    corners = [0]
    for candidate in standing.named:
        before, after = standing.edges(candidate)
        corners += [max(before[0], 0), after]
    corners.append(standing.reach.size)
    pairs = zip(corners[::2], corners[1::2], strict=True)
    return tuple(_stretch(standing, low, high) for low, high in pairs if low < high)


def _stretch(standing: SearchView, low: int, high: int) -> Stretch:
    size = level_difference(standing, low, high, cleaned=True)
    if size is None:
        return Stretch(low=low, high=high)
    whole, change, spread = _whole(standing), abs(size.center), max(size.spread, ROUNDING)
    limit = NEGLIGIBLE * whole
    counts = standing.samples.counts(standing.reach.size + 1)
    return Stretch(
        low=low,
        high=high,
        probability=float(stdtr(size.dof, (change - limit) / spread) + stdtr(size.dof, (-limit - change) / spread)),
        upper=(change + float(stdtrit(size.dof, LEVEL)) * spread) / whole,
        distance=abs(change - limit) / spread,
        size=change / spread,
        samples=int(min(counts[low], counts[high])),
    )


def _whole(standing: SearchView) -> float:
    """Delta: the change from end to end, or the largest named step if steps cancel."""
    named = pattern_evidence.fit(standing.model.design, standing.model.named_columns).delta
    return max(abs(float(standing.model.step.delta[0])), float(np.abs(named).max()), ROUNDING)


def contradicted(standing: SearchView) -> Stretch | None:
    """Return the stretch from the nearest explained commit to the first that the named steps certainly do not explain.

    One case is the same change on another side of a merge: neither side's commits descend from the other's. Only
    computed if a single execution shows the level.
    """
    model, samples = standing.model, standing.samples
    if not (model.is_quiet or model.is_stable):
        return None
    sizes = named_sizes(standing)
    explained = np.array([size.center for size in sizes]) @ model.named_columns
    unsure = np.array([size.half for size in sizes]) @ model.named_columns
    residuals = samples.y - samples.y[samples.commit == 0].mean() - explained
    whole, bound = _whole(standing), Z_CHANGE * model.spread_bound
    shares = {}
    for commit in map(int, samples.measured()):
        own = samples.commit == commit
        allowance = bound / np.sqrt(own.sum()) + float(unsure[own][0])
        shares[commit] = max(abs(float(residuals[own].mean())) - allowance, 0.0) / whole
    high = next((commit for commit, share in shares.items() if share > NEGLIGIBLE), 0)
    if not high:
        return None
    earlier = [one for one in shares if 0 < one < high and standing.reach.column(high)[one - 1]]
    return Stretch(low=max(earlier, default=0), high=high, probability=1.0, upper=shares[high])


def is_left_over(standing: SearchView) -> bool:
    """Return whether the named steps certainly leave a relevant change anywhere; False if the machine has modes."""
    return standing.model.modes is None and any(stretch.probability > LEFT_OVER for stretch in stretches(standing))


def further_probability(standing: SearchView) -> float:
    """P(an unnamed step), with the prices of steps; 1 if the samples contradict the named steps."""
    if standing.exhausted:
        return 0.0
    if is_left_over(standing) or contradicted(standing) is not None:
        return 1.0
    return float(expit(standing.model.log_further))


def is_sought(standing: SearchView) -> bool:
    """Return whether one more step is likely, large enough to matter, and affordable."""
    model = standing.model
    if standing.exhausted or is_given_up(standing):
        return False
    if model.log_further <= ODDS_20 and not is_left_over(standing):
        return False
    further = [model.column_of(int(np.argmax(mass))) for mass in model.step_masses]
    steps = np.abs(pattern_evidence.fit(model.design, np.vstack([model.named_columns, *further])).delta)
    named = len(model.named)
    return bool(steps[named:].max() >= NEGLIGIBLE * steps[:named].max())


def is_explained(standing: SearchView) -> bool:
    """Return whether the search for a further step has measured, and its measurements are evidence against one."""
    return bool(standing.fresh_rounds) and standing.model.log_further < 0 and not is_left_over(standing)


def is_given_up(standing: SearchView, *, share: float = BUDGET_SHARE) -> bool:
    state = standing.state
    last = state.named[-1]
    spent = executions(state.results[last.rounds :])
    failed = len(state.withdrawn) - last.withdrawn
    return spent > share * state.settings.budget_executions or failed >= FAILURES_TO_STOP


def is_small(standing: SearchView, candidate: int) -> bool:
    """Return whether a further step's own rounds, which no search chose, show that it is too small to matter."""
    before, after = standing.edges(candidate)
    fresh = samples_of(standing.state, standing.with_outside, standing.state.results[standing.state.since :])
    differences = (round_differences(fresh, commit, after) for commit in before)
    sizes = [mean_difference(own) for own in differences if own.size]
    largest = max(abs(named.center) for named in named_sizes(standing))
    return any(abs(size.center) + size.half < NEGLIGIBLE * largest for size in sizes)
