"""Effect of earlier alarms on a baseline: only a level that lasts is separated from the runs before it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from perf_culprit.arrays import Floats
from perf_culprit.model.finding import Baseline
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import Metric, MetricKey, Run
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.level_shift import NewLevels, new_levels


def settled(baseline: Baseline, target: Run) -> tuple[Baseline, tuple[Reason, ...]]:
    """Limit the runs' `regressions` to the metrics that they are no baseline for, and return the remarks on it.

    On the branch itself runs at a worse level are left out, so that the regression is reported until it is accepted. A
    target that branched off after the regression inherited that level, so only the runs since then judge it.
    """
    flagged = {key for run in baseline.runs for key in run.regressions}
    if not (keys := sorted(flagged & set(target.keys))):
        return _without_marks(baseline), ()
    runs = (*baseline.runs, target)
    values = _values(runs, keys)
    if baseline.is_branched:
        # Its own change is no evidence of what happened before it branched off.
        values[:, -1] = np.nan
    by_metric = {
        key: new_levels(
            values[index],
            flagged=np.array([key in run.regressions for run in baseline.runs] + [False]),
            confirmed=np.array([key in run.confirmed for run in baseline.runs] + [False]),
        )
        for index, key in enumerate(keys)
    }
    inherited = {
        key: levels.since for key, levels in by_metric.items() if baseline.is_branched and levels.since is not None
    }
    left_out = {
        key: np.arange(len(runs)) < inherited[key] if key in inherited else levels.lasting | levels.undone
        for key, levels in by_metric.items()
    }
    settled_runs = tuple(
        structs.replace(run, regressions=tuple(key for key, out in left_out.items() if out[index]))
        if run.regressions or any(out[index] for out in left_out.values())
        else run
        for index, run in enumerate(baseline.runs)
    )
    unsettled = frozenset(key for key, levels in by_metric.items() if levels.is_open)
    return replace(baseline, runs=settled_runs, unsettled=unsettled), _remarks(by_metric, inherited, baseline.runs)


def _without_marks(baseline: Baseline) -> Baseline:
    if not any(run.regressions for run in baseline.runs):
        return baseline
    return replace(baseline, runs=tuple(structs.replace(run, regressions=()) for run in baseline.runs))


def _values(runs: Sequence[Run], keys: Sequence[MetricKey]) -> Floats:
    """One number per metric and run (m, n); NaN where the run has none in the unit of the target, the newest."""
    values = np.full((len(keys), len(runs)), np.nan)
    rows = {key: row for row, key in enumerate(keys)}
    units: dict[MetricKey, str] = {}
    for column, run in reversed(list(enumerate(runs))):
        for key, metric, value in _medians(run, rows):
            if units.setdefault(key, metric.unit) == metric.unit:
                values[rows[key], column] = value
    return values


def _medians(run: Run, keys: Collection[MetricKey]) -> Iterator[tuple[MetricKey, Metric, float]]:
    for benchmark in run.benchmarks:
        if benchmark.key in keys:
            yield benchmark.key, benchmark.metric, benchmark.value
    for table in run.counters:
        for column, key in enumerate(table.keys):
            finite = table.values[:, column][np.isfinite(table.values[:, column])] if key in keys else np.empty(0)
            if len(finite):
                yield key, table.metrics[column], float(np.median(finite))


def _remarks(
    by_metric: Mapping[MetricKey, NewLevels], inherited: Mapping[MetricKey, int], runs: Sequence[Run]
) -> tuple[Reason, ...]:
    remarks = [
        because(
            Remark.INHERITED_LEVEL, benchmark=key.benchmark, metric=key.metric, commit=(runs[since].commit or "")[:7]
        )
        for key, since in list(inherited.items())[: WORK_LIMITS.inherited_levels]
    ]
    lasting = sum(bool(levels.lasting.any()) and key not in inherited for key, levels in by_metric.items())
    undone = sum(bool(levels.undone.any()) and key not in inherited for key, levels in by_metric.items())
    passed = sum(not (levels.lasting | levels.undone).any() for levels in by_metric.values())
    if lasting:
        remarks.append(because(Remark.LASTING_LEVEL, count=lasting))
    if undone:
        remarks.append(because(Remark.UNDONE_LEVEL, count=undone))
    if passed:
        remarks.append(because(Remark.PASSED_ALARM, count=passed))
    return tuple(remarks)
