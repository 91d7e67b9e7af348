"""Chrome's trace events (Chromium, Node, VizTracer, Perfetto's JSON): begin and end, or complete events, by thread."""

import math
import re
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, TypeAlias

import msgspec

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.json_elements import JsonElements
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import (
    MAX_NODES,
    Frame,
    Intervals,
    OpenCalls,
    ProfileTree,
    frame_of,
    group_name,
    nest,
)

MAX_THREADS: Final = 20_000
# Microseconds; some thousands of years.
MAX_TIME_US: Final = 1e17
# Times are written to the nanosecond.
ROUNDING_US: Final = 1e-3
MS_PER_US: Final = 1e-3
_EVENTS: Final = frozenset({b"traceEvents"})
_KNOWN: Final = re.compile(
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
class _Thread:
    """Events as they came. `durations`: _BEGIN, _END, or of a complete event."""

    times: "array[float]" = field(default_factory=lambda: array("d"))
    durations: "array[float]" = field(default_factory=lambda: array("d"))
    names: "array[int]" = field(default_factory=lambda: array("L"))


@dataclass(kw_only=True, slots=True)
class _Trace:
    file: ProfileFile
    threads: dict[_Key, _Thread] = field(default_factory=dict)
    process_names: dict[int | str, str] = field(default_factory=dict)
    thread_names: dict[_Key, str] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)


def matches(file: ProfileFile, /) -> bool:
    return _KNOWN.search(file.beginning) is not None


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """A profile per process and group of threads: threads whose names differ in numbers only are one group."""
    trace = _Trace(file=file)
    events = JsonElements(file=file, names=_EVENTS, kind=TraceEvent, what="event")
    for batch in events:
        file.intake.records += len(batch)
        # The numbers of elements that were refused lie among these; a few places may be off by as many.
        first = events.number - len(batch) + 1
        for i, event in enumerate(batch):
            _take(trace, event, first + i)
    return _profiles(trace)


def _take(trace: _Trace, event: TraceEvent, number: int) -> None:
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
    is_length = duration is not None and (phase != "X" or 0 <= duration <= MAX_TIME_US)
    if time is None or not abs(time) <= MAX_TIME_US or duration is None or not is_length:
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


def _take_name(trace: _Trace, event: TraceEvent) -> None:
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


def _new_thread(trace: _Trace, key: _Key) -> _Thread:
    if len(trace.threads) >= MAX_THREADS:
        raise DataError(f"has more than {MAX_THREADS:,} threads", next_step="record a shorter time")
    trace.threads[key] = _Thread()
    return trace.threads[key]


def _new_name(trace: _Trace, name: str) -> int:
    if len(trace.names) >= MAX_NODES:
        raise DataError(
            f"has more than {MAX_NODES:,} different names", next_step="leave ids and arguments out of the events' names"
        )
    trace.names[name] = len(trace.names)
    return trace.names[name]


def _profiles(trace: _Trace) -> tuple[Profile, ...]:
    frames = [frame_of(name) for name in trace.names]
    trees: dict[str, ProfileTree] = {}
    for key, thread in trace.threads.items():
        service = _service(trace, key)
        reject = partial(trace.file.reject, at=f": {service}")
        nest(
            _intervals(thread, frames, reject, nameless=trace.names.get("", -1)),
            frames=frames,
            tree=trees.setdefault(service, ProfileTree()),
            rounding=ROUNDING_US,
            reject=reject,
        )
        # As soon as it is in the tree it need not be in memory.
        trace.threads[key] = _Thread()
    return tuple(tree.profile(service, scale=MS_PER_US) for service, tree in trees.items())


def _service(trace: _Trace, key: _Key) -> str:
    """Ids differ from run to run: a process without a name is told from others by none."""
    process = group_name(trace.process_names.get(key[0], "")) or "process"
    thread = group_name(trace.thread_names.get(key, ""))
    return f"{process}/{thread}" if thread else process


def _intervals(thread: _Thread, frames: list[Frame], reject: _Reject, *, nameless: int) -> Intervals:
    """Complete events as they are, begins and ends matched. An end need not have a name."""
    import numpy as np

    times, durations = np.frombuffer(thread.times), np.frombuffer(thread.durations)
    names = thread.names
    last = float(np.max(times + np.where(durations > 0, durations, 0.0)))
    # Begins and ends of one time stay in the order in which they were written.
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
