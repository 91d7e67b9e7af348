"""How often detectors are wrong on a history, and what a planned measurement could detect."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from perf_culprit.model.reason import Reason
from perf_culprit.model.run import MetricKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Foresight:
    """The changes that `rounds` of A B B A would show with a power of 90%, as fractions.

    `typical` is the median over all `metrics`, `largest` the value of the noisiest. Both are None where `rounds` is
    below `least`, the fewest rounds that can prove anything. `needed`: the rounds that show the minimum effect `effect`
    in the noisiest metric; None if no sensible number does.
    `executions` and `samples`: standard deviations, as fractions, between executions of a round and samples of an
    execution, with `per_execution` samples each. Both are medians over some metrics.
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


# Runs that differ by less than this share of what samples do count as equal: no number of samples is enough.
_LEAST_SHARE: Final = 0.02
_POWER: Final = 0.9


def enough_samples(samples: float, *, of: float) -> int | None:
    """Return how many samples per run, or execution, suffice; more help little. None where runs do not differ.

    Then the error of the mean is half of `of`, the standard deviation between runs. `samples`: that between samples.
    """
    return math.ceil((2 * samples / of) ** 2) if of > samples * _LEAST_SHARE else None


class TrialKind(StrEnum):
    """The kind of trial that is judged although no change is known."""

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
    """The worsening that the newest run's judgement would have suspected; None above a factor of four."""

    key: MetricKey
    effect: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Power:
    """The shares of injected changes of one size that were proven, and that were at least suspected."""

    effect: float
    proven: float
    suspected: float


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectorAudit:
    """The error rates of one detector: `alarms` counts runs with a false proof, `suspicions` adds false suspicions.

    `metric_alarms` counts single metrics. `lasting` alarms were right: later runs stayed at the new level. `unknown`
    alarms belong to the newest run. Neither counts as false. `limits` come worst first.
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
        """The smallest injected change that was suspected in 90% of the trials."""
        return next((power.effect for power in self.power if power.suspected >= _POWER), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class CounterAudit:
    """The error rates of a counter detector. `stated_rate` is per run, or per counter if `stated_of_counters`.

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
        """Whether the counted false alarms agree with the stated rate."""
        return (self.metric_alarms if self.stated_of_counters else self.alarms).low <= self.stated_rate


@dataclass(frozen=True, kw_only=True, slots=True)
class SweepPoint:
    """The result of a violation-ratio limit `threshold` when a tenth of the counters is increased by `effect`.

    `threshold` None: each counter's own, from its baseline's runs. `precision` None: nothing was called.
    """

    threshold: float | None
    effect: float
    precision: float | None
    recall: float


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelPoint:
    """The result of one threshold of a counter detector on labelled runs. A run is called if any of its counters is.

    `threshold` None: each counter's own. `precision` and `f` None: nothing was called.
    """

    detector: str
    threshold: float | None
    precision: float | None
    recall: float
    f: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Recommendation:
    """The recommended settings; None if nothing was judged. `profile`: stricter, if all raise too many alarms."""

    detector: str | None
    profile: str | None
    counter_detector: str | None
    minimum_effect: float | None
    reasons: tuple[Reason, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseSources:
    """Standard deviations as fractions, medians over `metrics`; `processes` is None if no run has several."""

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

    `configured` is the detector in force. `planted` is the number of injected changes of each size.
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
    labelled: tuple[LabelPoint, ...] = ()
    notes: tuple[Reason, ...] = ()


PLANTED_CHANGES: Final = (0.02, 0.03, 0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0)
USUAL_CHANGE: Final = 0.1  # the one that a summary plants
LARGEST_PLANTED: Final = PLANTED_CHANGES[-1]


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """The smallest planted change that `rounds` suspect in nine of ten trials, as a fraction; None if none is.

    `typical`: planted into a benchmark of median noise; `noisiest`: into the noisiest. `minutes`: of a pull request,
    builds and warm-up included.
    """

    rounds: int
    minutes: float
    typical: float | None
    noisiest: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class UnchangedTrials:
    """The number of `trials` without a change that `warned`, and of as many with a `planted` one that `detected` it."""

    trials: int
    warned: int
    planted: float
    detected: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Qualification:
    """How well a suite can be judged on a machine, by `rounds` of it that fit into `minutes`.

    `seen` has an entry per look that fits; without one, the first look would take `first_minutes`, after `first`
    rounds. `noise` is that of a typical benchmark's executions, as a fraction, and `noisiest` the largest one.
    """

    build_s: float
    execution_s: float
    rounds: int
    minutes: float
    first: int
    first_minutes: float
    metrics: int
    noise: float
    noisiest: tuple[MetricKey, float]
    seen: tuple[Seen, ...] = ()
    unchanged: UnchangedTrials | None = None

    @property
    def sees_usual(self) -> bool:
        """Whether the usual planted change is suspected in nine of ten trials."""
        return any(benchmark.typical is not None and benchmark.typical <= USUAL_CHANGE for benchmark in self.seen)
