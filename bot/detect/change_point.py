"""Change points of the stored runs: an alarm where the newest runs are a new level, never for one odd run.

docs/detectors/change-point.md has the rule, its rates, and how many runs it needs.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np

from bot.detect.detector import DetectorOptions
from bot.detect.estimate import is_measurable
from bot.detect.pairs import MetricPair
from bot.detect.run_values import run_values
from bot.model.finding import Evidence, Side
from bot.stats.change_point_evidence import SEPARATION_REACH
from bot.stats.change_point_online import (
    ALARM_STRENGTH,
    FIRST_JUDGED,
    NEWEST,
    REFRACTORY,
    gate_strength,
    online_alarms,
)
from bot.stats.change_point_online import Alarm as OnlineAlarm
from bot.stats.change_point_scan import on_level_scale
from bot.stats.ragged import Floats

ID: Final = "change_point"
DESCRIPTION: Final = "Change points: the newest runs are a new level of the stored series; odd single runs are ignored"
DOCS: Final = "detectors/change-point.md"

UNTESTED: Final = "none"
# Only the alarms of the runs just before the target can silence it; twice the wait after an alarm shows them.
LOOKED_BACK: Final = 2 * REFRACTORY
SHOWN_HASH: Final = 12


def detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> list[Evidence]:
    """One evidence per pair, in order. A series of values per run is all that counts, not the samples within one."""
    del options  # the gate's constants were chosen together on labelled series; none of them is the user's
    return [_assess(pair) for pair in pairs]


def _assess(pair: MetricPair) -> Evidence:
    benchmarks = (*pair.baseline, pair.target)
    values = run_values(benchmarks)
    if pair.obstacle is not None:
        return _untested(pair, pair.obstacle)
    if values is None:
        return _untested(pair, "the runs report different statistics, such as a mean and a median")
    if not all(map(is_measurable, benchmarks)):
        return _untested(pair, "the numbers are too large or too small to calculate with")
    if len(pair.baseline) < FIRST_JUDGED:
        have, lacking = len(pair.baseline), FIRST_JUDGED - len(pair.baseline)
        reason = f"change points need {FIRST_JUDGED} stored runs, and there are {have}; {lacking} more would do"
        return _untested(pair, reason)
    series = np.array(values)
    target = len(pair.baseline)
    alarms = online_alarms(series, first_judged=target - LOOKED_BACK)
    newest = alarms[-1] if alarms else None
    if newest is not None and 0 < target - newest.index <= REFRACTORY:
        ago, wait = target - newest.index, REFRACTORY + 1 - (target - newest.index)
        since = _run_name(pair, newest.change_index)
        reason = f"a change since {since} was seen {ago} runs ago; the next judged run comes in {wait}"
        return _untested(pair, reason)
    return _judged(pair, series, newest if newest is not None and newest.index == target else None)


def _judged(pair: MetricPair, series: Floats, alarm: OnlineAlarm | None) -> Evidence:
    first, split = (0, len(series) - NEWEST) if alarm is None else (alarm.baseline_index, alarm.change_index)
    before, after = _side(series[first:split][-SEPARATION_REACH:]), _side(series[split:])
    change = (after.median - before.median) / abs(before.median) if before.median else None
    if after.median == before.median:
        change = 0.0
    return Evidence(
        key=pair.key,
        metric=pair.metric,
        test=ID,
        baseline=before,
        target=after,
        relative_change=change if alarm is None else alarm.relative_change,
        score=_quiet_strength(series) if alarm is None else alarm.strength,
        threshold=ALARM_STRENGTH,
        details={} if alarm is None else {"change_index": float(alarm.change_index)},
        notes=() if alarm is None else (f"changed since {_run_name(pair, split)}",),
    )


def _quiet_strength(series: Floats) -> float:
    """Of the newest runs against those before: at most the limit, because other conditions may keep the gate silent."""
    values = on_level_scale(series[-SEPARATION_REACH - NEWEST :])
    return min(gate_strength(values[:-NEWEST], values[-NEWEST:]), ALARM_STRENGTH)


def _run_name(pair: MetricPair, index: int) -> str:
    """Such as `3 runs before the target (commit 0123456789ab)`."""
    ago = len(pair.baseline) - index
    commit = pair.commits[index] if index < len(pair.commits) else None
    named = f" (commit {commit[:SHOWN_HASH]})" if commit else ""
    return f"{ago} runs before the target{named}" if ago > 1 else f"the run before the target{named}"


def _side(values: Floats) -> Side:
    return Side(
        mean=float(values.mean()),
        median=float(np.median(values)),
        standard_deviation=float(values.std(ddof=1)),
        count=len(values),
        runs=len(values),
    )


def _untested(pair: MetricPair, reason: str) -> Evidence:
    return Evidence(key=pair.key, metric=pair.metric, test=UNTESTED, baseline=None, target=None, reason=reason)
