"""Scalene's JSON (`scalene run -o FILE`): its stacks of Python functions with the number of samples."""

import re
from typing import Final

import msgspec

from bot.diagnose.profiles import whole_json
from bot.diagnose.profiles.file import ProfileFile
from bot.diagnose.profiles.frame import Frame, frame
from bot.diagnose.profiles.intake import Intake
from bot.diagnose.profiles.tree import ProfileTree
from bot.diagnose.profiles.weights import SAMPLES
from bot.model.profile import Profile, RecordFault

SERVICE: Final = "profile"
MAX_COUNT: Final = 1e15
# `/path/work.py main:5;`
_FRAME: Final = re.compile(r"(?P<file>.+?) (?P<name>\S+):(?P<line>[0-9]{1,9});?+")
# Members are in the order of the alphabet: these are the first ones.
_MEMBERS: Final = ('"alloc_samples"', '"combined_stacks"')


class _Amount(msgspec.Struct):
    count: float


class _Document(msgspec.Struct):
    stacks: list[msgspec.Raw] = []


_STACK: Final = msgspec.json.Decoder(tuple[list[str], _Amount])


def matches(file: ProfileFile, /) -> bool:
    return file.beginning.startswith("{") and all(member in file.beginning for member in _MEMBERS)


def read(file: ProfileFile, intake: Intake, /) -> tuple[Profile, ...]:
    stacks = whole_json.decode(file, _Document, what="Scalene file").stacks
    tree = ProfileTree()
    for place, (names, amount) in whole_json.each(stacks, _STACK, place=f"{file.place}: stack", intake=intake):
        if not 0 <= amount.count <= MAX_COUNT:
            intake.reject(RecordFault.NUMBER, place=place, text=amount.count)
        elif not tree.add_stack([_frame(name) for name in names], amount.count):
            intake.reject(RecordFault.TOO_DEEP, place=place, text=names[0])
    return (tree.profile(SERVICE, unit=SAMPLES, counted=False),)


def _frame(text: str) -> Frame:
    match = _FRAME.fullmatch(text)
    return frame(match["name"], match["file"], int(match["line"])) if match else frame(text)
