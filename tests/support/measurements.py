"""Benchmark results with known truth: seeded noise around given levels, in our own run format."""

from collections.abc import Mapping

import numpy as np

from perf_culprit.model.run import Benchmark, Direction, Environment, Metric, Run
from perf_culprit.model.run_file import encode_run
from tests.support.rounds import in_rounds

SECONDS = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
MACHINE = Environment(components={"cpu": "Imaginary 3000", "architecture": "x86_64", "os": "Linux"})


def measured(
    levels: Mapping[str, float],
    *,
    seed: int,
    count: int = 20,
    noise: float = 0.02,
    run_noise: float = 0.005,
    environment: Environment = MACHINE,
    commit: str | None = None,
) -> Run:
    """`count` samples per benchmark around its level; `noise` inside a run and `run_noise` between runs: relative."""
    rng = np.random.default_rng(seed)
    return Run(
        benchmarks=tuple(
            Benchmark.of(
                name=name,
                metric=SECONDS,
                samples=tuple(
                    (level * np.exp(rng.normal(0, run_noise)) * np.exp(rng.normal(0, noise, count))).tolist()
                ),
            )
            for name, level in levels.items()
        ),
        environment=environment,
        commit=commit,
    )


def measured_json(levels: Mapping[str, float], *, seed: int, commit: str | None = None) -> bytes:
    return encode_run(measured(levels, seed=seed, commit=commit))


def measured_in_turn_json(levels: Mapping[str, float], *, seed: int) -> bytes:
    """Return one side of 10 rounds as `measure` writes it: every sample is an execution."""
    return encode_run(in_rounds(measured(levels, seed=seed)))
