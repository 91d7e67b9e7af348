"""gprof2dot's JSON of call chains, which `memray transform gprof2dot` writes of allocations."""

from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.json_elements import decode, each
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import SAMPLES, Frame, ProfileTree, frame, group_name

MAX_COST: Final = 1e18


class _Cost(msgspec.Struct):
    unit: str = "units"


class _Event(msgspec.Struct):
    callchain: list[int]
    cost: list[float]


class _Function(msgspec.Struct):
    name: str = ""
    module: str = ""


class _Document(msgspec.Struct):
    costs: list[_Cost]
    events: list[msgspec.Raw]
    functions: list[_Function]


def matches(file: ProfileFile, /) -> bool:
    return file.begins("{", '"costs"', '"events"', '"callchain"')


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """The first cost of each chain, whose leaf comes first."""
    document = decode(file, _Document, what="JSON of gprof2dot")
    frames = [_frame(one) for one in document.functions]
    tree = ProfileTree()
    for at, event in each(document.events, _Event, file=file, what="event"):
        cost = event.cost[0] if event.cost else -1.0
        if not all(0 <= function < len(frames) for function in event.callchain):
            file.reject(RecordFault.MALFORMED, event.callchain, at=at)
            continue
        chain = [frames[function] for function in reversed(event.callchain)]
        if not 0 <= cost <= MAX_COST:
            file.reject(RecordFault.NUMBER, cost, at=at)
        elif not tree.add_stack(chain, cost):
            file.reject(RecordFault.TOO_DEEP, chain[0].method, at=at)
    unit = document.costs[0].unit.lower() if document.costs else "units"
    return (tree.profile(unit=SAMPLES if unit == SAMPLES else group_name(unit)[:40], counted=False),)


def _frame(function: _Function) -> Frame:
    """Memray puts file and line of the call into the name: `load;work.py;4`."""
    name, *place = function.name.split(";")
    return frame(name, place[0] if len(place) == 2 else function.module or None)
