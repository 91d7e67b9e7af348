"""Where the series of panels stand: which changes were accepted or bisected, and what got worse since a release."""

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from perf_culprit.model.finding import Acceptance
from perf_culprit.model.series import (
    LATELY_RUNS,
    ChangePoint,
    Commit,
    NamedCulprit,
    Panel,
    PanelSeries,
    ShownChange,
    Standing,
)

# A change point is placed to within a few runs.
NEAR_RUNS: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Circumstances:
    """What is known in addition to the numbers. `line`: each commit's place, the newest at 0."""

    line: Mapping[str, int]
    accepted: Sequence[Acceptance] = ()
    culprits: Sequence[NamedCulprit] = ()


def shown_changes(panels: Sequence[Panel], around: Circumstances) -> Iterator[ShownChange]:
    for number, panel in enumerate(panels):
        for row, series in enumerate(panel.series):
            for change in series.changes:
                yield ShownChange(
                    panel=number,
                    series=row,
                    change=change,
                    accepted=_acceptance(change, series, panel, around),
                    culprit=_culprit(change, series, panel, around),
                )


def _first_run(panel: Panel, line: Mapping[str, int], commit: str) -> int | None:
    """The index of the first run that has the commit."""
    if commit not in line:
        return None
    index = bisect_left(panel.runs, -line[commit], key=lambda run: -line[run.commit])
    return index if index < len(panel.runs) else None


def _acceptance(change: ChangePoint, series: PanelSeries, panel: Panel, around: Circumstances) -> Acceptance | None:
    """What accepted the change: at its commit or later, and before the series' next change."""
    following = min((other.index for other in series.changes if other.index > change.index), default=len(panel.runs))
    for entry in around.accepted:
        if entry.suite == panel.suite and entry.covers(series.key):
            at = _first_run(panel, around.line, entry.commit)
            if at is not None and change.index - NEAR_RUNS <= at < following:
                return entry
    return None


def _culprit(change: ChangePoint, series: PanelSeries, panel: Panel, around: Circumstances) -> NamedCulprit | None:
    """The commit that a stored bisection of this series named nearest to the change."""
    near: list[tuple[int, int, NamedCulprit]] = []
    for entry in around.culprits:
        if (entry.suite, entry.key) == (panel.suite, series.key):
            at = _first_run(panel, around.line, entry.commit)
            if at is not None and abs(at - change.index) <= NEAR_RUNS:
                near.append((abs(at - change.index), len(near), entry))
    return min(near)[2] if near else None


def standing(
    panels: Sequence[Panel], changes: Sequence[ShownChange], commits: Sequence[Commit], line: Mapping[str, int]
) -> Standing:
    """Since the newest release before the newest run; changes that somebody accepted do not count."""
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
    judged = sum(bool(series.statistic) and not series.values_lacking for panel in panels for series in panel.series)
    return Standing(release=release.tag if release else None, judged=judged, worst=worst or None)
