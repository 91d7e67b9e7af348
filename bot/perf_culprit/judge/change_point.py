"""Change points of the stored runs: an alarm if the newest runs are at a new level, never for a single odd run.

docs/detectors/change-point.md has the rule, its rates, and the number of runs it needs.
"""

from collections.abc import Sequence
from statistics import fmean, median
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.arrays import Floats
from perf_culprit.judge.detector import Assessed, Detector, DetectorOptions
from perf_culprit.judge.evidence_columns import relative, untested
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.run_values import run_values
from perf_culprit.model.finding import Evidence, Side
from perf_culprit.model.reason import Reason, Remark, Untested, because
from perf_culprit.model.run import short_hash
from perf_culprit.stats.steps import (
    ALARM_STRENGTH,
    BESIDE,
    FIRST_JUDGED,
    NEWEST,
    REFRACTORY,
    is_quiet,
    newest_strengths,
    online_alarms,
)

# Only alarms shortly before the target can suppress its own; twice the wait after an alarm is enough to see them.
LOOKED_BACK: Final = 2 * REFRACTORY


def _detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> Assessed:
    """Return one evidence per pair, in order. Only the series of one value per run counts, not the samples within."""
    evidence: dict[int, Evidence] = {}
    by_length: dict[int, dict[int, tuple[float, ...]]] = {}
    for index, pair in enumerate(pairs):
        values, obstacle = _values(pair)
        if obstacle is None:
            by_length.setdefault(len(values), {})[index] = values
        else:
            evidence[index] = untested(pair.key, pair.metric, obstacle)
    for length, of_pairs in by_length.items():
        series = np.array(list(of_pairs.values()))
        looked_at = range(max(length - LOOKED_BACK, FIRST_JUDGED + 1), length + 1)
        quiet = np.all([is_quiet(series[:, :end]) for end in looked_at], axis=0)
        strengths = np.minimum(newest_strengths(series), ALARM_STRENGTH)
        columns = zip(of_pairs, series, quiet.tolist(), strengths.tolist(), strict=True)
        for index, values_of_runs, has_none, strength in columns:
            pair = pairs[index]
            effect = options.settings.of(pair.key).minimum_effect
            evidence[index] = (
                _silent(pair, values_of_runs, strength)
                if has_none
                else _assess(pair, values_of_runs, strength, minimum_effect=effect)
            )
    return Assessed([evidence[index] for index in range(len(pairs))])


def _values(pair: MetricPair) -> tuple[tuple[float, ...], Reason | None]:
    """Return one value per run, the target's last, or the reason why there is no series to judge."""
    benchmarks = (*pair.baseline, pair.target)
    if pair.obstacle is not None:
        return (), pair.obstacle
    have, lacking = len(pair.baseline), FIRST_JUDGED - len(pair.baseline)
    if lacking > 0:
        return (), because(Untested.TOO_FEW_RUNS, minimum=FIRST_JUDGED, count=have, lacking=lacking)
    values = run_values(benchmarks)
    return (values, None) if values else ((), because(Untested.DIFFERENT_STATISTICS))


def _assess(pair: MetricPair, series: Floats, strength: float, *, minimum_effect: float) -> Evidence:
    """Judge a series that needs a closer look; `strength` is reported if there is no alarm."""
    target = len(series) - 1
    alarms = online_alarms(series, minimum_effect=minimum_effect, first_judged=target - LOOKED_BACK)
    newest = alarms[-1] if alarms else None
    if newest is None or target - newest.index > REFRACTORY:
        return _silent(pair, series, strength)
    since, commit = _place(pair, newest.change.index)
    if newest.index < target:
        alarm, alarm_commit = _place(pair, newest.index)
        reason = because(
            Untested.AFTER_ALARM,
            alarm=alarm,
            alarm_commit=alarm_commit,
            since=since,
            since_commit=commit,
            unjudged=REFRACTORY,
        )
        return untested(pair.key, pair.metric, reason)
    sides = series[newest.since : newest.change.index], series[newest.change.index :]
    return replace(
        _evidence(pair, *sides, strength=newest.change.strength),
        relative_change=newest.change.relative_change,
        details={"change_index": float(newest.change.index)},
        notes=(because(Remark.CHANGED_SINCE, ago=since, commit=commit),),
    )


def _silent(pair: MetricPair, series: Floats, strength: float) -> Evidence:
    """Return evidence without an alarm. `strength` is at most the limit: other conditions may have prevented it."""
    return _evidence(pair, series[:-NEWEST], series[-NEWEST:], strength=strength)


def _evidence(pair: MetricPair, earlier: Floats, later: Floats, *, strength: float) -> Evidence:
    before, after = _side(earlier[-BESIDE:]), _side(later)
    return Evidence.of(
        key=pair.key,
        metric=pair.metric,
        test="change_point",
        baseline=before,
        target=after,
        relative_change=0.0 if after.value == before.value else relative(after.value, before.value),
        score=strength,
        threshold=ALARM_STRENGTH,
    )


def _place(pair: MetricPair, index: int) -> tuple[int, str | None]:
    """Number of runs before the target, and the commit if it is known."""
    commit = pair.commits[index] if index < len(pair.commits) else None
    return len(pair.baseline) - index, short_hash(commit) if commit else None


def _side(values: Floats) -> Side:
    numbers = values.tolist()
    return Side(
        value=(middle := median(numbers)),
        statistic="median",
        mean=fmean(numbers),
        median=middle,
        standard_deviation=float(values.std(ddof=1)),
        count=len(numbers),
        runs=len(numbers),
    )


DETECTOR: Final = Detector(detect=_detect)
