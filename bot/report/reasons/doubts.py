"""The sentences of why compared call trees decide nothing or are not there, with what would decide."""

from collections.abc import Mapping
from typing import Final

from bot.model.reason import Doubt, ReasonCode

DOUBTS: Final[Mapping[ReasonCode, str]] = {
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
        "slows all code; record both revisions in turns on one machine"
    ),
    Doubt.WHOLE_SLOWER: (
        "the whole takes {change:+%}, and no single method explains it; record more repetitions of both revisions in "
        "turns on one machine"
    ),
    Doubt.MORE_SAMPLES: (
        "the number of samples grew by {change:%}, and no method's share did for sure; where both revisions did the "
        "same work the whole is slower: compare again with --same-work"
    ),
    Doubt.NOT_PROFILED: "it and its parent were not profiled: {why:prose}[; {next:prose}]",
    Doubt.NOISY_METHODS: (
        "a method could take {visible:%} of the whole more unseen; record {wanted:# repetition} or more per revision"
    ),
}
