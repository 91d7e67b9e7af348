"""The sentence of every reason. The reasons are chosen elsewhere."""

from collections.abc import Mapping
from typing import Final

from perf_culprit.model.finding import Verdict
from perf_culprit.model.reason import (
    AuditReason,
    BaselineReason,
    Caveat,
    Doubt,
    Loss,
    ProfileNote,
    ReasonCode,
    Remark,
    SeriesReason,
    Untested,
    VerdictReason,
)
from perf_culprit.say.bisection_words import BISECTIONS
from perf_culprit.say.certainty_words import (
    NOT_PROVEN,
    PROVEN_WORD,
    SUSPECTED_WORD,
    VERDICT_WORDS,
    WOULD_SUSPECT,
    unproven,
)

# The start of a change's reason; what would decide follows.
_PROVEN: Final = f"{PROVEN_WORD}: "
_NOT_PROVEN: Final = f"{NOT_PROVEN}: "
_AS_OFTEN: Final = "some benchmark differs as much in {rate:%g} of unchanged runs"
_LEFT: Final = (
    "its level is {beyond:%} beyond {category:prose} (below {limit:,.4g} ms); some benchmark at its bound looks as far "
    "beyond in {rate:%g} of unchanged runs"
)
_SCORES: Final = "[{outside:%} of samples outside, limit {limit_outside:%}][{test}: {score:.3g}, limit {limit:.3g}]"
_WITHOUT: Final = "[, without {dropped:# metric} from before an accepted change]"
_WRONG_IN: Final = "{detector:prose} would have been wrong in {count:,} of {trials:# run}"
_BY: Final = " had a false alarm by {detector:prose}, which "
_AGREES: Final = "agrees with the stated {stated:%g}"
_IS_MORE: Final = "is more than the stated {stated:%g}"

SENTENCES: Final[Mapping[ReasonCode, str]] = {
    VerdictReason.SIGNIFICANT: _PROVEN + _AS_OFTEN,
    VerdictReason.SIGNIFICANT_BY_SAMPLE: "the published test of samples, as if they were independent: p = {p:.2g}",
    VerdictReason.EXACT_DIFFERENCE: "exact numbers that differ",
    VerdictReason.EXACTLY_EQUAL: "exactly the same",
    VerdictReason.EXCLUDED: "a change of {effect:%} is excluded",
    VerdictReason.NOTHING_SEEN: f"{VERDICT_WORDS[Verdict.NOT_SEEN]}[; one of {{effect:%}} or more {WOULD_SUSPECT}]",
    VerdictReason.SUSPECTED: _NOT_PROVEN
    + _AS_OFTEN
    + "; measure both commits in turn on one machine[ ({rounds:# round} or more)]",
    VerdictReason.SUSPECTED_ROUNDS: (
        _NOT_PROVEN
        + _AS_OFTEN
        + "; measure more rounds of both sides[ (about {rounds:,} in all)], or use a quieter machine"
    ),
    VerdictReason.DIFFERS: (
        "two runs of one commit differ like this in {quiet:,} of 10 benchmarks, on a shared machine in {shared:,} of 10"
        "[; {rounds:# round} in turn on one machine can tell]"
    ),
    VerdictReason.LEFT_CATEGORY: _PROVEN + _LEFT,
    VerdictReason.LEFT_CATEGORY_SUSPECTED: _NOT_PROVEN + _LEFT,
    VerdictReason.SMALLER_THAN_ALLOCATION: (
        "less than the smallest allocation ({bytes:.0f} bytes): its own were divided by another number of operations"
    ),
    VerdictReason.CONTROL: "a control, which no change reaches: the machine moved it",
    VerdictReason.INTERVALS_MEET: "the intervals of the two medians overlap, or that of their difference includes zero",
    VerdictReason.TOO_FEW_SAMPLES: "too few samples: the {side:prose} has {count:,}, {minimum:,} are needed",
    VerdictReason.NOTHING_TESTED: "nothing could be tested",
    VerdictReason.BLIND: (
        "the runs are too few or too noisy to tell a change in one metric from chance"
        "[; {rounds:# round} in turn on one machine can prove a large one]"
    ),
    VerdictReason.WITHIN_LIMIT: _SCORES,
    VerdictReason.OVER_LIMIT: _SCORES,
    VerdictReason.OVER_LIMIT_LIKE_BASELINE: _SCORES + ": baseline runs exceed theirs as much",
    VerdictReason.OVER_LIMIT_SUSPECTED: (
        _SCORES + ": some counter's median differs as much in {rate:%g} of unchanged runs; more baseline runs decide"
    ),
    VerdictReason.OVER_LIMIT_FEW_RUNS: (
        _SCORES + ": {runs:# baseline run} can't show how much runs differ by themselves, 3 do"
    ),
    VerdictReason.OVER_LIMIT_SMALL_EFFECT: _SCORES + ", but the medians differ by less than {effect:%}",
    VerdictReason.OTHER_HARDWARE: "measured on other hardware ({component:prose}: {here} instead of {there})",
    VerdictReason.ENVIRONMENT_CHANGED: "not caused by this commit: the environment changed ({changed:→})",
    VerdictReason.CULPRIT_REVERTED: "{commit} made it worse, and {revert} has reverted it",
    VerdictReason.CULPRIT_REMOVED: "{commit} made it worse, and the default branch no longer has it",
    VerdictReason.ACCEPTED: "accepted",
    VerdictReason.WATCHED: "only watched",
    VerdictReason.NOT_CONFIRMED: (
        _NOT_PROVEN
        + "measure more rounds of both sides[ (about {rounds:,} in all)]; it was [{first:+%} first and ][{change:+%} ]"
        + "measured again"
    ),
    VerdictReason.REFUTED: (
        "[{change:+%} ]measured again[, {first:+%} first]: the first runs were on another state of the machine"
    ),
    Untested.BENCHMARK_CHANGED: "not comparable: the benchmark changed (version {before}, now {now})",
    Untested.UNIT_CHANGED: "the unit changed from {before} to {now}",
    Untested.DIRECTION_CHANGED: "the direction changed from {before} to {now}",
    Untested.DIFFERENT_STATISTICS: "the runs report different statistics, such as a mean and a median",
    Untested.UNMEASURABLE_NUMBERS: "the {side:prose} has the number {number:g}, too large or small to calculate with",
    Untested.BASELINE_ZERO: "the baseline's {statistic:prose} is zero, so there is no relative change",
    Untested.BASELINE_NEAR_ZERO: (
        "the baseline's {statistic:prose} is not clearly different from zero, so the relative change has no bounds"
    ),
    Untested.TOO_FEW_FOR_MEDIAN: (
        "too few samples: the {side:prose} has {count:,}, the interval of a median needs {minimum:,}"
    ),
    Untested.TOO_SHORT: (
        "too short to time: all samples are equal, and the last digit is {step:%} of them; repeat the work inside the "
        "benchmark"
    ),
    Untested.NEEDS_SAMPLES: "this test needs two samples per side, and there is only a summary",
    Loss.FAILED: "failed[ on the {side:prose}][: {message:prose}]",
    Loss.SKIPPED: "was skipped[ on the {side:prose}][: {message:prose}]",
    Loss.COMMAND: "[the {side:prose}'s ]command {message:prose}",
    Loss.EXIT_CODES: "failed in {count:,} of {total:# execution}[ on the {side:prose}][: {message:prose}]",
    Loss.REQUESTS: "[{count:,} of {total:# request} failed][ on the {side:prose}][: {message:prose}]",
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
        "target[ (commit {since_commit})]; the {unjudged:# run} after it are not judged"
    ),
    Untested.ONLY_REGRESSIONS: "every baseline run was judged a regression, so none may train a model",
    Untested.TOO_FEW_TARGET_INTERVALS: (
        "the target has {count:# interval} that all its counters share; {minimum:,} are needed"
    ),
    Untested.TOO_FEW_BASELINE_INTERVALS: "no baseline run has {minimum:# interval} that all its counters share",
    Untested.OTHER_LOAD: (
        "the load differs by {change:+%}, which no run of the baseline had: measure under the same load, or the system "
        "gets other traffic now"
    ),
    Untested.UNUSUAL_LOAD: (
        "the target's load differs by {change:+%}, and no baseline run shows what this counter does under such a load"
    ),
    Untested.WITHOUT_RULES: (
        "no stable rule was found for this counter: its level is random, or differs from run to run"
        "[; {setting} tests it]"
    ),
    Remark.TEXT: "{text:prose}",
    Remark.MEAN_UNCERTAIN: "the mean is known to ±{width:%} only; {repetitions:# repetition} would reach ±{wanted:%}",
    Remark.COARSE_CLOCK: "all samples are equal: the clock may be too coarse for this benchmark",
    Remark.INTERVALS_OVERLAP: "the medians differ significantly, but their intervals overlap",
    Remark.CHANGED_SINCE: "changed since {ago:# run} before the target[ (commit {commit})]",
    Remark.LONE_CHART: "one baseline run: the limit is the expected {expected:%} plus a margin of {margin:%}",
    Remark.UNSCALED_WITHOUT_LOAD: "not adjusted for load: there is no load with the counters",
    Remark.UNSCALED_SOME_WITHOUT_LOAD: "not adjusted for load: some runs have no load",
    Remark.UNSCALED_OTHER_LOAD: "not adjusted for load: the load is not the same quantity in all runs",
    Remark.UNSCALED_TOO_FEW: "not adjusted for load: too few values with a load",
    Remark.UNSCALED_INDEPENDENT: (
        "not adjusted for load: the counter does not correlate with the load (Spearman {spearman:.2f})"
    ),
    Remark.UNSCALED_NEAR_ZERO: "not adjusted for load: by the fit it is near zero at some loads",
    Remark.UNSCALED_CLOSED_LOOP: (
        "not adjusted for load: it is shorter under more load, so the load depends on it: clients wait for each answer"
    ),
    Remark.UNSCALED_UNSEEN_LOAD: (
        "not adjusted for load: the target's load ({load:,.4g}) is far outside of what the baseline saw "
        "({lowest:,.4g} to {highest:,.4g})"
    ),
    Remark.LOAD_BEYOND: "adjusted for a load that the baseline never saw, so the limits are {width:%} wider",
    Remark.LOAD_DIFFERS: "the target's load differs by {change:+%}",
    Remark.LOAD_BESIDE: "{table}: its load is that of {driver}, at the same times",
    Remark.LOAD_BY_START: "{table}: its load is that of {driver}; their clocks differ, so both count from their starts",
    Remark.LOAD_ON_OTHER_CLOCK: (
        "{table}: not adjusted for load, because its clock and that of {driver} have no time in common"
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
        "only {count:# baseline run} in a similar environment; {wanted:,} are needed to show how good runs differ"
    ),
    Remark.CONFIRMED: "confirmed by a second measurement[: {change:+%}]",
    Remark.NOT_MEASURED_AGAIN: "not measured again, so nothing confirms it",
    Remark.BEING_PROVEN: "both commits are measured in turn now, for {minutes:# minute} at most",
    Remark.PROOF_CUT_SHORT: ("{rounds:# round} of {wanted:,} fit into the {minutes:# minute} of confirm.budget"),
    Remark.PROOF_FAILED: "measuring in turn failed: {why:prose}",
    Remark.NO_PROOF_IN_FORK: (
        "a fork's commits are measured only in its own job, if its workflow has the input screen"
    ),
    Remark.NO_PROOF_WITHOUT_COMMAND: "bisect.run is not set in the default branch's configuration",
    Remark.NO_PROOF_WITHOUT_BUDGET: "confirm.budget is 0",
    Remark.OTHER_SECOND_BASE: (
        "the second measurement is of another base ({commit}) than the first is compared with, so it does not count"
    ),
    Remark.OTHER_COMMIT: (
        "the checkout holds {commit}, neither the head nor GitHub's merge of it; its numbers count as the head's "
        "(the input ref names what was measured)"
    ),
    Remark.PROPOSED_VERDICT: (
        "the measuring job's own settings (minimum effect {effect:%}, fail threshold {fail:%}) say: {verdict:prose}, "
        "and the check {fails:prose}; judged here by those of the default branch"
    ),
    Remark.MEASURED_AGAIN: (
        "measured again: {count:# flagged benchmark}; {proven:,} proven, {refuted:,} refuted, {open:,} still open"
    ),
    Remark.TOO_FEW_FOR_PERCENTILE: (
        "{percentile} needs {minimum:# raw sample} of an execution, and {benchmarks} had {count:,}; "
        "run it longer, or let the tool keep its samples"
    ),
    Remark.LOST: "{count:# metric} of the baseline gave no usable result, which fails the check (`levels.lost`)",
    Remark.PART_MISSING: "part {part:,} of {count:,} is missing: its benchmarks weren't measured",
    Remark.LONE_BASELINE: f"one baseline run: a change can be {SUSPECTED_WORD}, but {NOT_PROVEN}",
    Remark.RUNS_NEEDED: (
        "{count:# stored run}[ that vary by {noise:%}][, if they vary by {usual:%}]: "
        f"with about {{runs:,}}, a change of {{change:%}} can be {PROVEN_WORD}"
    ),
    Remark.RUNS_PROVE_NOTHING: (
        "one run can't prove a change of {change:%} against {count:# stored run}, nor against {runs:,}; "
        "measuring in turn can"
    ),
    Remark.DETECTOR_UNUSED: (
        "{detector} judges only {kind:prose}, and none were measured: {used} judged instead; these apply: {fitting}"
    ),
    Remark.PATTERN_UNUSED: (
        "no benchmark[ with the metric {metric}] matches {pattern} of the configuration: correct or remove it"
    ),
    Remark.SAME_CONTENT: "{count:# run} with the same numbers as another count once",
    Remark.BY_SAMPLE: (
        "judged by the published test of samples (unit: sample), which called {of_benchmarks:%} of unchanged recorded "
        "benchmarks, and some in {of_runs:%} of the comparisons"
    ),
    Remark.PUBLISHED_LIMIT: (
        "judged by {detector} as published, which called {least:%} to {most:%} of unchanged counters: proven here "
        "means beyond its limit"
    ),
    Remark.SUITE_MOVED: "all benchmarks moved together by {change:+%}, further than runs of the base do",
    Remark.SUITE_LEFT_IN: "all benchmarks moved together by {change:+%}, which the changes contain",
    Remark.SUITE_LEFT_OUT: "all benchmarks moved together by {change:+%}, as machines do; the changes leave it out",
    Remark.CONTROL_MOVED: (
        "{benchmark}, which this change cannot reach, is [{slower:%} slower][{faster:%} faster] as well: the changes "
        "leave that out"
    ),
    Remark.SEEN_IN_TURN: "in turn {minutes:,} would have seen {seen:+%}",
    Remark.REDUCED: (
        "each execution counts by the {reduction} of its samples: executions of a round, whatever their side, differ "
        "least by it"
    ),
    Remark.NAMES_ALIKE: "no metric is on both sides; these names look alike: {alike}",
    Remark.INHERITED_LEVEL: (
        "{benchmark} ({metric:prose}) got worse on the base branch[ at {commit}]: compared with the runs since"
    ),
    Remark.LASTING_LEVEL: (
        "{count:# metric} got worse in earlier runs and stayed so: those runs are not a baseline until it is accepted"
    ),
    Remark.UNDONE_LEVEL: (
        "{count:# metric} changed more than tenfold in an earlier run and came back: those runs are excluded from the "
        "baseline"
    ),
    Remark.PASSED_ALARM: "{count:# metric} looked worse in an earlier run and did not stay so: it counts as noise",
    Remark.CATEGORY_ASSIGNED: "not in the fastest category but in {category}: {count:# metric}",
    Remark.CATEGORY_LEFT_BEFORE: "beyond the category {category:prose} as the baseline is: {count:# metric}",
    Remark.CATEGORY_UNSURE: unproven("measured beyond the category {category:prose}") + ": {count:# metric}",
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
    Remark.RULES_LEARNED_FROM: "the rules come from {count:# run}: {runs}[; left out as regressions: {left_out:,}]",
    Remark.NOT_AFFECTED: (
        "the benchmarks use nothing of what changed[, {documents:# file} of documentation]"
        "[, {sources:# source file} in {changed}]"
    ),
    Remark.PARTLY_AFFECTED: "not measured, because nothing that changed reaches it: {packages}",
    Remark.HARNESS_CHANGED: "{files}; numbers may differ for that reason alone",
    Remark.HARNESS_OF_HEAD: "the baseline's code was measured by the head's benchmarks ({commit})",
    Remark.NOISIER: "more noisy: samples of one execution scatter {factor:.2g} times as much as before",
    Remark.OTHER_TIME: "{metric:prose} changed by {change:+%}; it is not judged",
    Remark.JUDGED_BY_PROCESSOR: "judged by processor time, because they only compute: {count:# benchmark}",
    Remark.JUDGED_BY_CLOCK: "judged by the clock, because they wait or use several processors: {count:# benchmark}",
    BaselineReason.AT_MERGE_BASE: "at the merge base" + _WITHOUT,
    BaselineReason.BEFORE_MERGE_BASE: "{commits:# commit} before the merge base" + _WITHOUT,
    BaselineReason.BEFORE_TARGET: "{commits:# commit} before the target commit" + _WITHOUT,
    BaselineReason.ENOUGH_NEWER_RUNS: "{window:# newer run} are enough",
    BaselineReason.UNREADABLE: "its file cannot be read: {problem:prose}",
    BaselineReason.OTHER_HARDWARE: "measured on {there}, the target on {here} ({component:prose})",
    BaselineReason.NO_METRIC_LEFT: "every metric in it is from before an accepted change",
    BaselineReason.NOTHING_LEFT: "nothing is left in it to compare with: compaction drops counters",
    BaselineReason.NO_COMMON_ANCESTOR: (
        "{head} and {base} have no common ancestor, so there is nothing to compare with"
    ),
    BaselineReason.SEVERAL_MERGE_BASES: "{count:# merge base} (criss-cross merges): runs of all of them count",
    BaselineReason.BEGINS_AT_ACCEPTED: (
        "{benchmark}: the baseline begins at {commit}, accepted by {author} there: {why:prose}"
    ),
    BaselineReason.MORE_ACCEPTED: "{count:# more benchmark} with accepted changes",
    BaselineReason.RUN_UNREADABLE: "the stored run {run} cannot be read: {problem:prose}",
    BaselineReason.MORE_UNREADABLE: "{count:# more stored run} cannot be read",
    BaselineReason.UNKNOWN_COMPONENT: (
        "{component:prose} is not known on both sides for {count:# baseline run}; taken as the same"
    ),
    BaselineReason.MORE_RUNS: "{count:# more run} looked at and not listed",
    BaselineReason.OLDER_RUNS: "{count:# older stored run} not looked at",
    BaselineReason.RUNS_ELSEWHERE: (
        "{count:# stored run} of commits not before the {anchor:prose} (other branches, or newer)"
    ),
    BaselineReason.ONLY_OTHER_HARDWARE: (
        "{count:# stored run} left out: measured on other hardware[ ({component:prose}: {there}, this run: {here})]"
    ),
    BaselineReason.BASE_NOT_MEASURED: (
        "the baseline is {commits:# commit} older than the base: what changed since then is included in this comparison"
    ),
    AuditReason.SPLIT_AT_RANDOM: (
        "too few runs ({runs:,}), so samples of one run were split at random: the numbers hold within one job, not "
        "against stored runs"
    ),
    AuditReason.SHARED_BASELINES: "the trials share their baseline runs, so the ranges are somewhat too narrow",
    AuditReason.LASTED: (
        "up to {count:# persistent alarm} excluded from the rates: probably real changes, or another machine"
    ),
    AuditReason.NOT_YET_REFUTED: (
        "{count:# alarm} of the newest run excluded from the rates: no later run confirms or refutes them yet"
    ),
    AuditReason.FEW_TRIALS: "{trials:# trial} cannot show a rate of false alarms below {rate:.0%}",
    AuditReason.AGREES_WITH_STATED: _WRONG_IN + ", which " + _AGREES,
    AuditReason.FEWEST_WRONG: _WRONG_IN
    + ", more than the stated {stated:%g} allows, but fewer than any other detector",
    AuditReason.OTHERS_TOO_LOUD: "{detectors}: more false alarms than the stated rate allows",
    AuditReason.COUNTERS_AGREE: "{count:,} of {trials:# counter}" + _BY + _AGREES,
    AuditReason.COUNTERS_TOO_LOUD: "{count:,} of {trials:# counter}" + _BY + _IS_MORE,
    AuditReason.COUNTER_RUNS_AGREE: "{count:,} of {trials:# run}" + _BY + _AGREES,
    AuditReason.COUNTER_RUNS_TOO_LOUD: "{count:,} of {trials:# run}" + _BY + _IS_MORE,
    AuditReason.NEVER_DETECTED: "more than 10% of the injected changes were not found at any size",
    AuditReason.NOISE_HIDES_LITTLE: "the noise hides no more than {effect:%g} in 90% of the trials",
    AuditReason.SMALL_CHANGES_HIDDEN: "changes below {effect:%g} are found in less than 90% of the trials",
    SeriesReason.OTHER_UNIT: "runs in another unit than {unit} left out: {count:,}",
    SeriesReason.OTHER_VERSION: "runs of other versions of the benchmark left out: {count:,}",
    SeriesReason.MIXED_STATISTICS: "the runs report different statistics, such as a mean and a median",
    SeriesReason.OFF_THE_LINE: "stored runs of commits that are not on this line left out: {count:,}",
    SeriesReason.NOT_READABLE: "stored runs that cannot be read left out: {count:,}",
    SeriesReason.HARDWARE_OF_OLDER: "stored runs on other hardware than the newest left out: {count:,}",
    # Reasons of call trees: why they decide nothing, and notes on them and on their profiles.
    Doubt.ONE_REPETITION: (
        "one repetition per revision shows no noise, so no difference is certain; record {wanted:# repetition} of each"
    ),
    Doubt.UNKNOWN_WEIGHTS: (
        "the stacks have weights that are not counts of samples, so one profile per revision shows no noise; "
        "record {wanted:# profile} of each"
    ),
    Doubt.FEW_SAMPLES: (
        "{baseline:# sample} and {target:# sample} are too few to test any method; profile for longer, or use "
        "--same-work if both did the same work"
    ),
    Doubt.NOT_ALIGNED: (
        "only {aligned:%} of the time is in methods that both revisions have; record the same program in the same way"
    ),
    Doubt.ALL_SLOWER: (
        "most methods take {factor:.2f} times as long: another machine state or build, or a change that slows all "
        "code; record both revisions in turn on one machine"
    ),
    Doubt.WHOLE_SLOWER: (
        "the whole takes {change:+%}, and no single method explains it; record more repetitions of both revisions in "
        "turn on one machine"
    ),
    Doubt.MORE_SAMPLES: (
        "the number of samples grew by {change:%}, but no method's share clearly did; if both revisions did the same "
        "work, compare again with --same-work"
    ),
    Doubt.NOT_PROFILED: "it and its parent were not profiled: {why:prose}[; {next:prose}]",
    Doubt.NOISY_METHODS: (
        "{decided:,} of {methods:# method} surely gained less than {limit:%} of the whole"
        "[; none gained more than {visible:%} of it]"
        "[; for the others record {more:,} times as many samples a run (now {now:,})]"
        "[; for the others record {wanted:# repetition} per revision]"
        "[; for the others {much:,} times as much would be needed: take a longer input, counts (`measure --metric "
        "instructions`), or one function alone (`measure --trace --at`)]"
    ),
    Caveat.ONE_STATE: (
        "all calls of one log met one state of the machine; a slower state would look like slower methods"
    ),
    Caveat.TOTALS_ALONE: "one repetition holds only totals, so no method is certain to be slower",
    Caveat.ONE_PROFILE: (
        "one profile per revision: differences between runs are not known, and samples count as independent"
    ),
    Caveat.FEW_REPETITIONS: "{count:# repetition} show only large changes; record more of both revisions",
    Caveat.FILES_LEFT: "{count:,} files differ; {limit:,} were looked at",
    Caveat.NAMES_LEFT: "callers were searched for {limit:,} of {count:,} changed names",
    Caveat.CALLING_FILES_LEFT: "callers were searched in {limit:,} of {count:,} files",
    Caveat.CALLING_FILES_UNREAD: "callers in {count:,} files are unknown: not Python, or above {mebibytes:,} MiB",
    Caveat.LINES_UNUSED: "{side:prose}: {unused:,} of {count:,} lines were not used",
    Caveat.RECORDS_UNUSED: "{side:prose}: {unused:,} of {count:,} records were not used as they are",
    Caveat.FILE_DAMAGED: "{side:prose}: {name} ends too early or is damaged",
    Caveat.TRACED_BY: "traced by {means:prose}",
    Caveat.NOT_TRACED: "{why:prose}[; {next:prose}]",
    Caveat.NO_TIME_TO_TRACE: (
        "a trace needs ten executions of {each:,.0f} s, and {left:,.0f} s of the minutes were left; raise --minutes"
    ),
    Caveat.RUN_BY: "{running:,} of {count:# benchmark} run {method}[; {left:,} of these not measured here]",
    Caveat.NO_GRAMMAR: (
        "not read: {count:# changed file} in languages without a grammar here (pip install 'perf-culprit[languages]')"
    ),
    Caveat.COMMON_NAMES: "too many functions call {names:and}: their callers are left out",
    ProfileNote.CALL_GRAPH: (
        "[{side:prose}: ]the profile is a call graph without paths: a function's cost is split over its callers, and "
        "recursion is folded into the first call"
    ),
    ProfileNote.PATHS_NOT_FOLLOWED: (
        "[{side:prose}: ]{share:%} of the cost is on paths that were not followed: below (other paths)"
    ),
    ProfileNote.WEIGHTS_WITHOUT_PERIOD: (
        "[{side:prose}: ]the stacks' weights are not counts of samples (times?), so their shares are compared; one "
        "file alone shows no noise"
    ),
    ProfileNote.PERIOD_DIVIDED: (
        "[{side:prose}: ]every weight is a multiple of {period:,.0f}, which was taken as the sampling period"
    ),
    ProfileNote.FIRST_EVENT_USED: "[{side:prose}: ]the first of the events {events} is used",
    ProfileNote.COUNTED_TWICE: (
        "[{side:prose}: ]the log holds operation executions and events of the same operations; the family with fewer "
        "is left out, as it would count them twice"
    ),
    ProfileNote.STACKS_CUT: (
        "[{side:prose}: ]{count:# stack} of {file} cut at the root: print the whole with --stack-depth 64"
    ),
    ProfileNote.SERVICE_IN_SOME: (
        "[{side:prose}: ]{service} is in {count:,} of {files:,} files: the others do not repeat it"
    ),
    **BISECTIONS,
}
