"""pyinstrument's JSON (`pyinstrument -r json`): one tree of functions with sampled seconds."""

from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles import json_elements
from perf_culprit.read.profiles.json_elements import decode
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import TOP, ProfileTree, frame

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
    return file.begins("{", '"root_frame"', '"sample_count"')


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """Times are sums of the intervals between samples; calls are not counted."""
    root = decode(file, _Document, what="pyinstrument file").root_frame
    tree = ProfileTree()
    stack = [(root, TOP)]
    while stack:
        raw, parent = stack.pop()
        at = f": frame {file.intake.records + 1}"
        one = json_elements.one(raw, _FRAME, file=file, at=at)
        if one is None:
            continue
        if not 0 <= one.time <= MAX_SECONDS:
            file.reject(RecordFault.NUMBER, one.function, at=at)
            continue
        # What a frame takes is its caller's callee time; pseudo frames stay with the caller.
        if one.function in _PSEUDO:
            continue
        node = tree.child(parent, frame(one.function, one.file_path, one.line_no))
        if node == parent:
            file.reject(RecordFault.TOO_DEEP, one.function)
            continue
        tree.add(node, elapsed=one.time, self_time=one.time, calls=0)
        if parent != TOP:
            tree.self_time[parent] -= one.time
        stack += [(child, node) for child in one.children]
    return (tree.profile(counted=False, scale=MS_PER_S),)
