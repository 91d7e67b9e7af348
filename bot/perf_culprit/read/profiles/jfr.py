"""Samples of Java's Flight Recorder, as the JDK's own tool prints them: `jfr print --json`."""

from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.reason import ProfileNote, because
from perf_culprit.read.profiles.json_elements import decode, each
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import SAMPLES, Frame, ProfileTree, frame

PRINT: Final = (
    "jfr print --json --stack-depth 64 --events jdk.ExecutionSample,jdk.NativeMethodSample FILE > stacks.json"
)
_EVENTS: Final = frozenset({"jdk.ExecutionSample", "jdk.NativeMethodSample"})


class _Type(msgspec.Struct):
    name: str = ""


class _Method(msgspec.Struct):
    type: _Type | None = None
    name: str = ""


class _Frame(msgspec.Struct):
    method: _Method | None = None


class _Stack(msgspec.Struct):
    frames: list[_Frame]
    truncated: bool = False


class _Values(msgspec.Struct, rename="camel"):
    stack_trace: _Stack | None = None


class _Event(msgspec.Struct):
    type: str
    values: _Values


class _Recording(msgspec.Struct):
    events: list[msgspec.Raw]


class _Document(msgspec.Struct):
    recording: _Recording


def matches(file: ProfileFile, /) -> bool:
    return file.beginning.startswith("{") and '"recording"' in file.beginning[:100]


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """All threads together. Other events are left out."""
    document = decode(file, _Document, what="output of jfr print", next_step=f"print it again: {PRINT}")
    tree = ProfileTree()
    truncated = 0
    events = document.recording.events
    for at, event in each(events, _Event, file=file, what="event"):
        stack = event.values.stack_trace
        if event.type not in _EVENTS or stack is None:
            file.reject(RecordFault.NO_EXECUTION, event.type, at=at)
            continue
        truncated += stack.truncated
        if not tree.add_stack([_named(one.method) for one in reversed(stack.frames)], 1):
            file.reject(RecordFault.TOO_DEEP, event.type, at=at)
    if truncated:
        file.intake.note(because(ProfileNote.STACKS_CUT, count=truncated, file=file.place))
    return (tree.profile(unit=SAMPLES, counted=False),)


def _named(method: _Method | None) -> Frame:
    if method is None:
        return frame("(unknown)")
    return frame(f"{method.type.name.replace('/', '.')}.{method.name}" if method.type else method.name)
