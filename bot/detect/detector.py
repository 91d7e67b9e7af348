"""What every detector is: a module with an identity, and a function per kind of measurement that it judges."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.config.policy import ControlChartConfig, RuleEnsembleConfig
from bot.detect.counters import TablePair
from bot.detect.pairs import MetricPair
from bot.model.finding import Evidence
from bot.model.metric import MetricKey


@dataclass(frozen=True, kw_only=True, slots=True)
class DetectorOptions:
    """`alpha` gives the intervals' confidence; `minimum_effect` is the change that sample counts are planned for.

    `minimum_effects` has the exceptions for single metrics.

    `paired`: all runs were measured interleaved on one machine, so a run is no unit of its own.
    """

    alpha: float = 0.01
    minimum_effect: float = 0.05
    minimum_effects: Mapping[MetricKey, float] = field(default_factory=dict)
    paired: bool = False
    control_chart: ControlChartConfig = field(default_factory=ControlChartConfig)
    rule_ensemble: RuleEnsembleConfig = field(default_factory=RuleEnsembleConfig)


class Detector(Protocol):
    """A module of `bot/detect/`: it describes what was measured, the policy judges.

    A metric about which it can say nothing has neither p-value nor score, and a reason.
    """

    # Lower-case, as the user writes it in the configuration.
    ID: str


class BenchmarkDetector(Detector, Protocol):
    """Judges the samples of benchmarks."""

    def detect(self, pairs: Sequence[MetricPair], options: DetectorOptions) -> Sequence[Evidence]:
        """One evidence per pair, in order."""


class CounterDetector(Detector, Protocol):
    """Judges the series of counters."""

    def detect_counters(self, tables: Sequence[TablePair], options: DetectorOptions) -> list[Evidence]:
        """One evidence per counter of each table (its `metrics`), in order."""
