"""How often detectors are wrong on a history, and what a planned measurement could detect."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from perf_culprit.model.reason import Reason
from perf_culprit.model.run import MetricKey

# What a measurement would show, foreseen from an earlier one of the same benchmarks.


@dataclass(frozen=True, kw_only=True, slots=True)
class Foresight:
    """The changes that `rounds` of A B B A would show with a power of 90%, as fractions.

    `typical` is the median of all `metrics`, `largest` that of the noisiest; None where it takes `least`
    rounds to prove anything.
    `needed`: rounds that show its minimum effect, `effect`, in the noisiest; None where no sensible number does.
    `executions` and `samples`: standard deviations, as fractions, of executions of one round and of samples of one
    execution; medians over some metrics. `per_execution` samples were taken.
    """

    rounds: int
    metrics: int
    typical: float | None
    largest: float | None
    noisiest: MetricKey
    least: int
    effect: float
    needed: int | None
    executions: float | None
    samples: float | None
    per_execution: int


# What the detectors are worth on a history: how often they cry for nothing, and what they would have found.

# Runs that differ by less than this part of what samples do are taken not to differ: no number of samples is enough.
LEAST_SHARE: Final = 0.02
POWER: Final = 0.9


def enough_samples(samples: float, *, of: float) -> int | None:
    """More per run, or execution, help little: the error of its mean is half of what they differ by (`of`).

    Both are standard deviations. None where runs do not differ.
    """
    return math.ceil((2 * samples / of) ** 2) if of > samples * LEAST_SHARE else None


class TrialKind(StrEnum):
    """What was judged although nothing is known to have changed."""

    STORED_RUNS = "stored_runs"  # each run against the runs before it
    SPLIT_RUNS = "split_runs"  # random halves of one run's samples, as if measured side by side


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """`count` of `trials`; the true rate lies between `low` and `high` with 95% confidence."""

    count: int
    trials: int
    low: float
    high: float

    @property
    def share(self) -> float:
        return self.count / self.trials if self.trials else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricLimit:
    """The worsening that the newest run's judgement says it would have suspected; None beyond four times."""

    key: MetricKey
    effect: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Power:
    """The shares of planted changes of one size that were proven, and that were at least suspected."""

    effect: float
    proven: float
    suspected: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectorAudit:
    """`alarms` counts runs with any false proof, `suspicions` also those with a false suspicion.

    `metric_alarms`: single metrics that were falsely called. `lasting` alarms were right: later runs stayed there.
    `unknown` ones are the newest run's. Both count in neither. `limits` come worst first.
    """

    detector: str
    alarms: Rate
    suspicions: Rate
    metric_alarms: Rate
    lasting: int
    unknown: int
    power: tuple[Power, ...]
    limits: tuple[MetricLimit, ...]

    @property
    def detectable_effect(self) -> float | None:
        """The smallest planted change that was suspected in 90% of the trials."""
        return next((one.effect for one in self.power if one.suspected >= POWER), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterAudit:
    """Of a detector of counters. `stated_rate` is of runs, or where `stated_of_counters` of single counters.

    `power`: (relative change, share of the counters with this change that were called), None where none was quiet.
    """

    detector: str
    stated_rate: float
    stated_of_counters: bool
    alarms: Rate
    metric_alarms: Rate
    lasting: int
    power: tuple[tuple[float, float | None], ...]

    @property
    def is_quiet(self) -> bool:
        """What was counted agrees with what is stated."""
        return (self.metric_alarms if self.stated_of_counters else self.alarms).low <= self.stated_rate


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepPoint:
    """What a violation ratio above `threshold` calls, if a tenth of the counters is made larger by `effect`.

    `threshold` None: each counter's own, from its baseline's runs. `precision` None: nothing was called.
    """

    threshold: float | None
    effect: float
    precision: float | None
    recall: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Recommendation:
    """What to set; None where there is nothing to judge. `profile`: a stricter one, where all cried wolf too often."""

    detector: str | None
    profile: str | None
    counter_detector: str | None
    minimum_effect: float | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseSources:
    """Standard deviations as fractions, medians over `metrics`; `processes` is None where no run has several."""

    metrics: int
    runs: float
    processes: float | None
    samples: float

    @property
    def enough_samples(self) -> int | None:
        return enough_samples(self.samples, of=self.runs)


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """Rates and effects are fractions. `stated`: the shares of unchanged runs with a proof, and with a suspicion.

    `configured` is the detector in force; `planted` changes of each size were tried.
    """

    suite: str
    kind: TrialKind
    runs: int
    metrics: int
    samples_per_run: int
    planted: int
    stated: tuple[float, float]
    minimum_effect: float
    configured: str
    detectors: tuple[DetectorAudit, ...]
    counters: tuple[CounterAudit, ...]
    recommendation: Recommendation
    noise: NoiseSources | None = None
    sweep: tuple[SweepPoint, ...] = ()
    notes: tuple[Reason, ...] = ()
