"""Metrics that got worse together: which of them the culprits of one search explain, by its own executions."""

from dataclasses import dataclass, replace
from math import log

from bot.bisect.beside import CONVINCING, Block, Place, place_of
from bot.model.bisection import OutcomeKind
from bot.model.dispatch import Alarm, Bisection
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


def without_left(bisection: Bisection) -> Alarm | None:
    """The alarm without the metrics that step elsewhere: they are to be searched on their own."""
    if bisection.alarm is None:
        return None
    left = {key for key, steps in places_of(bisection).items() if steps.is_left}
    return replace(bisection.alarm, metrics=tuple(entry for entry in bisection.alarm.metrics if entry.key not in left))


def _blocks(bisection: Bisection, number: int) -> list[Block]:
    return [
        {commit: value for commit, values in commits.items() if (value := values[number]) is not None}
        for commits in bisection.followed.values()
    ]
