"""Measurements at each commit, for people who want to see the evidence and not only the posterior."""

from collections import defaultdict
from math import exp, log
from statistics import fmean
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.model.bisection import MeasuredCommit, SearchState
from perf_culprit.model.finding import Interval
from perf_culprit.search.level_sizes import mean_difference
from perf_culprit.stats.conventions import LEVEL

ONE_LEVEL: Final = 0.25  # share of the change: executions on several machines must not differ by more


def measured_commits(state: SearchState) -> tuple[MeasuredCommit, ...]:
    """Return every commit that was executed, in the order of the history, the good end first.

    The relative change is the geometric mean over rounds of (commit / good end of the same round) - 1: a slow round
    cancels. Rounds without the good end (a quiet machine needs none) are compared with all its executions, if these are
    of one machine or level. Otherwise they are skipped. The 95% interval is Student's t over rounds, of logarithms. It
    assumes independent rounds and shows noise, not the search's posterior.
    """
    if state.outcome is not None:  # results that arrived after the decision did not contribute to it
        state = replace(state, results=state.results[: state.outcome.rounds])
    ratios: dict[str, list[float]] = defaultdict(list)
    executions: dict[str, int] = defaultdict(int)
    failures: dict[str, dict[str, None]] = defaultdict(dict)
    good = state.commit_range.good
    anywhere = _good_anywhere(state)
    for result in state.results:
        reference = result.values.get(good, anywhere)
        for commit, values in result.values.items():
            executions[commit] += len(values)
            if reference:
                ratios[commit].append(_mean_log(values) - _mean_log(reference))
        for commit, failure in result.failures.items():
            executions[commit] += 1
            failures[commit][failure.message or failure.kind.value] = None
    order = (good, *state.commit_range.merge_bases, *state.commit_range.commits)
    return tuple(
        _measured(commit, executions[commit], ratios[commit], tuple(failures[commit]), is_good=commit == good)
        for commit in dict.fromkeys(order)
        if commit in executions
    )


def _good_anywhere(state: SearchState) -> tuple[float, ...]:
    """The good end's executions; empty if their difference between rounds is large relative to the change."""
    ends = (state.commit_range.good, state.commit_range.bad)
    good, bad = (tuple(value for result in state.results for value in result.values.get(end, ())) for end in ends)
    if not good or state.settings.one_machine:
        return good
    change = abs(_mean_log(bad) - _mean_log(good)) if bad else 0.0
    return good if log(max(good) / min(good)) <= ONE_LEVEL * change else ()


def _measured(
    commit: str, executions: int, ratios: list[float], failures: tuple[str, ...], *, is_good: bool
) -> MeasuredCommit:
    interval = None
    if len(ratios) > 1 and not is_good:
        size = mean_difference(np.array(ratios))
        low, high = np.expm1([size.center - size.half, size.center + size.half]).tolist()
        interval = Interval(low=low, high=high, level=LEVEL)
    return MeasuredCommit(
        commit=commit,
        executions=executions,
        relative_change=exp(fmean(ratios)) - 1 if ratios else None,
        confidence_interval=interval,
        failures=failures,
    )


def _mean_log(values: tuple[float, ...]) -> float:
    return fmean(log(value) for value in values)
