"""Evidence per metric from a detector, and the policy that judges it.

A detector is a module of this package that fits one or both protocols of `bot.detect.detector`; it is in use once it
is in the registry of what it judges.
"""

from typing import Final

from bot.detect import anova, auto, change_point, control_chart, median_interval, rule_ensemble
from bot.detect.detector import BenchmarkDetector, CounterDetector

DETECTORS: Final[dict[str, BenchmarkDetector]] = {
    anova.ID: anova,
    median_interval.ID: median_interval,
    control_chart.ID: control_chart,
    change_point.ID: change_point,
    auto.ID: auto,
}
COUNTER_DETECTORS: Final[dict[str, CounterDetector]] = {
    control_chart.ID: control_chart,
    rule_ensemble.ID: rule_ensemble,
}
