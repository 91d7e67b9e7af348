"""What rounds of a paired measurement would show, by the noise of an earlier one: the plan of `measure`."""

import math
from bisect import bisect_left
from collections.abc import Iterable
from statistics import median
from typing import Final

import numpy as np

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.metric_pairs import MetricPair, pair_metrics
from perf_culprit.judge.paired_executions import Executions, executions_of, least_rounds
from perf_culprit.judge.unit_factors import depends_on_machine
from perf_culprit.judge.verdict import MOST_ROUNDS
from perf_culprit.model.accuracy import Foresight
from perf_culprit.model.finding import Baseline
from perf_culprit.model.run import Run
from perf_culprit.stats.power import noncentrality
from perf_culprit.stats.shared_shift import without_block_means
from perf_culprit.stats.variance_components import variance_components

# A mixed model of more takes seconds and says the same.
MOST_MODELLED: Final = 10
# More than this, a millionfold, is no number that tells anything.
LARGEST: Final = 1e6


def foresee(baseline: Baseline, target: Run, *, rounds: int, settings: PolicySettings) -> Foresight | None:
    """What so many `rounds` would show of metrics like these; None where the earlier ones tell nothing.

    Every metric is taken as the only one that changes. What the sides of a round have in common cancels; the error of
    the change is that of the executions' values around their round, taken as normal.
    """
    measured = [
        (pair, executions)
        for pair in pair_metrics(baseline, target).pairs
        if depends_on_machine(pair.metric.unit) and (executions := _repeated(pair)) is not None
    ]
    if not measured:
        return None
    alpha = settings.proven / len(measured)
    noises = [_noise(executions) for _, executions in measured]
    noisiest = int(np.argmax(noises))
    least = least_rounds(settings.proven)
    effect = settings.of(measured[noisiest][0].key).minimum_effect
    choices = range(least, MOST_ROUNDS + 1)
    needed = bisect_left(choices, True, key=lambda count: _shown(noises[noisiest], count, alpha=alpha) <= effect)
    step = max(1, len(measured) // MOST_MODELLED)
    between, within = _sources(executions for _, executions in measured[::step][:MOST_MODELLED])
    return Foresight(
        rounds=rounds,
        metrics=len(measured),
        typical=_shown(median(noises), rounds, alpha=alpha) if rounds >= least else None,
        largest=_shown(noises[noisiest], rounds, alpha=alpha) if rounds >= least else None,
        noisiest=measured[noisiest][0].key,
        least=least,
        effect=effect,
        needed=choices[needed] if needed < len(choices) else None,
        executions=between,
        samples=within,
        per_execution=round(median(len(one) for _, executions in measured for one in executions.samples)),
    )


def _repeated(pair: MetricPair) -> Executions | None:
    """The executions, where there are two rounds of positive values."""
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


def _shown(noise: float, rounds: int, *, alpha: float) -> float:
    """The change that is found with the power: each side has two executions a round."""
    return math.expm1(min(noncentrality(3.0 * rounds - 1, alpha=alpha) * noise / math.sqrt(rounds), math.log(LARGEST)))


def _sources(measured: Iterable[Executions]) -> tuple[float | None, float | None]:
    """Standard deviations of executions in a round and of samples in an execution, medians; None: not told apart."""
    fitted: list[tuple[float, float]] = []
    for executions in measured:
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
