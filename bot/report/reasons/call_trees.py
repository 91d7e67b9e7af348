"""The sentences of call trees: why they decide nothing, what to know of them and of the profiles behind them."""

from collections.abc import Mapping
from typing import Final

from bot.model.reason import Caveat, Doubt, ProfileNote, ReasonCode

CALL_TREES: Final[Mapping[ReasonCode, str]] = {
    Doubt.ONE_REPETITION: (
        "one repetition per revision shows no noise, so no difference is certain; record {wanted:# repetition} of each"
    ),
    Doubt.UNKNOWN_WEIGHTS: (
        "the stacks have weights that are no counts of samples, so one profile per revision says nothing of noise; "
        "record {wanted:# profile} of each"
    ),
    Doubt.FEW_SAMPLES: (
        "{baseline:# sample} and {target:# sample} are too few to test any method; profile for longer or more often, "
        "or compare counts with --same-work where both did the same work"
    ),
    Doubt.NOT_ALIGNED: (
        "only {aligned:%} of the time is in methods that both revisions have; record the same program in the same way"
    ),
    Doubt.ALL_SLOWER: (
        "most methods take {factor:.2f} times as long: another machine state, interpreter or build, or a change that "
        "slows all code; record both revisions in turn on one machine"
    ),
    Doubt.WHOLE_SLOWER: (
        "the whole takes {change:+%}, and no single method explains it; record more repetitions of both revisions in "
        "turn on one machine"
    ),
    Doubt.MORE_SAMPLES: (
        "the number of samples grew by {change:%}, and no method's share did for sure; where both revisions did the "
        "same work the whole is slower: compare again with --same-work"
    ),
    Doubt.NOT_PROFILED: "it and its parent were not profiled: {why:prose}[; {next:prose}]",
    Doubt.NOISY_METHODS: (
        "a method that takes {visible:%} of the whole more could go unseen; record {wanted:# repetition} or more per "
        "revision"
    ),
    Caveat.ONE_STATE: (
        "the calls of one log were made on one machine in one state: another state of it looks like slower methods too"
    ),
    Caveat.TOTALS_ALONE: "one repetition holds totals alone: which methods are really slower is not certain",
    Caveat.ONE_PROFILE: (
        "one profile per revision: samples are taken for independent, and differences between runs for none"
    ),
    Caveat.FEW_REPETITIONS: "{count:# repetition} show only large changes; record more of both revisions",
    Caveat.FILES_LEFT: "{count:,} files differ; {limit:,} were looked at",
    Caveat.NAMES_LEFT: "callers were looked for of {limit:,} of {count:,} changed names",
    Caveat.CALLING_FILES_LEFT: "callers were looked for in {limit:,} of {count:,} files",
    Caveat.CALLING_FILES_UNREAD: "callers in {count:,} files are not known: no Python, or above {mebibytes:,} MiB",
    Caveat.LINES_UNUSED: "{side:prose}: {unused:,} of {count:,} lines were not used",
    Caveat.RECORDS_UNUSED: "{side:prose}: {unused:,} of {count:,} records were not used as they are",
    Caveat.FILE_DAMAGED: "{side:prose}: {name} ends too early or is damaged",
    Caveat.NO_GRAMMAR: (
        "not read: {count:# changed file} in languages without a grammar here (pip install 'perf-culprit[languages]')"
    ),
    Caveat.COMMON_NAMES: "too many functions call {names:and}: their callers are left out",
    ProfileNote.CALL_GRAPH: (
        "[{side:prose}: ]the profile is a call graph, which has no paths: the cost of a function is split over its "
        "callers by their share of it, and recursion is folded into the first call"
    ),
    ProfileNote.PATHS_NOT_FOLLOWED: (
        "[{side:prose}: ]{share:%} of the cost is on paths that were not followed: below (other paths)"
    ),
    ProfileNote.WEIGHTS_WITHOUT_PERIOD: (
        "[{side:prose}: ]the stacks' weights are no counts of samples and have no common period (times?): shares of "
        "them are compared, and one file alone shows no noise"
    ),
    ProfileNote.PERIOD_DIVIDED: (
        "[{side:prose}: ]every weight is a multiple of {period:,.0f}: taken for the sampling period and divided"
    ),
    ProfileNote.FIRST_EVENT_USED: "[{side:prose}: ]of the events {events} the first is used",
    ProfileNote.COUNTED_TWICE: (
        "[{side:prose}: ]the log holds operation executions and events of the same operations; the family with fewer "
        "is left out, as it would count them twice"
    ),
    ProfileNote.STACKS_CUT: (
        "[{side:prose}: ]{count:# stack} of {file} cut at the root: print the whole with --stack-depth 64"
    ),
}
