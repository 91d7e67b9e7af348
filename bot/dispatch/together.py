"""Metrics that got worse together: which of them the culprits of one search explain, by its own executions."""

from dataclasses import dataclass
from math import log

from bot.bisect.beside import CONVINCING, Block, Place, is_refuted, place_of
from bot.model.alarm import AlarmedMetric
from bot.model.bisection import Outcome, OutcomeKind
from bot.model.dispatch import Bisection
from bot.model.metric import MetricKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """The culprits at which a metric steps; `is_open` where no measurement says, `is_left` where it steps elsewhere."""

    commits: frozenset[str] = frozenset()
    is_open: bool = False
    is_left: bool = False


def places_of(bisection: Bisection) -> dict[MetricKey, Steps]:
    """Of all metrics of the alarm but the one that was followed."""
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
            # The lead's change was not seen again; one of this metric is another one.
            # Of many metrics and commits chance alone makes some look so.
            chances = len(alarm.metrics) * len(commit_range.commits)
            seen = place_of(
                commit_range,
                blocks,
                commit_range.bad,
                worse_sign=signs[entry.key],
                convincing=CONVINCING + log(chances),
            )
            places_by_key[entry.key] = Steps(is_open=True, is_left=seen in (Place.HERE, Place.ELSEWHERE))
            continue
        places = {commit: place_of(commit_range, blocks, commit, worse_sign=signs[entry.key]) for commit in culprits}
        here = frozenset(commit for commit, place in places.items() if place is Place.HERE)
        places_by_key[entry.key] = Steps(
            commits=here,
            is_open=not places or Place.UNKNOWN in places.values(),
            is_left=bool(places) and not here and Place.ELSEWHERE in places.values(),
        )
    return places_by_key


def is_real(outcome: Outcome) -> bool:
    """Whether the change was seen again, though its commit may stay unknown."""
    named = any(not culprit.improvement for culprit in outcome.culprits)
    seen = outcome.kind in (OutcomeKind.SUSPECT_SET, OutcomeKind.DECAY, OutcomeKind.BUDGET_SPENT) and outcome.suspects
    return named or bool(seen) or bool(outcome.decay) or outcome.needed is not None


def left_of(bisection: Bisection) -> frozenset[MetricKey]:
    """The metrics of the alarm that step elsewhere: they are to be searched on their own."""
    return frozenset(key for key, steps in places_of(bisection).items() if steps.is_left)


def refutes(bisection: Bisection, metric: AlarmedMetric) -> bool:
    """Whether the search's own executions of its ends show no such step of a metric that they gave as well."""
    keys = () if bisection.alarm is None else bisection.alarm.followed
    if not bisection.is_done or metric.key not in keys:
        return False
    return is_refuted(
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
