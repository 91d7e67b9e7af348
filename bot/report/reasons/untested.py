"""The sentences of metrics about which a detector could say nothing."""

from collections.abc import Mapping
from typing import Final

from bot.model.reason import ReasonCode, Untested

UNTESTED: Final[Mapping[ReasonCode, str]] = {
    Untested.UNIT_CHANGED: "the unit changed from {before} to {now}",
    Untested.DIRECTION_CHANGED: "the direction changed from {before} to {now}",
    Untested.DIFFERENT_STATISTICS: "the runs report different statistics, such as a mean and a median",
    Untested.UNMEASURABLE_NUMBERS: "the numbers are too large or too small to calculate with",
    Untested.BASELINE_ZERO: "the baseline's {statistic:prose} is zero, so there is no relative change",
    Untested.BASELINE_NEAR_ZERO: (
        "the baseline's {statistic:prose} is not clearly different from zero, so the relative change has no bounds"
    ),
    Untested.WITHOUT_SPREAD: (
        "numbers without spread; {runs:# more run} in the history or repeated measurements would decide"
    ),
    Untested.ALL_EQUAL: (
        "all stored values are equal, as with a clock that is too coarse; repeated measurements would decide"
    ),
    Untested.TOO_FEW_FOR_MEDIAN: (
        "too few samples: the {side:prose} has {count:,}, the interval of a median needs {minimum:,}"
    ),
    Untested.NEEDS_SAMPLES: "control charts need samples, and there is only a summary",
    Untested.TARGET_MISSING: "all values of the target are missing",
    Untested.BASELINE_MISSING: "all values of the baseline are missing",
    Untested.TOO_FEW_RUNS: (
        "change points need {minimum:# stored run}, and there are {count:,}; {lacking:,} more would do"
    ),
    Untested.TOO_FEW_EXECUTIONS: (
        "{count:# execution} per side can't show how much executions differ by themselves; "
        "{rounds:# round} of baseline, target, target, baseline would"
    ),
    Untested.AFTER_ALARM: (
        "alarm {alarm:# run} before the target[ (commit {alarm_commit})], for a change since {since:# run} before the "
        "target[ (commit {since_commit})]; the {unjudged:# run} after an alarm are not judged"
    ),
    Untested.ONLY_REGRESSIONS: "every baseline run was judged a regression, so none may train a model",
    Untested.TOO_FEW_TARGET_INTERVALS: (
        "the target has {count:# interval} that all its counters share; {minimum:,} are needed"
    ),
    Untested.TOO_FEW_BASELINE_INTERVALS: "no baseline run has {minimum:# interval} that all its counters share",
    Untested.UNUSUAL_LOAD: (
        "the target's load differs by {change:+%}, and no baseline run shows what this counter does under such a load"
    ),
    Untested.WITHOUT_RULES: (
        "too few models have a rule for it that all good runs keep: its level is at chance, or differs from run to run"
    ),
}
