"""The sentences of verdicts."""

from collections.abc import Mapping
from typing import Final

from bot.model.reason import ReasonCode, VerdictReason

_SCORES: Final = "[{outside:%} of samples outside, limit {limit_outside:%}][{test}: {score:.3g}, limit {limit:.3g}]"

VERDICTS: Final[Mapping[ReasonCode, str]] = {
    VerdictReason.SIGNIFICANT: "{test}: q = {q_value:.2g}",
    VerdictReason.EXACT_DIFFERENCE: "exact numbers that differ",
    VerdictReason.EXACTLY_EQUAL: "exactly the same",
    VerdictReason.BELOW_MINIMUM_EFFECT: "differs, but by less than the minimum effect of {effect:%}",
    VerdictReason.EXCLUDED: "a worsening of {effect:%} is excluded",
    VerdictReason.NOTHING_SEEN: "nothing found; a change of {effect:%} or more would have been seen",
    VerdictReason.LOOKS_WORSE_SAMPLES: "not proven: {samples:# more sample} of the target would decide",
    VerdictReason.LOOKS_WORSE_ROUNDS: (
        "not proven: measure more rounds of both sides[ (about {rounds:,} in all)], or use a quieter machine"
    ),
    VerdictReason.LOOKS_WORSE_BETWEEN_RUNS: (
        "not proven: measure both sides in one job; more samples of the target won't help"
    ),
    VerdictReason.LOOKS_WORSE: "not proven: repeat the measurement",
    VerdictReason.TOO_FEW_SAMPLES: "too few samples: the {side:prose} has {count:,}, {minimum:,} are needed",
    VerdictReason.TOO_FEW_ROUNDS: (
        "{count:# round} can't prove a change of any size among so many benchmarks; {rounds:# round} would"
    ),
    VerdictReason.NOTHING_TESTED: "nothing could be tested",
    VerdictReason.BLIND: "not even a tenfold change would have been seen: too noisy, or too few runs",
    VerdictReason.NO_RELATIVE_CHANGE: "there is no relative change",
    VerdictReason.WITHIN_LIMIT: _SCORES,
    VerdictReason.OVER_LIMIT: _SCORES,
    VerdictReason.OVER_LIMIT_LIKE_BASELINE: _SCORES + ": baseline runs exceed theirs as much",
    VerdictReason.OVER_LIMIT_FEW_RUNS: (
        _SCORES + ": {runs:# baseline run} can't show how much runs differ by themselves, 3 do"
    ),
    VerdictReason.OVER_LIMIT_SMALL_EFFECT: _SCORES + ", but the medians differ by less than {effect:%}",
    VerdictReason.OTHER_HARDWARE: "measured on other hardware ({component:prose}: {here} instead of {there})",
    VerdictReason.MACHINE_CHANGED: (
        "nearly all benchmarks moved together, by {change:+%} of time: the machine changed"
    ),
    VerdictReason.ENVIRONMENT_CHANGED: "the environment changed, the code is innocent: {changes}",
    VerdictReason.CULPRIT_REVERTED: "{commit} made it worse, and {revert} has reverted it",
    VerdictReason.CULPRIT_REMOVED: "{commit} made it worse, and the default branch no longer has it",
    VerdictReason.LONE_RUN: (
        "looks worse, but isn't proven: one run on a side doesn't show how much runs differ by themselves; "
        "measuring both commits in turn does: "
        "perf-culprit measure --commits BASE HEAD --run COMMAND --until-decided"
    ),
    VerdictReason.ACCEPTED: "accepted",
    VerdictReason.NOT_CONFIRMED: "not confirmed by a second measurement[: {change:+%}]",
}
