"""Where noise comes from: how much runs differ, processes of a run, and samples of a process, by a mixed model."""

import warnings
from dataclasses import dataclass

import numpy as np

from perf_culprit.stats.ragged import Floats, Integers

# Of logarithms: less is the rounding of a clock, no noise.
LEAST_DEVIATION = 1e-6


@dataclass(frozen=True, kw_only=True, slots=True)
class VarianceComponents:
    """Standard deviations, as fractions of the level; `processes` is None where no run has several."""

    runs: float
    processes: float | None
    samples: float


def variance_components(
    values: Floats, *, run: Integers, process: Integers, target: Floats | None = None
) -> VarianceComponents | None:
    """Of positive `values` (n,) with the run and the process of each, numbered; None where nothing can be fitted.

    A linear mixed model of the logarithms with random intercepts, by restricted maximum likelihood (statsmodels'
    MixedLM). Needs two runs and a run with two samples. Balanced data give the classical estimates of nested ANOVA.
    `target` (n,), 1 for the samples of one side and 0 for the other's: how far the sides differ is no noise.
    """
    if len(np.unique(run)) < 2 or len(np.unique(run)) == len(values) or values.min() <= 0:
        return None
    logarithms = np.log(values)
    deviation = float(logarithms.std())
    if deviation < LEAST_DEVIATION:
        return None
    nested = len(np.unique(np.stack([run, process]), axis=1).T) > len(np.unique(run))
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    ones = np.ones((len(values), 1))
    fixed = ones if target is None else np.column_stack([ones, target])
    spec = VCSpec(["process"], *_processes(run, process)) if nested else None
    # The optimiser works at a scale of one. It warns at the edge, where a component is zero: that is an answer.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = MixedLM((logarithms - logarithms.mean()) / deviation, fixed, run, exog_re=ones, exog_vc=spec)
            fitted = model.fit(reml=True)
        except (np.linalg.LinAlgError, ValueError):
            return None
    parts = [float(fitted.cov_re[0, 0]), *(float(part) for part in fitted.vcomp), float(fitted.scale)]
    runs, *processes, samples = (deviation * float(np.sqrt(max(part, 0.0))) for part in parts)
    return VarianceComponents(runs=runs, processes=processes[0] if processes else None, samples=samples)


def _processes(run: Integers, process: Integers) -> tuple[list[list[list[str]]], list[list[Floats]]]:
    """For statsmodels: the names and the indicator matrices of each run's processes, runs in ascending order."""
    names, matrices = [], []
    for number in np.unique(run):
        own = process[run == number]
        kinds = np.unique(own)
        names.append([f"process {kind}" for kind in kinds])
        matrices.append((own[:, None] == kinds).astype(np.float64))
    return [names], [matrices]
