"""The sentences of the choice of a baseline. Whether a run was chosen stands beside them."""

from collections.abc import Mapping
from typing import Final

from bot.model.reason import BaselineReason, ReasonCode

_WITHOUT: Final = "[, without {dropped:# metric} from before an accepted change]"

CHOICES: Final[Mapping[ReasonCode, str]] = {
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
        "the newest baseline run is {commits:# commit} before the base: what those changed counts here as well"
    ),
}
