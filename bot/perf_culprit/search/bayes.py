"""The default engine: rounds chosen by information, decisions by the posterior (docs/bisection.md)."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from perf_culprit.model.bisection import Outcome, OutcomeKind, Phase, Progress, Purpose, Suspect
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search import further_steps
from perf_culprit.search.confirmation import confirming_rounds, log_pair
from perf_culprit.search.cost import entropy_bits, expected_confirmation, expected_executions
from perf_culprit.search.next_rounds import choose_suspects
from perf_culprit.search.phases import LAST_ANALYSIS, advance, convincing
from perf_culprit.search.search_answer import outcome_of
from perf_culprit.search.search_view import FIRST_ANALYSIS, WHOLE_ROUNDS, Round, SearchView

__all__ = ["advance", "next_rounds", "partial_outcome", "progress", "suspects"]

MORE_AT_ONCE: Final = 4  # rounds in progress at once if each may be the last one needed
LEAST_POSTERIOR: Final = 0.005  # suspects below this are not shown


def next_rounds(standing: SearchView, k: int) -> Sequence[Round]:  # noqa: PLR0911 - a phase each
    """Return up to `k` further rounds: purpose and commits (0..N; merge bases are -1, -2, …), before shuffling."""
    state, last = standing.state, standing.reach.size
    pending = len(standing.pending)
    match state.phase:
        case Phase.MERGE_BASE:
            bases = tuple(-1 - place for place in range(len(state.commit_range.merge_bases)))
            return [(Purpose.MERGE_BASE, (0, *bases, last))] * min(k, max(FIRST_ANALYSIS // 2 - pending, 0))
        case Phase.REPRODUCE:
            # Alternate: good, bad, bad, good. Double the existing number, so that a clear change costs few.
            done = pending + len(state.results)
            wanted = max(len(state.results), WHOLE_ROUNDS if standing.begins_whole else MORE_AT_ONCE) - pending
            whole = tuple(np.flatnonzero(standing.usable).tolist())
            return [
                (
                    Purpose.REPRODUCE,
                    whole if number < WHOLE_ROUNDS and standing.begins_whole else (0, last)[:: 1 - 2 * (number % 2)],
                )
                for number in range(done, done + min(k, max(wanted, 0)))
            ]
        case Phase.SEARCH:
            return _search_rounds(standing, k)
        case Phase.CONFIRM:
            before, after = standing.edges(standing.suspect)
            at_once = 1 if standing.before_phase.model.is_quiet else min(max(standing.fresh_rounds, 1), MORE_AT_ONCE)
            wanted = max(confirming_rounds(standing) - standing.fresh_rounds, at_once) - pending
            ends = (0,) if min(before, default=0) < 0 else ()  # how far good is from that parent is the other answer
            return [(Purpose.CONFIRM, _distinct(*ends, *before, after))] * min(k, max(wanted, 0))
        case Phase.RESIDUAL:
            if standing.unseen:
                return [(Purpose.RESIDUAL, (*_references(standing), *standing.unseen))] * min(k, max(1 - pending, 0))
            stretches = [stretch for stretch in further_steps.stretches(standing) if stretch.open]
            corners = (corner for stretch in stretches for corner in (stretch.low, stretch.high))
            one = _distinct(*_references(standing), *corners)
            room = WORK_LIMITS.residual_executions - standing.fresh_executions
            return [(Purpose.RESIDUAL, one)] * min(k, max(-(-room // len(one)) - pending, 0), MORE_AT_ONCE)
        case Phase.DONE:
            return []


def _distinct(*commits: int) -> tuple[int, ...]:
    return tuple(dict.fromkeys(commits))


def _search_rounds(standing: SearchView, k: int) -> Sequence[Round]:
    last = standing.reach.size
    model = standing.model
    chosen = _spread(standing, k) if model.looks_like_decay else choose_suspects(standing, k)
    if not chosen and not standing.pending:
        # No measurement can separate the rest, or only the ends are left: measure the ends more precisely.
        return [(Purpose.SEARCH, (0, last))]
    return [(Purpose.SEARCH, (*_references(standing), *suspects)) for suspects in chosen]


def _references(standing: SearchView) -> tuple[int, ...]:
    """Both ends, so that the level of the round cancels; none on a quiet machine, which has nothing to cancel.

    On a stable machine every fourth round checks whether it is still stable.
    """
    if standing.model.is_quiet or standing.skips_ends:
        return ()
    return 0, standing.reach.size


def _spread(standing: SearchView, k: int) -> Sequence[tuple[int, ...]]:
    """Suspects if a ramp is likeliest: commits spread over the depth, those with the fewest samples first."""
    per_round = standing.state.settings.suspects_per_round
    usable = np.flatnonzero(standing.usable[1:-1]) + 1
    targets = np.linspace(0, 1, 12)[1:-1]
    commits = [
        int(usable[np.argmin(np.abs(standing.model.depth[usable] - target))]) for target in targets if usable.size
    ]
    counts = standing.samples.counts(standing.reach.size + 1)
    ordered = sorted(set(commits), key=lambda commit: (counts[commit], commit))
    chosen = [tuple(ordered[start : start + per_round]) for start in range(0, len(ordered), per_round)]
    return chosen[: max(k - len(standing.pending), 0)]


def partial_outcome(standing: SearchView) -> Outcome:
    """Return the best answer so far, for a search that is stopped from outside."""
    return outcome_of(standing, OutcomeKind.BUDGET_SPENT)


def suspects(standing: SearchView) -> tuple[str, ...]:
    """Return the commit that is measured against its parent."""
    return () if standing.state.suspect is None else (standing.state.suspect,)


def progress(standing: SearchView) -> Progress:
    state = standing.state
    is_searching = state.phase not in (Phase.MERGE_BASE, Phase.REPRODUCE, Phase.DONE)
    ends = partial_outcome(standing) if state.phase is Phase.REPRODUCE and state.results else None
    return Progress(
        phase=state.phase,
        executions=standing.executions,
        entropy_bits=entropy_bits(standing) if is_searching else float(np.log2(standing.reach.size)),
        expected_executions=_still_to_come(standing) if is_searching or ends is not None else None,
        suspects=_suspects(standing) if is_searching and state.phase is not Phase.RESIDUAL else (),
        relative_change=None if ends is None else ends.relative_change,
        confidence_interval=None if ends is None else ends.confidence_interval,
        failing=len(standing.skipped),
    )


def _suspects(standing: SearchView) -> tuple[Suspect, ...]:
    """The likeliest groups of commits that no measurement separates, each by its likeliest commit."""
    mass = standing.model.posterior.copy()
    suspects: list[Suspect] = []
    while len(suspects) < WORK_LIMITS.suspects and mass.max() > LEAST_POSTERIOR:
        best = int(np.argmax(mass))
        group = standing.group_of(best)
        suspects.append(Suspect(commit=standing.name(best + 1), posterior=float(mass[group].sum())))
        mass[group] = 0.0
    return tuple(suspects)


def _still_to_come(standing: SearchView) -> int:
    """Predict the executions until the next decision that can end the search, from the measurements so far."""
    state = standing.state
    if state.phase is Phase.REPRODUCE:  # a change that more executions do not show is given up
        return min(expected_executions(standing), max(2 * LAST_ANALYSIS - standing.executions, 0), standing.left)
    if state.phase is Phase.CONFIRM:
        candidate = standing.suspect
        before, _ = standing.edges(candidate)
        if standing.model.is_quiet:
            return (len(before) + 1) * max(confirming_rounds(standing) - standing.fresh_rounds, 1)
        log_e = log_pair(standing, candidate) if standing.fresh_rounds else 0.0
        return expected_confirmation(standing, log_e=log_e, convincing=convincing(standing), per_round=len(before) + 1)
    if state.phase is Phase.RESIDUAL:
        under_way = sum(len(job.commits) for job in standing.pending)
        if under_way:
            return under_way
        commits = next((commits for _, commits in next_rounds(standing, 1)), ())
        return min(len(commits), max(WORK_LIMITS.residual_executions - standing.fresh_executions, 0))
    return expected_executions(standing)
