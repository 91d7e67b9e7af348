"""Regressions of the default branch that no search covers yet, grouped by cause, and drifts too slow for one run.

Every event reads them again: stored runs mark what was judged a regression, stored bisections what was searched. No
state depends on an event, so none can be lost.
"""

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from perf_culprit.arrays import Floats
from perf_culprit.dispatch.alarms_of_one_search import refutes
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import OutcomeKind
from perf_culprit.model.dispatch import Alarm, AlarmedMetric, Bisection
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.run import Metric, MetricKey, Run
from perf_culprit.search.search_view import FAILURES_TO_STOP
from perf_culprit.stats.steps import BESIDE, FIRST_JUDGED, NEWEST, first_changed, online_alarms
from perf_culprit.stats.suite_prior import RESOLUTION

AUTOMATIC: Final = "auto-"  # prefix of their ids
# Noise may hide the first slow run, so the search begins one run earlier.
MARGIN_RUNS: Final = 1
GATE_MARGIN_RUNS: Final = 2
# After a search of this level, a further step must have at least this many standard deviations, because any series has
# a best split.
CLEAR_ERRORS: Final = 4.0
# A single slow run may be machine noise. So a second run at that level must confirm it, or a second measurement of the
# first. Together they must be this many standard errors from the runs before.
LEAST_WORSE: Final = 2
# Metrics that may step with it. The search executes the suite anyway, so their numbers cost nothing, and they decide.
POSSIBLE: Final = 1.5
# A step that many runs show may follow one search without a culprit, but not two.
ENOUGH_LOOKS: Final = FAILURES_TO_STOP
# Runs where the level moves by less than this share of the minimum effect need no closer look.
ROUGHLY: Final = 0.75
# Numbers of runs whose means are judged.
GROUPS: Final = (1, 2, 4)
# A metric's numbers, with the positions of their runs.
_Series = Sequence[tuple[int, Metric, float]]


def gated_steps(
    values: Sequence[float], *, worse_sign: int, window: int, minimum_effect: float
) -> tuple[tuple[int, int], ...]:
    """Find steps, oldest first: the first run at the worse level, and which of the newest `window` runs shows it.

    `values`: one positive number per run, oldest first. `worse_sign`: 1 if more is worse, -1 if less is. Means of two
    and of four consecutive runs show steps in noise that single runs do not. False alarms and delays are measured in
    docs/detectors/change-point.md and docs/evidence/tracking-issues.md.
    """
    series = np.asarray(values, dtype=np.float64)
    steps = set()
    for size in GROUPS:
        skipped = len(series) % size
        means = series[skipped:].reshape(-1, size).mean(axis=1)
        gated = _drifts(means, worse_sign=worse_sign, window=max(window // size, 1), minimum_effect=minimum_effect)
        # The step may lie anywhere in its group, or in the group before.
        steps |= {
            (max(skipped + size * since - size + 1, 1), skipped + size * raised + size - 1) for since, raised in gated
        }
    return tuple(sorted(steps))


def _drifts(series: Floats, *, worse_sign: int, window: int, minimum_effect: float) -> tuple[tuple[int, int], ...]:
    if len(series) <= FIRST_JUDGED:
        return ()
    reach = min(BESIDE, len(series) - NEWEST)
    logs = np.log(series[-window - NEWEST - reach :]) * worse_sign
    newest = np.median(sliding_window_view(logs[reach:], NEWEST), axis=1)
    older = np.median(sliding_window_view(logs[:-NEWEST], reach), axis=1)
    moved = (
        np.flatnonzero(reaches(newest - older, ROUGHLY * np.log1p(minimum_effect), upwards=True))
        + len(series)
        - len(newest)
    )
    if not len(moved):
        return ()
    alarms = online_alarms(series[: moved[-1] + 1], minimum_effect=minimum_effect, first_judged=int(moved[0]))
    return tuple(
        (alarm.change.index, alarm.index) for alarm in alarms if (alarm.change.relative_change or 0.0) * worse_sign > 0
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """Metrics that got worse after the run of `good`, and at the latest by the run of `bad`."""

    id: str
    good: str
    bad: str
    alarm: Alarm


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    """Count only steps that one of the newest `window` runs shows and that reach the minimum effect."""

    window: int
    minimum_effect: float

    @property
    def least(self) -> float:
        """The minimum effect as a logarithm."""
        return math.log1p(self.minimum_effect)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Marked:
    """A metric that was judged worse, last by the run at `place`."""

    key: MetricKey
    place: int
    is_confirmed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stepped:
    entry: AlarmedMetric
    first: int
    since: int
    last: int
    distance: float


@dataclass(frozen=True, slots=True)
class _Searched:
    """A search and its end runs' positions. A position is -1 if a forced push removed the commit from the line."""

    bisection: Bisection
    first: int
    last: int

    def answers(self, step: _Stepped) -> bool:
        """Return whether it searched for this metric near here, or its executions around the step show no step."""
        return self.looks(step) > 0

    def looks(self, step: _Stepped) -> int:
        """Return how many looks at the step it counts for: one if it followed another metric and reproduced nothing.

        If more than the code changed, each metric's own search must decide.
        """
        alarm = self.bisection.alarm
        if alarm is None:
            return 0
        is_inside = self.first < step.since <= self.last and not alarm.changes
        if is_inside and refutes(self.bisection, step.entry):
            return ENOUGH_LOOKS
        if alarm.closes or step.entry.key not in alarm.keys or self.last <= step.first or step.last <= self.first:
            return 0
        outcome = self.bisection.search.outcome
        is_undecided = outcome is not None and outcome.kind is OutcomeKind.NOT_REPRODUCED
        return 1 if is_undecided and step.entry.key != alarm.metrics[0].key else ENOUGH_LOOKS


def new_steps(
    runs: Sequence[Run], searches: Iterable[Bisection], *, suite: str, window: int, minimum_effect: float
) -> tuple[Step, ...]:
    """Find what got worse and was not searched, oldest first. `runs` are on one line, from oldest to newest.

    The newest `window` runs count by their own verdicts and by what many of them show together. The newest run must
    still be at the worse level.
    """
    positions = {run.commit: place for place, run in enumerate(runs) if run.commit}
    ends = ((bisection, bisection.search.commit_range) for bisection in searches)
    searched = [_Searched(one, positions.get(at.good, -1), positions.get(at.bad, -1)) for one, at in ends]
    marks: dict[MetricKey, _Marked] = {}
    for place in range(max(1, len(runs) - window), len(runs)):
        for key in runs[place].regressions:
            is_confirmed = key in runs[place].confirmed or (key in marks and marks[key].is_confirmed)
            marks[key] = _Marked(key=key, place=place, is_confirmed=is_confirmed)
    rule = _Rule(window=window, minimum_effect=minimum_effect)
    by_metric = series_by_metric(runs)
    fresh: dict[MetricKey, _Stepped] = {}
    for key, series in by_metric.items():
        step = _gated_step(series, key, searched, rule)
        if step is None and key in marks:
            step = _unsearched_step(series, marks[key], searched, rule)
        if step is not None:
            fresh[key] = step
    others = {key: series for key, series in by_metric.items() if key not in fresh}
    return tuple(
        _join(runs, [*group, *_companions(group, others, searched, rule)], suite=suite, every=by_metric)
        for group in _groups(fresh.values())
    )


def _gated_step(series: _Series, key: MetricKey, searched: Sequence[_Searched], rule: _Rule) -> _Stepped | None:
    """Find the newest step that many runs together show and no search has looked at."""
    steps = gated_steps(
        [value for _, _, value in series],
        worse_sign=series[-1][1].direction.worse_sign,
        window=rule.window,
        minimum_effect=rule.minimum_effect,
    )
    for since, raised in reversed(steps):
        near = series[max(0, since - rule.window) :]
        split = min(since, rule.window)
        step = _step(near, key, split, rule, last=series[raised][0], margin=GATE_MARGIN_RUNS) if split else None
        if step is not None and sum(search.looks(step) for search in searched) < ENOUGH_LOOKS:
            return step
    return None


def _companions(
    group: Sequence[_Stepped], others: Mapping[MetricKey, _Series], searched: Sequence[_Searched], rule: _Rule
) -> Iterator[_Stepped]:
    """Yield metrics that seem to step with the group's clearest one. Its search also measures them, and decides."""
    lead = max(group, key=lambda step: step.distance)
    for key, series in others.items():
        since = sum(place < lead.since for place, _, _ in series)
        near = series[max(0, since - rule.window) :]
        split = min(since, rule.window)
        if not 0 < split < len(near):
            continue
        step = _step(near, key, split, rule, last=lead.last, margin=0)
        if step is None or _errors(step, near, split) < POSSIBLE:
            continue
        if not any(search.answers(step) for search in searched):
            yield step


def _errors(step: _Stepped, series: _Series, split: int) -> float:
    """Return the step's size in standard errors."""
    return step.distance * math.sqrt((len(series) - split) * split / len(series))


def _unsearched_step(series: _Series, marked: _Marked, searched: Sequence[_Searched], rule: _Rule) -> _Stepped | None:
    """Find the metric's newest step that no search has looked at. A lasting step is marked at every run."""
    step = _marked_step(series, marked, rule, start=max(0, marked.place - rule.window))
    for search in sorted(searched, key=lambda search: search.last):
        if step is not None and search.answers(step):
            step = _marked_step(series, marked, rule, start=search.last)
            if step is not None and step.distance < CLEAR_ERRORS:
                return None
    return step


def _marked_step(series: _Series, marked: _Marked, rule: _Rule, *, start: int) -> _Stepped | None:
    """Find the best split of the runs around the mark."""
    series = [entry for entry in series if entry[0] >= start]
    before_mark = sum(place <= marked.place for place, _, _ in series)
    if before_mark < 2:
        return None
    logs = [math.log(value) for _, _, value in series]
    around = range(1, before_mark)
    split = first_changed(np.array(logs), low=0, high=len(logs), around=around, fewest_beside=1) or 1
    step = _step(series, marked.key, split, rule, last=max(marked.place, series[split][0]), margin=MARGIN_RUNS)
    if step is None or marked.is_confirmed:
        return step
    is_clear = len(series) - split >= LEAST_WORSE and _errors(step, series, split) >= CLEAR_ERRORS
    return step if is_clear else None


def _step(series: _Series, key: MetricKey, split: int, rule: _Rule, *, last: int, margin: int) -> _Stepped | None:
    """Return the step at run `split` of the series. None if it is too small, or if the newest run has recovered."""
    metric = series[-1][1]
    sign = metric.direction.worse_sign
    logs = [math.log(value) * sign for _, _, value in series]
    before, after = median(logs[:split]), median(logs[split:])
    if after - before < max(rule.least, RESOLUTION) or logs[-1] - before < after - logs[-1]:
        return None
    noise = math.sqrt((_spread(logs[:split]) + _spread(logs[split:])) / len(logs))
    return _Stepped(
        entry=AlarmedMetric(key=key, metric=metric, before=math.exp(before * sign), after=math.exp(after * sign)),
        first=series[max(0, split - 1 - margin)][0],
        since=series[split][0],
        last=last,
        distance=(after - before) / max(noise, RESOLUTION),
    )


def series_by_metric(runs: Sequence[Run]) -> Mapping[MetricKey, _Series]:
    """Collect each metric's series in one pass over the runs."""
    series: dict[tuple[str, str], list[tuple[int, Metric, float]]] = {}
    for place, run in enumerate(runs):
        for entry in run.benchmarks:
            if not entry.metric.direction.worse_sign:
                continue
            value = median(entry.samples) if entry.samples else entry.value
            if value > 0:
                series.setdefault((entry.name, entry.metric.name), []).append((place, entry.metric, value))
    return {MetricKey(*names): entries for names, entries in series.items()}


def _spread(values: Sequence[float]) -> float:
    mean = sum(values) / len(values)
    return sum((value - mean) ** 2 for value in values)


def _groups(steps: Iterable[_Stepped]) -> Iterator[list[_Stepped]]:
    """Group steps with overlapping places: they may have one cause."""
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


def step_id(bad: Run, *names: str) -> str:
    """Make an id that begins with the time: only the last bisections by name are kept."""
    digest = hashlib.sha256("\0".join(names).encode(errors="surrogateescape")).hexdigest()
    when = f"{bad.time:%Y%m%dT%H%M%S}" if bad.time else "0"
    return f"{AUTOMATIC}{when}-{digest[:12]}"


def _join(runs: Sequence[Run], group: Sequence[_Stepped], *, suite: str, every: Iterable[MetricKey]) -> Step:
    first, last = min(step.first for step in group), max(step.last for step in group)
    ordered = sorted(group, key=lambda step: (-step.distance, step.entry.key))
    good, bad = runs[first], runs[last]
    keys = [step.entry.key for step in ordered]
    lead = keys[0]
    return Step(
        id=step_id(bad, suite, str(bad.commit), lead.benchmark, lead.metric),
        good=str(good.commit),
        bad=str(bad.commit),
        alarm=Alarm(
            metrics=tuple(step.entry for step in ordered[: ARTIFACT_LIMITS.alarm_metrics]),
            changes=good.environment.changes_to(bad.environment),
            beside=tuple(sorted(set(every) - set(keys)))[: ARTIFACT_LIMITS.followed_metrics],
        ),
    )
