"""Regressions of the default branch that nobody has searched yet: read from the stored runs, again at every event.

Nothing is remembered of an event, so none can be lost: the runs' own marks say what was judged a regression, and the
stored bisections what was searched.
"""

import hashlib
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from bot.model.dispatch import Alarm, AlarmedMetric, Bisection
from bot.model.metric import Metric, MetricKey
from bot.model.run import Run

AUTOMATIC: Final = "auto-"  # begins their ids
# As many metrics are the alarm of one search; further ones get one after it, which joins its issue.
MOST_METRICS: Final = 500
# Noise may hide the first slow run, so the search begins one run earlier.
MARGIN_RUNS: Final = 1
# After a search that looked at this level, a further step is one of the minimum effect that is so many standard
# deviations of the runs high: any series has a best split.
CLEAR: Final = 4.0
LEAST_NOISE: Final = 0.002

_Searched = tuple[frozenset[MetricKey], int, int]
# A metric's numbers, with the positions of their runs.
_Series = Sequence[tuple[int, Metric, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """Metrics that got worse after the run of `good` and by the one of `bad`; positions are of the runs."""

    id: str
    good: str
    bad: str
    first: int
    last: int
    alarm: Alarm


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stepped:
    entry: AlarmedMetric
    first: int
    last: int
    size: float
    distance: float


def new_steps(
    runs: Sequence[Run], searches: Iterable[Bisection], *, suite: str, window: int, minimum_effect: float
) -> tuple[Step, ...]:
    """What got worse and was not searched, oldest first; `runs` of one line, from oldest to newest.

    Only marks of the newest `window` runs count, and only while the newest run is still at the worse level.
    """
    positions = {run.commit: place for place, run in enumerate(runs) if run.commit}
    searched = [_searched(bisection, positions) for bisection in searches]
    marked: dict[MetricKey, int] = {}
    for place in range(max(1, len(runs) - window), len(runs)):
        for key in runs[place].regressions:
            marked[key] = place
    series = _series(runs, marked.keys())
    steps = (
        _unsearched(series[key], key, place, searched, window=window, least=math.log1p(minimum_effect))
        for key, place in marked.items()
    )
    fresh = [step for step in steps if step is not None]
    return tuple(_joined(runs, group, suite=suite) for group in _groups(fresh))


def _searched(bisection: Bisection, positions: Mapping[str, int]) -> _Searched:
    """What it followed, and between which runs. Of a line that was pushed away by force nothing was searched here."""
    keys = frozenset() if bisection.alarm is None else bisection.alarm.keys
    commit_range = bisection.search.commit_range
    return keys, positions.get(commit_range.good, -1), positions.get(commit_range.bad, -1)


def _unsearched(
    series: _Series, key: MetricKey, marked: int, searched: Sequence[_Searched], *, window: int, least: float
) -> _Stepped | None:
    """Its newest step that no search has looked at: one that lasts is marked at every run."""
    step = _stepped(series, key, marked, start=max(0, marked - window))
    for keys, first, last in sorted(searched, key=lambda search: search[2]):
        if step is not None and key in keys and first < step.last and step.first < last:
            step = _stepped(series, key, marked, start=last)
            if step is not None and (step.distance < CLEAR or step.size < least):
                return None
    return step


def _stepped(series: _Series, key: MetricKey, marked: int, *, start: int) -> _Stepped | None:
    """The best split of the runs around the mark; None where they have no number or the newest are well again."""
    series = [entry for entry in series if entry[0] >= start]
    before_mark = sum(place <= marked for place, _, _ in series)
    if before_mark < 2:
        return None
    metric = series[-1][1]
    logs = [math.log(value) * metric.direction.worse_sign for _, _, value in series]
    split = min(range(1, before_mark), key=lambda cut: _spread(logs[:cut]) + _spread(logs[cut:]))
    before, after = median(logs[:split]), median(logs[split:])
    if after <= before or logs[-1] - before < after - logs[-1]:
        return None
    noise = math.sqrt((_spread(logs[:split]) + _spread(logs[split:])) / len(logs))
    sign = metric.direction.worse_sign
    return _Stepped(
        entry=AlarmedMetric(key=key, metric=metric, before=math.exp(before * sign), after=math.exp(after * sign)),
        first=series[max(0, split - 1 - MARGIN_RUNS)][0],
        last=max(marked, series[split][0]),
        size=after - before,
        distance=(after - before) / max(noise, LEAST_NOISE),
    )


def _series(runs: Sequence[Run], keys: Collection[MetricKey]) -> Mapping[MetricKey, _Series]:
    """By metric, in one pass over the runs."""
    series: dict[MetricKey, list[tuple[int, Metric, float]]] = {key: [] for key in keys}
    for place, run in enumerate(runs):
        for entry in run.benchmarks:
            if entry.key not in series or not entry.metric.direction.worse_sign:
                continue
            value = median(entry.samples) if entry.samples else entry.value
            if value > 0:
                series[entry.key].append((place, entry.metric, value))
    return series


def _spread(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)


def _groups(steps: Sequence[_Stepped]) -> Iterator[list[_Stepped]]:
    """Steps whose places overlap may be one cause."""
    group: list[_Stepped] = []
    end = 0
    for step in sorted(steps, key=lambda step: (step.first, step.last)):
        if group and step.first >= end:
            yield group
            group = []
        group.append(step)
        end = max(end, step.last)
    if group:
        yield group


def _joined(runs: Sequence[Run], group: Sequence[_Stepped], *, suite: str) -> Step:
    first, last = min(step.first for step in group), max(step.last for step in group)
    ordered = sorted(group, key=lambda step: (-step.distance, step.entry.key))
    good, bad = runs[first], runs[last]
    lead = ordered[0].entry.key
    digest = hashlib.sha256(
        "\0".join((suite, str(bad.commit), lead.benchmark, lead.metric)).encode(errors="surrogateescape")
    ).hexdigest()
    when = f"{bad.time:%Y%m%dT%H%M%S}" if bad.time else "0"
    return Step(
        # The stored bisections that are kept are the last ones by name.
        id=f"{AUTOMATIC}{when}-{digest[:12]}",
        good=str(good.commit),
        bad=str(bad.commit),
        first=first,
        last=last,
        alarm=Alarm(
            metrics=tuple(step.entry for step in ordered[:MOST_METRICS]),
            changes=good.environment.changes_to(bad.environment),
        ),
    )
