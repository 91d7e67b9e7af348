"""Collapsed stacks (Brendan Gregg's stackcollapse, py-spy raw, inferno, async-profiler): `root;child;leaf 12`."""

import math
import re
from typing import Final

from bot.diagnose.profiles.file import HEAD_BYTES, ProfileFile
from bot.diagnose.profiles.frame import frame_of
from bot.diagnose.profiles.intake import Intake
from bot.diagnose.profiles.tree import ProfileTree
from bot.model.profile import Profile, RecordFault

ID: Final = "collapsed"
DESCRIPTION: Final = "collapsed stacks, one per line with its count"
DOCS: Final = "collapsed"
# The lines do not say whose they are.
SERVICE: Final = "profile"
MAX_COUNT: Final = 1e18
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


def read(file: ProfileFile, intake: Intake, /) -> tuple[Profile, ...]:
    tree = ProfileTree()
    for number, line in file.lines():
        if not line.strip() or line.startswith("#"):
            continue
        intake.records += 1
        stack, _, count_text = line.rstrip().rpartition(" ")
        if not stack:
            stack, _, count_text = line.rstrip().rpartition("\t")
        count = _count(count_text)
        if not stack.strip() or count is None:
            fault = RecordFault.NUMBER if stack.strip() and _is_number(count_text) else RecordFault.MALFORMED
            intake.reject(fault, place=f"{file.place}:{number}", text=line)
            continue
        if not tree.add_stack([frame_of(name) for name in stack.split(";")], count):
            intake.reject(RecordFault.TOO_DEEP, place=f"{file.place}:{number}", text=line)
    return (tree.profile(SERVICE, unit="samples", counted=False),)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _count(text: str) -> float | None:
    if not _is_number(text):
        return None
    count = float(text)
    return count if math.isfinite(count) and 0 <= count <= MAX_COUNT else None
