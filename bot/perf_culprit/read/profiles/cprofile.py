"""cProfile's statistics (`python -m cProfile -o FILE`): a call graph with times, marshalled."""

import math
import re
from typing import Any, Final

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.call_graph import CallGraph, unfold
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import MAX_NODES, Frame, bounded, frame
from perf_culprit.read.profiles.unmarshal import UnmarshalError, unmarshal

MAX_SECONDS: Final = 1e12
MS_PER_S: Final = 1e3
_DICTIONARY: Final = (0x7B, 0xFB)
_TUPLE: Final = (0x28, 0xA8, 0x29, 0xA9)
_BUILT_IN: Final = "~"
# Where an object of this process lay: `<built-in method __new__ of type object at 0x7f139065ea00>`.
_ADDRESS: Final = re.compile(" at 0x[0-9a-fA-F]+")


def matches(file: ProfileFile, /) -> bool:
    return len(file.head) > 1 and file.head[0] in _DICTIONARY and file.head[1] in _TUPLE


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    if not file.trusted:
        raise UsageError(
            "is marshalled Python data (cProfile), which is read only if you trust its source",
            place=file.place,
            next_step="add --trusted-profile if it is your own, not from a pull request's job; "
            "or write collapsed stacks, speedscope or a trace",
        )
    try:
        stats = unmarshal(file.content())
    except UnmarshalError as error:
        raise DataError(f"is no cProfile file: {error}", place=file.place, next_step="write it again") from None
    if not isinstance(stats, dict):
        raise DataError("is no cProfile file", place=file.place, next_step="write it again")
    graph = CallGraph()
    places = _functions(stats, graph, file)
    for key, callee in places.items():
        for caller_key, edge in stats[key][4].items():
            caller, numbers = places.get(caller_key), _edge(edge)
            if caller is None or numbers is None:
                fault = RecordFault.NUMBER if numbers is None else RecordFault.LOST_PARENT
                file.reject(fault, f"{caller_key} -> {key}")
            elif caller != callee:
                graph.call(caller, callee, calls=numbers[0], inclusive=numbers[1])
    if not graph.frames:
        raise DataError("names no function", place=file.place, next_step="check that the profiler ran")
    return (unfold(graph, note=file.intake.note).profile(scale=MS_PER_S),)


def _functions(stats: dict[Any, Any], graph: CallGraph, file: ProfileFile) -> dict[Any, int]:
    """The graph's function of each entry that is right: (file, line, name): (calls, calls, self, elapsed, callers)."""
    if len(stats) > MAX_NODES:
        raise DataError(f"has more than {MAX_NODES:,} functions", next_step="profile a smaller part")
    places: dict[Any, int] = {}
    for key, entry in stats.items():
        file.intake.records += 1
        if not (_is_function(key) and isinstance(entry, tuple) and len(entry) == 5 and isinstance(entry[4], dict)):
            file.reject(RecordFault.MALFORMED, key)
        elif not _is_amount(entry[2]):
            file.reject(RecordFault.NUMBER, key)
        else:
            places[key] = graph.new(_frame(*key))
            graph.self_cost[places[key]] = float(entry[2])
    return places


def _is_function(key: object) -> bool:
    return isinstance(key, tuple) and [*map(type, key)] == [str, int, str]


def _frame(file: str, line: int, name: str) -> Frame:
    name = _ADDRESS.sub("", name)
    return frame(name) if file == _BUILT_IN or not bounded(file) else frame(name, file, line)


def _edge(edge: object) -> tuple[float, float] | None:
    """Calls and inclusive time; the pure `profile` counts calls only."""
    if _is_amount(edge):
        return float(edge), 0.0  # type: ignore[arg-type]
    if isinstance(edge, tuple) and len(edge) == 4 and _is_amount(edge[1]) and _is_amount(edge[3]):
        return float(edge[1]), float(edge[3])
    return None


def _is_amount(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and 0 <= value <= MAX_SECONDS
