"""Call graphs with costs: Callgrind's output and cProfile's statistics."""

import math
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import ProfileNote, because
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.model.unit_sizes import MILLISECONDS, NANOSECONDS
from perf_culprit.read.profiles.call_graph import CallGraph, unfold
from perf_culprit.read.profiles.profile_file import ProfileFile, ProfileReader
from perf_culprit.read.profiles.profile_tree import Frame, bounded, frame

# Event -> unit, and the value of one event in it.
CALLGRIND_UNITS: Final = {
    "Ir": ("instructions", 1.0),
    "Cycles": ("cycles", 1.0),
    "Time_(10ns)": ("ms", 10 / NANOSECONDS["ms"]),
    "Time_(µs)": ("ms", MILLISECONDS["µs"]),
}
CALLGRIND_MAX_COST: Final = 1e18
_CALLGRIND_KNOWN: Final = re.compile(
    r"^(?:# callgrind format|(?:version|creator|cmd|part|positions|events): ?+\S)", re.MULTILINE
)
_FUNCTION: Final = re.compile(r"^fn=", re.MULTILINE)
_COMPRESSED: Final = re.compile(r"\((\d{1,9})\)(?: ++(.*))?")
_COST_START: Final = frozenset("0123456789+-*")
_JUMPS: Final = ("jump=", "jcnd=", "jfi=", "jfn=")


@dataclass(kw_only=True, slots=True)
class _CallgrindState:
    """The state of the reading. `files`, `functions`: compressed names -> names."""

    graph: CallGraph = field(default_factory=CallGraph)
    files: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    positions: int = 1
    event: str = ""
    file: str = ""
    callee_file: str = ""
    function: int | None = None
    callee: int | None = None
    calls: float | None = None
    jump: bool = False


def _is_callgrind(file: ProfileFile) -> bool:
    return _CALLGRIND_KNOWN.match(file.beginning) is not None and (
        _FUNCTION.search(file.beginning) is not None or "# callgrind format" in file.beginning[:100]
    )


def _read_callgrind(file: ProfileFile) -> tuple[Profile, ...]:
    """Read the costs of the first event. Parts and threads in one file are added up."""
    graph, event = read_graph(file)
    unit, scale = CALLGRIND_UNITS.get(event, (bounded(event)[:40] or "cost", 1.0))
    return (unfold(graph, note=file.intake.note).profile(unit=unit, scale=scale),)


def read_graph(file: ProfileFile) -> tuple[CallGraph, str]:
    """Read the calls with their costs, unscaled, and the event that was counted."""
    state = _CallgrindState()
    for number, line in file.lines():
        text = line.strip()
        if not text or text[0] == "#":
            continue
        file.intake.records += 1
        fault = _callgrind_take(state, text, file)
        if fault is not None:
            file.reject(fault, line, at=f":{number}")
    if not state.graph.frames:
        raise DataError("names no function", place=file.place, next_step="check that Callgrind finished")
    return state.graph, state.event


def _callgrind_take(state: _CallgrindState, text: str, file: ProfileFile) -> RecordFault | None:
    if text[0] in _COST_START:
        return _take_cost(state, text)
    state.jump = text.startswith(_JUMPS)
    if state.jump:
        return None
    key, equals, value = text.partition("=")
    if equals and key in _PLACES:
        return _PLACES[key](state, key, value)
    if ":" not in text:
        return RecordFault.MALFORMED
    _take_header(state, text, file)
    return None


def _take_header(state: _CallgrindState, text: str, file: ProfileFile) -> None:
    key, _, value = text.partition(":")
    words = value.split()
    if key == "positions":
        state.positions = max(1, len(words))
    elif key == "events" and words:
        if state.event and state.event != words[0]:
            raise DataError(
                f"counts {bounded(words[0])} after {bounded(state.event)}",
                next_step="give one kind of profile per file",
            )
        state.event = words[0]
        if len(words) > 1:
            file.intake.note(
                because(ProfileNote.FIRST_EVENT_USED, events=tuple(map(bounded, words[: TEXT_LIMITS.event_names])))
            )


def _take_place(state: _CallgrindState, key: str, value: str) -> RecordFault | None:
    name = _callgrind_name(state.files, value)
    if name is None:
        return RecordFault.MALFORMED
    if key in ("cfi", "cfl"):
        state.callee_file = name
    else:
        state.file = name
    return None


def _take_calls(state: _CallgrindState, _: str, value: str) -> RecordFault | None:
    state.calls = _callgrind_number(value.partition(" ")[0])
    return RecordFault.NUMBER if state.calls is None else None


def _take_function(state: _CallgrindState, key: str, value: str) -> RecordFault | None:
    name = _callgrind_name(state.functions, value)
    if name is None:
        return RecordFault.MALFORMED
    # The compressed number distinguishes functions of one name in two files.
    identity = (value.partition(" ")[0] if value.startswith("(") else "", name)
    if key == "cfn":
        state.callee = _function(state, identity, state.callee_file or state.file)
        state.callee_file = ""
    else:
        state.function = _function(state, identity, state.file)
        state.callee = state.calls = None
    return None


def _function(state: _CallgrindState, identity: tuple[str, str], file: str) -> int:
    if identity not in state.numbers:
        if len(state.numbers) >= FILE_LIMITS.profile_nodes:
            raise DataError(
                f"has more than {FILE_LIMITS.profile_nodes:,} functions", next_step="profile a smaller part"
            )
        known_file = bounded(file) if file and not file.startswith("???") else None
        state.numbers[identity] = state.graph.new(Frame(bounded(identity[1]) or "(no name)", known_file))
    return state.numbers[identity]


def _callgrind_name(names: dict[str, str], value: str) -> str | None:
    """Read a name, optionally with a number that abbreviates it from now on, or only that number."""
    compressed = _COMPRESSED.fullmatch(value)
    if compressed is None:
        return value
    number, name = compressed.groups()
    if name:
        names[number] = name
    return names.get(number)


def _take_cost(state: _CallgrindState, text: str) -> RecordFault | None:
    if state.jump:
        state.jump = False
        return None
    words = text.split()
    cost = _callgrind_number(words[state.positions]) if len(words) > state.positions else 0.0
    if cost is None:
        return RecordFault.NUMBER
    if state.function is None:
        return RecordFault.LOST_PARENT
    if state.calls is None:
        state.graph.self_cost[state.function] += cost
        return None
    calls, state.calls = state.calls, None
    if state.callee is None:
        return RecordFault.MALFORMED
    if state.callee != state.function:
        state.graph.call(state.function, state.callee, calls=calls, inclusive=cost)
    state.callee = None
    return None


_PLACES: Final[dict[str, Callable[[_CallgrindState, str, str], RecordFault | None]]] = {
    **dict.fromkeys(("fl", "fi", "fe", "cfi", "cfl"), _take_place),
    # Object files are not needed to distinguish functions.
    **dict.fromkeys(("ob", "cob"), lambda _state, _key, _value: None),
    **dict.fromkeys(("fn", "cfn"), _take_function),
    "calls": _take_calls,
}


def _callgrind_number(text: str) -> float | None:
    try:
        number = float(int(text, 16) if text.startswith("0x") else int(text)) if len(text) < 25 else -1.0
    except ValueError:
        return None
    return number if 0 <= number <= CALLGRIND_MAX_COST else None


CALLGRIND = ProfileReader(
    id="callgrind",
    matches=_is_callgrind,
    read=_read_callgrind,
)


_REFERABLE: Final = 0x80
_SHORT_TEXT: Final = frozenset(b"zZ")
_LONG_TEXT: Final = frozenset(b"aAut")


class UnmarshalError(Exception):
    """The bytes are not marshalled data of these types."""


def _unmarshalled(data: bytes) -> Any:
    """Decode numbers, text, None, tuples and dictionaries keyed by tuples or text. Raises: UnmarshalError."""
    try:
        return _Unmarshaller(data).value(0)
    except (IndexError, struct.error, UnicodeDecodeError):
        raise UnmarshalError("ends too early") from None


class _Unmarshaller:
    """A decoder of the few marshalled types that a cProfile file consists of.

    Python's own `marshal` is not safe for untrusted bytes: it can crash the interpreter and exhaust the memory. This
    decoder reads numbers, text, tuples and dictionaries, and rejects everything else. Its memory is proportional to the
    file's size.
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0
        self._references: list[Any] = []

    def value(self, depth: int) -> Any:
        if depth > FILE_LIMITS.marshal_depth:
            raise UnmarshalError("is nested too deeply")
        code = self._data[self._at]
        self._at += 1
        kind, place = code & ~_REFERABLE, None
        if code & _REFERABLE:
            place = len(self._references)
            self._references.append(None)
        value = self._of_kind(kind, depth)
        if place is not None:
            self._references[place] = value
        return value

    def _of_kind(self, kind: int, depth: int) -> Any:
        if kind in _SHORT_TEXT:
            return self._text(self._unpacked("<B"))
        if kind in _LONG_TEXT:
            return self._text(self._unpacked("<I"))
        match chr(kind):
            case "i":
                value = self._unpacked("<i")
            case "g":
                value = self._unpacked("<d")
            case "l":
                value = self._long()
            case ")" | "(":
                value = self._tuple(self._unpacked("<B" if kind == ord(")") else "<I"), depth)
            case "{":
                value = self._dictionary(depth)
            case "r":
                value = self._references[self._unpacked("<I")]
            case "N":
                value = None
            case other:
                raise UnmarshalError(f"holds a value of type {other!r}, which no profile has")
        return value

    def _unpacked(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self._data, self._at)
        self._at += struct.calcsize(form)
        return value

    def _text(self, size: int) -> str:
        data = self._data[self._at : self._at + size]
        if len(data) < size:
            raise IndexError
        self._at += size
        return data.decode("utf-8", "surrogatepass")

    def _long(self) -> int:
        size: int = self._unpacked("<i")
        if abs(size) > FILE_LIMITS.marshal_digits:
            raise UnmarshalError("holds a number of too many digits")
        digits: list[int] = [self._unpacked("<H") for _ in range(abs(size))]
        number = sum(digit << 15 * place for place, digit in enumerate(digits))
        return -number if size < 0 else number

    def _tuple(self, size: int, depth: int) -> tuple[Any, ...]:
        if size > FILE_LIMITS.marshal_items:
            raise UnmarshalError("holds a tuple of too many values")
        return tuple(self.value(depth + 1) for _ in range(size))

    def _dictionary(self, depth: int) -> dict[Any, Any]:
        result: dict[Any, Any] = {}
        while self._data[self._at] != ord("0"):
            key = self.value(depth + 1)
            parts = key if isinstance(key, tuple) else (key,)
            if not all(isinstance(part, int | float | str | None) for part in parts):
                raise UnmarshalError("holds a key that a profile doesn't have")
            result[key] = self.value(depth + 1)
        self._at += 1
        return result


CPROFILE_MAX_SECONDS: Final = 1e12
_DICTIONARY: Final = (0x7B, 0xFB)
_TUPLE: Final = (0x28, 0xA8, 0x29, 0xA9)
_BUILT_IN: Final = "~"
# The address of an object: `<built-in method __new__ of type object at 0x7f139065ea00>`.
_ADDRESS: Final = re.compile(" at 0x[0-9a-fA-F]+")


def _read_cprofile(file: ProfileFile) -> tuple[Profile, ...]:
    if not file.trusted:
        raise UsageError(
            "is marshalled Python data (cProfile), which is read only if you trust its source",
            place=file.place,
            next_step="add --trusted-profile if it is your own, not from a pull request's job; "
            "or write collapsed stacks, speedscope or a trace",
        )
    try:
        stats = _unmarshalled(file.content())
    except UnmarshalError as error:
        raise DataError(f"is not a cProfile file: {error}", place=file.place, next_step="write it again") from None
    if not isinstance(stats, dict):
        raise DataError("is not a cProfile file", place=file.place, next_step="write it again")
    graph = CallGraph()
    places = _cprofile_functions(stats, graph, file)
    for key, callee in places.items():
        for caller_key, edge in stats[key][4].items():
            caller, numbers = places.get(caller_key), _cprofile_edge(edge)
            if caller is None or numbers is None:
                fault = RecordFault.NUMBER if numbers is None else RecordFault.LOST_PARENT
                file.reject(fault, f"{caller_key} -> {key}")
            elif caller != callee:
                graph.call(caller, callee, calls=numbers[0], inclusive=numbers[1])
    if not graph.frames:
        raise DataError("names no function", place=file.place, next_step="check that the profiler ran")
    return (unfold(graph, note=file.intake.note).profile(scale=MILLISECONDS["s"]),)


def _cprofile_functions(stats: dict[Any, Any], graph: CallGraph, file: ProfileFile) -> dict[Any, int]:
    """Add each valid entry to the graph, as (file, line, name): (calls, calls, self, elapsed, callers)."""
    if len(stats) > FILE_LIMITS.profile_nodes:
        raise DataError(f"has more than {FILE_LIMITS.profile_nodes:,} functions", next_step="profile a smaller part")
    places: dict[Any, int] = {}
    for key, entry in stats.items():
        file.intake.records += 1
        if not (_is_function(key) and isinstance(entry, tuple) and len(entry) == 5 and isinstance(entry[4], dict)):
            file.reject(RecordFault.MALFORMED, key)
        elif not _is_amount(entry[2]):
            file.reject(RecordFault.NUMBER, key)
        else:
            places[key] = graph.new(_cprofile_frame(*key))
            graph.self_cost[places[key]] = float(entry[2])
    return places


def _is_function(key: object) -> bool:
    return isinstance(key, tuple) and [*map(type, key)] == [str, int, str]


def _cprofile_frame(file: str, line: int, name: str) -> Frame:
    name = _ADDRESS.sub("", name)
    return frame(name) if file == _BUILT_IN or not bounded(file) else frame(name, file, line)


def _cprofile_edge(edge: object) -> tuple[float, float] | None:
    """Return calls and inclusive time, which is 0 for the pure-Python `profile`; None if the entry is invalid."""
    if _is_amount(edge):
        return float(edge), 0.0  # type: ignore[arg-type]
    if isinstance(edge, tuple) and len(edge) == 4 and _is_amount(edge[1]) and _is_amount(edge[3]):
        return float(edge[1]), float(edge[3])
    return None


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= CPROFILE_MAX_SECONDS


CPROFILE = ProfileReader(
    id="cprofile",
    matches=lambda file: len(file.head) > 1 and file.head[0] in _DICTIONARY and file.head[1] in _TUPLE,
    read=_read_cprofile,
)
