"""Components of variance, compared with nested ANOVA, which equals restricted maximum likelihood on balanced data."""

import numpy as np
import pytest

from perf_culprit.arrays import Floats, Integers
from perf_culprit.stats.variance_components import variance_components

RUNS, PROCESSES, SAMPLES = 12, 3, 8


def nested(seed: int, *, runs: float, processes: float, samples: float) -> Floats:
    """Logarithms with nested noise, of shape (RUNS, PROCESSES, SAMPLES)."""
    rng = np.random.default_rng(seed)
    of_runs = runs * rng.standard_normal((RUNS, 1, 1))
    of_processes = processes * rng.standard_normal((RUNS, PROCESSES, 1))
    values: Floats = of_runs + of_processes + samples * rng.standard_normal((RUNS, PROCESSES, SAMPLES))
    return values


def numbers() -> tuple[Integers, Integers]:
    run, process, _ = np.indices((RUNS, PROCESSES, SAMPLES))
    return run.ravel(), process.ravel()


def test_balanced_data_give_the_estimates_of_nested_anova() -> None:
    logs = nested(1, runs=0.08, processes=0.05, samples=0.05)
    run, process = numbers()
    components = variance_components(np.exp(logs).ravel(), run=run, process=process)
    within = logs.var(axis=2, ddof=1).mean()
    between_processes = SAMPLES * logs.mean(axis=2).var(axis=1, ddof=1).mean()
    between_runs = PROCESSES * SAMPLES * logs.mean(axis=(1, 2)).var(ddof=1)
    assert components is not None
    assert components.samples**2 == pytest.approx(within, rel=1e-3)
    assert components.processes is not None
    assert components.processes**2 == pytest.approx((between_processes - within) / SAMPLES, rel=1e-2)
    assert components.runs**2 == pytest.approx((between_runs - between_processes) / (PROCESSES * SAMPLES), rel=1e-2)


@pytest.mark.parametrize("samples", [1, 3])
def test_few_runs_far_apart_are_told_from_their_processes(samples: int) -> None:
    rng = np.random.default_rng(0)
    run, process = (places.ravel() for places in np.indices((3, 8)))
    noise = 0.0077 * rng.standard_normal(24)
    values = np.exp(np.repeat(0.3 * (run - 1) + noise, samples) + 0.0005 * rng.standard_normal(24 * samples))
    components = variance_components(values, run=np.repeat(run, samples), process=np.repeat(process, samples))
    assert components is not None
    assert components.runs == pytest.approx(0.3, rel=0.02)
    assert (components.processes is None) == (samples == 1)
    within = np.sqrt(noise.reshape(3, 8).var(axis=1, ddof=1).mean())
    assert (components.processes or components.samples) == pytest.approx(within, rel=0.05)


def test_runs_of_one_process_have_no_such_component() -> None:
    run, process = numbers()
    values = np.exp(nested(2, runs=0.05, processes=0.0, samples=0.02)).ravel()
    components = variance_components(values, run=run, process=np.zeros_like(process))
    assert components is not None
    assert components.processes is None
    assert components.runs == pytest.approx(0.05, rel=0.5)
    assert components.samples == pytest.approx(0.02, rel=0.1)


def test_runs_that_do_not_differ_have_next_to_no_component() -> None:
    run, process = numbers()
    values = np.exp(nested(3, runs=0.0, processes=0.0, samples=0.05)).ravel()
    components = variance_components(values, run=run, process=np.zeros_like(process))
    assert components is not None
    assert components.runs < 0.3 * components.samples


@pytest.mark.parametrize(
    "values", [np.ones(6), np.array([1.0, 1.1, 0.0, 1.0, 1.1, 1.2]), np.array([-1.0, 1.0, 2.0, 3.0, 4.0, 5.0])]
)
def test_what_has_no_logarithm_or_no_spread_is_not_fitted(values: Floats) -> None:
    run = np.array([0, 0, 0, 1, 1, 1])
    assert variance_components(values, run=run, process=np.zeros(6, dtype=np.intp)) is None


def test_one_run_or_one_sample_per_run_is_not_fitted() -> None:
    values = np.array([1.0, 1.1, 1.2])
    one, each = np.zeros(3, dtype=np.intp), np.arange(3)
    assert variance_components(values, run=one, process=one) is None
    assert variance_components(values, run=each, process=one) is None
