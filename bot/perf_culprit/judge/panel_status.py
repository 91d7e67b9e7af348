"""Status of the panels' series: accepted or bisected changes, and regressions since a release."""

import math
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import geometric_mean
from typing import Final

from perf_culprit.model.finding import Acceptance
from perf_culprit.model.run import MetricKey
from perf_culprit.model.series import (
    LATELY_RUNS,
    ChangePoint,
    Panel,
    PanelSeries,
    ReleaseStanding,
    SeriesCommit,
    SeriesCulprit,
    ShownChange,
)
from perf_culprit.stats.conventions import ALPHA

# A change point is located to within a few runs.
NEAR_RUNS: Final = 3
# The part of a culprit's change that stored runs must show: in the logarithm *(choice)*. Less may be fixed by now.
VISIBLE_PART: Final = 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """Context beyond the numbers. `line`: each commit's place, the newest at 0."""

    line: Mapping[str, int]
    accepted: Sequence[Acceptance] = ()
    culprits: Sequence[SeriesCulprit] = ()


def shown_changes(panels: Sequence[Panel], around: Circumstances) -> Iterator[ShownChange]:
    """Show each change; if several commits are possible, choose the one that a bisection or another change names."""
    for number, panel in enumerate(panels):
        culprits = _culprits(panel, around)
        bisected = {at: one.commit for places in culprits.values() for at, one in places.items()}
        changes = [
            (row, series, change, culprit, *_beginnings(change, series, panel))
            for row, series in enumerate(panel.series)
            for change, culprit in _with_culprits(series, panel, culprits.get(series.key, {}))
        ]
        sure = {
            first: panel.runs[first].commit for *_, culprit, first, last in changes if not culprit and first == last
        }
        named = {**sure, **bisected}
        for row, series, change, culprit, first, last in changes:
            fitting = [commit for at, commit in named.items() if first <= at <= last]
            is_open = culprit is None and len(fitting) != 1
            yield ShownChange(
                panel=number,
                series=row,
                change=change,
                since=culprit.commit if culprit else panel.runs[last].commit if is_open else fitting[0],
                after=panel.runs[first - 1].commit if is_open else None,
                accepted=_acceptance(change, series, panel, around),
                culprit=culprit,
            )


def _beginnings(change: ChangePoint, series: PanelSeries, panel: Panel) -> tuple[int, int]:
    """The first and the last run at which the new level can have begun.

    A level begins with a commit's first run. A burst near the change shifts it by up to the length of a burst.
    """
    runs, index = panel.runs, change.index
    starts = [i for i in range(1, len(runs)) if runs[i].commit != runs[i - 1].commit]
    if change.kind == "drift" or not starts:
        return index, index
    low = max((other.index for other in series.changes if other.index < index), default=0)
    high = min((other.index for other in series.changes if other.index > index), default=len(runs))
    middle, sign = (change.before + change.after) / 2, 1 if change.after > change.before else -1
    is_new = [None if value is None else (value - middle) * sign > 0 for value in series.values]
    first, last = index - _burst(is_new[index:high], like=False), index + _burst(is_new[low:index], like=True)
    within = [at for at in starts if first <= at <= last]
    # If it lies within a commit's runs, take one of their ends.
    return (
        (within[0], within[-1])
        if within
        else (
            max((at for at in starts if at < first), default=starts[0]),
            min((at for at in starts if at > last), default=starts[-1]),
        )
    )


def _burst(is_new: Sequence[bool | None], *, like: bool) -> int:
    """Length in runs of the longest stay at the other level; 0 if such stays are rare."""
    stays = [len(list(group)) for key, group in groupby(one for one in is_new if one is not None) if key is like]
    # If bursts start at a smaller share of the runs, they also rarely start at the change.
    return max(stays, default=0) if len(stays) > ALPHA * len(is_new) else 0


def _first_run(panel: Panel, line: Mapping[str, int], commit: str) -> int | None:
    """The index of the commit's first run; None if there is none."""
    if commit not in line:
        return None
    index = bisect_left(panel.runs, -line[commit], key=lambda run: -line[run.commit])
    return index if index < len(panel.runs) else None


def _acceptance(change: ChangePoint, series: PanelSeries, panel: Panel, around: Circumstances) -> Acceptance | None:
    """The acceptance of the change: at its commit or later, and before the series' next change."""
    following = min((other.index for other in series.changes if other.index > change.index), default=len(panel.runs))
    for entry in around.accepted:
        if entry.suite == panel.suite and entry.covers(series.key):
            at = _first_run(panel, around.line, entry.commit)
            if at is not None and change.index - NEAR_RUNS <= at < following:
                return entry
    return None


def _culprits(panel: Panel, around: Circumstances) -> dict[MetricKey, dict[int, SeriesCulprit]]:
    """The culprits that searches of the panel's series named, by metric and by the first run that has their commit."""
    culprits: dict[MetricKey, dict[int, SeriesCulprit]] = {}
    for one in around.culprits:
        if one.suite == panel.suite and (at := _first_run(panel, around.line, one.commit)) is not None:
            culprits.setdefault(one.key, {}).setdefault(at, one)
    return culprits


def _with_culprits(
    series: PanelSeries, panel: Panel, culprits: Mapping[int, SeriesCulprit]
) -> list[tuple[ChangePoint, SeriesCulprit | None]]:
    """Pair each change with the nearest culprit that a search of this series named; add those that noise hides."""
    pairs: list[tuple[ChangePoint, SeriesCulprit | None]] = []
    for change in series.changes:
        near = [at for at in culprits if abs(at - change.index) <= NEAR_RUNS]
        nearest = min(near, key=lambda at: abs(at - change.index), default=None)
        pairs.append((change, None if nearest is None else culprits[nearest]))
    for at, culprit in culprits.items():
        if all(abs(at - change.index) > NEAR_RUNS for change in series.changes):
            step = _hidden_step(at, culprit, series, panel)
            pairs += [] if step is None else [(step, culprit)]
    return sorted(pairs, key=lambda pair: pair[0].index)


def _hidden_step(at: int, culprit: SeriesCulprit, series: PanelSeries, panel: Panel) -> ChangePoint | None:
    """The step at a culprit, if the runs between the next changes show at least half of it, though not significantly.

    Its levels are geometric means, because medians jump between the modes of a machine.
    """
    start = max((one.index for one in series.changes if one.index < at), default=0)
    end = min((one.index for one in series.changes if one.index > at), default=len(series.values))
    sides = [[one for one in part if one and one > 0] for part in (series.values[start:at], series.values[at:end])]
    if not all(sides) or culprit.relative_change <= -1:
        return None
    before, after = map(geometric_mean, sides)
    expected = math.log1p(culprit.relative_change)
    if math.log(after / before) * math.copysign(1.0, expected) < VISIBLE_PART * abs(expected):
        return None
    return ChangePoint(
        index=at,
        label=panel.runs[at].commit,
        kind="step",
        before=before,
        after=after,
        relative_change=after / before - 1,
        p_value=1.0,
        q_value=1.0,
        strength=0.0,
    )


def standing(
    panels: Sequence[Panel], changes: Sequence[ShownChange], commits: Sequence[SeriesCommit], line: Mapping[str, int]
) -> ReleaseStanding:
    """Status since the newest release before the newest run; accepted changes do not count."""
    newest = min((line[panel.runs[-1].commit] for panel in panels if panel.runs), default=0)
    oldest = max((line[panel.runs[0].commit] for panel in panels if panel.runs), default=-1)
    tagged = [one for one in commits if one.tag and newest < line[one.hash] <= oldest]
    release = min(tagged, key=lambda one: line[one.hash], default=None)
    worst = 0.0
    for (panel, row), group in groupby(changes, key=lambda one: (one.panel, one.series)):
        factor, late = 1.0, len(panels[panel].runs) - LATELY_RUNS
        for one in group:
            recent = line[one.change.label] < line[release.hash] if release else one.change.index >= late
            if recent and one.accepted is None:
                factor *= 1.0 + (one.change.relative_change or 0.0)
        sign = panels[panel].series[row].metric.direction.worse_sign
        if (factor - 1.0) * sign > abs(worst):
            worst = factor - 1.0
    count = sum(bool(series.statistic) and not series.values_lacking for panel in panels for series in panel.series)
    return ReleaseStanding(release=release.tag if release else None, judged=count, worst=worst or None)
