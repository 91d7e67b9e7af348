"""Simulated executions of an unchanged suite, on machines whose noise none of the methods assumes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import signal

Floats = NDArray[np.float64]
Generator = np.random.Generator

# Seconds; benchmarks of one suite differ.
LEVEL: Final = 0.01
# The ratio of a slow mode: a memory layout, a core or a frequency that a program happens to get.
MODE_RATIO: Final = 1.5
MODE_SHARE: Final = 0.2


class Job(Protocol):
    """One job on one machine. The order of its executions matters: drift belongs to the machine."""

    def execute(self, samples: int) -> Floats:
        """Return times in seconds, shape (benchmarks, samples), in order."""
        ...


class World(Protocol):
    """A suite and the machines that run it."""

    benchmarks: int
    rng: Generator

    def job(self) -> Job: ...


@dataclass(frozen=True, kw_only=True, slots=True)
class Noise:
    """The parameters of a noise. Spreads are standard deviations of logarithms.

    `spread` and `tails` (degrees of freedom of Student's t) are of samples, `correlation` is theirs at lag one within
    an execution. `own` and `shared` are offsets of a run, per benchmark and of all together. `modes` selects what draws
    a mode: each benchmark in each execution, a whole run, or each benchmark in each run. `kinds` is how much slower
    half of the machines are, which no file states. `drift` is of the machine's level per execution of a job.
    """

    spread: float = 0.05
    tails: float = np.inf
    correlation: float = 0.0
    own: float = 0.0
    shared: float = 0.0
    modes: Literal["none", "execution", "run", "benchmark"] = "none"
    kinds: float = 0.0
    drift: float = 0.0


NOISES: Final[Mapping[str, Noise]] = {
    "lognormal": Noise(),
    "heavy tails": Noise(tails=3.0, spread=0.03),
    "AR 0.3": Noise(correlation=0.3),
    "modes per execution": Noise(modes="execution", spread=0.03),
    "modes per run": Noise(modes="run", spread=0.03),
    "modes per benchmark and run": Noise(modes="benchmark", spread=0.03),
    "drift 1% per execution": Noise(drift=0.01),
    "shared 5%": Noise(shared=0.05),
    "own 2%": Noise(own=0.02),
    "own 3%": Noise(own=0.03),
    "own 5%": Noise(own=0.05),
    "own 10%": Noise(own=0.10),
    "two kinds of machines": Noise(kinds=0.2, own=0.01),
}


@dataclass(slots=True)
class SimulatedJob:
    noise: Noise
    rng: Generator
    level: Floats
    executed: int = 0

    def execute(self, samples: int) -> Floats:
        noise, shape = self.noise, (len(self.level), samples)
        level = self.level + noise.drift * self.executed
        if noise.modes == "execution":
            level = level + modes(self.rng, len(level))
        self.executed += 1
        errors = self.rng.standard_normal(shape) if np.isinf(noise.tails) else self.rng.standard_t(noise.tails, shape)
        if noise.correlation:
            errors = correlated(errors, noise.correlation)
        values: Floats = np.exp(level[:, None] + noise.spread * errors)
        return values


@dataclass(slots=True)
class SimulatedWorld:
    noise: Noise
    rng: Generator
    benchmarks: int
    levels: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.levels = np.log(LEVEL * (1 + np.arange(self.benchmarks) % 7))

    def job(self) -> SimulatedJob:
        noise, rng = self.noise, self.rng
        level = self.levels + noise.own * rng.standard_normal(self.benchmarks) + noise.shared * rng.standard_normal()
        if noise.modes == "run":
            level = level + modes(rng, 1)
        if noise.modes == "benchmark":
            level = level + modes(rng, self.benchmarks)
        level = level + np.log1p(noise.kinds) * (rng.random() < 0.5)
        return SimulatedJob(noise, rng, level)


def modes(rng: Generator, count: int) -> Floats:
    drawn: Floats = np.log(MODE_RATIO) * (rng.random(count) < MODE_SHARE)
    return drawn


def correlated(errors: Floats, correlation: float) -> Floats:
    """Return a first-order autoregression along the rows, of variance one from its first value on."""
    errors = errors * np.sqrt(1 - correlation**2)
    errors[:, 0] /= np.sqrt(1 - correlation**2)
    smooth: Floats = signal.lfilter([1.0], [1.0, -correlation], errors, axis=1)
    return smooth
