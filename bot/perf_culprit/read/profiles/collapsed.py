"""Collapsed stacks (Brendan Gregg's stackcollapse, py-spy raw, inferno, async-profiler): `root;child;leaf 12`."""

import re
from functools import lru_cache
from typing import Final

from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.reason import ProfileNote, because
from perf_culprit.read.profiles.profile_file import HEAD_BYTES, ProfileFile
from perf_culprit.read.profiles.profile_tree import SAMPLES, WEIGHT, Frame, ProfileTree, Weights, frame, frame_of

MAX_COUNT: Final = 1e18
# Austin's frames: `P4711;T0:1;path/file.py:function:12`, perf's and inferno's `name;…` have none of these.
_PROCESS: Final = re.compile(r"P[0-9]++")
_THREAD: Final = re.compile(r"T[0-9a-fx]++(?::[0-9a-f]++)?+")
_AUSTIN: Final = re.compile(r"(?P<file>[^:]++):(?P<name>[^:]++):(?P<line>[0-9]{1,9})")
_LINE: Final = re.compile(r"\S.*[ \t][0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+\s*+")
_DETECTED_LINES: Final = 20
_LINE_END: Final = 200


def matches(file: ProfileFile, /) -> bool:
    """Half of the first lines are stacks: a few broken ones are no reason to refuse the others."""
    first, *others = file.beginning.split("\n")[:_DETECTED_LINES]
    if not others and len(file.head) >= HEAD_BYTES:
        return first.count(";") > 1 and first[0] not in "{["
    lines = [line for line in (first, *others) if line.strip() and line[0] != "#"]
    return 2 * sum(_LINE.fullmatch(line[-_LINE_END:].lstrip()) is not None for line in lines) >= max(1, len(lines))


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    tree = ProfileTree()
    weights = Weights()
    for number, line in file.lines():
        if not line.strip() or line.startswith("#"):
            continue
        file.intake.records += 1
        stack, _, count_text = line.rstrip().rpartition(" ")
        if not stack:
            stack, _, count_text = line.rstrip().rpartition("\t")
        count = _number(count_text)
        if not stack.strip() or count is None or not 0 <= count <= MAX_COUNT:
            fault = RecordFault.MALFORMED if not stack.strip() or count is None else RecordFault.NUMBER
            file.reject(fault, line, at=f":{number}")
            continue
        weights.add(count)
        if not tree.add_stack(_frames(stack), count):
            file.reject(RecordFault.TOO_DEEP, line, at=f":{number}")
    period = weights.period
    if period is None:
        file.intake.note(because(ProfileNote.WEIGHTS_WITHOUT_PERIOD))
    elif period > 1:
        file.intake.note(because(ProfileNote.PERIOD_DIVIDED, period=period))
    unit = WEIGHT if period is None else SAMPLES
    return (tree.profile(unit=unit, counted=False, scale=1 / (period or 1.0)),)


def _frames(stack: str) -> list[Frame]:
    """Without the process and thread that Austin puts in front: their ids differ from run to run."""
    names = stack.split(";")
    if _PROCESS.fullmatch(names[0]):
        names = names[2 if len(names) > 2 and _THREAD.fullmatch(names[1]) else 1 :]
    return [_frame(name) for name in names]


@lru_cache(maxsize=1 << 15)
def _frame(name: str) -> Frame:
    austin = _AUSTIN.fullmatch(name)
    return frame(austin["name"], austin["file"], int(austin["line"])) if austin else frame_of(name)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
