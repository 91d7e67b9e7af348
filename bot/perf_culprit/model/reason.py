"""Why something was decided, as a code with its arguments. The sentences are in `bot/perf_culprit/say/phrases.py`.

Decisions read codes and arguments, never a sentence. docs/architecture.md explains how to add a reason.
Numbers are ours; strings may come from an untrusted file and are shown as untrusted.
"""

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeGuard, get_args

import msgspec


class Objection(StrEnum):
    """Why a bisection for a pull request must stop measuring."""

    PULL_REQUEST_CLOSED = "pull_request_closed"
    HEAD_MOVED = "head_moved"


class SearchReason(StrEnum):
    """Remarks on a bisection's answer, the fate of its dispatches, and why it waits."""

    STILL_THERE = "still_there"
    TIME_SPENT = "time_spent"
    DISPATCHES_FRUITLESS = "dispatches_fruitless"
    SAME_COUNT = "same_count"
    NOT_COUNTED = "not_counted"
    NO_COMMIT_BY_COUNTS = "no_commit_by_counts"
    TIME_CONFIRMS = "time_confirms"
    TIME_UNCHANGED = "time_unchanged"
    ENDS_ALIKE_BY_TIME = "ends_alike_by_time"
    RUN_UNKNOWN = "run_unknown"
    RUN_OF_OTHER = "run_of_other"
    RESULT_REFUSED = "result_refused"
    NOTHING_MEASURED = "nothing_measured"
    ROUNDS_LOST = "rounds_lost"
    SENT_LATE = "sent_late"
    RUN_UNDER_WAY = "run_under_way"
    BEING_SENT = "being_sent"
    STEP_AFTER = "step_after"
    CHANGE_OF_GOOD = "change_of_good"
    PARENT_LOST = "parent_lost"
    PARENT_ALIKE = "parent_alike"
    CHANCE_OF_ERROR = "chance_of_error"
    OTHER_IMAGE = "other_image"
    MEASURED_ON_IMAGES = "measured_on_images"
    OTHER_WAY = "other_way"
    PACKAGE_CHANGED = "package_changed"
    PACKAGES_POSSIBLE = "packages_possible"
    PACKAGES_ALIKE = "packages_alike"
    PACKAGES_UNDECIDED = "packages_undecided"
    PACKAGES_FAILED = "packages_failed"
    PACKAGES_NOT_SEARCHED = "packages_not_searched"
    PACKAGES_NOT_INSTALLED = "packages_not_installed"


Argument = int | float | str | tuple[str, ...]


class VerdictReason(StrEnum):
    """Why a metric got its verdict. The reasons about the machine also apply to the whole run."""

    SIGNIFICANT = "significant"
    SIGNIFICANT_BY_SAMPLE = "significant_by_sample"
    EXACT_DIFFERENCE = "exact_difference"
    EXACTLY_EQUAL = "exactly_equal"
    EXCLUDED = "excluded"
    NOTHING_SEEN = "nothing_seen"
    SUSPECTED = "suspected"
    SUSPECTED_ROUNDS = "suspected_rounds"
    DIFFERS = "differs"
    LEFT_CATEGORY = "left_category"
    LEFT_CATEGORY_SUSPECTED = "left_category_suspected"
    SMALLER_THAN_ALLOCATION = "smaller_than_allocation"
    CONTROL = "control"
    INTERVALS_MEET = "intervals_meet"
    TOO_FEW_SAMPLES = "too_few_samples"
    NOTHING_TESTED = "nothing_tested"
    BLIND = "blind"
    WITHIN_LIMIT = "within_limit"
    OVER_LIMIT = "over_limit"
    OVER_LIMIT_LIKE_BASELINE = "over_limit_like_baseline"
    OVER_LIMIT_SUSPECTED = "over_limit_suspected"
    OVER_LIMIT_FEW_RUNS = "over_limit_few_runs"
    OVER_LIMIT_SMALL_EFFECT = "over_limit_small_effect"
    OTHER_HARDWARE = "other_hardware"
    ENVIRONMENT_CHANGED = "environment_changed"
    CULPRIT_REVERTED = "culprit_reverted"
    CULPRIT_REMOVED = "culprit_removed"
    ACCEPTED = "accepted"
    WATCHED = "watched"
    NOT_CONFIRMED = "not_confirmed"
    REFUTED = "refuted"


# Reasons of a level beyond its response-time category, whatever the step to it.
BY_CATEGORY: Final = frozenset({VerdictReason.LEFT_CATEGORY, VerdictReason.LEFT_CATEGORY_SUSPECTED})


class Untested(StrEnum):
    """Why a detector had no result, or no result with bounds, for a metric."""

    BENCHMARK_CHANGED = "benchmark_changed"
    UNIT_CHANGED = "unit_changed"
    DIRECTION_CHANGED = "direction_changed"
    DIFFERENT_STATISTICS = "different_statistics"
    UNMEASURABLE_NUMBERS = "unmeasurable_numbers"
    BASELINE_ZERO = "baseline_zero"
    BASELINE_NEAR_ZERO = "baseline_near_zero"
    TOO_FEW_FOR_MEDIAN = "too_few_for_median"
    NEEDS_SAMPLES = "needs_samples"
    TOO_SHORT = "too_short"
    TARGET_MISSING = "target_missing"
    BASELINE_MISSING = "baseline_missing"
    TOO_FEW_RUNS = "too_few_runs"
    TOO_FEW_EXECUTIONS = "too_few_executions"
    AFTER_ALARM = "after_alarm"
    ONLY_REGRESSIONS = "only_regressions"
    TOO_FEW_TARGET_INTERVALS = "too_few_target_intervals"
    TOO_FEW_BASELINE_INTERVALS = "too_few_baseline_intervals"
    WITHOUT_RULES = "without_rules"
    UNUSUAL_LOAD = "unusual_load"
    OTHER_LOAD = "other_load"


class Loss(StrEnum):
    """How a benchmark, or a whole command, failed on one side."""

    FAILED = "benchmark_failed"
    SKIPPED = "benchmark_skipped"
    COMMAND = "command_failed"
    EXIT_CODES = "exit_codes"
    REQUESTS = "requests_failed"


# The numbers that remain are those of failures, which may be faster than success.
OF_FAILURES: Final = frozenset({Loss.EXIT_CODES, Loss.REQUESTS})


class Remark(StrEnum):
    """Remarks on a metric's numbers, or on the whole run."""

    TEXT = "text"  # a reader's remark on its file, or a reason unknown to this version
    MEAN_UNCERTAIN = "mean_uncertain"
    COARSE_CLOCK = "coarse_clock"
    INTERVALS_OVERLAP = "intervals_overlap"
    CHANGED_SINCE = "changed_since"
    LONE_CHART = "lone_chart"
    UNSCALED_WITHOUT_LOAD = "unscaled_without_load"
    UNSCALED_SOME_WITHOUT_LOAD = "unscaled_some_without_load"
    UNSCALED_OTHER_LOAD = "unscaled_other_load"
    UNSCALED_TOO_FEW = "unscaled_too_few"
    UNSCALED_INDEPENDENT = "unscaled_independent"
    UNSCALED_NEAR_ZERO = "unscaled_near_zero"
    UNSCALED_CLOSED_LOOP = "unscaled_closed_loop"
    UNSCALED_UNSEEN_LOAD = "unscaled_unseen_load"
    LOAD_BEYOND = "load_beyond"
    LOAD_DIFFERS = "load_differs"
    LOAD_BESIDE = "load_beside"
    LOAD_BY_START = "load_by_start"
    LOAD_ON_OTHER_CLOCK = "load_on_other_clock"
    ROWS_WITHOUT_LOAD = "rows_without_load"
    ROWS_REDUCED = "rows_reduced"
    ROWS_TOO_LONG = "rows_too_long"
    OTHER_LENGTH = "other_length"
    IDLE_TIME_DIFFERS = "idle_time_differs"
    BROKEN_RULE = "broken_rule"
    LOAD_OUT_OF_CONTROL = "load_out_of_control"
    FEW_NEAR_RUNS = "few_near_runs"
    CONFIRMED = "confirmed"
    NOT_MEASURED_AGAIN = "not_measured_again"
    BEING_PROVEN = "being_proven"
    PROOF_CUT_SHORT = "proof_cut_short"
    PROOF_FAILED = "proof_failed"
    NO_PROOF_IN_FORK = "no_proof_in_fork"
    NO_PROOF_WITHOUT_COMMAND = "no_proof_without_command"
    NO_PROOF_WITHOUT_BUDGET = "no_proof_without_budget"
    OTHER_SECOND_BASE = "other_second_base"
    PROPOSED_VERDICT = "proposed_verdict"
    OTHER_COMMIT = "other_commit"
    MEASURED_AGAIN = "measured_again"
    PART_MISSING = "part_missing"
    LOST = "lost"
    LONE_BASELINE = "lone_baseline"
    TOO_FEW_FOR_PERCENTILE = "too_few_for_percentile"
    RUNS_NEEDED = "runs_needed"
    RUNS_PROVE_NOTHING = "runs_prove_nothing"
    DETECTOR_UNUSED = "detector_unused"
    PATTERN_UNUSED = "pattern_unused"
    SAME_CONTENT = "same_content"
    BY_SAMPLE = "by_sample"
    PUBLISHED_LIMIT = "published_limit"
    SUITE_MOVED = "suite_moved"
    SUITE_LEFT_IN = "suite_left_in"
    SUITE_LEFT_OUT = "suite_left_out"
    CONTROL_MOVED = "control_moved"
    SEEN_IN_TURN = "seen_in_turn"
    REDUCED = "reduced"
    NAMES_ALIKE = "names_alike"
    CATEGORY_ASSIGNED = "category_assigned"
    CATEGORY_LEFT_BEFORE = "category_left_before"
    CATEGORY_UNSURE = "category_unsure"
    INHERITED_LEVEL = "inherited_level"
    LASTING_LEVEL = "lasting_level"
    UNDONE_LEVEL = "undone_level"
    PASSED_ALARM = "passed_alarm"
    OUT_OF_CONTROL = "out_of_control"
    SCALED_BY_RULER = "scaled_by_ruler"
    RULER_NOT_IN_TARGET = "ruler_not_in_target"
    RULER_TOO_FEW_RUNS = "ruler_too_few_runs"
    RULER_WITHOUT_TIMES = "ruler_without_times"
    RULER_NOT_FOLLOWED = "ruler_not_followed"
    RULER_NOT_STRAIGHT = "ruler_not_straight"
    RULES_LEARNED_FROM = "rules_learned_from"
    NOT_AFFECTED = "not_affected"
    PARTLY_AFFECTED = "partly_affected"
    HARNESS_CHANGED = "harness_changed"
    HARNESS_OF_HEAD = "harness_of_head"
    NOISIER = "noisier"
    OTHER_TIME = "other_time"
    JUDGED_BY_PROCESSOR = "judged_by_processor"
    JUDGED_BY_CLOCK = "judged_by_clock"


class BaselineReason(StrEnum):
    """Why a stored run is baseline or not, and remarks on the choice."""

    AT_MERGE_BASE = "at_merge_base"
    BEFORE_MERGE_BASE = "before_merge_base"
    BEFORE_TARGET = "before_target"
    ENOUGH_NEWER_RUNS = "enough_newer_runs"
    UNREADABLE = "unreadable"
    OTHER_HARDWARE = "measured_on_other_hardware"
    NO_METRIC_LEFT = "no_metric_left"
    NOTHING_LEFT = "nothing_left"
    NO_COMMON_ANCESTOR = "no_common_ancestor"
    SEVERAL_MERGE_BASES = "several_merge_bases"
    BEGINS_AT_ACCEPTED = "begins_at_accepted"
    MORE_ACCEPTED = "more_accepted"
    RUN_UNREADABLE = "run_unreadable"
    MORE_UNREADABLE = "more_unreadable"
    UNKNOWN_COMPONENT = "unknown_component"
    MORE_RUNS = "more_runs"
    OLDER_RUNS = "older_runs"
    RUNS_ELSEWHERE = "runs_elsewhere"
    ONLY_OTHER_HARDWARE = "only_other_hardware"
    BASE_NOT_MEASURED = "base_not_measured"


class Doubt(StrEnum):
    """Why compared call trees decide nothing."""

    ONE_REPETITION = "one_repetition"
    UNKNOWN_WEIGHTS = "unknown_weights"
    FEW_SAMPLES = "few_samples"
    NOT_ALIGNED = "not_aligned"
    ALL_SLOWER = "all_slower"
    WHOLE_SLOWER = "whole_slower"
    MORE_SAMPLES = "more_samples"
    NOISY_METHODS = "noisy_methods"
    NOT_PROFILED = "not_profiled"


class Caveat(StrEnum):
    """Remarks on compared call trees and changed functions: questions not asked, and files not read."""

    ONE_STATE = "one_state"
    TOTALS_ALONE = "totals_alone"
    ONE_PROFILE = "one_profile"
    FEW_REPETITIONS = "few_repetitions"
    FILES_LEFT = "files_left"
    NAMES_LEFT = "names_left"
    CALLING_FILES_LEFT = "calling_files_left"
    CALLING_FILES_UNREAD = "calling_files_unread"
    COMMON_NAMES = "common_names"
    NO_GRAMMAR = "no_grammar"
    LINES_UNUSED = "lines_unused"
    RECORDS_UNUSED = "records_unused"
    FILE_DAMAGED = "file_damaged"
    TRACED_BY = "traced_by"
    NOT_TRACED = "not_traced"
    NO_TIME_TO_TRACE = "no_time_to_trace"
    RUN_BY = "run_by"


class AuditReason(StrEnum):
    """Remarks on an audit's numbers, and why it recommends its settings."""

    SPLIT_AT_RANDOM = "split_at_random"
    SHARED_BASELINES = "shared_baselines"
    LASTED = "lasted"
    NOT_YET_REFUTED = "not_yet_refuted"
    FEW_TRIALS = "few_trials"
    AGREES_WITH_STATED = "agrees_with_stated"
    FEWEST_WRONG = "fewest_wrong"
    OTHERS_TOO_LOUD = "others_too_loud"
    COUNTERS_AGREE = "counters_agree"
    COUNTERS_TOO_LOUD = "counters_too_loud"
    COUNTER_RUNS_AGREE = "counter_runs_agree"
    COUNTER_RUNS_TOO_LOUD = "counter_runs_too_loud"
    NEVER_DETECTED = "never_detected"
    NOISE_HIDES_LITTLE = "noise_hides_little"
    SMALL_CHANGES_HIDDEN = "small_changes_hidden"


class SeriesReason(StrEnum):
    """Why values are missing from a series, or runs from a line of stored runs."""

    OTHER_UNIT = "other_unit"
    OTHER_VERSION = "other_version"
    MIXED_STATISTICS = "mixed_statistics"
    OFF_THE_LINE = "off_the_line"
    NOT_READABLE = "not_readable"
    HARDWARE_OF_OLDER = "hardware_of_older"


class ProfileNote(StrEnum):
    """Conversions by a reader of profiles that change the meaning of their numbers."""

    CALL_GRAPH = "call_graph"
    PATHS_NOT_FOLLOWED = "paths_not_followed"
    WEIGHTS_WITHOUT_PERIOD = "weights_without_period"
    PERIOD_DIVIDED = "period_divided"
    FIRST_EVENT_USED = "first_event_used"
    COUNTED_TWICE = "counted_twice"
    STACKS_CUT = "stacks_cut"
    SERVICE_IN_SOME = "service_in_some"


ReasonCode = (
    VerdictReason
    | Untested
    | Loss
    | Remark
    | BaselineReason
    | Doubt
    | Caveat
    | AuditReason
    | Objection
    | SearchReason
    | SeriesReason
    | ProfileNote
)
REASON_FAMILIES: tuple[type[ReasonCode], ...] = get_args(ReasonCode)
# No value is in two families, because a file holds only the value.
CODES: Mapping[str, ReasonCode] = {code.value: code for family in REASON_FAMILIES for code in family}

# Larger integers are inexact in other JSON readers, and none of our counts is larger.
LARGEST_COUNT: Final = 2**53


class ReasonEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A reason in a file, with its `arguments` by name. Effects and shares are fractions. `text` is for people."""

    code: str
    arguments: dict[str, int | float | str | tuple[str, ...]] = {}
    text: str | None = None


class Reason:
    """`arguments` by name, as in the sentence of `code`. Effects and shares are fractions.

    A file also holds the sentence, which only its writer knows, so this is no struct. It is immutable.
    """

    __slots__ = ("arguments", "code")
    JSON = ReasonEntry | str

    def __init__(self, *, code: ReasonCode, arguments: Mapping[str, Argument] | None = None) -> None:
        self.code = code
        self.arguments = arguments or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reason) and (self.code, self.arguments) == (other.code, other.arguments)

    def __hash__(self) -> int:
        return hash(self.code)

    def __repr__(self) -> str:
        return f"Reason(code={self.code!r}, arguments={dict(self.arguments)!r})"

    def to_json(self, sentence: "Sentence") -> ReasonEntry:
        return ReasonEntry(code=self.code.value, arguments=dict(self.arguments), text=sentence(self))

    @classmethod
    def from_json(cls, entry: ReasonEntry | str) -> "Reason":
        """Decode a reason. Unknown codes keep their sentence; so do older reports, which have only sentences."""
        if isinstance(entry, str):
            return remark(entry)
        if (code := CODES.get(entry.code)) is None:
            return remark(entry.text or entry.code)
        return cls(code=code, arguments={name: _argument(value) for name, value in entry.arguments.items()})


Sentence = Callable[[Reason], str | None]


def no_sentence(_: Reason) -> str | None:
    return None


def _argument(value: Argument) -> Argument:
    return float(value) if isinstance(value, int) and abs(value) > LARGEST_COUNT else value


def because(code: ReasonCode, /, **arguments: Argument | None) -> Reason:
    """Make a reason such as `because(VerdictReason.EXCLUDED, effect=0.05)`; leave out None and non-finite numbers."""
    return Reason(code=code, arguments={name: value for name, value in arguments.items() if _is_known(value)})


def _is_known(value: Argument | None) -> TypeGuard[Argument]:
    return value is not None and not (isinstance(value, float) and not math.isfinite(value))


def left_out_reasons(counts: Mapping[SeriesReason, int]) -> tuple[Reason, ...]:
    """Return one reason for each kind of omission that occurred."""
    return tuple(because(code, count=count) for code, count in counts.items() if count)


def remark(text: str) -> Reason:
    """Return a reason with text from a reader of files."""
    return because(Remark.TEXT, text=text)
