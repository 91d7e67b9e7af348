"""The classic engine: the heaviest commit, a fixed number of repetitions, and a test against the good end [H13].

Every tested commit is interleaved with a fresh good one, and the level is shared among the log2 N + 1 tests that a
search makes; without both, drift of the machine answers for the commit (decision rule in docs/bisection.md).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace
from scipy.special import stdtr, stdtrit

from perf_culprit.model.bisection import Culprit, Outcome, OutcomeKind, Phase, Progress, Purpose, SearchState, Suspect
from perf_culprit.model.finding import Interval
from perf_culprit.search.descendants import Reach
from perf_culprit.search.parent_pairs import round_differences
from perf_culprit.search.search_view import Standing

Round = tuple[Purpose, tuple[int, ...]]
INTERVAL_LEVEL = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stand:
    """`candidates` [N]: who is left; `target`: the commit to measure now (1..N) or None; `bad` the current bad end."""

    candidates: npt.NDArray[np.bool_]
    target: int | None
    bad: int


def p_value(differences: npt.NDArray[np.float64]) -> float:
    """One-sided paired t-test of "slower than the fresh good one" on log differences; 0 or 1 without any spread."""
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    if spread <= 1e-9:
        return float(mean <= 1e-9)
    return float(stdtr(len(differences) - 1, -mean / (spread / np.sqrt(len(differences)))))


def level(standing: Standing) -> float:
    """alpha, shared among the tests of one search."""
    return standing.state.settings.alpha / (int(np.ceil(np.log2(max(standing.reach.size, 1)))) + 1)


def _read(standing: Standing) -> _Stand:
    """Walk the search from its beginning with the results that there are."""
    reach, repetitions = standing.reach, standing.state.settings.repetitions
    left = np.ones(reach.size, dtype=np.bool_)
    bad = reach.size
    if len(round_differences(standing.samples, 0, bad)) < repetitions:
        return _Stand(candidates=left, target=bad, bad=bad)
    while True:
        target = _heaviest(standing, left)
        if target is None:
            return _Stand(candidates=left, target=None, bad=bad)
        differences = round_differences(standing.samples, 0, target)
        if len(differences) < repetitions:
            return _Stand(candidates=left, target=target, bad=bad)
        ancestors = reach.column(target)
        if p_value(differences[:repetitions]) < level(standing):
            left, bad = left & ancestors, target
        else:
            left = left & ~ancestors


def _heaviest(standing: Standing, left: npt.NDArray[np.bool_]) -> int | None:
    """The measurable candidate that splits the rest most evenly, or None where none splits it."""
    weight = split_weights(standing.reach, left)
    weight[~left | ~standing.usable[1:]] = 0
    best = int(np.argmax(weight))
    return best + 1 if weight[best] > 0 else None


def split_weights(reach: Reach, left: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """min(c_i, n - c_i) per candidate [N]: how evenly a test of it splits the n that are `left` [H13; git bisect]."""
    counts = reach.slow_mass(left.astype(np.float64))[1:]
    return np.asarray(np.rint(np.minimum(counts, left.sum() - counts)))


def next_rounds(standing: Standing, k: int) -> Sequence[Round]:
    """Up to `k` rounds {good, target}; the merge bases first where there are any."""
    state = standing.state
    repetitions = state.settings.repetitions
    pending = len(standing.pending)
    if state.phase is Phase.DONE:
        return []
    if state.phase is Phase.MERGE_BASE:
        bases = tuple(-1 - place for place in range(len(state.commit_range.merge_bases)))
        return [(Purpose.MERGE_BASE, (0, *bases))] * min(k, max(repetitions - len(state.results) - pending, 0))
    target = _read(standing).target
    if target is None:
        return []
    wanted = repetitions - len(round_differences(standing.samples, 0, target)) - pending
    purpose = Purpose.REPRODUCE if state.phase is Phase.REPRODUCE else Purpose.SEARCH
    return [(purpose, (0, target))] * min(k, max(wanted, 0))


def advance(standing: Standing) -> SearchState:  # noqa: PLR0911 - a rule of the search each
    """The state after the tests that its results allow."""
    state = standing.state
    commit_range = state.commit_range
    if any(name in standing.skipped for name in (commit_range.good, commit_range.bad, *commit_range.merge_bases)):
        return _conclude(standing, OutcomeKind.UNMEASURABLE)
    repetitions = state.settings.repetitions
    if state.phase is Phase.MERGE_BASE:
        differences = _merge_base_differences(standing)
        if len(differences) < repetitions:
            return state
        if p_value(differences) < level(standing):
            return _conclude(standing, OutcomeKind.FIXED_ON_GOOD_SIDE)
        state = replace(state, phase=Phase.REPRODUCE)
        standing = standing.later(state)
    if state.phase is Phase.REPRODUCE:
        differences = round_differences(standing.samples, 0, standing.reach.size)
        if len(differences) < repetitions:
            return state
        if p_value(differences) >= level(standing):
            return _conclude(standing, OutcomeKind.NOT_REPRODUCED)
        state = replace(state, phase=Phase.SEARCH)
        standing = standing.later(state)
    if state.phase is Phase.SEARCH and _read(standing).target is None:
        return replace(state, phase=Phase.DONE, outcome=_answer(standing))
    if state.phase is not Phase.DONE and not standing.pending and standing.left < 2:
        return replace(state, phase=Phase.DONE, outcome=partial_outcome(standing))
    return state


def _merge_base_differences(standing: Standing) -> npt.NDArray[np.float64]:
    bases, good = set(standing.state.commit_range.merge_bases), standing.state.commit_range.good
    sign = standing.sign
    rounds = []
    for result in standing.state.results:
        logs = [float(np.log(value)) for name in sorted(bases & set(result.values)) for value in result.values[name]]
        if logs and good in result.values:
            rounds.append(sign * (float(np.mean(logs)) - float(np.log(result.values[good][0]))))
    return np.array(rounds)


def _conclude(standing: Standing, kind: OutcomeKind) -> SearchState:
    return replace(standing.state, phase=Phase.DONE, outcome=_outcome(standing, kind))


def _outcome(standing: Standing, kind: OutcomeKind) -> Outcome:
    return Outcome(
        kind=kind, executions=standing.executions, rounds=len(standing.state.results), skipped=standing.skipped
    )


def _answer(standing: Standing) -> Outcome:
    left = np.flatnonzero(_read(standing).candidates)
    if len(left) > 1:
        return replace(_outcome(standing, OutcomeKind.SUSPECT_SET), suspects=_suspects(standing))
    outcome = _outcome(standing, OutcomeKind.CULPRIT)
    return replace(outcome, culprits=(_culprit(standing, int(left[0])),))


def _culprit(standing: Standing, candidate: int) -> Culprit:
    """Its change against the good end: this engine knows nothing of steps before it."""
    samples, sign = standing.samples, standing.sign
    differences = round_differences(samples, 0, candidate + 1)
    if len(differences) < 2:  # never measured itself: the nearest bad commit stands for it
        differences = round_differences(samples, 0, _read(standing).bad)
    error = float(differences.std(ddof=1) / np.sqrt(len(differences)))
    half = float(stdtrit(len(differences) - 1, (1 + INTERVAL_LEVEL) / 2)) * error
    center = float(differences.mean())
    low, high = sorted(float(np.expm1(sign * (center + side))) for side in (-half, half))
    return Culprit(
        commit=standing.name(candidate + 1),
        posterior=None,
        relative_change=float(np.expm1(sign * center)),
        confidence_interval=Interval(low=low, high=high, level=INTERVAL_LEVEL),
        improvement=standing.seeks_improvement,
    )


def _suspects(standing: Standing) -> tuple[Suspect, ...]:
    left = np.flatnonzero(_read(standing).candidates)
    names = [standing.name(int(candidate) + 1) for candidate in left]
    return tuple(Suspect(commit=name, posterior=1 / len(left), skipped=standing.skipped.get(name)) for name in names)


def partial_outcome(standing: Standing) -> Outcome:
    """The candidates that the tests so far left over."""
    outcome = _outcome(standing, OutcomeKind.BUDGET_SPENT)
    return replace(outcome, suspects=_suspects(standing) if standing.state.phase is Phase.SEARCH else ())


def progress(standing: Standing) -> Progress:
    searching = standing.state.phase is Phase.SEARCH
    candidates = int(_read(standing).candidates.sum()) if searching else standing.reach.size
    tests = int(np.ceil(np.log2(max(candidates, 1))))
    return Progress(
        phase=standing.state.phase,
        executions=standing.executions,
        entropy_bits=float(np.log2(max(candidates, 1))),
        expected_executions=2 * tests * standing.state.settings.repetitions,
    )
