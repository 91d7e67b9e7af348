"""Why a search began by itself: metrics of the stored runs that got worse."""

from dataclasses import dataclass
from enum import StrEnum
from math import log

from bot.model.environment import EnvironmentChange
from bot.model.metric import Metric, MetricKey

MOST_FOLLOWED = 200
FOLLOWED_CHARACTERS = 20_000


class CheckAnswer(StrEnum):
    """Of a search that asks whether an issue's regression is over."""

    OVER = "over"
    STILL_THERE = "still_there"
    UNKNOWN = "unknown"


@dataclass(frozen=True, kw_only=True, slots=True)
class AlarmedMetric:
    """A metric that got worse by the stored runs: the levels before and after, in its unit."""

    key: MetricKey
    metric: Metric
    before: float
    after: float

    @property
    def size(self) -> float:
        """Of the step, in logarithms."""
        return abs(log(self.after / self.before))


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """Why a search began by itself: metrics that got worse at the same place, first the one that it follows.

    `changes`: what else differs between the runs at its two ends. `reported`: its answer is where it belongs, and
    `tracked`: an issue follows it.
    `beside`: metrics that did not get worse there. The same executions give their numbers, which answer later alarms.
    `left`: metrics that step elsewhere, to be searched on their own. `closes`: the commits that an issue is known by
    whose regression seems over; then the search measures only whether it is.
    """

    metrics: tuple[AlarmedMetric, ...]
    changes: tuple[EnvironmentChange, ...] = ()
    reported: bool = False
    tracked: bool = False
    beside: tuple[MetricKey, ...] = ()
    left: frozenset[MetricKey] = frozenset()
    closes: tuple[str, ...] = ()

    @property
    def keys(self) -> frozenset[MetricKey]:
        """What the search answers for."""
        return frozenset(entry.key for entry in self.metrics) - self.left

    @property
    def followed(self) -> tuple[MetricKey, ...]:
        """The further metrics whose numbers are asked for, as many as a dispatch has room for."""
        keys: list[MetricKey] = []
        room = FOLLOWED_CHARACTERS
        for key in (*(entry.key for entry in self.metrics[1:]), *self.beside)[:MOST_FOLLOWED]:
            room -= len(key.benchmark) + len(key.metric)
            if room < 0:
                break
            keys.append(key)
        return tuple(keys)
