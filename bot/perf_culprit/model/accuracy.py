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
    """The smallest injected worsening that was found in every trial of a metric; None where some trial missed all."""

    key: MetricKey
    effect: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectorAudit:
    """`alarms` counts runs with any false alarm, `metric_alarms` single metrics of them.

    `lasting` alarms were right: later runs stayed there. `unknown` ones are the newest run's. Both count in neither.
    `stricter`: (false discovery rate, runs with a false alarm that it would still have let pass).
    `detectable_effect` is the smallest worsening found in 90% of all injected trials, with its range over target runs;
    None where more than 10% were never found. `curve` holds (effect, share found). `limits` come worst first.
    `samples_needed` per side find the minimum effect in 90% of the metrics, as the detector plans; None where no
    number does or the detector plans none.
    """

    detector: str
    alarms: Rate
    metric_alarms: Rate
    lasting: int
    unknown: int
    stricter: tuple[tuple[float, Rate], ...]
    detectable_effect: float | None
    detectable_range: tuple[float, float | None] | None
    curve: tuple[tuple[float, float], ...]
    limits: tuple[MetricLimit, ...]
    samples_needed: int | None


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
class Recommendation:
    """What to set; None where nothing is known to help, or there is nothing to judge."""

    detector: str | None
    false_discovery_rate: float | None
    counter_detector: str | None
    minimum_effect: float | None
    samples: int | None
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
    """Rates and effects are fractions. `stated_rate` is the share of runs with an alarm that the settings promise.

    `configured` is the detector in force. `auto`: which detector would be chosen for each metric, and why.
    """

    suite: str
    kind: TrialKind
    runs: int
    metrics: int
    samples_per_run: int
    injected_trials: int
    stated_rate: float
    minimum_effect: float
    configured: str
    detectors: tuple[DetectorAudit, ...]
    counters: tuple[CounterAudit, ...]
    recommendation: Recommendation
    noise: NoiseSources | None = None
    notes: tuple[Reason, ...] = ()
    auto: tuple[Reason, ...] = ()
