"""Expected result of the rounds of a paired measurement, from the noise of an earlier one: the plan of `measure`."""

import math
from collections.abc import Iterable
from statistics import median

import numpy as np

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.metric_pairs import MetricPair, pair_metrics
from perf_culprit.judge.paired_executions import (
    Executions,
    executions_of,
    least_rounds,
    rounds_that_show,
    shown_by_rounds,
)
from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.model.accuracy import Foresight
from perf_culprit.model.finding import Baseline
from perf_culprit.model.run import Run
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.machine_shift import without_block_means
from perf_culprit.stats.variance_components import variance_components


def foresee(baseline: Baseline, target: Run, *, rounds: int, settings: PolicySettings) -> Foresight | None:
    """Predict what this number of `rounds` would show for such metrics; None if earlier rounds show nothing.

    Every metric is treated as the only one that changes. Common effects of the sides of a round cancel. The error of
    the change is that of the executions' values around their round, assumed normal.
    """
    with_executions = [
        (pair, executions)
        for pair in pair_metrics(baseline, target).pairs
        if depends_on_machine(pair.metric.unit) and (executions := _executions(pair)) is not None
    ]
    if not with_executions:
        return None
    alpha = settings.proven / len(with_executions)
    noises = [_noise(executions) for _, executions in with_executions]
    noisiest = int(np.argmax(noises))
    least = least_rounds(settings.proven)
    effect = settings.of(with_executions[noisiest][0].key).minimum_effect
    step = max(1, len(with_executions) // WORK_LIMITS.modelled_metrics)
    between, within = _sources(executions for _, executions in with_executions[::step][: WORK_LIMITS.modelled_metrics])
    return Foresight(
        rounds=rounds,
        metrics=len(with_executions),
        typical=shown_by_rounds(rounds, median(noises), alpha=alpha) if rounds >= least else None,
        largest=shown_by_rounds(rounds, noises[noisiest], alpha=alpha) if rounds >= least else None,
        noisiest=with_executions[noisiest][0].key,
        least=least,
        effect=effect,
        needed=rounds_that_show(effect, noises[noisiest], alpha=alpha, least=least),
        executions=between,
        samples=within,
        per_execution=round(median(len(one) for _, executions in with_executions for one in executions.samples)),
    )


def _executions(pair: MetricPair) -> Executions | None:
    """The executions, if there are two rounds of positive values."""
    executions = None if pair.obstacle is not None else executions_of(pair)
    if executions is None or len(set(executions.round)) < 2 or min(map(min, executions.samples)) <= 0:
        return None
    return executions


def _noise(executions: Executions) -> float:
    """Standard deviation of the logarithm of an execution's median around its round and side."""
    rounds = np.unique(executions.round, return_inverse=True)[1].astype(np.intp)
    present = np.ones((1, len(rounds)), dtype=np.bool_)
    values = without_block_means(np.log(executions.medians())[None], present, rounds)[0]
    side = without_block_means(np.array(executions.is_target, dtype=np.float64)[None], present, rounds)[0]
    rest = values - side * float(side @ values) / float(side @ side)
    freedom = len(values) - int(rounds.max()) - 2
    return math.sqrt(float(rest @ rest) / freedom) if freedom > 0 else math.inf


def _sources(all_executions: Iterable[Executions]) -> tuple[float | None, float | None]:
    """Median standard deviations of executions in a round and of samples in an execution; None if not separable."""
    fitted: list[tuple[float, float]] = []
    for executions in all_executions:
        sizes = [len(samples) for samples in executions.samples]
        number = np.repeat(np.arange(len(sizes)), sizes)
        components = variance_components(
            np.concatenate(executions.samples),
            run=np.array(executions.round)[number],
            process=number,
            target=np.array(executions.is_target, dtype=np.float64)[number],
        )
        if components is not None and components.processes is not None and max(sizes) > 1:
            fitted.append((components.processes, components.samples))
    if not fitted:
        return None, None
    between, within = np.median(fitted, axis=0).tolist()
    return between, within
