"""The decision rule: the transitions between phases, and the end of the search (docs/evidence/bisection.md)."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from msgspec.structs import replace
from scipy.special import ndtr

from perf_culprit.model.bisection import NamedStep, OutcomeKind, Phase, SearchState, Sought
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search import further_steps, pattern_evidence
from perf_culprit.search.confirmation import confirming_rounds, is_certain, is_settled, log_pair
from perf_culprit.search.cost import expected_executions
from perf_culprit.search.odds import ODDS_10, ODDS_20, ODDS_100, ODDS_10000
from perf_culprit.search.pattern_evidence import PatternDesign
from perf_culprit.search.round_samples import samples_of
from perf_culprit.search.search_answer import conclude, end_to_end, excludes_expected
from perf_culprit.search.search_view import FIRST_ANALYSIS, QUIET_ANALYSIS, SMALL_RANGE, SearchView

STARTING_ODDS: Final = 1.0  # log BF at which a search starts; nothing is named before the odds are 20
CONTRADICTED: Final = -0.1  # log BF; a single execution of each end is no evidence: 0
NULL_ANALYSIS: Final = 30  # executions per end before "not reproduced"
LAST_ANALYSIS: Final = 100  # executions per end after which reproduction is given up
LAST_CONFIRM_ROUND: Final = 60  # rounds after which a suspect is withdrawn
HARDLY: Final = 0.2  # probability that more executions of the ends decide, below which they stop
REFUTED: Final = -2.0  # log e-value at which a suspect is withdrawn
SETTLED_CONVINCING: Final = 1.5  # if all samples have settled the rest: odds of 4.5
LEAST_FOR_DECAY: Final = 7  # commits measured between the ends: fewer cannot tell a ramp from three steps
NAMED_POSTERIOR: Final = 0.9  # a confirmed suspect or a named step below this returns to the search, with all samples


def advance(standing: SearchView) -> SearchState:
    """Return the state after all decisions that its results allow."""
    while True:
        state = standing.state
        decided = _RULES[state.phase](standing) if state.phase in _RULES else state
        if decided is not state:
            standing = standing.later(decided)
        elif state.phase is Phase.DONE or standing.pending or standing.left >= 2:
            return state
        else:
            return conclude(standing, OutcomeKind.BUDGET_SPENT)


def _enter(standing: SearchView, phase: Phase, **changes: object) -> SearchState:
    return replace(standing.state, phase=phase, since=len(standing.state.results), **changes)


def _merge_base(standing: SearchView) -> SearchState:
    """Check that the merge base is still fast. Otherwise the good side fixed a slowness, or both sides have it."""
    state = standing.state
    if standing.ends_fail:
        return conclude(standing, OutcomeKind.UNMEASURABLE)
    good, bad = state.commit_range.good, state.commit_range.bad
    places = {good: 0, **dict.fromkeys(state.commit_range.merge_bases, 1), bad: 2}
    results = [result for result in state.results if any(name in places for name in result.values)]
    samples = samples_of(state, places, results)
    counts = samples.counts(3)
    if counts.min() < (QUIET_ANALYSIS if state.settings.counts else FIRST_ANALYSIS // 2):
        return state
    base, slow = (samples.commit == 1).astype(np.float64), (samples.commit == 2).astype(np.float64)
    design = PatternDesign(samples)
    fast_base, slow_base = pattern_evidence.log_one_step(design, np.stack([slow, np.maximum(base, slow)]))
    none = pattern_evidence.log_no_step(design)
    likelier = max(fast_base, slow_base)
    alone = float(pattern_evidence.log_one_step(design, np.stack([base, 1 - base])).max())
    if alone - max(likelier, none) > ODDS_20:  # both sides changed it, and are alike now
        return conclude(standing, OutcomeKind.NOT_REPRODUCED)
    if likelier - none < ODDS_20 and counts.min() >= LAST_ANALYSIS // 2:
        return conclude(standing, OutcomeKind.INCONCLUSIVE)
    if likelier - none < ODDS_20 or abs(fast_base - slow_base) < ODDS_20:
        return state
    return (
        conclude(standing, OutcomeKind.FIXED_ON_GOOD_SIDE)
        if slow_base > fast_base
        else replace(state, phase=Phase.REPRODUCE)
    )


def _reproduce(standing: SearchView) -> SearchState:  # noqa: PLR0911 - a rule of the phase each
    state = standing.state
    if standing.ends_fail:
        return conclude(standing, OutcomeKind.UNMEASURABLE)
    counts = standing.samples.counts(standing.reach.size + 1)
    per_end = int(min(counts[0], counts[-1]))
    if per_end < QUIET_ANALYSIS:
        return _enter(standing, Phase.SEARCH) if seems_quiet(standing) else state
    is_first_analysis = per_end >= FIRST_ANALYSIS
    # Equal numbers may be rounded: a few times are no evidence. In whole rounds the other commits add evidence.
    tells = is_first_analysis or state.settings.counts or counts.sum() >= 2 * FIRST_ANALYSIS
    if excludes_expected(standing) or (tells and (_is_negligible(standing) or _is_opposite(standing))):
        return conclude(standing, OutcomeKind.NOT_REPRODUCED)
    is_early = not is_first_analysis and not standing.model.is_quiet
    weighed, log_bf = _weigh(standing)
    if is_early:
        return _enter(weighed, Phase.SEARCH) if begins_early(weighed, log_bf) else state
    if log_bf > ODDS_20:
        needed = expected_executions(weighed, optimistic=True)
        if needed > standing.left:
            return conclude(weighed, OutcomeKind.INCONCLUSIVE, needed=needed)
        return _enter(weighed, Phase.SEARCH)
    if log_bf < -ODDS_10 and _may_deny(standing):
        return conclude(standing, OutcomeKind.NOT_REPRODUCED)
    is_over = per_end >= LAST_ANALYSIS or (per_end >= NULL_ANALYSIS and _is_in_vain(weighed, per_end))
    return conclude(standing, OutcomeKind.INCONCLUSIVE) if is_over else state


def seems_quiet(standing: SearchView) -> bool:
    """Return whether the search may start: both ends ran once, and every execution so far lies near one of them.

    The noise is only presumed until there are enough executions; if the presumption fails, the ends run again.
    """
    model, counts = standing.model, standing.samples.counts(standing.reach.size + 1)
    if not counts[0] == counts[-1] == 1 or standing.reach.size <= SMALL_RANGE or standing.state.named:
        return False
    if _is_contradicted(standing):
        return False
    is_negligible = not reaches(model.change, np.log1p(standing.state.settings.minimum_effect), upwards=True)
    return (
        model.is_quiet
        and not is_negligible
        and (model.samples_tell or standing.leading[1] < standing.state.settings.stop)
    )


def begins_early(standing: SearchView, log_bf: float) -> bool:
    """Return whether to start: a change is likely by the ends, and by all executions."""
    return min(log_bf, standing.model.log_change) > STARTING_ODDS


def is_premature(standing: SearchView) -> bool:
    """Return whether the search started as the machine seemed quiet or a change likely, and this no longer holds."""
    counts = standing.samples.counts(standing.reach.size + 1)
    per_end = min(counts[0], counts[-1])
    if per_end < QUIET_ANALYSIS:
        return not seems_quiet(standing)
    # If the ends certainly differ, more of their executions would not help.
    return _is_contradicted(standing) and standing.model.log_reproduced < ODDS_20


def _is_contradicted(standing: SearchView) -> bool:
    """Whether no commit explains the samples better than no change does."""
    return standing.model.modes is None and standing.model.log_change < CONTRADICTED


def _is_in_vain(standing: SearchView, per_end: int) -> bool:
    """Whether to stop: measuring to the last analysis will hardly deny the change, nor prove one that can be found.

    The prediction uses the ends. Their z then is normal around z sqrt(L / n) with a variance of L / n - 1. Its log BF
    is z^2 / 2 - log(1 + g L / 2) / 2 (the closed form for known noise).
    """
    whole, more = end_to_end(standing), LAST_ANALYSIS / per_end
    if not whole.spread:
        return False
    price = float(np.log1p(pattern_evidence.G * LAST_ANALYSIS / 2))
    center, spread = abs(whole.center) / whole.spread * np.sqrt(more), np.sqrt(more - 1)
    denied = ndtr((np.sqrt(2 * -ODDS_10 + price) - center) / spread)
    proven = ndtr((center - np.sqrt(2 * ODDS_20 + price)) / spread)
    is_affordable = expected_executions(standing, optimistic=True) <= standing.left
    return bool(denied + proven * is_affordable < HARDLY)


def _weigh(standing: SearchView) -> tuple[SearchView, float]:
    """Choose the likelier of the directions searched, and return the log BF of a change in any of them.

    The search has a fixed direction from here on.
    """
    settings = standing.state.settings
    if settings.sought is not Sought.ANY:
        return standing, standing.model.log_reproduced
    both = [_sought(standing, sought) for sought in (Sought.WORSE, Sought.BETTER)]
    factors = [one.model.log_reproduced for one in both]
    return both[int(np.argmax(factors))], float(np.logaddexp(factors[0], factors[1]) - np.log(2))


def _is_opposite(standing: SearchView) -> bool:
    """Whether the ends differ, but not in the direction searched."""
    settings = standing.state.settings
    if settings.sought is Sought.ANY:
        return False
    other = Sought.BETTER if settings.sought is Sought.WORSE else Sought.WORSE
    return _sought(standing, other).model.log_reproduced > ODDS_20


def _sought(standing: SearchView, sought: Sought) -> SearchView:
    """Return the same standing, interpreted for this direction."""
    settings = replace(standing.state.settings, sought=sought)
    return standing.later(replace(standing.state, settings=settings))


def _is_negligible(standing: SearchView) -> bool:
    """Whether the ends certainly differ by less than the minimum effect."""
    smallest = float(np.log1p(standing.state.settings.minimum_effect))
    whole = end_to_end(standing)
    return not reaches(abs(whole.center) + whole.half, smallest)


def _may_deny(standing: SearchView) -> bool:
    """Whether the change may be denied: not if the interval of the ends asserts it, and not by a few executions."""
    counts = standing.samples.counts(standing.reach.size + 1)
    whole = end_to_end(standing)
    # There may be a change in the direction that is not searched.
    rise = abs(whole.center) if standing.state.settings.sought is Sought.ANY else whole.center
    return min(counts[0], counts[-1]) >= NULL_ANALYSIS and rise - whole.half <= 0


def _search(standing: SearchView) -> SearchState:
    state, model = standing.state, standing.model
    if not state.named and is_premature(standing):
        return _enter(standing, Phase.REPRODUCE)
    if state.named and (further_steps.is_explained(standing) or further_steps.is_given_up(standing)):
        return replace(state, phase=Phase.RESIDUAL)
    if not state.named:
        is_denied = standing.fresh_rounds % 5 == 4 and standing.model.log_reproduced < -ODDS_10 and _may_deny(standing)
        if is_denied or excludes_expected(standing):
            return conclude(standing, OutcomeKind.NOT_REPRODUCED)
        if len(model.samples.measured()) - 2 >= LEAST_FOR_DECAY and model.log_ramp > ODDS_10000:
            return conclude(standing, OutcomeKind.DECAY)
    suspect, posterior = standing.leading
    is_sure = posterior >= state.settings.stop or standing.is_plain or is_certain(standing)
    if is_sure and posterior >= standing.meets_parent:
        confirming = _enter(standing, Phase.CONFIRM, suspect=standing.name(suspect + 1))
        # Rounds of all commits contain the pair; `convincing` charges for its selection by them.
        judges_all = standing.begins_whole and state.settings.one_machine and not (state.named or state.withdrawn)
        return replace(confirming, since=0) if judges_all else confirming
    return state


def _confirm(standing: SearchView) -> SearchState:  # noqa: PLR0911 - a rule of the phase each
    state = standing.state
    if not state.named and excludes_expected(standing):
        return conclude(standing, OutcomeKind.NOT_REPRODUCED)
    if state.suspect is None or standing.fresh_rounds < confirming_rounds(standing):
        return state
    candidate = standing.positions[state.suspect] - 1
    log_e = log_pair(standing, candidate)
    if (kind := _of_outside_parent(standing, candidate, log_e)) is not None:
        return conclude(standing, kind)
    posterior = standing.posterior(candidate)
    is_convincing = log_e > convincing(standing) and (is_settled(standing) or is_certain(standing))
    # If the search would return the suspect here at once, continue measuring.
    least = min(NAMED_POSTERIOR, standing.meets_parent) if is_convincing else 0.0 if state.named else 0.5
    if posterior < least:
        return _enter(standing, Phase.SEARCH, suspect=None)
    is_named = is_convincing and posterior >= NAMED_POSTERIOR
    is_no_step = bool(state.named) and (
        further_steps.is_small(standing, candidate) or (posterior < 0.5 and further_steps.is_explained(standing))
    )
    if is_named and not is_no_step:
        step = NamedStep(
            commit=state.suspect,
            posterior=posterior,
            log_bayes_factor=log_e,
            rounds=len(state.results),
            withdrawn=len(state.withdrawn),
        )
        return _enter(standing, Phase.RESIDUAL, suspect=None, named=(*state.named, step))
    is_spent = standing.fresh_rounds >= LAST_CONFIRM_ROUND or (
        state.named and further_steps.is_given_up(standing, share=further_steps.CONFIRMED_SHARE)
    )
    if log_e < REFUTED or is_no_step or is_spent:
        return _enter(standing, Phase.SEARCH, suspect=None, withdrawn=(*state.withdrawn, state.suspect))
    return state


def _of_outside_parent(standing: SearchView, candidate: int, log_e: float) -> OutcomeKind | None:
    """The answer if the suspect's parent outside the range cannot be measured, or measures like the suspect."""
    before, _ = standing.edges(candidate)
    if not before:
        return OutcomeKind.SUSPECT_SET
    is_equal = before[0] < 0 and log_e < REFUTED
    return OutcomeKind.CHANGE_OF_GOOD if is_equal and not standing.state.named else None


def convincing(standing: SearchView) -> float:
    """Return the log e-value at which a suspect is named."""
    state = standing.state
    if state.named:
        return ODDS_100
    least = SETTLED_CONVINCING if is_settled(standing) else ODDS_20
    return least + (0.0 if state.since else float(np.log(len(state.commit_range.commits))))


def _residual(standing: SearchView) -> SearchState:
    state = standing.state
    if (reopened := _reopen(standing)) is not None:
        return reopened
    if further_steps.is_sought(standing):
        return replace(state, phase=Phase.SEARCH)
    if standing.unseen and standing.left > 0:
        return state
    room = WORK_LIMITS.residual_executions - standing.fresh_executions
    open_ends = [stretch for stretch in further_steps.stretches(standing) if stretch.open]
    per_round = len({0, standing.reach.size, *(end for stretch in open_ends for end in (stretch.low, stretch.high))})
    if room > 0 and any(stretch.decidable(-(-room // per_round)) for stretch in open_ends):
        return state
    return conclude(standing, OutcomeKind.CULPRIT)


def _reopen(standing: SearchView) -> SearchState | None:
    """Resume the search if a step would no longer be named after the measurements of this check."""
    state = standing.state
    for step in state.named if standing.fresh_rounds else ():
        others = tuple(other for other in state.named if other != step)
        rest = standing.later(replace(state, named=others))
        if rest.posterior(rest.positions[step.commit] - 1) < NAMED_POSTERIOR:
            return _enter(rest, Phase.SEARCH)
    return None


_RULES: Final[Mapping[Phase, Callable[[SearchView], SearchState]]] = {
    Phase.MERGE_BASE: _merge_base,
    Phase.REPRODUCE: _reproduce,
    Phase.SEARCH: _search,
    Phase.CONFIRM: _confirm,
    Phase.RESIDUAL: _residual,
}
