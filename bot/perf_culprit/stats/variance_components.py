"""Sources of noise: how much runs, processes of a run, and samples of a process differ, by a mixed model."""

import warnings
from dataclasses import dataclass

import numpy as np

from perf_culprit.arrays import Floats, Integers
from perf_culprit.stats.conventions import NO_NOISE


@dataclass(frozen=True, kw_only=True, slots=True)
class VarianceComponents:
    """Standard deviations, as fractions of the level.

    `processes` is None if no run has several, or if each has one sample, which then differs like its process.
    """

    runs: float
    processes: float | None
    samples: float


def variance_components(
    values: Floats, *, run: Integers, process: Integers, target: Floats | None = None
) -> VarianceComponents | None:
    """Fit positive `values` (n,) with the number of the run and process of each; None if nothing can be fitted.

    A linear mixed model of the logarithms with random intercepts, by restricted maximum likelihood (statsmodels'
    MixedLM). Needs two runs and a run with two samples. Balanced data give the classical estimates of nested ANOVA.
    `target` (n,) is 1 for samples of one side, 0 for the other: the sides' difference is not noise.
    """
    if len(np.unique(run)) < 2 or len(np.unique(run)) == len(values) or values.min() <= 0:
        return None
    logarithms = np.log(values)
    deviation = float(logarithms.std())
    if deviation < NO_NOISE:
        return None
    nested = len(np.unique(run)) < len(np.unique(np.stack([run, process]), axis=1).T) < len(values)
    from statsmodels.regression.mixed_linear_model import MixedLM, VCSpec

    ones = np.ones((len(values), 1))
    fixed = ones if target is None else np.column_stack([ones, target])
    spec = VCSpec(["process"], *_processes(run, process)) if nested else None
    # The optimiser works at a scale of one. It warns at the boundary, where a component is zero: a valid result. Those
    # by gradients stop far from the optimum where runs differ much more than processes.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            model = MixedLM((logarithms - logarithms.mean()) / deviation, fixed, run, exog_re=ones, exog_vc=spec)
            fitted = model.fit(reml=True, method="nm")
        except (np.linalg.LinAlgError, ValueError):
            return None
    parts = [float(fitted.cov_re[0, 0]), *(float(part) for part in fitted.vcomp), float(fitted.scale)]
    runs, *processes, samples = (deviation * float(np.sqrt(max(part, 0.0))) for part in parts)
    return VarianceComponents(runs=runs, processes=processes[0] if processes else None, samples=samples)


def _processes(run: Integers, process: Integers) -> tuple[list[list[list[str]]], list[list[Floats]]]:
    """Return, for statsmodels, the names and indicator matrices of each run's processes, runs in ascending order."""
    names, matrices = [], []
    for number in np.unique(run):
        own = process[run == number]
        kinds = np.unique(own)
        names.append([f"process {kind}" for kind in kinds])
        matrices.append((own[:, None] == kinds).astype(np.float64))
    return [names], [matrices]
