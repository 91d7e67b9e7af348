"""The runs that a target is judged against, and why each was chosen or left out."""

from dataclasses import dataclass
from enum import StrEnum

from bot.model.finding import Acceptance
from bot.model.metric import MetricKey
from bot.model.reason import Reason
from bot.model.run import Run


class BaselineSource(StrEnum):
    """Where the baseline came from; decides which doubts are raised about it."""

    FILES = "files"  # given on the command line
    PAIRED = "paired"  # measured in the same job as the target, interleaved
    HISTORY = "history"  # stored runs of earlier commits


@dataclass(frozen=True, kw_only=True, slots=True)
class RunChoice:
    """One stored run that was looked at: whether it is baseline, and why or why not."""

    commit: str | None
    time: str | None
    chosen: bool
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Baseline:
    """`runs` from oldest to newest. `base_commit` is what they stand for (the merge base).

    `is_branched`: the target left the runs' branch, so that what got worse there before is not its doing.
    `left_out_for_hardware` counts runs that would have been baseline, had they been measured on the target's hardware.
    `accepted` are the regressions between these runs and the target that somebody accepted. `unsettled` metrics were
    called regressions by runs of which no later one tells yet whether they began a new level.
    """

    runs: tuple[Run, ...]
    source: BaselineSource
    base_commit: str | None = None
    is_branched: bool = False
    choices: tuple[RunChoice, ...] = ()
    notes: tuple[Reason, ...] = ()
    left_out_for_hardware: int = 0
    accepted: tuple[Acceptance, ...] = ()
    unsettled: frozenset[MetricKey] = frozenset()

    @property
    def only_other_hardware(self) -> bool:
        """There is something to compare with, but all of it was measured on other hardware."""
        return not self.runs and self.left_out_for_hardware > 0
