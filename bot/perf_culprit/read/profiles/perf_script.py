"""`perf script`: samples of the Linux profiler as text, each with its stack, the leaf first."""

import re
from typing import Final

from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import SAMPLES, Frame, ProfileTree, frame, group_name

_EVENT: Final = re.compile(
    r"(?P<command>\S.{0,255}?)\s++(?:[0-9]++/)?+[0-9]++\s++(?:\[[0-9]++\]\s++)?+[0-9]++\.[0-9]++:\s.*:\s*+"
)
_FRAME: Final = re.compile(r"\s++(?P<address>[0-9a-f]++)\s(?P<symbol>.*)\s\((?P<object>[^()]*+(?:\([^()]*+\))?+)\)\s*+")
_OFFSET: Final = re.compile(r"\+0x[0-9a-f]++$")
_DETECTED_LINES: Final = 50
_UNKNOWN: Final = "[unknown]"


def matches(file: ProfileFile, /) -> bool:
    lines = [line for line in file.beginning.split("\n")[:_DETECTED_LINES] if line.strip() and line[0] != "#"]
    return bool(lines) and _EVENT.fullmatch(lines[0]) is not None and any(map(_FRAME.fullmatch, lines[1:3]))


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """A profile per command; each event is one sample, whatever its period."""
    trees: dict[str, ProfileTree] = {}
    command, stack = "", list[Frame]()
    begun = 0

    def finish() -> None:
        if stack:
            tree = trees.setdefault(command, ProfileTree())
            if not tree.add_stack(stack[::-1], 1):
                file.reject(RecordFault.TOO_DEEP, stack[-1].method, at=f":{begun}")
        stack.clear()

    for number, line in file.lines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0] not in " \t":
            finish()
            file.intake.records += 1
            begun = number
            event = _EVENT.fullmatch(line)
            command = group_name(event["command"]) if event else ""
            if event is None:
                file.reject(RecordFault.MALFORMED, line, at=f":{number}")
            continue
        match = _FRAME.fullmatch(line)
        if match is None or not command:
            file.reject(RecordFault.MALFORMED, line, at=f":{number}")
            continue
        stack.append(_frame(match["symbol"], match["object"]))
    finish()
    return tuple(tree.profile(name, unit=SAMPLES, counted=False) for name, tree in trees.items())


def _frame(symbol: str, shared_object: str) -> Frame:
    name = _OFFSET.sub("", symbol)
    if name == _UNKNOWN:
        # Addresses differ from run to run; the object does not.
        return frame(f"{_UNKNOWN} {shared_object.rpartition('/')[2]}")
    return frame(name)
