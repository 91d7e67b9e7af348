"""What the detectors are worth on a history: how often they cry for nothing, and what they would have found."""

from dataclasses import dataclass
from enum import StrEnum

from bot.model.metric import MetricKey
from bot.model.reason import Reason


class TrialKind(StrEnum):
    """What was judged although nothing is known to have changed."""

    STORED_RUNS = "stored_runs"  # each run against the runs before it
    SPLIT_RUNS = "split_runs"  # random halves of one run's samples, as if measured side by side


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """`count` of `trials`; the true rate lies between `low` and `high` with 95 % confidence."""

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
    """`alarms` counts target runs with any false alarm, `metric_alarms` single metrics of them.

    `lasting` are alarms that the next run confirmed: probably real changes, so they count in neither.
    `detectable_effect` is the smallest worsening found in 90 % of all injected trials, with its range over target runs;
    None where more than 10 % were never found. `curve` holds (effect, share found). `limits` come worst first.
    `samples_needed` per side find the minimum effect in 90 % of the metrics, as the detector plans; None where no
    number does or the detector plans none.
    """

    detector: str
    alarms: Rate
    metric_alarms: Rate
    lasting: int
    detectable_effect: float | None
    detectable_range: tuple[float, float | None] | None
    curve: tuple[tuple[float, float], ...]
    limits: tuple[MetricLimit, ...]
    samples_needed: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Recommendation:
    """What to set. `minimum_effect` is None where nothing would be found; `samples` per run, None where unknown."""

    detector: str
    minimum_effect: float | None
    samples: int | None
    reasons: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Audit:
    """Rates and effects are fractions. `stated_rate` is the share of runs with an alarm that the settings promise.

    `auto`: which detector would be chosen for each metric, and why.
    """

    suite: str
    kind: TrialKind
    runs: int
    metrics: int
    samples_per_run: int
    injected_trials: int
    stated_rate: float
    minimum_effect: float
    detectors: tuple[DetectorAudit, ...]
    recommendation: Recommendation
    notes: tuple[str, ...] = ()
    auto: tuple[Reason, ...] = ()
