"""The detectors that are in use, by what they judge and by name."""

from collections.abc import Callable, Sequence
from typing import Final

from perf_culprit.judge import anova, change_point, control_chart, median_interval, rule_ensemble
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.detector import BenchmarkDetector, CounterDetector, DetectorOptions, LimitRule
from perf_culprit.model.reason import Reason

DETECTORS: Final[dict[str, BenchmarkDetector]] = {
    anova.ID: anova,
    median_interval.ID: median_interval,
    control_chart.ID: control_chart,
    change_point.ID: change_point,
}
COUNTER_DETECTORS: Final[dict[str, CounterDetector]] = {
    control_chart.ID: control_chart,
    rule_ensemble.ID: rule_ensemble,
}
# Of the detectors whose scores have a limit instead of a rate.
LIMIT_RULES: Final[dict[str, LimitRule]] = {one.ID: one.LIMIT for one in (control_chart, change_point, rule_ensemble)}
# What the report's reader has to know of how these have judged.
COUNTER_REMARKS: Final[dict[str, Callable[[Sequence[TablePair], DetectorOptions], Sequence[Reason]]]] = {
    rule_ensemble.ID: rule_ensemble.remarks
}
