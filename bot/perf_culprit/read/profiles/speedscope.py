"""speedscope's file format: stacks that were sampled, or events that open and close frames."""

import math
import re
from array import array
from functools import partial
from typing import Final

import msgspec

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.json_elements import UNDECODABLE
from perf_culprit.read.profiles.profile_file import ProfileFile, printable
from perf_culprit.read.profiles.profile_tree import Frame, OpenCalls, ProfileTree, frame, frame_of, group_name, nest

MS_PER_UNIT: Final = {"nanoseconds": 1e-6, "microseconds": 1e-3, "milliseconds": 1.0, "seconds": 1e3}
OTHER_UNITS: Final = {"none": "samples", "bytes": "bytes"}
MAX_VALUE: Final = 1e18
_SCHEMA: Final = "speedscope.app/file-format-schema"
_SHAPE: Final = re.compile(r'"type"\s*+:\s*+"(?:evented|sampled)"')


class _Frame(msgspec.Struct, gc=False):
    name: str
    file: str | None = None
    line: float | None = None


class _Shared(msgspec.Struct):
    frames: list[_Frame]


class _Part(msgspec.Struct):
    type: str
    name: str = ""
    unit: str = "none"
    samples: list[msgspec.Raw] = []
    weights: list[float] = []
    events: list[msgspec.Raw] = []


class _Document(msgspec.Struct):
    shared: _Shared
    profiles: list[_Part]


class _Event(msgspec.Struct, gc=False):
    type: str
    frame: int
    at: float


_STACK: Final = msgspec.json.Decoder(list[int])
_EVENT: Final = msgspec.json.Decoder(_Event)


def matches(file: ProfileFile, /) -> bool:
    text = file.beginning
    return text.startswith("{") and (_SCHEMA in text or ('"profiles"' in text and _SHAPE.search(text) is not None))


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """A profile per group of the file's profiles: names that differ in numbers only are one group."""
    try:
        document = msgspec.json.decode(file.content(), type=_Document)
    except UNDECODABLE as error:
        fault = f"is no speedscope file: {printable(str(error)[:200])}"
        raise DataError(fault, place=file.place, next_step="check that the profiler wrote the whole file") from None
    frames = [_frame(entry) for entry in document.shared.frames]
    trees: dict[tuple[str, str, bool], tuple[ProfileTree, float]] = {}
    for number, part in enumerate(document.profiles, 1):
        at = f": profile {number}"
        evented = part.type == "evented"
        if not evented and part.type != "sampled":
            file.intake.records += 1
            file.reject(RecordFault.MALFORMED, f"type {part.type}", at=at)
            continue
        scale = MS_PER_UNIT.get(part.unit)
        unit = "ms" if scale is not None else OTHER_UNITS.get(part.unit, group_name(part.unit)[:40] or "samples")
        key = (group_name(part.name) or "profile", unit, evented)
        tree, _ = trees.setdefault(key, (ProfileTree(), scale or 1.0))
        part_scale = (scale or 1.0) / trees[key][1]
        (_read_events if evented else _read_samples)(part, frames, tree, scale=part_scale, at=at, file=file)
    return tuple(
        tree.profile(service, unit=unit, counted=evented, scale=scale)
        for (service, unit, evented), (tree, scale) in trees.items()
    )


def _frame(entry: _Frame) -> Frame:
    if not entry.file:
        return frame_of(entry.name)
    line = entry.line
    return frame(entry.name, entry.file, int(line) if line is not None and math.isfinite(line) else None)


def _read_samples(
    part: _Part, frames: list[Frame], tree: ProfileTree, *, scale: float, at: str, file: ProfileFile
) -> None:
    """A sample's weight is the time until the next one. Samples without a weight are not used."""
    file.intake.records += max(len(part.samples), len(part.weights))
    for number, raw in enumerate(part.samples[len(part.weights) :], len(part.weights) + 1):
        file.reject(RecordFault.MALFORMED, bytes(raw), at=f"{at}, sample {number}")
    for number, (raw, weight) in enumerate(zip(part.samples, part.weights, strict=False), 1):
        try:
            stack = _STACK.decode(raw)
        except msgspec.DecodeError:
            stack = [-1]
        if any(not 0 <= i < len(frames) for i in stack):
            file.reject(RecordFault.MALFORMED, bytes(raw), at=f"{at}, sample {number}")
        elif not 0 <= weight <= MAX_VALUE:
            file.reject(RecordFault.NUMBER, f"weight {weight}", at=f"{at}, sample {number}")
        elif not tree.add_stack([frames[i] for i in stack], weight * scale):
            file.reject(RecordFault.TOO_DEEP, frames[stack[0]].method, at=f"{at}, sample {number}")


def _read_events(
    part: _Part, frames: list[Frame], tree: ProfileTree, *, scale: float, at: str, file: ProfileFile
) -> None:
    reject = partial(file.reject, at=at)
    calls = OpenCalls(frames=frames, reject=reject)
    last = -math.inf
    file.intake.records += len(part.events)
    for number, raw in enumerate(part.events, 1):
        try:
            event = _EVENT.decode(raw)
        except msgspec.DecodeError:
            event = None
        if event is None or event.type not in ("O", "C") or not 0 <= event.frame < len(frames):
            fault = RecordFault.MALFORMED
        elif not abs(event.at) <= MAX_VALUE:
            fault = RecordFault.NUMBER
        elif event.at < last:
            fault = RecordFault.ORDER
        else:
            last = event.at
            (calls.begin if event.type == "O" else calls.end)(event.frame, event.at)
            continue
        file.reject(fault, bytes(raw), at=f"{at}, event {number}")
    calls.finish(last)
    intervals = calls.intervals
    if scale != 1.0:
        intervals.starts = array("d", (start * scale for start in intervals.starts))
        intervals.ends = array("d", (end * scale for end in intervals.ends))
    nest(intervals, frames=frames, tree=tree, rounding=0.0, reject=reject)
