"""An engine for commands that fail in a share of their executions: which commit raised the rate of failures?

An execution gives `FAILED` or `PASSED`. Each candidate stands for a rate before it and a higher one since; one more
hypothesis is "no change". Jeffreys' Beta(1/2, 1/2) is the prior of each rate: a few equal results make none certain.
All hypotheses share one posterior. The next commit to execute is the one whose result says most about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from perf_culprit.arrays import Floats
from perf_culprit.model.bisection import (
    Culprit,
    Outcome,
    OutcomeKind,
    Phase,
    Progress,
    Purpose,
    Rates,
    SearchState,
    Sought,
    Suspect,
)
from perf_culprit.model.count import FAILED
from perf_culprit.model.finding import Interval
from perf_culprit.model.reason import SearchReason, because
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search.further_steps import BUDGET_SHARE
from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.search_answer import likeliest, lost_parent
from perf_culprit.search.search_view import FIRST_ANALYSIS, LIKELY, Round, SearchView
from perf_culprit.stats.conventions import LEVEL

Counts = npt.NDArray[np.int64]

LEAST_RISE: Final = 0.05  # a change of the rate below this is none, once that is 95% certain
LEAST_OF_ENDS: Final = 2 * FIRST_ANALYSIS  # executions of each end before a rise is denied
# The rates on a grid: Jeffreys' prior is uniform in the angle whose squared sine is the rate.
ANGLES: Final = (np.arange(64) + 0.5) * np.pi / 128
RATES: Final = np.sin(ANGLES) ** 2
LOG_RATES: Final = np.stack([np.log(RATES), np.log1p(-RATES)])
RATE_PAIRS: Final = RATES.size * (RATES.size - 1) / 2


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rise:
    """Evidence for "the rate is higher since" [N]: its logarithm, and the expected rates before and since."""

    log_evidence: Floats
    before: Floats
    since: Floats


@dataclass(frozen=True, kw_only=True, slots=True)
class _View:
    """`failed` and `runs` [N + 1]; `mass` [N] of the candidates and `none` of "no change", which sum to 1."""

    failed: Counts
    runs: Counts
    rise: _Rise
    mass: Floats
    none: float
    rate: float


def _likelihood(failed: npt.ArrayLike, runs: npt.ArrayLike) -> Floats:
    """Log likelihood of each rate of the grid [..., rates]."""
    failed, runs = np.asarray(failed, np.float64)[..., None], np.asarray(runs, np.float64)[..., None]
    return np.asarray(failed * LOG_RATES[0] + (runs - failed) * LOG_RATES[1])


def _scale(log: Floats) -> tuple[Floats, Floats]:
    top = log.max(axis=-1, keepdims=True)
    return np.exp(log - top), top[..., 0]


def _rises(failed: tuple[Counts, Counts], runs: tuple[Counts, Counts]) -> _Rise:
    (low, low_top), (high, high_top) = (_scale(_likelihood(*one)) for one in zip(failed, runs, strict=True))
    above = high.sum(axis=-1, keepdims=True) - np.cumsum(high, axis=-1)
    below = np.cumsum(low, axis=-1) - low
    total = np.maximum((low * above).sum(axis=-1), 1e-300)
    return _Rise(
        log_evidence=np.log(total / RATE_PAIRS) + low_top + high_top,
        before=(low * above * RATES).sum(axis=-1) / total,
        since=(high * below * RATES).sum(axis=-1) / total,
    )


def _constant(failed: int, runs: int) -> tuple[float, float]:
    """Return the log evidence for one rate, and that rate."""
    likely, top = _scale(_likelihood(failed, runs))
    return float(np.log(likely.mean()) + top), float((likely * RATES).sum() / likely.sum())


def log_odds_of_rise(before: tuple[int, int], since: tuple[int, int]) -> float:
    """Log Bayes factor of a higher rate against the same one; each side is (failed, runs)."""
    failed, runs = zip(before, since, strict=True)
    rise = _rises(*((np.array([one[0]]), np.array([one[1]])) for one in (failed, runs)))
    return float(rise.log_evidence[0]) - _constant(sum(failed), sum(runs))[0]


def largest_missed(before: tuple[int, int], since: tuple[int, int]) -> float:
    """Return the rise of the rate that is exceeded with a chance of 5%, given both counts."""
    low, high = (_scale(_likelihood(*side))[0] for side in (before, since))
    weight = np.outer(low / low.sum(), high / high.sum()).ravel()
    rise = (RATES[None, :] - RATES[:, None]).ravel()
    order = np.argsort(rise)
    place = int(np.searchsorted(np.cumsum(weight[order]), LEVEL))
    return max(float(rise[order][min(place, order.size - 1)]), 0.0)


def executions_to_prove(before: tuple[int, int], since: tuple[int, int]) -> int | None:
    """Return how many more executions of both sides would prove a rise, if the rates stay as counted.

    None if they would not rise, or not within `WORK_LIMITS.advised_multiple` the executions so far.
    """
    sides = np.array([before, since], np.float64)
    for times in np.geomspace(1.0, WORK_LIMITS.advised_multiple, 100):
        (failed, runs), (failed_since, runs_since) = np.rint(sides * times).astype(int).tolist()
        if log_odds_of_rise((failed, runs), (failed_since, runs_since)) >= ODDS_20:
            return int(runs + runs_since - sides[:, 1].sum())
    return None


@cache
def interval_of(failed: int, runs: int) -> Interval:
    likely = np.cumsum(_scale(_likelihood(failed, runs))[0])
    low, high = np.interp([(1 - LEVEL) / 2, (1 + LEVEL) / 2], likely / likely[-1], RATES).tolist()
    return Interval(low=low, high=high, level=LEVEL)


def _falls(standing: SearchView) -> bool:
    return standing.state.settings.sought is Sought.BETTER


def _tally(standing: SearchView, first: int = 0) -> dict[int, tuple[int, int]]:
    """The (failed, runs) of each position since this result. Merge bases stand for good, if there are any.

    In a search for a lower rate, passing counts as failing.
    """
    state, falls = standing.state, _falls(standing)
    left_out = state.commit_range.good if state.commit_range.merge_bases else None
    tally: dict[int, tuple[int, int]] = {}
    for result in state.results[first:]:
        for name, values in result.values.items():
            if name != left_out and name in standing.with_outside:
                failed, runs = tally.get(at := standing.with_outside[name], (0, 0))
                events = sum((value == FAILED) != falls for value in values)
                tally[at] = failed + events, runs + len(values)
    return tally


def _ends(standing: SearchView) -> tuple[tuple[int, int], tuple[int, int]]:
    tally = _tally(standing)
    return tally.get(0, (0, 0)), tally.get(standing.reach.size, (0, 0))


def _good(standing: SearchView) -> int:
    """The good end as rounds name it: the merge base, if good is no ancestor of bad."""
    return -1 if standing.state.commit_range.merge_bases else 0


def _view(standing: SearchView) -> _View:
    failed, runs = (np.zeros(standing.reach.size + 1, np.int64) for _ in range(2))
    for at, (events, number) in _tally(standing).items():
        if at >= 0:
            failed[at], runs[at] = events, number
    since = [standing.reach.descendant_sums(one.astype(np.uint64)).astype(np.int64) for one in (failed, runs)]
    rise = _rises((failed.sum() - since[0], since[0]), (runs.sum() - since[1], since[1]))
    log_none, rate = _constant(int(failed.sum()), int(runs.sum()))
    with np.errstate(divide="ignore"):
        logs = np.append(np.log(standing.prior) + rise.log_evidence, log_none)
    mass = np.exp(logs - logs.max())
    mass /= mass.sum()
    return _View(failed=failed, runs=runs, rise=rise, mass=mass[:-1], none=float(mass[-1]), rate=rate)


def _entropy(rate: npt.ArrayLike) -> Floats:
    """Bits of an execution that fails at this rate."""
    rate = np.clip(rate, 1e-12, 1 - 1e-12)
    return np.asarray(-(rate * np.log2(rate) + (1 - rate) * np.log2(1 - rate)))


def _information(standing: SearchView, view: _View) -> Floats:
    """Bits that one execution of each commit tells about the hypotheses [N + 1]; 0 for those that do not run."""
    mass, rise = view.mass, view.rise

    def expected(before: Floats, since: Floats, none: float) -> Floats:
        slow = standing.reach.slow_mass
        return slow(mass * since) + (mass @ before - slow(mass * before)) + view.none * none

    gain = _entropy(expected(rise.before, rise.since, view.rate)) - expected(
        _entropy(rise.before), _entropy(rise.since), float(_entropy(view.rate))
    )
    return np.asarray(np.where(standing.usable, np.maximum(gain, 0.0), 0.0))


def next_rounds(standing: SearchView, k: int) -> Sequence[Round]:
    """Return up to `k` rounds: both ends, the commit that tells most, or the suspect with its parents."""
    phase, size = standing.state.phase, standing.reach.size
    if phase is Phase.DONE:
        return []
    if phase in (Phase.MERGE_BASE, Phase.REPRODUCE):
        return [(Purpose.REPRODUCE, (_good(standing), size))] * k
    if phase is Phase.CONFIRM:
        before, after = standing.edges(standing.suspect)
        return [(Purpose.CONFIRM, (*(_good(standing) if one == 0 else one for one in before), after))] * k
    best = np.argsort(-_information(standing, _view(standing)), kind="stable")[:k].tolist()
    return [(Purpose.SEARCH, (_good(standing) if one == 0 else one,)) for one in best]


def advance(standing: SearchView) -> SearchState:
    """Return the state after the decisions that its results allow."""
    state, commit_range = standing.state, standing.state.commit_range
    if state.phase is Phase.DONE:
        return state
    ends = commit_range.bad, *(commit_range.merge_bases or (commit_range.good,))
    if any(name in standing.skipped for name in ends):
        return _conclude(standing, OutcomeKind.UNMEASURABLE)
    if state.phase in (Phase.MERGE_BASE, Phase.REPRODUCE):
        return _after_ends(standing)
    view = _view(standing)
    if view.none >= LEVEL:
        return _conclude(standing, _denial(standing))
    return _after_search(standing, view) if state.phase is Phase.SEARCH else _after_confirmation(standing, view)


def _after_ends(standing: SearchView) -> SearchState:
    """Search if the rate is higher at the bad end. Deny it if that excludes a large rise, or took its part."""
    state, (good, bad) = standing.state, _ends(standing)
    runs = min(good[1], bad[1])
    if runs and log_odds_of_rise(good, bad) >= ODDS_20:
        return advance(standing.later(replace(state, phase=Phase.SEARCH)))
    most = max(int(state.settings.budget_executions * BUDGET_SHARE), LEAST_OF_ENDS)
    if runs >= most or (runs >= LEAST_OF_ENDS and largest_missed(good, bad) < LEAST_RISE):
        return _conclude(standing, _denial(standing))
    return state


def _after_search(standing: SearchView, view: _View) -> SearchState:
    best = int(np.argmax(view.mass))
    # No measurement separates the likeliest candidate from the others of its group.
    if float(view.mass[standing.group_of(best)].sum()) < LIKELY:
        return standing.state
    state = replace(standing.state, since=len(standing.state.results), suspect=standing.name(best + 1))
    if standing.edges(best)[0]:
        return replace(state, phase=Phase.CONFIRM)
    return _conclude(standing.later(state), OutcomeKind.SUSPECT_SET)


def _after_confirmation(standing: SearchView, view: _View) -> SearchState:
    """Name the suspect by all executions, and by those of this phase. Search on if its posterior falls."""
    state, group = standing.state, standing.group_of(standing.suspect)
    chance = float(view.mass[group].sum())
    if chance < 0.5:
        return replace(state, phase=Phase.SEARCH, since=len(state.results), suspect=None)
    if chance >= state.settings.stop and _odds_against_parents(standing) >= ODDS_20:
        return _conclude(standing, OutcomeKind.CULPRIT if group.size == 1 else OutcomeKind.SUSPECT_SET)
    return state


def _odds_against_parents(standing: SearchView) -> float:
    """The evidence of the confirming rounds that the suspect fails more often than each parent."""
    before, after = standing.edges(standing.suspect)
    fresh = _tally(standing, standing.state.since)
    sides = [fresh.get(one, (0, 0)) for one in (*before, after)]
    return min((log_odds_of_rise(side, sides[-1]) for side in sides[:-1]), default=-np.inf)


def _denial(standing: SearchView) -> OutcomeKind:
    """Deny the change only if a large one is excluded."""
    missed = largest_missed(*_ends(standing))
    return OutcomeKind.NOT_REPRODUCED if missed < LEAST_RISE else OutcomeKind.INCONCLUSIVE


def _conclude(standing: SearchView, kind: OutcomeKind) -> SearchState:
    return replace(standing.state, phase=Phase.DONE, outcome=_outcome(standing, kind))


def _rates(standing: SearchView, before: tuple[int, int], since: tuple[int, int]) -> Rates:
    """Return the rates of failures, also if the search counted what passed."""
    (failed, runs), (failed_since, runs_since) = before, since
    if _falls(standing):
        failed, failed_since = runs - failed, runs_since - failed_since
    return Rates(failed_before=failed, before=runs, failed_since=failed_since, since=runs_since)


def _outcome(standing: SearchView, kind: OutcomeKind) -> Outcome:
    outcome = standing.bare_outcome(kind)
    good, bad = _ends(standing)
    if kind is OutcomeKind.UNMEASURABLE or not (good[1] and bad[1]):
        return outcome
    outcome = replace(outcome, rates=_rates(standing, good, bad))
    if kind in {OutcomeKind.NOT_REPRODUCED, OutcomeKind.INCONCLUSIVE}:
        outcome = replace(outcome, visible_effect=largest_missed(good, bad))
        if kind is OutcomeKind.INCONCLUSIVE:
            outcome = replace(outcome, needed=executions_to_prove(good, bad))
        way = Sought.WORSE if _falls(standing) else Sought.BETTER
        is_other = log_odds_of_rise(bad, good) >= ODDS_20
        return replace(outcome, notes=(because(SearchReason.OTHER_WAY, direction=way.value),) if is_other else ())
    if kind is OutcomeKind.CULPRIT:
        return replace(outcome, culprits=(_culprit(standing),))
    mass = _view(standing).mass
    suspected = likeliest(standing, mass / max(float(mass.sum()), 1e-300))  # as if there is a change
    return replace(outcome, suspects=suspected, notes=lost_parent(standing))


def _culprit(standing: SearchView) -> Culprit:
    view, at = _view(standing), standing.suspect
    changed = standing.reach.row(at)
    sides = [(int(view.failed[one].sum()), int(view.runs[one].sum())) for one in (~changed, changed)]
    rates = _rates(standing, *sides)
    low, high = interval_of(rates.failed_before, rates.before), interval_of(rates.failed_since, rates.since)
    change = rates.failed_since / rates.since - rates.failed_before / max(rates.before, 1)
    return Culprit(
        commit=standing.name(at + 1),
        posterior=float(view.mass[at]),
        relative_change=change,
        confidence_interval=Interval(low=high.low - low.high, high=high.high - low.low, level=LEVEL),
        log_bayes_factor=_odds_against_parents(standing),
        improvement=_falls(standing),
        rates=rates,
    )


def partial_outcome(standing: SearchView) -> Outcome:
    """Return the best answer so far."""
    is_searched = standing.state.phase in (Phase.SEARCH, Phase.CONFIRM)
    return _outcome(standing, OutcomeKind.BUDGET_SPENT if is_searched else OutcomeKind.INCONCLUSIVE)


def suspects(standing: SearchView) -> tuple[str, ...]:  # noqa: ARG001 - the protocol's
    """None is diagnosed before the answer: profiles explain times, not failures."""
    return ()


def progress(standing: SearchView) -> Progress:
    """Report the progress. It expects executions for the bits of the posterior, and for odds of 20 to 1."""
    state, view = standing.state, _view(standing)
    share = view.mass[view.mass > 0]
    bits = float(-(share * np.log2(share)).sum())
    good, bad = _ends(standing)
    before, since = (float(view.mass @ one) / max(1 - view.none, 1e-300) for one in (view.rise.before, view.rise.since))
    each = float(_entropy((before + since) / 2) - (_entropy(before) + _entropy(since)) / 2)
    expected = ceil((bits + ODDS_20 / np.log(2)) / max(each, 1e-3))
    likely = np.argsort(-view.mass)[:3].tolist() if state.phase in (Phase.SEARCH, Phase.CONFIRM) else []
    return Progress(
        phase=Phase.REPRODUCE if state.phase is Phase.MERGE_BASE else state.phase,
        executions=standing.executions,
        entropy_bits=bits,
        expected_executions=min(expected, max(standing.left, 0)) if good[1] and bad[1] else None,
        suspects=tuple(Suspect(commit=standing.name(at + 1), posterior=float(view.mass[at])) for at in likely),
        rates=_rates(standing, good, bad) if good[1] and bad[1] else None,
        failing=len(standing.skipped),
    )
