"""Runs with noise like that of real benchmarks, seeded, for tests and benchmarks of the detectors."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from tests.support.rounds import in_rounds

Floats = NDArray[np.float64]
Noise = Literal["normal", "lognormal", "bimodal", "heavy_tailed"]

TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
THROUGHPUT = Metric(name="throughput", unit="ops/s", direction=Direction.HIGHER_IS_BETTER)


def factors(rng: np.random.Generator, kind: Noise, shape: Sequence[int], *, spread: float = 0.05) -> Floats:
    """Positive factors about 1 with a standard deviation of about `spread` (the heavy tail's is larger)."""
    match kind:
        case "normal":
            return np.abs(rng.normal(1.0, spread, shape))
        case "lognormal":
            return rng.lognormal(0.0, spread, shape)
        case "bimodal":
            # One sample in eight is in a slow mode, as with a second memory layout or a busy neighbour.
            slow = rng.random(shape) < 1 / 8
            return np.asarray(rng.normal(1.0, spread / 3, shape) + slow * 2.8 * spread)
        case "heavy_tailed":
            return np.asarray(1.0 + spread / 2 * np.abs(rng.standard_t(3.0, shape)))


def noisy_run(
    rng: np.random.Generator,
    *,
    benchmarks: int,
    samples: int,
    noise: Noise = "normal",
    spread: float = 0.05,
    own_offset: float = 0.0,
    shared_offset: float = 0.0,
    effects: Floats | float = 1.0,
    metric: Metric = TIME,
    processes: bool = False,
) -> Run:
    """One run. Offsets are standard deviations of a whole run's level: per benchmark, and of all benchmarks together.

    `effects` (benchmarks,) multiplies the true levels, which are the same in every run. For `processes` see `run_of`.
    """
    levels = 100.0 * (1 + np.arange(benchmarks) % 7) * effects
    levels = levels * np.exp(rng.normal(0, own_offset, benchmarks) + rng.normal(0, shared_offset))
    values = levels[:, None] * factors(rng, noise, (benchmarks, samples), spread=spread)
    return run_of(values, metric=metric, processes=processes)


def run_of(values: Floats | Sequence[Sequence[float]], *, metric: Metric = TIME, processes: bool = False) -> Run:
    """A run with one benchmark per row; with `processes` every sample is an execution, two of each side in a round."""
    rows = values.tolist() if isinstance(values, np.ndarray) else values
    run = Run(
        benchmarks=tuple(
            Benchmark.of(name=f"bench_{index:05}", metric=metric, samples=tuple(row)) for index, row in enumerate(rows)
        )
    )
    return in_rounds(run) if processes else run
