"""Scalene's JSON (`scalene run -o FILE`): its stacks of Python functions with the number of samples."""

import re
from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.json_elements import decode, each
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import SAMPLES, Frame, ProfileTree, frame

MAX_COUNT: Final = 1e15
# `/path/work.py main:5;`
_FRAME: Final = re.compile(r"(?P<file>.+?) (?P<name>\S+):(?P<line>[0-9]{1,9});?+")


class _Amount(msgspec.Struct):
    count: float


class _Document(msgspec.Struct):
    stacks: list[msgspec.Raw] = []


def matches(file: ProfileFile, /) -> bool:
    # Members are in the order of the alphabet: these are the first ones.
    return file.begins("{", '"alloc_samples"', '"combined_stacks"')


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    stacks = decode(file, _Document, what="Scalene file").stacks
    tree = ProfileTree()
    for at, (names, amount) in each(stacks, tuple[list[str], _Amount], file=file, what="stack"):
        if not 0 <= amount.count <= MAX_COUNT:
            file.reject(RecordFault.NUMBER, amount.count, at=at)
        elif not tree.add_stack([_frame(name) for name in names], amount.count):
            file.reject(RecordFault.TOO_DEEP, names[0], at=at)
    return (tree.profile(unit=SAMPLES, counted=False),)


def _frame(text: str) -> Frame:
    match = _FRAME.fullmatch(text)
    return frame(match["name"], match["file"], int(match["line"])) if match else frame(text)
