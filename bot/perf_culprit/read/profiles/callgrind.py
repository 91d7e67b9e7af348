"""Callgrind's output (Valgrind, Xdebug, and what converts to it): a call graph with costs."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.reason import ProfileNote, because
from perf_culprit.read.profiles.call_graph import CallGraph, unfold
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import MAX_NODES, Frame, bounded

# Event -> unit, and what one of the file's is worth in it.
UNITS: Final = {
    "Ir": ("instructions", 1.0),
    "Cycles": ("cycles", 1.0),
    "Time_(10ns)": ("ms", 1e-5),
    "Time_(µs)": ("ms", 1e-3),
}
MAX_COST: Final = 1e18
SHOWN_EVENTS: Final = 10
_KNOWN: Final = re.compile(r"^(?:# callgrind format|(?:version|creator|cmd|part|positions|events): ?+\S)", re.MULTILINE)
_FUNCTION: Final = re.compile(r"^fn=", re.MULTILINE)
_COMPRESSED: Final = re.compile(r"\((\d{1,9})\)(?: ++(.*))?")
_COST_START: Final = frozenset("0123456789+-*")
_JUMPS: Final = ("jump=", "jcnd=", "jfi=", "jfn=")


@dataclass(kw_only=True, slots=True)
class _State:
    """Where the reading is. `files`, `functions`: compressed names -> names."""

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


def matches(file: ProfileFile, /) -> bool:
    return _KNOWN.match(file.beginning) is not None and (
        _FUNCTION.search(file.beginning) is not None or "# callgrind format" in file.beginning[:100]
    )


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """The first event counts. Parts and threads in one file are added up."""
    graph, event = read_graph(file)
    unit, scale = UNITS.get(event, (bounded(event)[:40] or "cost", 1.0))
    return (unfold(graph, note=file.intake.note).profile(unit=unit, scale=scale),)


def read_graph(file: ProfileFile, /) -> tuple[CallGraph, str]:
    """The calls with their costs as the file has them, and the event that was counted."""
    state = _State()
    for number, line in file.lines():
        text = line.strip()
        if not text or text[0] == "#":
            continue
        file.intake.records += 1
        fault = _take(state, text, file)
        if fault is not None:
            file.reject(fault, line, at=f":{number}")
    if not state.graph.frames:
        raise DataError("names no function", place=file.place, next_step="check that Callgrind finished")
    return state.graph, state.event


def _take(state: _State, text: str, file: ProfileFile) -> RecordFault | None:
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


def _take_header(state: _State, text: str, file: ProfileFile) -> None:
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
            file.intake.note(because(ProfileNote.FIRST_EVENT_USED, events=tuple(map(bounded, words[:SHOWN_EVENTS]))))


def _take_place(state: _State, key: str, value: str) -> RecordFault | None:
    name = _name(state.files, value)
    if name is None:
        return RecordFault.MALFORMED
    if key in ("cfi", "cfl"):
        state.callee_file = name
    else:
        state.file = name
    return None


def _take_calls(state: _State, _: str, value: str) -> RecordFault | None:
    state.calls = _number(value.partition(" ")[0])
    return RecordFault.NUMBER if state.calls is None else None


def _take_function(state: _State, key: str, value: str) -> RecordFault | None:
    name = _name(state.functions, value)
    if name is None:
        return RecordFault.MALFORMED
    # The compressed number tells apart what has one name in two files.
    identity = (value.partition(" ")[0] if value.startswith("(") else "", name)
    if key == "cfn":
        state.callee = _function(state, identity, state.callee_file or state.file)
        state.callee_file = ""
    else:
        state.function = _function(state, identity, state.file)
        state.callee = state.calls = None
    return None


def _function(state: _State, identity: tuple[str, str], file: str) -> int:
    if identity not in state.numbers:
        if len(state.numbers) >= MAX_NODES:
            raise DataError(f"has more than {MAX_NODES:,} functions", next_step="profile a smaller part")
        known_file = bounded(file) if file and not file.startswith("???") else None
        state.numbers[identity] = state.graph.new(Frame(bounded(identity[1]) or "(no name)", known_file))
    return state.numbers[identity]


def _name(names: dict[str, str], value: str) -> str | None:
    """A name, maybe with the number that stands for it from now on, or only such a number."""
    compressed = _COMPRESSED.fullmatch(value)
    if compressed is None:
        return value
    number, name = compressed.groups()
    if name:
        names[number] = name
    return names.get(number)


def _take_cost(state: _State, text: str) -> RecordFault | None:
    if state.jump:
        state.jump = False
        return None
    words = text.split()
    cost = _number(words[state.positions]) if len(words) > state.positions else 0.0
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


_PLACES: Final[dict[str, Callable[[_State, str, str], RecordFault | None]]] = {
    **dict.fromkeys(("fl", "fi", "fe", "cfi", "cfl"), _take_place),
    # Object files are not needed: functions are told apart without them.
    **dict.fromkeys(("ob", "cob"), lambda _state, _key, _value: None),
    **dict.fromkeys(("fn", "cfn"), _take_function),
    "calls": _take_calls,
}


def _number(text: str) -> float | None:
    try:
        number = float(int(text, 16) if text.startswith("0x") else int(text)) if len(text) < 25 else -1.0
    except ValueError:
        return None
    return number if 0 <= number <= MAX_COST else None
