"""Blocks of runs, which share a machine and a stretch of time. One block a side proves nothing, whatever its runs.

Files say so by their origins. Without any fact, the files of one side are one block. Stored runs are jobs of their own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Final, NamedTuple

from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.run import Origin, Run

# Executions on one machine resemble each other for this long: in a quiet hour and in a busy one they differ by 8%.
STRETCH: Final = timedelta(hours=1)
_UNDATED: Final = datetime.min.replace(tzinfo=UTC)


class Blocks(NamedTuple):
    """The block of each baseline run, none if all share the first, and of each of the target's, in order of time."""

    baseline: tuple[int, ...]
    target: tuple[int, ...]

    def of_baseline(self, position: int) -> int:
        return self.baseline[position] if self.baseline else 0


ONE_A_SIDE: Final = Blocks((), (1,))


@dataclass(frozen=True, slots=True)
class _File:
    is_target: bool
    index: int
    origin: Origin


def blocks_of(baseline: Baseline, target: Run) -> Blocks:
    """Return the blocks of all runs that are compared; a target without files of its own is one run."""
    count = max(len(target.origins), 1)
    if baseline.source is BaselineSource.HISTORY:
        return Blocks(tuple(range(len(baseline.runs))), (len(baseline.runs),) * count)
    origins = target.origins or (target.origin,)
    files = [_File(is_target=False, index=index, origin=run.origin) for index, run in enumerate(baseline.runs)]
    files += [_File(is_target=True, index=index, origin=origin) for index, origin in enumerate(origins)]
    if all(file.origin.time for file in files):
        files.sort(key=lambda file: file.origin.time or _UNDATED)
    if not any(file.origin.is_told for file in files):
        return Blocks((0,) * len(baseline.runs), (1,) * count)
    numbers = _block_numbers(files)
    number_of: dict[tuple[bool, int], int] = {
        (file.is_target, file.index): number for file, number in zip(files, numbers, strict=True)
    }
    return Blocks(
        tuple(number_of[False, index] for index in range(len(baseline.runs))),
        tuple(number_of[True, index] for index in range(count)),
    )


def _block_numbers(files: Sequence[_File]) -> list[int]:
    """Each file's block: a stretch of one side on one machine, or a round if the sides took turns there."""
    stretches = [0]
    for before, after in pairwise(files):
        goes_on = before.is_target == after.is_target and _are_together(before, after)
        stretches.append(stretches[-1] + (not goes_on))
    first = [stretches.index(number) for number in range(stretches[-1] + 1)]
    rounds, number = {}, 0
    while number + 1 < len(first):
        turn = first[number + 1]
        takes_turn = files[turn - 1].is_target != files[turn].is_target and _are_together(files[turn - 1], files[turn])
        if takes_turn:
            rounds[number + 1] = number
        number += 1 + takes_turn
    if len(rounds) < 2:  # turns of both sides on one machine that make a measurement in rounds
        return stretches
    return [rounds.get(number, number) for number in stretches]


def _are_together(before: _File, after: _File) -> bool:
    """Whether no fact separates them: another machine, start or job, or a longer pause."""
    ours, theirs = before.origin, after.origin
    if any(None not in pair and pair[0] != pair[1] for pair in zip(ours.place, theirs.place, strict=True)):
        return False
    return ours.time is None or theirs.time is None or abs(theirs.time - ours.time) <= STRETCH
