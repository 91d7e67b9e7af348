"""Sampled stacks: collapsed, perf script, Flight Recorder, pyinstrument, Scalene, gprof2dot (memray)."""

import re
import shlex
from functools import lru_cache
from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.reason import ProfileNote, because
from perf_culprit.model.unit_sizes import MILLISECONDS
from perf_culprit.read.profiles.json_elements import decode, decoded, each
from perf_culprit.read.profiles.profile_file import HEAD_BYTES, ProfileFile, ProfileReader
from perf_culprit.read.profiles.profile_tree import (
    SAMPLES,
    TOP,
    WEIGHT,
    Frame,
    ProfileTree,
    bounded,
    frame,
    frame_of,
    group_name,
)

COLLAPSED_MAX_COUNT: Final = 1e18
# Austin's frames: `P4711;T0:1;path/file.py:function:12`. The frames of perf and inferno (`name;…`) have no such parts.
_PROCESS: Final = re.compile(r"P[0-9]++")
_THREAD: Final = re.compile(r"T[0-9a-fx]++(?::[0-9a-f]++)?+")
_AUSTIN: Final = re.compile(r"(?P<file>[^:]++):(?P<name>[^:]++):(?P<line>[0-9]{1,9})")
_LINE: Final = re.compile(r"\S.*[ \t][0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+\s*+")
_COLLAPSED_DETECTED_LINES: Final = 20
_LINE_END: Final = 200


def _is_collapsed(file: ProfileFile) -> bool:
    """Whether at least half of the first lines are stacks, so that a few broken lines are tolerated."""
    first, *others = file.beginning.split("\n")[:_COLLAPSED_DETECTED_LINES]
    if not others and len(file.head) >= HEAD_BYTES:
        return first.count(";") > 1 and first[0] not in "{["
    lines = [line for line in (first, *others) if line.strip() and line[0] != "#"]
    return 2 * sum(_LINE.fullmatch(line[-_LINE_END:].lstrip()) is not None for line in lines) >= max(1, len(lines))


def _read_collapsed(file: ProfileFile) -> tuple[Profile, ...]:
    """Read lines such as `root;child;leaf 12` (stackcollapse, py-spy raw, inferno, async-profiler)."""
    tree = ProfileTree()
    for number, line in file.lines():
        if not line.strip() or line.startswith("#"):
            continue
        file.intake.records += 1
        stack, _, count_text = line.rstrip().rpartition(" ")
        if not stack:
            stack, _, count_text = line.rstrip().rpartition("\t")
        count = _number(count_text)
        if not stack.strip() or count is None or not 0 <= count <= COLLAPSED_MAX_COUNT:
            fault = RecordFault.MALFORMED if not stack.strip() or count is None else RecordFault.NUMBER
            file.reject(fault, line, at=f":{number}")
            continue
        if not tree.add_stack(_collapsed_frames(stack), count):
            file.reject(RecordFault.TOO_DEEP, line, at=f":{number}")
    period = tree.weights.period
    if period is None:
        file.intake.note(because(ProfileNote.WEIGHTS_WITHOUT_PERIOD))
    elif period > 1:
        file.intake.note(because(ProfileNote.PERIOD_DIVIDED, period=period))
    unit = WEIGHT if period is None else SAMPLES
    return (tree.profile(unit=unit, counted=False, scale=1 / (period or 1.0)),)


def _collapsed_frames(stack: str) -> list[Frame]:
    """Split a stack into frames, without Austin's leading process and thread, whose ids differ between runs."""
    names = stack.split(";")
    if _PROCESS.fullmatch(names[0]):
        names = names[2 if len(names) > 2 and _THREAD.fullmatch(names[1]) else 1 :]
    return [_collapsed_frame(name) for name in names]


@lru_cache(maxsize=1 << 15)
def _collapsed_frame(name: str) -> Frame:
    austin = _AUSTIN.fullmatch(name)
    return frame(austin["name"], austin["file"], int(austin["line"])) if austin else frame_of(name)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


COLLAPSED = ProfileReader(
    id="collapsed",
    matches=_is_collapsed,
    read=_read_collapsed,
)


_EVENT: Final = re.compile(
    r"(?P<command>\S.{0,255}?)\s++(?:[0-9]++/)?+[0-9]++\s++(?:\[[0-9]++\]\s++)?+[0-9]++\.[0-9]++:\s.*:\s*+"
)
_PERF_SCRIPT_FRAME: Final = re.compile(
    r"\s++(?P<address>[0-9a-f]++)\s(?P<symbol>.*)\s\((?P<object>[^()]*+(?:\([^()]*+\))?+)\)\s*+"
)
_OFFSET: Final = re.compile(r"\+0x[0-9a-f]++$")
_PERF_SCRIPT_DETECTED_LINES: Final = 50
_UNKNOWN: Final = "[unknown]"


def _is_perf_script(file: ProfileFile) -> bool:
    lines = [
        line for line in file.beginning.split("\n")[:_PERF_SCRIPT_DETECTED_LINES] if line.strip() and line[0] != "#"
    ]
    return bool(lines) and _EVENT.fullmatch(lines[0]) is not None and any(map(_PERF_SCRIPT_FRAME.fullmatch, lines[1:3]))


def _read_perf_script(file: ProfileFile) -> tuple[Profile, ...]:
    """Read a profile per command. Each event is one sample, whatever its period; its stack has the leaf first."""
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
        match = _PERF_SCRIPT_FRAME.fullmatch(line)
        if match is None or not command:
            file.reject(RecordFault.MALFORMED, line, at=f":{number}")
            continue
        stack.append(_perf_script_frame(match["symbol"], match["object"]))
    finish()
    return tuple(tree.profile(name, unit=SAMPLES, counted=False) for name, tree in trees.items())


def _perf_script_frame(symbol: str, shared_object: str) -> Frame:
    name = _OFFSET.sub("", symbol)
    if name == _UNKNOWN:
        # Addresses differ from run to run; the object does not.
        name = f"{_UNKNOWN} {shared_object.rpartition('/')[2]}"
    return Frame(frame(name).method, bounded(shared_object) or None)


PERF_SCRIPT = ProfileReader(
    id="perf_script",
    matches=_is_perf_script,
    read=_read_perf_script,
)


_JFR_EVENTS: Final = ("jdk.ExecutionSample", "jdk.NativeMethodSample")
JFR_PRINT: Final = ("jfr", "print", "--json", "--stack-depth", "64", "--events", ",".join(_JFR_EVENTS))


class _JfrType(msgspec.Struct):
    name: str = ""


class _JfrMethod(msgspec.Struct):
    type: _JfrType | None = None
    name: str = ""


class _JfrFrame(msgspec.Struct):
    method: _JfrMethod | None = None


class _JfrStack(msgspec.Struct):
    frames: list[_JfrFrame]
    truncated: bool = False


class _Values(msgspec.Struct, rename="camel"):
    stack_trace: _JfrStack | None = None


class _JfrEvent(msgspec.Struct):
    type: str
    values: _Values


class _Recording(msgspec.Struct):
    events: list[msgspec.Raw]


class _JfrDocument(msgspec.Struct):
    recording: _Recording


def _read_jfr(file: ProfileFile) -> tuple[Profile, ...]:
    """Read the samples of all threads, which `jfr print --json` prints, into one profile. Other events are left out."""
    document = decode(
        file, _JfrDocument, what="output of jfr print", next_step=f"print it again: {shlex.join(JFR_PRINT)} FILE"
    )
    tree = ProfileTree()
    truncated = 0
    events = document.recording.events
    for at, event in each(events, _JfrEvent, file=file, what="event"):
        stack = event.values.stack_trace
        if event.type not in _JFR_EVENTS or stack is None:
            file.reject(RecordFault.NO_EXECUTION, event.type, at=at)
            continue
        truncated += stack.truncated
        if not tree.add_stack([_jfr_named(one.method) for one in reversed(stack.frames)], 1):
            file.reject(RecordFault.TOO_DEEP, event.type, at=at)
    if truncated:
        file.intake.note(because(ProfileNote.STACKS_CUT, count=truncated, file=file.place))
    return (tree.profile(unit=SAMPLES, counted=False),)


def _jfr_named(method: _JfrMethod | None) -> Frame:
    if method is None:
        return frame("(unknown)")
    return frame(f"{method.type.name.replace('/', '.')}.{method.name}" if method.type else method.name)


JFR = ProfileReader(
    id="jfr",
    matches=lambda file: file.beginning.startswith("{") and '"recording"' in file.beginning[:100],
    read=_read_jfr,
)


PYINSTRUMENT_MAX_SECONDS: Final = 1e12
# The time of a frame itself, or outside of any frame, which pyinstrument writes as a callee.
_PSEUDO: Final = ("[self]", "[await]", "[out-of-context]")


class _PyinstrumentFrame(msgspec.Struct):
    function: str
    time: float
    file_path: str | None = None
    line_no: int | None = None
    children: list[msgspec.Raw] = []


class _PyinstrumentDocument(msgspec.Struct):
    root_frame: msgspec.Raw
    sample_count: float = 0.0


_PYINSTRUMENT_FRAME: Final = msgspec.json.Decoder(_PyinstrumentFrame)


def _read_pyinstrument(file: ProfileFile) -> tuple[Profile, ...]:
    """Read the tree. Times are sums of the intervals between samples; calls are not counted."""
    document = decode(file, _PyinstrumentDocument, what="pyinstrument file")
    tree = ProfileTree()
    stack = [(document.root_frame, TOP)]
    while stack:
        raw, parent = stack.pop()
        at = f": frame {file.intake.records + 1}"
        one = decoded(raw, _PYINSTRUMENT_FRAME, file=file, at=at)
        if one is None:
            continue
        if not 0 <= one.time <= PYINSTRUMENT_MAX_SECONDS:
            file.reject(RecordFault.NUMBER, one.function, at=at)
            continue
        # A frame's time is subtracted from its caller's self time; pseudo frames stay with the caller.
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
    return (tree.profile(counted=False, scale=MILLISECONDS["s"], samples=max(0.0, document.sample_count)),)


PYINSTRUMENT = ProfileReader(
    id="pyinstrument",
    matches=lambda file: file.begins("{", '"root_frame"', '"sample_count"'),
    read=_read_pyinstrument,
)


SCALENE_MAX_COUNT: Final = 1e15
# `/path/work.py main:5;`
_SCALENE_FRAME: Final = re.compile(r"(?P<file>.+?) (?P<name>\S+):(?P<line>[0-9]{1,9});?+")


class _Amount(msgspec.Struct):
    count: float


class _ScaleneDocument(msgspec.Struct):
    stacks: list[msgspec.Raw] = []


def _read_scalene(file: ProfileFile) -> tuple[Profile, ...]:
    """Read stacks of Python functions with their numbers of samples (`scalene run -o FILE`)."""
    stacks = decode(file, _ScaleneDocument, what="Scalene file").stacks
    tree = ProfileTree()
    for at, (names, amount) in each(stacks, tuple[list[str], _Amount], file=file, what="stack"):
        if not 0 <= amount.count <= SCALENE_MAX_COUNT:
            file.reject(RecordFault.NUMBER, amount.count, at=at)
        elif not tree.add_stack([_scalene_frame(name) for name in names], amount.count):
            file.reject(RecordFault.TOO_DEEP, names[0], at=at)
    return (tree.profile(unit=SAMPLES, counted=False),)


def _scalene_frame(text: str) -> Frame:
    match = _SCALENE_FRAME.fullmatch(text)
    return frame(match["name"], match["file"], int(match["line"])) if match else frame(text)


SCALENE = ProfileReader(
    id="scalene",
    # Members are in alphabetical order; these are the first.
    matches=lambda file: file.begins("{", '"alloc_samples"', '"combined_stacks"'),
    read=_read_scalene,
)


GPROF2DOT_MAX_COST: Final = 1e18


class _Cost(msgspec.Struct):
    unit: str = "units"


class _Gprof2dotEvent(msgspec.Struct):
    callchain: list[int]
    cost: list[float]


class _Function(msgspec.Struct):
    name: str = ""
    module: str = ""


class _Gprof2dotDocument(msgspec.Struct):
    costs: list[_Cost]
    events: list[msgspec.Raw]
    functions: list[_Function]


def _read_gprof2dot(file: ProfileFile) -> tuple[Profile, ...]:
    """Read the first cost of each call chain, as `memray transform gprof2dot` writes it; chains have the leaf first."""
    document = decode(file, _Gprof2dotDocument, what="JSON document of gprof2dot")
    frames = [_gprof2dot_frame(one) for one in document.functions]
    tree = ProfileTree()
    for at, event in each(document.events, _Gprof2dotEvent, file=file, what="event"):
        cost = event.cost[0] if event.cost else -1.0
        if not all(0 <= function < len(frames) for function in event.callchain):
            file.reject(RecordFault.MALFORMED, event.callchain, at=at)
            continue
        chain = [frames[function] for function in reversed(event.callchain)]
        if not 0 <= cost <= GPROF2DOT_MAX_COST:
            file.reject(RecordFault.NUMBER, cost, at=at)
        elif not tree.add_stack(chain, cost):
            file.reject(RecordFault.TOO_DEEP, chain[0].method, at=at)
    unit = document.costs[0].unit.lower() if document.costs else "units"
    return (tree.profile(unit=SAMPLES if unit == SAMPLES else group_name(unit)[:40], counted=False),)


def _gprof2dot_frame(function: _Function) -> Frame:
    """Make a frame. Memray's names include the file and line of the call: `load;work.py;4`."""
    name, *place = function.name.split(";")
    return frame(name, place[0] if len(place) == 2 else function.module or None)


GPROF2DOT = ProfileReader(
    id="gprof2dot",
    matches=lambda file: file.begins("{", '"costs"', '"events"', '"callchain"'),
    read=_read_gprof2dot,
)
