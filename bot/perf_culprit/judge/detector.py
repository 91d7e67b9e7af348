"""The interface of detectors: a module with an ID, and a function per kind of measurement that it judges."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.model.finding import Evidence, SuiteChange
from perf_culprit.model.reason import Reason
from perf_culprit.stats.unit_table import Tiers


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectorOptions:
    """`paired`: the executions of both sides alternated on one machine, in rounds."""

    settings: PolicySettings = field(default_factory=PolicySettings)
    paired: bool = False

    @property
    def tiers(self) -> Tiers:
        return Tiers(proven=self.settings.proven, suspected=self.settings.suspected)


@dataclass(frozen=True, slots=True)
class Assessed:
    """`evidence` per pair, in order; `suite`: how far all benchmarks moved together, if the detector computes it.

    `notes` apply to the runs.
    """

    evidence: Sequence[Evidence]
    suite: SuiteChange | None = None
    notes: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class LimitRule:
    """How the policy treats a detector's scores, where they have a limit instead of a rate.

    `spans_history`: the score comes from all stored runs together, so few samples or runs are no doubt. `is_set`: the
    operator set the limit, and exceeding it suffices. `is_published`: so it does for the published method, which knows
    no minimum effect and calls a share of unchanged metrics between those of `alarms`.
    """

    spans_history: bool = False
    is_set: Callable[[PolicySettings], bool] = lambda _: False
    is_published: Callable[[PolicySettings], bool] = lambda _: False
    alarms: tuple[float, float] = (0.0, 0.0)


class Detector(Protocol):
    """A module of `bot/perf_culprit/judge/`: it describes the measurements, the policy judges.

    A metric that it cannot judge has neither rate nor score, but a reason.
    """

    # Lower-case, as written in the configuration.
    ID: str


class BenchmarkDetector(Detector, Protocol):
    """Judges the samples of benchmarks."""

    def detect(self, pairs: Sequence[MetricPair], options: DetectorOptions) -> Assessed:
        """Return one evidence per pair, in order."""


class CounterDetector(Detector, Protocol):
    """Judges the series of counters."""

    def detect_counters(self, tables: Sequence[TablePair], options: DetectorOptions) -> list[Evidence]:
        """Return one evidence per counter of each table (its `metrics`), in order."""
