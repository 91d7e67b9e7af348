"""The classic engine: the heaviest commit, a fixed number of repetitions, and a test against the last good one [H13].

A commit that is not slower is the next good one, as published. Every tested commit is interleaved with fresh executions
of the good one, and the log2 N + 1 tests of a search share the level. Without both, machine drift is attributed to the
commit. The source names the last commit that is left. Here as many fresh rounds and the same test must show that it is
slower than its parent.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from msgspec.structs import replace
from scipy.special import stdtr, stdtrit

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.model.bisection import Culprit, Outcome, OutcomeKind, Phase, Progress, Purpose, SearchState, Suspect
from perf_culprit.model.reason import Reason, SearchReason, because
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.level_sizes import StepSize, mean_difference, round_differences
from perf_culprit.search.round_samples import samples_of
from perf_culprit.search.search_answer import change_of, lost_parent
from perf_culprit.search.search_view import Round, SearchView
from perf_culprit.stats.conventions import LEVEL, ROUNDING

UNSEEN: Final = frozenset({OutcomeKind.NOT_REPRODUCED, OutcomeKind.INCONCLUSIVE})


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stand:
    """`left` [N]: the possible culprits; `target`: the commit to measure now (1..N) or None.

    `good` and `bad` are the ends of the rest: the last commit that was not slower, and the last that was. `levels`
    [rounds] of the tested commits, each its difference from the good end.
    """

    left: Booleans
    target: int | None
    good: int
    bad: int
    levels: Mapping[int, Floats]


def p_value(differences: Floats, *, least: float = 0.0) -> float:
    """Test "slower than the fresh good one" by a one-sided paired t-test on log differences; 0 or 1 without any spread.

    A difference of at most `least` does not count.
    """
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if mean <= max(least, ROUNDING) or spread <= ROUNDING:
        return float(mean <= max(least, ROUNDING))
    return float(stdtr(len(differences) - 1, -mean / (spread / np.sqrt(len(differences)))))


def alpha_per_test(standing: SearchView) -> float:
    """Return alpha, divided among the tests of one search."""
    return standing.state.settings.alpha / (int(np.ceil(np.log2(max(standing.reach.size, 1)))) + 1)


def _is_slower(standing: SearchView, differences: Floats) -> bool:
    least = float(np.log1p(standing.state.settings.minimum_effect))
    return p_value(differences, least=least) < alpha_per_test(standing)


def _rounds(standing: SearchView, good: int, commit: int) -> Floats:
    """Each repetition of a commit minus the good one next to it [rounds]; fewer while it is in progress."""
    return round_differences(standing.samples, good, commit)[: standing.state.settings.repetitions]


def _ends(standing: SearchView) -> Floats:
    return _rounds(standing, 0, standing.reach.size)


def _replay(standing: SearchView) -> _Stand:
    """Repeat the search from its beginning with the present results."""
    reach, repetitions = standing.reach, standing.state.settings.repetitions
    candidates, good, bad = standing.prior > 0, 0, reach.size
    levels = {good: np.zeros(repetitions)}
    target: int | None = bad
    while target is not None and len(rounds := _rounds(standing, good, target)) == repetitions:
        ancestors, levels[target] = reach.column(target), levels[good] + rounds
        if _is_slower(standing, rounds):
            candidates, bad = candidates & ancestors, target
        else:
            candidates, good = candidates & ~ancestors, target
        target = _heaviest(reach, standing.usable, candidates)
    return _Stand(left=candidates, target=target, good=good, bad=bad, levels=levels)


def _heaviest(reach: Descendants, usable: Booleans, candidates: Booleans) -> int | None:
    """Return the measurable candidate that splits the rest most evenly, or None if none splits it."""
    weight = split_weights(reach, candidates)
    weight[~candidates | ~usable[1:]] = 0
    best = int(np.argmax(weight))
    return best + 1 if weight[best] > 0 else None


def split_weights(reach: Descendants, candidates: Booleans) -> Floats:
    """min(c_i, n - c_i) per candidate [N]: how evenly a test of it splits the n `candidates` [H13; git bisect]."""
    counts = reach.slow_mass(candidates.astype(np.float64))[1:]
    return np.asarray(np.rint(np.minimum(counts, candidates.sum() - counts)))


def tests_left(reach: Descendants, usable: Booleans, candidates: Booleans) -> int:
    """Count the tests until one commit is left, if every test leaves the larger part."""
    tests = 0
    while (target := _heaviest(reach, usable, candidates)) is not None:
        ancestors = candidates & reach.column(target)
        candidates = max(ancestors, candidates & ~ancestors, key=np.count_nonzero)
        tests += 1
    return tests


def next_rounds(standing: SearchView, k: int) -> Sequence[Round]:
    """Return up to `k` rounds {good, target}; the merge bases first if there are any."""
    state = standing.state
    repetitions = state.settings.repetitions
    pending = len(standing.pending)
    if state.phase is Phase.DONE:
        return []
    if state.phase is Phase.MERGE_BASE:
        bases = tuple(-1 - place for place in range(len(state.commit_range.merge_bases)))
        return [(Purpose.MERGE_BASE, (0, *bases))] * min(k, max(repetitions - len(state.results) - pending, 0))
    if state.phase is Phase.CONFIRM:
        before, after = standing.edges(standing.suspect)
        wanted = repetitions - int(_fewest(_against_parents(standing))) - pending
        return [(Purpose.CONFIRM, (*before, after))] * min(k, max(wanted, 0))
    stand = _replay(standing)
    if stand.target is None:
        return []
    wanted = repetitions - len(_rounds(standing, stand.good, stand.target)) - pending
    purpose = Purpose.REPRODUCE if state.phase is Phase.REPRODUCE else Purpose.SEARCH
    return [(purpose, (stand.good, stand.target))] * min(k, max(wanted, 0))


def advance(standing: SearchView) -> SearchState:
    """Return the state after the tests that its results allow."""
    state = standing.state
    if standing.ends_fail:
        return _conclude(standing, OutcomeKind.UNMEASURABLE)
    if state.phase is Phase.MERGE_BASE and len(rounds := _merge_base_rounds(standing)) >= state.settings.repetitions:
        if _is_slower(standing, rounds):
            return _conclude(standing, OutcomeKind.FIXED_ON_GOOD_SIDE)
        standing = standing.later(replace(state, phase=Phase.REPRODUCE))
    ends = _ends(standing)
    if standing.state.phase is Phase.REPRODUCE and len(ends) == state.settings.repetitions:
        if not _is_slower(standing, ends):
            return _conclude(standing, _denial(ends))
        standing = standing.later(replace(state, phase=Phase.SEARCH))
    state = standing.state
    if state.phase is Phase.SEARCH and (stand := _replay(standing)).target is None:
        state = _end_of_tests(standing, np.flatnonzero(stand.left).tolist())
        standing = standing.later(state)
    if state.phase is Phase.CONFIRM and _fewest(pairs := _against_parents(standing)) >= state.settings.repetitions:
        return replace(state, phase=Phase.DONE, outcome=_answer(standing, pairs))
    if state.phase is Phase.DONE or standing.pending or standing.left >= 2:
        return state
    return replace(state, phase=Phase.DONE, outcome=partial_outcome(standing))


def _end_of_tests(standing: SearchView, candidates: Sequence[int]) -> SearchState:
    """Return the state after the last test: a suspect to confirm, or those that no test can tell apart."""
    state = standing.state
    if len(candidates) == 1:
        return replace(state, phase=Phase.CONFIRM, since=len(state.results), suspect=standing.name(candidates[0] + 1))
    outcome = replace(_outcome(standing, OutcomeKind.SUSPECT_SET), suspects=_suspects(standing))
    return replace(state, phase=Phase.DONE, outcome=outcome)


def _against_parents(standing: SearchView) -> list[Floats]:
    """The suspect minus each of its parents, in the rounds that followed the search; empty without such a parent."""
    before, after = standing.edges(standing.suspect)
    state = standing.state
    samples = samples_of(state, standing.with_outside, state.results[state.since :])
    return [round_differences(samples, parent, after) for parent in before]


def _fewest(pairs: Sequence[Floats]) -> float:
    return min(map(len, pairs), default=np.inf)


def _denial(ends: Floats) -> OutcomeKind:
    """Deny the change only if the interval of the ends does not assert it."""
    size = mean_difference(ends)
    return OutcomeKind.NOT_REPRODUCED if abs(size.center) <= size.half else OutcomeKind.INCONCLUSIVE


def _merge_base_rounds(standing: SearchView) -> Floats:
    bases, good = set(standing.state.commit_range.merge_bases), standing.state.commit_range.good
    sign = standing.sign
    rounds = []
    for result in standing.state.results:
        logs = [float(np.log(value)) for name in sorted(bases & set(result.values)) for value in result.values[name]]
        if logs and good in result.values:
            rounds.append(sign * (float(np.mean(logs)) - float(np.log(result.values[good][0]))))
    return np.array(rounds)


def _conclude(standing: SearchView, kind: OutcomeKind) -> SearchState:
    return replace(standing.state, phase=Phase.DONE, outcome=_outcome(standing, kind))


def _outcome(standing: SearchView, kind: OutcomeKind) -> Outcome:
    outcome = standing.bare_outcome(kind)
    ends = _ends(standing)
    if kind in {OutcomeKind.UNMEASURABLE, OutcomeKind.FIXED_ON_GOOD_SIDE} or len(ends) < 2:
        return outcome
    change, interval = change_of(standing, mean_difference(ends))
    visible = _visible(standing, mean_difference(ends)) if kind in UNSEEN else None
    return replace(outcome, relative_change=change, confidence_interval=interval, visible_effect=visible)


def _visible(standing: SearchView, size: StepSize) -> float:
    """The change that this number of rounds would miss once in twenty times."""
    quantiles = stdtrit(size.dof, (1 - alpha_per_test(standing), LEVEL))
    return max(float(np.expm1(size.spread * quantiles.sum())), standing.state.settings.minimum_effect)


def _answer(standing: SearchView, pairs: Sequence[Floats]) -> Outcome:
    """Name the suspect if it is slower than each of its parents; otherwise say what these rounds show."""
    suspect = standing.suspect
    if not pairs:
        outcome = _outcome(standing, OutcomeKind.SUSPECT_SET)
        return replace(outcome, suspects=_suspects(standing), notes=lost_parent(standing))
    nearest = min(pairs, key=lambda differences: float(differences.mean()))
    change, interval = change_of(standing, mean_difference(nearest))
    name, rounds = standing.short(suspect + 1), len(nearest)
    if not all(_is_slower(standing, differences) for differences in pairs):
        note = because(
            SearchReason.PARENT_ALIKE,
            commit=name,
            repetitions=rounds,
            change=change,
            low=interval.low,
            high=interval.high,
            visible=_visible(standing, mean_difference(nearest)),
        )
        return replace(_outcome(standing, OutcomeKind.SUSPECT_SET), suspects=_suspects(standing), notes=(note,))
    culprit = Culprit(
        commit=standing.name(suspect + 1),
        posterior=None,
        relative_change=change,
        confidence_interval=interval,
        improvement=standing.seeks_improvement,
    )
    notes = (
        because(SearchReason.CHANCE_OF_ERROR, commit=name, repetitions=rounds, chance=alpha_per_test(standing)),
        *_step_after(standing),
    )
    return replace(_outcome(standing, OutcomeKind.CULPRIT), culprits=(culprit,), notes=notes)


def _step_after(standing: SearchView) -> Iterator[Reason]:
    """Report that the bad end is slower than the last commit that was slower: another step remains."""
    stand, end = _replay(standing), standing.reach.size
    rest = stand.levels[end] - stand.levels[stand.bad]
    if _is_slower(standing, rest):
        change, interval = change_of(standing, mean_difference(rest))
        names = {"before": standing.short(stand.bad), "after": standing.short(end)}
        yield because(SearchReason.STEP_AFTER, **names, change=change, low=interval.low, high=interval.high)


def _suspects(standing: SearchView) -> tuple[Suspect, ...]:
    names = [standing.name(int(candidate) + 1) for candidate in np.flatnonzero(_replay(standing).left)]
    return tuple(Suspect(commit=name, posterior=1 / len(names), skipped=standing.skipped.get(name)) for name in names)


def partial_outcome(standing: SearchView) -> Outcome:
    """Return the candidates that the tests so far left."""
    outcome = _outcome(standing, OutcomeKind.BUDGET_SPENT)
    is_searched = standing.state.phase in (Phase.SEARCH, Phase.CONFIRM)
    return replace(outcome, suspects=_suspects(standing) if is_searched else ())


def suspects(standing: SearchView) -> tuple[str, ...]:
    """Return the last two commits; the last test names one."""
    candidates = np.flatnonzero(_replay(standing).left)
    return tuple(standing.name(int(candidate) + 1) for candidate in candidates) if len(candidates) <= 2 else ()


def progress(standing: SearchView) -> Progress:
    """Report the progress. Every test costs the same; those of the ends and of the rest remain."""
    state, stand = standing.state, _replay(standing)
    is_reproduced = state.phase in (Phase.SEARCH, Phase.CONFIRM)
    candidates = stand.left if is_reproduced else standing.prior > 0
    tests = 1 + tests_left(standing.reach, standing.usable, candidates) + (not is_reproduced)
    round_lists = [] if stand.target is None else [_rounds(standing, stand.good, stand.target)]
    made = min(map(len, _against_parents(standing) if state.phase is Phase.CONFIRM else round_lists), default=0)
    ends = _outcome(standing, OutcomeKind.BUDGET_SPENT)
    return Progress(
        phase=state.phase,
        executions=standing.executions,
        entropy_bits=float(np.log2(max(int(np.count_nonzero(candidates)), 1))),
        expected_executions=2 * (tests * state.settings.repetitions - made),
        relative_change=None if is_reproduced else ends.relative_change,
        confidence_interval=None if is_reproduced else ends.confidence_interval,
        failing=len(standing.skipped),
    )
