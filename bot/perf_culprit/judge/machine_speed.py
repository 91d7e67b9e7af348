"""The ruler: a small fixed workload measured with every run, which shows how fast the machine was.

Its time is the load of METHODS 2.5. A line is fitted to the baseline's benchmarks against the ruler's time. All samples
are then scaled to the ruler's usual time, before any detector judges them.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from perf_culprit.arrays import Floats
from perf_culprit.judge.metric_pairs import scale_benchmark
from perf_culprit.judge.unit_factors import conversion_factor, is_per_time, milliseconds_per
from perf_culprit.model.finding import Baseline
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import Benchmark, Metric, MetricKey, Run
from perf_culprit.stats.load_scaling import FEWEST_LOADS, LEAST_SPEARMAN, fit_load, fit_quality, scaling_factors


def scale_by_ruler(baseline: Baseline, target: Run, ruler: MetricKey) -> tuple[Baseline, Run, Reason]:
    """Scale both sides to the ruler's median time, and remove the ruler, which is not the user's benchmark.

    Also return what was scaled and the quality of the fit, or the reason why nothing was.

    Times are multiplied by (slope * usual + intercept) / (slope * ruler + intercept), rates are divided by it, other
    values stay. Nothing is scaled if the fit is bad (Spearman below 0.5) or impossible. Baseline runs without the ruler
    cannot be scaled: they are left out, or kept if nothing is scaled.
    """
    unit = next((entry.metric.unit for entry in target.benchmarks if entry.key == ruler), "")
    levels_of_runs = [(run, level) for run in baseline.runs if (level := _level(run, ruler, unit)) is not None]
    plain = replace(baseline, runs=tuple(_without(run, ruler) for run in baseline.runs)), _without(target, ruler)
    if (of_target := _level(target, ruler, unit)) is None:
        return *plain, because(Remark.RULER_NOT_IN_TARGET)
    if len(levels_of_runs) < FEWEST_LOADS:
        return *plain, because(Remark.RULER_TOO_FEW_RUNS, count=len(levels_of_runs), minimum=FEWEST_LOADS)
    runs = [_without(run, ruler) for run, _ in levels_of_runs]
    if (common := _common_levels(runs)) is None:
        return *plain, because(Remark.RULER_WITHOUT_TIMES)
    levels = np.array([level for _, level in levels_of_runs])
    model = fit_load(levels, common)
    fit = fit_quality(levels, common, model=model)
    # A falling line predicts its own points too, but no machine is slow on the ruler and fast on the rest.
    if fit.spearman < LEAST_SPEARMAN or model.slope <= 0:
        spearman = float(fit.spearman * np.sign(model.slope))
        return *plain, because(Remark.RULER_NOT_FOLLOWED, spearman=spearman)
    factors = scaling_factors(np.append(levels, of_target), model=model, reference=float(np.median(levels))).tolist()
    if any(map(math.isnan, factors)):
        return *plain, because(Remark.RULER_NOT_STRAIGHT)
    scaled_runs = tuple(_scaled_run(run, factor) for run, factor in zip(runs, factors, strict=False))
    left_out = len(baseline.runs) - len(runs)
    scaled = because(
        Remark.SCALED_BY_RULER,
        ruler=ruler.benchmark,
        factor=factors[-1],
        spearman=fit.spearman,
        error=fit.mean_error,
        left_out=left_out or None,
    )
    return replace(baseline, runs=scaled_runs), _scaled_run(plain[1], factors[-1]), scaled


def _level(run: Run, ruler: MetricKey, unit: str) -> float | None:
    """The run's median time of the ruler, in `unit`; None if there is no usable one."""
    if (benchmark := next((entry for entry in run.benchmarks if entry.key == ruler), None)) is None:
        return None
    factor = conversion_factor(benchmark.metric.unit, unit)
    level = float(np.median(benchmark.samples)) if benchmark.samples else benchmark.value
    return level * factor if factor is not None and math.isfinite(level) and level > 0 else None


def _without(run: Run, ruler: MetricKey) -> Run:
    return structs.replace(run, benchmarks=tuple(entry for entry in run.benchmarks if entry.key != ruler))


def _common_levels(runs: Sequence[Run]) -> Floats | None:
    """Relative slowness of each run, shape (runs,), about 1: the median over the benchmarks that all runs measured."""
    tables = [
        {
            entry.key: (entry.value, entry.metric.unit)
            for entry in run.benchmarks
            if _exponent(entry.metric) and entry.value > 0 and math.isfinite(entry.value)
        }
        for run in runs
    ]
    shared = [key for key in tables[0] if all(key in table and table[key][1] == tables[0][key][1] for table in tables)]
    if not shared:
        return None
    exponents = {entry.key: _exponent(entry.metric) for entry in runs[0].benchmarks}
    logs = np.array([[exponents[key] * math.log(table[key][0]) for key in shared] for table in tables])
    return np.asarray(np.exp(np.median(logs - logs.mean(axis=0), axis=1)))


def _exponent(metric: Metric) -> int:
    """Exponent of the machine's slowness in the metric: 1 for times, -1 for rates, 0 for counts and sizes."""
    if milliseconds_per(metric.unit) is not None:
        return 1
    return -1 if is_per_time(metric.unit) else 0


def _scaled_run(run: Run, factor: float) -> Run:
    def brought(benchmark: Benchmark) -> Benchmark:
        exponent = _exponent(benchmark.metric)
        return scale_benchmark(benchmark, benchmark.metric, factor**exponent) if exponent else benchmark

    return structs.replace(run, benchmarks=tuple(brought(benchmark) for benchmark in run.benchmarks))
