"""Measurements at each commit, for people who want to see the evidence and not only the posterior."""

from collections import defaultdict
from collections.abc import Sequence
from itertools import chain
from math import exp, log
from statistics import fmean
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.model.bisection import MeasuredCommit, Result, SearchState
from perf_culprit.model.count import FAILED
from perf_culprit.model.finding import Interval
from perf_culprit.search.failure_rates import interval_of
from perf_culprit.search.level_sizes import mean_difference
from perf_culprit.stats.conventions import LEVEL

ONE_LEVEL: Final = 0.25  # share of the change: executions on several machines must not differ by more


def measured_commits(state: SearchState) -> tuple[MeasuredCommit, ...]:
    """Return every commit that was executed, in the order of the history, the good end first.

    A search of failures counts them, with the rate's interval. Otherwise, the relative change is the geometric mean
    over rounds of (commit / good end of the same round) - 1: a slow round cancels. Rounds without the good end (a quiet
    machine needs none) are compared with all its executions, if these are of one machine or level. Otherwise they are
    skipped. The 95% interval is Student's t over rounds, of logarithms. It assumes independent rounds and shows noise,
    not the search's posterior.
    """
    if state.outcome is not None:  # results that arrived after the decision did not contribute to it
        state = replace(state, results=state.results[: state.outcome.rounds])
    rounds: dict[str, list[Result]] = defaultdict(list)
    for result in state.results:
        for commit in dict.fromkeys((*result.values, *result.failures)):
            rounds[commit].append(result)
    good, anywhere = state.commit_range.good, _good_anywhere(state)
    commits = []
    for commit in dict.fromkeys((good, *state.commit_range.merge_bases, *state.commit_range.commits)):
        values = [result.values[commit] for result in rounds[commit] if commit in result.values]
        failures = [result.failures[commit] for result in rounds[commit] if commit in result.failures]
        if not values and not failures:
            continue
        plain = MeasuredCommit(
            commit=commit,
            executions=sum(map(len, values)) + len(failures),
            failures=tuple(dict.fromkeys(failure.message or failure.kind.value for failure in failures)),
        )
        if state.settings.of_failures:
            commits.append(_with_rate(plain, list(chain.from_iterable(values))))
        else:
            references = ((result.values.get(commit), result.values.get(good, anywhere)) for result in rounds[commit])
            ratios = [_mean_log(own) - _mean_log(reference) for own, reference in references if own and reference]
            commits.append(_with_change(plain, ratios, is_good=commit == good))
    return tuple(commits)


def _with_rate(commit: MeasuredCommit, values: Sequence[float]) -> MeasuredCommit:
    failed, ran = sum(value == FAILED for value in values), len(values)
    return replace(commit, failed=failed, ran=ran, confidence_interval=interval_of(failed, ran)) if values else commit


def _with_change(commit: MeasuredCommit, ratios: list[float], *, is_good: bool) -> MeasuredCommit:
    interval = None
    if len(ratios) > 1 and not is_good:
        size = mean_difference(np.array(ratios))
        low, high = np.expm1([size.center - size.half, size.center + size.half]).tolist()
        interval = Interval(low=low, high=high, level=LEVEL)
    return replace(commit, relative_change=exp(fmean(ratios)) - 1 if ratios else None, confidence_interval=interval)


def _good_anywhere(state: SearchState) -> tuple[float, ...]:
    """The good end's executions; empty if their difference between rounds is large relative to the change."""
    ends = (state.commit_range.good, state.commit_range.bad)
    good, bad = (tuple(value for result in state.results for value in result.values.get(end, ())) for end in ends)
    if not good or state.settings.one_machine:
        return good
    change = abs(_mean_log(bad) - _mean_log(good)) if bad else 0.0
    return good if log(max(good) / min(good)) <= ONE_LEVEL * change else ()


def _mean_log(values: tuple[float, ...]) -> float:
    return fmean(log(value) for value in values)
