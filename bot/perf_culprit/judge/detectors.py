"""The detectors in use, by kind of measurement and name."""

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
# The detectors whose published test can decide alone, on samples.
PUBLISHED: Final = {one.ID: one.PUBLISHED for one in (anova, median_interval)}
COUNTER_DETECTORS: Final[dict[str, CounterDetector]] = {
    control_chart.ID: control_chart,
    rule_ensemble.ID: rule_ensemble,
}
# The detectors whose scores have a limit instead of a rate.
LIMIT_RULES: Final[dict[str, LimitRule]] = {one.ID: one.LIMIT for one in (control_chart, change_point, rule_ensemble)}
# Remarks for the report's reader on how these detectors judged.
COUNTER_REMARKS: Final[dict[str, Callable[[Sequence[TablePair], DetectorOptions], Sequence[Reason]]]] = {
    rule_ensemble.ID: rule_ensemble.remarks
}
