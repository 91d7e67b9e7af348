"""The decision rule: from which phase to which, and when the search ends (docs/bisection.md)."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from bot.bisect import evidence, residual
from bot.bisect.answer import conclude, visible_effect
from bot.bisect.confirm import CONVINCING, log_pair, log_reproduced
from bot.bisect.cost import expected_executions
from bot.bisect.evidence import Design
from bot.bisect.samples import samples_of
from bot.bisect.standing import Standing, executions
from bot.model.bisection import NamedStep, OutcomeKind, Phase, SearchState

FIRST_LOOK: Final = 10  # executions per end before the first decision
LOOK_FOR_NULL: Final = 30  # executions per end before "not reproduced"
LAST_LOOK: Final = 100  # executions per end after which reproduction is given up
CONFIRM_ROUNDS: Final = 3
LAST_CONFIRM_ROUND: Final = 60
REFUTED: Final = -2.0
RAMP_CONVINCING: Final = 5.0
LEAST_FOR_DECAY: Final = 7  # commits measured between the ends: fewer cannot tell a ramp from three steps
NAMED_POSTERIOR: Final = 0.9  # a confirmed suspect below this goes back to the search, with all its samples
FURTHER_STEP: Final = 3.0  # log BF, prices paid, at which a further step is searched; below 0 the search for it ends
FURTHER_CONVINCING: Final = 4.6  # several may be tried: 1 % each
FURTHER_ATTEMPTS: Final = 2  # failed confirmations after which no further step is looked for
FURTHER_LEAST: Final = 200  # executions that the search for further steps may cost, if the first cost less


def advance(standing: Standing) -> SearchState:
    """The state after all decisions that its results allow."""
    while True:
        state = standing.state
        decided = _RULES[state.phase](standing) if state.phase in _RULES else state
        if decided is state:
            return _without_budget(standing)
        standing = Standing(decided, standing.reach)


def _without_budget(standing: Standing) -> SearchState:
    state = standing.state
    if state.phase is Phase.DONE or standing.pending or standing.left >= 2:
        return state
    return conclude(standing, OutcomeKind.BUDGET_SPENT)


def _enter(standing: Standing, phase: Phase, **changes: object) -> SearchState:
    return replace(standing.state, phase=phase, since=len(standing.state.results), **changes)  # type: ignore[arg-type] # fields of the state


def _ends_fail(standing: Standing) -> bool:
    commit_range = standing.state.commit_range
    return any(
        commit in standing.skipped for commit in (commit_range.good, commit_range.bad, *commit_range.merge_bases)
    )


def _merge_base(standing: Standing) -> SearchState:
    """Is the merge base still fast? Else the good side fixed what the bad side never lost."""
    state = standing.state
    if _ends_fail(standing):
        return conclude(standing, OutcomeKind.UNMEASURABLE)
    good, bad = state.commit_range.good, state.commit_range.bad
    places = {good: 0, **dict.fromkeys(state.commit_range.merge_bases, 1), bad: 2}
    known = [result for result in state.results if any(name in places for name in result.values)]
    samples = samples_of(state, places, known)
    counts = samples.counts(3)
    if counts.min() < FIRST_LOOK // 2:
        return state
    base, slow = (samples.commit == 1).astype(np.float64), (samples.commit == 2).astype(np.float64)
    design = Design(samples)
    fast_base, slow_base = evidence.log_one_step(design, np.stack([slow, np.maximum(base, slow)]))
    none = evidence.log_no_step(design)
    if max(fast_base, slow_base) - none < CONVINCING and counts.min() >= LAST_LOOK // 2:
        return conclude(standing, OutcomeKind.INCONCLUSIVE)
    if max(fast_base, slow_base) - none < CONVINCING or abs(fast_base - slow_base) < CONVINCING:
        return state
    if slow_base > fast_base:
        return conclude(standing, OutcomeKind.FIXED_ON_GOOD_SIDE)
    return replace(state, phase=Phase.REPRODUCE)


def _reproduce(standing: Standing) -> SearchState:  # noqa: PLR0911 - a rule of the phase each
    state = standing.state
    if _ends_fail(standing):
        return conclude(standing, OutcomeKind.UNMEASURABLE)
    counts = standing.samples.counts(standing.reach.size + 1)
    per_end = int(min(counts[0], counts[-1]))
    if per_end < FIRST_LOOK:
        return state
    log_bf = log_reproduced(standing)
    if log_bf > CONVINCING:
        needed = expected_executions(standing, optimistic=True)
        if needed > standing.left:
            return conclude(standing, OutcomeKind.INCONCLUSIVE, needed=needed)
        return _enter(standing, Phase.SEARCH)
    if log_bf < -CONVINCING and per_end >= LOOK_FOR_NULL:
        return conclude(standing, OutcomeKind.NOT_REPRODUCED)
    if per_end >= LAST_LOOK:
        return conclude(standing, OutcomeKind.INCONCLUSIVE)
    return state


def _search(standing: Standing) -> SearchState:
    state, model = standing.state, standing.model
    if state.named and ((model.log_further < 0 and standing.fresh_rounds) or _gives_up_further(standing)):
        return replace(state, phase=Phase.RESIDUAL)
    if not state.named:
        if standing.fresh_rounds % 5 == 4 and log_reproduced(standing) < -CONVINCING:
            return conclude(standing, OutcomeKind.NOT_REPRODUCED)
        interior = len(model.samples.measured()) - 2
        if interior >= LEAST_FOR_DECAY and model.log_ramp > RAMP_CONVINCING:
            return conclude(standing, OutcomeKind.DECAY)
    suspect, posterior = leading(standing)
    if posterior >= state.settings.stop:
        return _enter(standing, Phase.CONFIRM, suspect=standing.name(suspect + 1))
    return state


def leading(standing: Standing) -> tuple[int, float]:
    """The most probable candidate with the mass of its group: commits that no measurement tells apart."""
    mass = standing.model.posterior
    best = int(np.argmax(mass))
    return best, float(mass[standing.group_of(best)].sum())


def _confirm(standing: Standing) -> SearchState:
    state = standing.state
    if state.suspect is None or standing.fresh_rounds < CONFIRM_ROUNDS:
        return state
    candidate = standing.positions[state.suspect] - 1
    log_e = log_pair(standing, candidate)
    if log_e > (FURTHER_CONVINCING if state.named else CONVINCING):
        posterior = float(standing.model.posterior[standing.group_of(candidate)].sum())
        if posterior < NAMED_POSTERIOR:
            return _enter(standing, Phase.SEARCH, suspect=None)
        step = NamedStep(
            commit=state.suspect,
            posterior=posterior,
            log_bayes_factor=log_e,
            rounds=len(state.results),
            withdrawn=len(state.withdrawn),
        )
        return _enter(standing, Phase.RESIDUAL, suspect=None, named=(*state.named, step))
    if log_e < REFUTED or standing.fresh_rounds >= LAST_CONFIRM_ROUND:
        return _enter(standing, Phase.SEARCH, suspect=None, withdrawn=(*state.withdrawn, state.suspect))
    return state


def residual_budget(standing: Standing) -> int:
    """Executions that the residual check may spend: what the search cost, at most `residual.LARGEST_BUDGET`."""
    return min(standing.executions - standing.fresh_executions, residual.LARGEST_BUDGET)


def _residual(standing: Standing) -> SearchState:
    state = standing.state
    if _seeks_further(standing):
        return replace(state, phase=Phase.SEARCH)
    if standing.unseen and standing.left > 0:
        return state
    room = residual_budget(standing) - standing.fresh_executions
    open_ends = [stretch for stretch in residual.stretches(standing) if stretch.open]
    per_round = len({0, standing.reach.size, *(end for stretch in open_ends for end in (stretch.low, stretch.high))})
    if room > 0 and any(stretch.decidable(-(-room // per_round)) for stretch in open_ends):
        return state
    return conclude(standing, OutcomeKind.CULPRIT)


def _seeks_further(standing: Standing) -> bool:
    """Whether one more step is likely, large enough to matter, and still affordable."""
    model = standing.model
    if standing.exhausted or _gives_up_further(standing) or model.log_further <= FURTHER_STEP:
        return False
    further = [model.column_of(int(np.argmax(mass))) for mass in model.step_masses]
    steps = np.abs(evidence.fit(model.design, np.vstack([model.named_columns, *further])).delta)
    named = len(model.named)
    return bool(steps[named:].max() >= residual.NEGLIGIBLE * steps[:named].max())


def _gives_up_further(standing: Standing) -> bool:
    state = standing.state
    last = state.named[-1]
    spent = executions(state.results[last.rounds :])
    allowed = max(FURTHER_LEAST, executions(state.results[: last.rounds]))
    return spent > allowed or len(state.withdrawn) - last.withdrawn >= FURTHER_ATTEMPTS


_RULES: Final[Mapping[Phase, Callable[[Standing], SearchState]]] = {
    Phase.MERGE_BASE: _merge_base,
    Phase.REPRODUCE: _reproduce,
    Phase.SEARCH: _search,
    Phase.CONFIRM: _confirm,
    Phase.RESIDUAL: _residual,
}

__all__ = ["advance", "leading", "residual_budget", "visible_effect"]
