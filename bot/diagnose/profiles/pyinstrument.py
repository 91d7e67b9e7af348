"""pyinstrument's JSON (`pyinstrument -r json`): one tree of functions with sampled seconds."""

import math
from typing import Final

import msgspec

from bot.diagnose.profiles import whole_json
from bot.diagnose.profiles.file import ProfileFile
from bot.diagnose.profiles.frame import Frame, frame
from bot.diagnose.profiles.intake import Intake
from bot.diagnose.profiles.tree import TOP, ProfileTree
from bot.model.profile import Profile, RecordFault

SERVICE: Final = "profile"
MS_PER_S: Final = 1e3
MAX_SECONDS: Final = 1e12
# Time of a frame itself, or without a frame, which pyinstrument writes as a callee.
_PSEUDO: Final = ("[self]", "[await]", "[out-of-context]")


class _Frame(msgspec.Struct):
    function: str
    time: float
    file_path: str | None = None
    line_no: int | None = None
    children: list[msgspec.Raw] = []


class _Document(msgspec.Struct):
    root_frame: msgspec.Raw


_FRAME: Final = msgspec.json.Decoder(_Frame)


def matches(file: ProfileFile, /) -> bool:
    text = file.beginning
    return text.startswith("{") and '"root_frame"' in text and '"sample_count"' in text


def read(file: ProfileFile, intake: Intake, /) -> tuple[Profile, ...]:
    """Times are sums of the intervals between samples; calls are not counted."""
    root = whole_json.decode(file, _Document, what="pyinstrument file").root_frame
    tree = ProfileTree()
    stack = [(root, TOP)]
    while stack:
        raw, parent = stack.pop()
        intake.records += 1
        try:
            one = _FRAME.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            intake.reject(RecordFault.MALFORMED, place=f"{file.place}: frame {intake.records}", text=bytes(raw))
            continue
        if not 0 <= one.time <= MAX_SECONDS or not math.isfinite(one.time):
            intake.reject(RecordFault.NUMBER, place=f"{file.place}: frame {intake.records}", text=one.function)
            continue
        # What a frame takes is its caller's callee time; pseudo frames stay with the caller.
        if one.function in _PSEUDO:
            continue
        node = tree.child(parent, _name(one))
        if node == parent:
            intake.reject(RecordFault.TOO_DEEP, place=file.place, text=one.function)
            continue
        tree.add(node, elapsed=one.time, self_time=one.time, calls=0)
        if parent != TOP:
            tree.self_time[parent] -= one.time
        stack += [(child, node) for child in one.children]
    return (tree.profile(SERVICE, counted=False, scale=MS_PER_S),)


def _name(one: _Frame) -> Frame:
    return frame(one.function, one.file_path, one.line_no)
