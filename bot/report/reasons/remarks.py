"""The sentences of notes on numbers and runs."""

from collections.abc import Mapping
from typing import Final

from bot.model.reason import ReasonCode, Remark

REMARKS: Final[Mapping[ReasonCode, str]] = {
    Remark.TEXT: "{text:prose}",
    Remark.MEAN_UNCERTAIN: "the mean is known to ±{width:%} only; {repetitions:# repetition} would reach ±{wanted:%}",
    Remark.COARSE_CLOCK: "all samples are equal: the clock may be too coarse for this benchmark",
    Remark.INTERVALS_OVERLAP: "the medians differ significantly, but their intervals overlap",
    Remark.CHANGED_SINCE: "changed since {ago:# run} before the target[ (commit {commit})]",
    Remark.LONE_CHART: "a single baseline run: the limit is the {expected:%} to expect and a margin of {margin:%}",
    Remark.UNSCALED_WITHOUT_LOAD: "not scaled to one load: there is no load beside the counters",
    Remark.UNSCALED_SOME_WITHOUT_LOAD: "not scaled to one load: some runs have no load",
    Remark.UNSCALED_OTHER_LOAD: "not scaled to one load: the load is not the same quantity in all runs",
    Remark.UNSCALED_TOO_FEW: "not scaled to one load: too few values with a load",
    Remark.UNSCALED_INDEPENDENT: "not scaled to one load: it does not follow the load (Spearman {spearman:.2f})",
    Remark.UNSCALED_NEAR_ZERO: "not scaled to one load: by the fit it is near zero at some loads",
    Remark.LOAD_DIFFERS: "the target's load differs by {change:+%}",
    Remark.LOAD_BESIDE: "{table}: its load is that of {driver}, at the same times",
    Remark.LOAD_BY_START: "{table}: its load is that of {driver}; their clocks differ, so both count from their starts",
    Remark.LOAD_ON_OTHER_CLOCK: (
        "{table}: not scaled to one load, because its clock and that of {driver} have no time in common"
    ),
    Remark.ROWS_WITHOUT_LOAD: "{share:%} of the target's rows have no load and are left out",
    Remark.ROWS_REDUCED: (
        "{table}: {rows:# row} reduced to medians of {intervals:# interval}, as the baseline's are stored"
    ),
    Remark.ROWS_TOO_LONG: (
        "{table}: {count:# stored run} left out: so long that their rows are too coarse for this short test"
    ),
    Remark.OTHER_LENGTH: (
        "{table}: recorded for {seconds:,.0f} s, usually for {usual:,.0f} s in the baseline; tests of equal length "
        "compare best"
    ),
    Remark.IDLE_TIME_DIFFERS: (
        "{target:%} of the target's samples are idle time, {least:%} to {most:%} of the baseline runs'"
    ),
    Remark.BROKEN_RULE: "[when {premise:and}, ]{consequent}: {before:%} before, {now:%} now",
    Remark.LOAD_OUT_OF_CONTROL: "the load differs from the baseline's too",
    Remark.FEW_NEAR_RUNS: (
        "only {count:# baseline run} this near in environment: {wanted:,} show how good runs differ"
    ),
    Remark.CONFIRMED: "confirmed by a second measurement[: {change:+%}]",
    Remark.NOT_MEASURED_AGAIN: "not measured again, so nothing confirms it",
    Remark.PROPOSED_VERDICT: (
        "the measuring job's own settings (minimum effect {effect:%}, fail threshold {fail:%}) say: {verdict:prose}, "
        "and the check {fails:prose}; judged here by those of the default branch"
    ),
    Remark.MEASURED_AGAIN: "measured again: {count:# flagged benchmark}, of which {unconfirmed:,} were not confirmed",
    Remark.LONE_BASELINE: (
        "a single run is the whole baseline: only changes that no machine explains count; to see smaller ones, measure "
        "both commits in turn: perf-culprit measure --commits BASE HEAD --run COMMAND --until-decided"
    ),
    Remark.INHERITED_LEVEL: (
        "{benchmark} ({metric:prose}) got worse on the base branch[ at {commit}]: compared with the runs since"
    ),
    Remark.LASTING_LEVEL: (
        "{count:# metric} got worse in earlier runs and stayed so: those runs are no baseline until it is accepted"
    ),
    Remark.PASSED_ALARM: "{count:# metric} looked worse in an earlier run and did not stay so: it counts as noise",
    Remark.CATEGORY_ASSIGNED: "assigned to {category}, which is not the fastest category: {count:# metric}",
    Remark.OUT_OF_CONTROL: "{found:,} of {count:# metric} are out of control; up to {chance:.3g} would be by chance",
    Remark.SCALED_BY_RULER: (
        "scaled by the ruler {ruler}: the target's times by {factor:.3f} (Spearman {spearman:.2f}, mean error "
        "{error:%})[; {left_out:# baseline run} without it left out]"
    ),
    Remark.RULER_NOT_IN_TARGET: "not scaled by the ruler: the target did not measure it",
    Remark.RULER_TOO_FEW_RUNS: ("not scaled by the ruler: {count:# baseline run} measured it, {minimum:,} are needed"),
    Remark.RULER_WITHOUT_TIMES: "not scaled by the ruler: no benchmark of time is in all baseline runs",
    Remark.RULER_NOT_FOLLOWED: "not scaled by the ruler: the benchmarks do not follow it (Spearman {spearman:.2f})",
    Remark.RULER_NOT_STRAIGHT: "not scaled by the ruler: its times differ too much for a straight line",
    Remark.AUTO_SUMMARIES: "{metric}: judged by anova, because there are summaries instead of samples",
    Remark.AUTO_TOO_FEW: (
        "{metric}: judged by anova, because most benchmarks have fewer than {minimum:# sample}, too few to see how "
        "they are distributed"
    ),
    Remark.AUTO_CONSTANT: "{metric}: judged by anova, because the samples do not vary",
    Remark.AUTO_NORMAL: "{metric}: judged by anova, because {normal:,} of {count:# benchmark} could be normal",
    Remark.AUTO_MEANS_AS_GOOD: (
        "{metric}: judged by anova, because {odd:,} of {count:# benchmark} are not normal, but their medians are not "
        "known much better than their means (errors {ratio:.2f} to 1)"
    ),
    Remark.AUTO_MEDIANS_BETTER: (
        "{metric}: judged by median_interval, because {odd:,} of {count:# benchmark} are not normal and their medians "
        "are known better than their means (errors {ratio:.2f} to 1)"
    ),
    Remark.RULES_LEARNED_FROM: "the rules come from {count:# run}: {runs}[; left out as regressions: {left_out:,}]",
}
