"""Evidence per metric from a detector, and the policy that judges it.

A detector is a module of this package that fits one or both protocols of `bot.detect.detector`; it is in use once it
is in the registry of what it judges.
"""

from typing import Final

from bot.detect import anova, auto, control_chart, median_interval
from bot.detect.detector import BenchmarkDetector, CounterDetector

DETECTORS: Final[dict[str, BenchmarkDetector]] = {
    anova.ID: anova,
    median_interval.ID: median_interval,
    control_chart.ID: control_chart,
    auto.ID: auto,
}
COUNTER_DETECTORS: Final[dict[str, CounterDetector]] = {
    control_chart.ID: control_chart,
}
