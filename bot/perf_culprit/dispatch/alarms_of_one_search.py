"""An ended search tells which metrics of its alarm step at its culprits, and which elsewhere."""

from dataclasses import dataclass
from math import log

from perf_culprit.model.bisection import Outcome, OutcomeKind
from perf_culprit.model.dispatch import AlarmedMetric, Bisection
from perf_culprit.model.run import MetricKey
from perf_culprit.search.odds import ODDS_20
from perf_culprit.search.other_metrics import Block, StepPlace, excludes_step, place_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """The culprits at which a metric steps. `is_open`: not measured well enough. `is_left`: it steps elsewhere."""

    commits: frozenset[str] = frozenset()
    is_open: bool = False
    is_left: bool = False


def places_of(bisection: Bisection) -> dict[MetricKey, Steps]:
    """Find the steps of all metrics of the alarm except the followed one."""
    alarm, outcome = bisection.alarm, bisection.search.outcome
    if alarm is None or outcome is None:
        return {}
    culprits = [culprit.commit for culprit in outcome.culprits if not culprit.improvement]
    signs = {entry.key: entry.metric.direction.worse_sign for entry in alarm.metrics}
    numbers = {key: number for number, key in enumerate(alarm.followed)}
    places_by_key: dict[MetricKey, Steps] = {}
    for entry in alarm.metrics[1:]:
        blocks = [] if entry.key not in numbers else _blocks(bisection, numbers[entry.key])
        commit_range = bisection.search.commit_range
        if outcome.kind is OutcomeKind.NOT_REPRODUCED:
            # The lead's change was not seen again, so a change of this metric is a different one. With many metrics and
            # commits, chance alone makes some look changed.
            chances = len(alarm.metrics) * len(commit_range.commits)
            step_place = place_of(
                commit_range, blocks, commit_range.bad, worse_sign=signs[entry.key], convincing=ODDS_20 + log(chances)
            )
            places_by_key[entry.key] = Steps(is_open=True, is_left=step_place in (StepPlace.HERE, StepPlace.ELSEWHERE))
            continue
        places = {commit: place_of(commit_range, blocks, commit, worse_sign=signs[entry.key]) for commit in culprits}
        here = frozenset(commit for commit, place in places.items() if place is StepPlace.HERE)
        places_by_key[entry.key] = Steps(
            commits=here,
            is_open=not places or StepPlace.UNKNOWN in places.values(),
            is_left=bool(places) and not here and StepPlace.ELSEWHERE in places.values(),
        )
    return places_by_key


def is_real(outcome: Outcome) -> bool:
    """Return whether the change was seen again. Its commit may still be unknown."""
    named = any(not culprit.improvement for culprit in outcome.culprits)
    has_suspects = (
        outcome.kind in (OutcomeKind.SUSPECT_SET, OutcomeKind.DECAY, OutcomeKind.BUDGET_SPENT) and outcome.suspects
    )
    return named or bool(has_suspects) or bool(outcome.decay) or outcome.needed is not None


def left_of(bisection: Bisection) -> frozenset[MetricKey]:
    """Return the alarm's metrics that step elsewhere: they need a search of their own."""
    return frozenset(key for key, steps in places_of(bisection).items() if steps.is_left)


def refutes(bisection: Bisection, metric: AlarmedMetric) -> bool:
    """Return whether the search's executions of its ends, which also measured this metric, show no such step."""
    keys = () if bisection.alarm is None else bisection.alarm.followed
    if not bisection.is_done or metric.key not in keys:
        return False
    return excludes_step(
        bisection.search.commit_range,
        _blocks(bisection, keys.index(metric.key)),
        worse_sign=metric.metric.direction.worse_sign,
        expected=metric.size,
    )


def _blocks(bisection: Bisection, number: int) -> list[Block]:
    return [
        {commit: value for commit, values in commits.items() if (value := values[number]) is not None}
        for commits in bisection.followed.values()
    ]
