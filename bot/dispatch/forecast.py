"""What a bisection would measure and cost, before anything is measured."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from bot.bisect.forecast import executions_for, forecast
from bot.config import Config
from bot.dispatch.facts import prior_of
from bot.dispatch.local import DEFAULT_EXECUTIONS, BisectPlan, candidates_of, settings_of, stored_in_range
from bot.model.count import quantity_of
from bot.model.run import NO_COST, Run
from bot.report.bisection_plan import StoredNoise, plan_text

LEAST_RUNS = 8
NORMAL_QUARTILE = 0.6745
STEPS = (0.05, 0.10, 0.15, 0.30)


def bisection_plan(repository: Path, plan: BisectPlan, *, config: Config) -> str:
    """What `bisect` would do, without doing it; with a history, what steps would cost at the noise that is stored."""
    candidates = candidates_of(repository, plan)
    count = quantity_of(plan.metric, benchmark=plan.benchmark, tool=plan.tool)
    settings = settings_of(replace(plan, commands=replace(plan.commands, count=count)))
    commit_range = candidates.commit_range
    expected = forecast(commit_range, settings)
    noise: list[StoredNoise] = []
    cost = NO_COST
    if plan.history is not None:
        runs = stored_in_range(repository, candidates, plan, config)
        cost = sum((run.cost for run in runs), NO_COST)
        for (benchmark, metric), values in _medians(runs, plan):
            spread = run_spread(values)
            if spread is not None:
                costs = [
                    (step, executions_for(commit_range, settings, d_prime=float(np.log1p(step)) / max(spread, 1e-6)))
                    for step in STEPS
                ]
                noise.append(
                    StoredNoise(
                        benchmark=benchmark, metric=metric, spread=spread, runs=len(values), executions=tuple(costs)
                    )
                )
    return plan_text(
        commit_range,
        subjects=candidates.subjects,
        prior=prior_of(repository, commit_range, plan.prior),
        executions=(expected.clear, expected.hidden),
        budget=plan.executions or DEFAULT_EXECUTIONS,
        noise=None if plan.history is None else tuple(noise),
        seconds=cost.seconds / cost.executions if cost.executions else None,
    )


def _medians(runs: Sequence[Run], plan: BisectPlan) -> list[tuple[tuple[str, str], list[float]]]:
    """The median of each benchmark's metric that was asked for, run by run."""
    values: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for entry in run.benchmarks:
            key = entry.key
            value = median(entry.samples) if entry.samples else entry.value
            if plan.benchmark in (None, key.benchmark) and plan.metric in (None, key.metric) and value > 0:
                values.setdefault((key.benchmark, key.metric), []).append(value)
    return sorted(values.items())


def run_spread(values: Sequence[float]) -> float | None:
    """Standard deviation of ln(value) from one stored run to the next; None below `LEAST_RUNS` runs.

    By the median of absolute differences of neighbours, so that steps between them hardly count. It holds what differs
    from machine to machine too, so a search on one machine usually costs less.
    """
    if len(values) < LEAST_RUNS:
        return None
    differences = np.abs(np.diff(np.log(values)))
    return float(np.median(differences) / NORMAL_QUARTILE / np.sqrt(2))
