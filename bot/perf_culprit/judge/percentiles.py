"""Percentiles of raw samples, which an entry of the configuration such as `metric: p99` makes metrics of their own.

A unit's percentile becomes its single number, so the engine judges it like any other, by how units vary.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from itertools import accumulate, pairwise
from typing import Final

from msgspec import structs

from perf_culprit.config.policy_settings import Matching, PolicySettings
from perf_culprit.model.finding import Baseline
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import PERCENTILE, Benchmark, Direction, MetricKey, Run
from perf_culprit.model.unit_sizes import SECONDS

FEWEST_SAMPLES: Final = 1_000
# Fewer samples above a percentile leave it to single outliers.
FEWEST_BEYOND: Final = 10


def with_percentiles(
    baseline: Baseline, target: Run, settings: PolicySettings
) -> tuple[Baseline, Run, tuple[Reason, ...]]:
    """Add the configured percentiles to all runs. Return also why some could not be computed."""
    entries = [
        one for one in (*settings.benchmarks, *settings.groups, *settings.budgets) if PERCENTILE.fullmatch(one.metric)
    ]
    if not entries:
        return baseline, target, ()
    lacking: dict[str, dict[str, int]] = {}
    for run in (*baseline.runs[-1:], target):
        for base, name in _with_percentiles(run, entries):
            if (count := min(map(len, _units(base)), default=0)) < _fewest(name):
                counts = lacking.setdefault(name, {})
                counts[base.name] = min(count, counts.get(base.name, count))
    *earlier, last = (_with(run, entries, lacking) for run in (*baseline.runs, target))
    notes = [
        because(
            Remark.TOO_FEW_FOR_PERCENTILE,
            percentile=name,
            benchmarks=tuple(counts),
            count=min(counts.values()),
            minimum=_fewest(name),
        )
        for name, counts in lacking.items()
    ]
    return replace(baseline, runs=tuple(earlier)), last, tuple(notes)


def _with_percentiles(run: Run, entries: Sequence[Matching]) -> Iterator[tuple[Benchmark, str]]:
    """Yield each benchmark's time with each percentile of it that is configured, unless the tool gives it."""
    there = {entry.key for entry in run.benchmarks}
    for base in _times(run.benchmarks).values():
        for name in dict.fromkeys(entry.metric for entry in entries if fnmatchcase(base.name, entry.match)):
            if MetricKey(base.name, name) not in there:
                yield base, name


def _with(run: Run, entries: Sequence[Matching], lacking: Mapping[str, Mapping[str, int]]) -> Run:
    """Add the percentiles. An older run whose samples were thinned out has none."""
    made = tuple(
        _percentile(base, name)
        for base, name in _with_percentiles(run, entries)
        if base.name not in lacking.get(name, {}) and min(map(len, _units(base)), default=0) >= _fewest(name)
    )
    return structs.replace(run, benchmarks=(*run.benchmarks, *made)) if made else run


def _times(benchmarks: Iterable[Benchmark]) -> Mapping[str, Benchmark]:
    """Return each benchmark's time: of several, the first with the most samples."""
    chosen: dict[str, Benchmark] = {}
    for one in benchmarks:
        is_time = one.unit in SECONDS and one.direction is Direction.LOWER_IS_BETTER
        if is_time and (one.name not in chosen or len(one.samples) > len(chosen[one.name].samples)):
            chosen[one.name] = one
    return chosen


def _percentile(base: Benchmark, name: str) -> Benchmark:
    import numpy as np

    units = list(_units(base))
    return structs.replace(
        base,
        metric_name=name,
        samples=tuple(float(np.quantile(unit, _share(name))) for unit in units),
        group_sizes=(1,) * len(units) if base.rounds else (),
        category=None,
    )


def _units(base: Benchmark) -> Iterator[tuple[float, ...]]:
    """Yield the samples of each execution, or of the whole run."""
    sizes = base.group_sizes if base.rounds else (len(base.samples),) * bool(base.samples)
    for start, end in pairwise(accumulate(sizes, initial=0)):
        yield base.samples[start:end]


def _share(name: str) -> float:
    return float(name[1:]) / 100


def _fewest(name: str) -> int:
    return max(FEWEST_SAMPLES, round(FEWEST_BEYOND / (1 - _share(name))))
