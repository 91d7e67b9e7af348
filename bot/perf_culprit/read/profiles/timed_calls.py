"""Timed calls: our tracer's profiles, speedscope's file format and Chrome's trace events."""

import math
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import msgspec

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault, decode_profile
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.json_files import WRITE_AGAIN, format_of
from perf_culprit.model.unit_sizes import MILLISECONDS
from perf_culprit.read.profiles.json_elements import UNDECODABLE, JsonElements
from perf_culprit.read.profiles.profile_file import ProfileFile, ProfileReader, printable
from perf_culprit.read.profiles.profile_tree import (
    Frame,
    Intervals,
    OpenCalls,
    ProfileTree,
    frame,
    frame_of,
    group_name,
    nest,
)

_OWN_SHAPE: Final = re.compile(r'\{\s*+"format"\s*+:\s*+"' + format_of(Profile)[0] + '"')


def _read_own_trace(file: ProfileFile) -> tuple[Profile, ...]:
    """Read our own file. Every line must be valid, because the file is written as a whole or not at all."""
    profiles = []
    for number, line in enumerate(file.content().split(b"\n"), 1):
        if line.strip():
            profile = decode_profile(line, place=f"{file.place}:{number}")
            file.intake.records += len(profile.nodes) * profile.repetitions
            profiles.append(profile)
    if not profiles:
        raise DataError("holds no profile", place=file.place, next_step=WRITE_AGAIN)
    return tuple(profiles)


PERF_CULPRIT_TRACE = ProfileReader(
    id="perf_culprit_trace",
    matches=lambda file: _OWN_SHAPE.match(file.beginning) is not None,
    read=_read_own_trace,
)


OTHER_UNITS: Final = {"none": "samples", "bytes": "bytes"}
SPEEDSCOPE_MAX_VALUE: Final = 1e18
_SCHEMA: Final = "speedscope.app/file-format-schema"
_SPEEDSCOPE_SHAPE: Final = re.compile(r'"type"\s*+:\s*+"(?:evented|sampled)"')


class _Frame(msgspec.Struct, gc=False):
    name: str
    file: str | None = None
    line: float | None = None


class _SpeedscopeShared(msgspec.Struct):
    frames: list[_Frame]


class _SpeedscopePart(msgspec.Struct):
    type: str
    name: str = ""
    unit: str = "none"
    samples: list[msgspec.Raw] = []
    weights: list[float] = []
    events: list[msgspec.Raw] = []


class _SpeedscopeDocument(msgspec.Struct):
    shared: _SpeedscopeShared
    profiles: list[_SpeedscopePart]


class _SpeedscopeEvent(msgspec.Struct, gc=False):
    type: str
    frame: int
    at: float


_STACK: Final = msgspec.json.Decoder(list[int])
_EVENT: Final = msgspec.json.Decoder(_SpeedscopeEvent)


def _is_speedscope(file: ProfileFile) -> bool:
    text = file.beginning
    return text.startswith("{") and (
        _SCHEMA in text or ('"profiles"' in text and _SPEEDSCOPE_SHAPE.search(text) is not None)
    )


def _read_speedscope(file: ProfileFile) -> tuple[Profile, ...]:
    """Read one profile per group of the file's profiles. Names that differ only in numbers form one group."""
    try:
        document = msgspec.json.decode(file.content(), type=_SpeedscopeDocument)
    except UNDECODABLE as error:
        fault = f"is not a speedscope file: {printable(str(error)[:200])}"
        raise DataError(fault, place=file.place, next_step="check that the profiler wrote the whole file") from None
    frames = [_speedscope_frame(entry) for entry in document.shared.frames]
    trees: dict[tuple[str, str, bool], tuple[ProfileTree, float]] = {}
    for number, part in enumerate(document.profiles, 1):
        at = f": profile {number}"
        evented = part.type == "evented"
        if not evented and part.type != "sampled":
            file.intake.records += 1
            file.reject(RecordFault.MALFORMED, f"type {part.type}", at=at)
            continue
        scale = MILLISECONDS.get(part.unit)
        unit = "ms" if scale is not None else OTHER_UNITS.get(part.unit, group_name(part.unit)[:40] or "samples")
        key = (group_name(part.name) or "profile", unit, evented)
        tree, _ = trees.setdefault(key, (ProfileTree(), scale or 1.0))
        part_scale = (scale or 1.0) / trees[key][1]
        (_read_events if evented else _read_samples)(part, frames, tree, scale=part_scale, at=at, file=file)
    return tuple(
        tree.profile(service, unit=unit, counted=evented, scale=scale)
        for (service, unit, evented), (tree, scale) in trees.items()
    )


def _speedscope_frame(entry: _Frame) -> Frame:
    if not entry.file:
        return frame_of(entry.name)
    line = entry.line
    return frame(entry.name, entry.file, int(line) if line is not None and math.isfinite(line) else None)


def _read_samples(
    part: _SpeedscopePart, frames: list[Frame], tree: ProfileTree, *, scale: float, at: str, file: ProfileFile
) -> None:
    """Add the samples. A sample's weight is the time until the next one; samples without a weight are rejected."""
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
        elif not 0 <= weight <= SPEEDSCOPE_MAX_VALUE:
            file.reject(RecordFault.NUMBER, f"weight {weight}", at=f"{at}, sample {number}")
        elif not tree.add_stack([frames[i] for i in stack], weight * scale):
            file.reject(RecordFault.TOO_DEEP, frames[stack[0]].method, at=f"{at}, sample {number}")


def _read_events(
    part: _SpeedscopePart, frames: list[Frame], tree: ProfileTree, *, scale: float, at: str, file: ProfileFile
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
        elif not abs(event.at) <= SPEEDSCOPE_MAX_VALUE:
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


SPEEDSCOPE = ProfileReader(
    id="speedscope",
    matches=_is_speedscope,
    read=_read_speedscope,
)


# Times are written to the nanosecond.
ROUNDING_US: Final = 1e-3
_CHROME_EVENTS: Final = frozenset({b"traceEvents"})
_CHROME_SHAPE: Final = re.compile(
    r'"traceEvents"\s*+:\s*+\[|^\[\s*+\{[^{}]*+"ph"\s*+:|^\[\s*+\{.{0,2000}?"ph"\s*+:', re.DOTALL
)
_ASYNCHRONOUS: Final = frozenset("bneSTpFstf")
_BEGIN: Final = math.nan
_END: Final = -1.0
_Key: TypeAlias = tuple[int | str, int | str]
_Reject: TypeAlias = Callable[[RecordFault, str], None]


class TraceEvent(msgspec.Struct, gc=False):
    ph: str
    name: str = ""
    ts: float | None = None
    dur: float | None = None
    pid: int | str = 0
    tid: int | str = 0
    args: msgspec.Raw = msgspec.Raw(b"null")


class _Named(msgspec.Struct):
    name: str


@dataclass(kw_only=True, slots=True)
class _ChromeThread:
    """Events in the file's order. `durations`: _BEGIN, _END, or the duration of a complete event."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    durations: "array[float]" = field(default_factory=lambda: array("d"))
    names: "array[int]" = field(default_factory=lambda: array("L"))


@dataclass(kw_only=True, slots=True)
class _ChromeTrace:
    file: ProfileFile
    threads: dict[_Key, _ChromeThread] = field(default_factory=dict)
    process_names: dict[int | str, str] = field(default_factory=dict)
    thread_names: dict[_Key, str] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)


def _read_chrome(file: ProfileFile) -> tuple[Profile, ...]:
    """Read one profile per process and group of threads. Threads whose names differ only in numbers form one group."""
    trace = _ChromeTrace(file=file)
    events = JsonElements(file=file, names=_CHROME_EVENTS, kind=TraceEvent, what="event")
    for batch in events:
        file.intake.records += len(batch)
        # Rejected elements have numbers among these, so a place may be off by their count.
        first = events.number - len(batch) + 1
        for i, event in enumerate(batch):
            _take_event(trace, event, first + i)
    return _profiles(trace)


def _take_event(trace: _ChromeTrace, event: TraceEvent, number: int) -> None:
    phase = event.ph
    duration = event.dur if phase == "X" else _BEGIN if phase == "B" else _END if phase == "E" else None
    if phase == "M":
        _take_name(trace, event)
        return
    if phase not in ("X", "B", "E"):
        fault = RecordFault.ASYNCHRONOUS if phase in _ASYNCHRONOUS else RecordFault.NO_EXECUTION
        trace.file.reject(fault, f"{phase} {event.name}", at=f": event {number}")
        return
    time = event.ts
    is_length = duration is not None and (phase != "X" or 0 <= duration <= FILE_LIMITS.time_us)
    if time is None or not abs(time) <= FILE_LIMITS.time_us or duration is None or not is_length:
        trace.file.reject(RecordFault.NUMBER, f"{event.name} ts={time} dur={event.dur}", at=f": event {number}")
        return
    key = (event.pid, event.tid)
    thread = trace.threads.get(key) or _new_thread(trace, key)
    name = trace.names.get(event.name)
    if name is None:
        name = _new_name(trace, event.name)
    thread.times.append(time)
    thread.durations.append(duration)
    thread.names.append(name)


def _take_name(trace: _ChromeTrace, event: TraceEvent) -> None:
    if event.name not in ("process_name", "thread_name"):
        return
    try:
        name = msgspec.json.decode(event.args, type=_Named).name
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    if event.name == "process_name":
        trace.process_names[event.pid] = name
    else:
        trace.thread_names[event.pid, event.tid] = name


def _new_thread(trace: _ChromeTrace, key: _Key) -> _ChromeThread:
    if len(trace.threads) >= FILE_LIMITS.threads:
        raise DataError(f"has more than {FILE_LIMITS.threads:,} threads", next_step="record a shorter time")
    trace.threads[key] = _ChromeThread()
    return trace.threads[key]


def _new_name(trace: _ChromeTrace, name: str) -> int:
    if len(trace.names) >= FILE_LIMITS.profile_nodes:
        raise DataError(
            f"has more than {FILE_LIMITS.profile_nodes:,} different names",
            next_step="leave ids and arguments out of the events' names",
        )
    trace.names[name] = len(trace.names)
    return trace.names[name]


def _profiles(trace: _ChromeTrace) -> tuple[Profile, ...]:
    frames = [frame_of(name) for name in trace.names]
    trees: dict[str, ProfileTree] = {}
    for key, thread in trace.threads.items():
        service = _chrome_service(trace, key)
        reject = partial(trace.file.reject, at=f": {service}")
        nest(
            _intervals(thread, frames, reject, nameless=trace.names.get("", -1)),
            frames=frames,
            tree=trees.setdefault(service, ProfileTree()),
            rounding=ROUNDING_US,
            reject=reject,
        )
        # Free the thread's events once they are in the tree.
        trace.threads[key] = _ChromeThread()
    return tuple(tree.profile(service, scale=MILLISECONDS["us"]) for service, tree in trees.items())


def _chrome_service(trace: _ChromeTrace, key: _Key) -> str:
    """Return the service of a thread. Ids differ between runs, so processes without a name share one."""
    process = group_name(trace.process_names.get(key[0], "")) or "process"
    thread = group_name(trace.thread_names.get(key, ""))
    return f"{process}/{thread}" if thread else process


def _intervals(thread: _ChromeThread, frames: list[Frame], reject: _Reject, *, nameless: int) -> Intervals:
    """Return complete events and matched begins and ends as intervals. An end need not have a name."""
    import numpy as np

    times, durations = np.frombuffer(thread.times), np.frombuffer(thread.durations)
    names = thread.names
    last = float(np.max(times + np.where(durations > 0, durations, 0.0)))
    # Begins and ends at the same time stay in the file's order.
    paired = np.flatnonzero(~(durations >= 0))
    calls = OpenCalls(frames=frames, reject=reject)
    for i in paired[np.argsort(times[paired], kind="stable")].tolist():
        if thread.durations[i] != _END:
            calls.begin(names[i], thread.times[i])
        else:
            calls.end(None if names[i] == nameless else names[i], thread.times[i])
    calls.finish(last)
    result = calls.intervals
    for i in np.flatnonzero(durations >= 0).tolist():
        result.add(thread.times[i], thread.times[i] + thread.durations[i], names[i])
    return result


CHROME_TRACE = ProfileReader(
    id="chrome_trace",
    matches=lambda file: _CHROME_SHAPE.search(file.beginning) is not None,
    read=_read_chrome,
)
