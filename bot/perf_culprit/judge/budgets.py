"""Absolute limits that the configuration sets, such as the size of a package: whether the target keeps each."""

import math
from itertools import accumulate, pairwise
from statistics import median

from perf_culprit.config.policy_settings import BudgetConfig, PolicySettings
from perf_culprit.errors import ConfigError
from perf_culprit.judge.estimate import estimate
from perf_culprit.judge.statistic import MEDIAN
from perf_culprit.judge.unit_factors import converted
from perf_culprit.model.report import BudgetCheck, BudgetState
from perf_culprit.model.run import Benchmark, Run
from perf_culprit.model.work_limits import WORK_LIMITS


def checked_budgets(target: Run, settings: PolicySettings) -> tuple[BudgetCheck, ...]:
    """Return one check per metric that has a budget, exceeded ones first."""
    checks = []
    for benchmark in target.benchmarks if settings.budgets else ():
        budget = next((entry for entry in settings.budgets if entry.matches(benchmark.key)), None)
        if budget is not None and not settings.of(benchmark.key).ignore:
            checks.append(_check(benchmark, budget, settings))
    checks.sort(key=lambda check: list(BudgetState).index(check.state))
    return tuple(checks[: WORK_LIMITS.budget_checks])


def _check(benchmark: Benchmark, budget: BudgetConfig, settings: PolicySettings) -> BudgetCheck:
    key, unit = benchmark.key, benchmark.unit
    sign = (settings.of(key).direction or benchmark.direction).worse_sign
    limit = converted(*budget.amount, unit)
    if limit is None or not sign:
        wrong = f"{budget.limit} is no limit in {unit!r}" if sign else "no direction is better"
        wanted = (
            f"write the limit {f'in {unit}' if unit else 'without a unit'}"
            if sign
            else "set `direction` of these benchmarks under `benchmarks`"
        )
        raise ConfigError(f"{key.full_name[:100]}: {wrong}", place=f"budgets, {budget.match}", next_step=wanted)
    value, low, high = _ends(benchmark)
    least, most = sorted((sign * low, sign * high))
    state = BudgetState.WITHIN if most <= sign * limit else BudgetState.UNSURE
    return BudgetCheck(
        benchmark=key.benchmark,
        metric=key.metric,
        unit=unit,
        value=value,
        low=low,
        high=high,
        limit=limit,
        because=budget.because,
        state=BudgetState.OVER if least > sign * limit else state,
    )


def _ends(benchmark: Benchmark) -> tuple[float, float, float]:
    """The value with its lower and upper bound: Olive's 95% interval of the units' median, or all units if few.

    A unit is a process or an execution; without them, a sample. A single number has no margin.
    """
    if benchmark.summary is not None:
        stated = estimate(benchmark, MEDIAN)
        margin = 2 * (stated.error or 0.0)
        return stated.value, stated.value - margin, stated.value + margin
    sizes = benchmark.group_sizes if len(benchmark.group_sizes) > 1 else (1,) * len(benchmark.samples)
    units = sorted(median(benchmark.samples[start:end]) for start, end in pairwise(accumulate(sizes, initial=0)))
    outside = max(len(units) // 2 - math.ceil(math.sqrt(len(units) / 4)), 0)
    return median(units), units[outside], units[-1 - outside]
