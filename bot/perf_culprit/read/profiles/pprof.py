"""pprof's protobuf (Go, Rust's pprof-rs, Parca), by the few fields that profiles of calls need.

The format is github.com/google/pprof/proto/profile.proto.
"""

import re
from dataclasses import dataclass, field
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.profile_tree import SAMPLES, Frame, ProfileTree, frame, group_name
from perf_culprit.read.profiles.protobuf import WireError, fields, numbers, packed

# Fields of Profile.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING, _DEFAULT = 1, 2, 4, 5, 6, 14
# Near the beginning are its sample types: two numbers each, places of strings. Go writes times before them.
_TYPES: Final = re.compile(rb"\x0a[\x02-\x06]\x08[\x00-\x7f]{1,2}\x10[\x00-\x7f]")
_FIRST: Final = (b"\x0a", b"\x48", b"\x50", b"\x5a", b"\x60")
_HEAD: Final = 256
_COUNTED: Final = "count"
_UNITS: Final = {"nanoseconds": ("ms", 1e-6), "microseconds": ("ms", 1e-3), "milliseconds": ("ms", 1.0)}
MAX_VALUE: Final = 2**62


@dataclass(kw_only=True, slots=True)
class _Parts:
    types: list[tuple[int, int]] = field(default_factory=list)
    samples: list[bytes] = field(default_factory=list)
    locations: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    functions: dict[int, tuple[int, int, int]] = field(default_factory=dict)
    strings: list[str] = field(default_factory=list)
    default: int = 0

    def text(self, place: int) -> str:
        return self.strings[place] if 0 <= place < len(self.strings) else ""


def matches(file: ProfileFile, /) -> bool:
    return file.head[:1] in _FIRST and _TYPES.search(file.head[:_HEAD]) is not None


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    """Counted samples where the profile has them, else its default or last type of value. Inlined frames are frames."""
    try:
        parts = _parts(file.content())
    except WireError as error:
        raise DataError(f"is no pprof file: {error}", place=file.place, next_step="write it again") from None
    types = [(parts.text(kind), parts.text(unit)) for kind, unit in parts.types]
    chosen = _chosen(types, parts.text(parts.default))
    kind, unit_name = types[chosen]
    unit, scale = (
        (SAMPLES, 1.0)
        if unit_name == _COUNTED and kind in ("samples", "sample")
        else _UNITS.get(unit_name, (group_name(unit_name)[:40] or "units", 1.0))
    )
    frames: dict[int, tuple[Frame, ...]] = {}
    tree = ProfileTree()
    for number, sample in enumerate(parts.samples, 1):
        file.intake.records += 1
        at = f": sample {number}"
        try:
            stack, values = _sample(sample)
        except WireError:
            file.reject(RecordFault.MALFORMED, "", at=at)
            continue
        if chosen >= len(values) or not 0 <= values[chosen] <= MAX_VALUE:
            file.reject(RecordFault.NUMBER, values, at=at)
            continue
        path: list[Frame] = []
        # The leaf comes first, in samples and in a location's inlined lines.
        for location in reversed(stack):
            if location not in frames:
                frames[location] = tuple(_frame(parts, line) for line in reversed(parts.locations.get(location, ())))
            path += frames[location] or (frame(f"location {location}"),)
        if not tree.add_stack(path, values[chosen] * scale):
            file.reject(RecordFault.TOO_DEEP, path[0].method, at=at)
    return (tree.profile(unit=unit, counted=False),)


def _chosen(types: list[tuple[str, str]], default: str) -> int:
    if not types:
        raise DataError("names no kind of value", next_step="check that the profiler wrote the whole file")
    kinds = [kind for kind, _ in types]
    for wanted in ("samples", "sample", default):
        if wanted in kinds:
            return kinds.index(wanted)
    return len(types) - 1


def _frame(parts: _Parts, line: tuple[int, int]) -> Frame:
    name, file, start = parts.functions.get(line[0], (0, 0, 0))
    return frame(parts.text(name), parts.text(file) or None, start or None)


def _parts(data: bytes) -> _Parts:
    parts = _Parts()
    for number, value in fields(data):
        if number == _DEFAULT and isinstance(value, int):
            parts.default = value
        if not isinstance(value, bytes):
            continue
        if number == _SAMPLE_TYPE:
            pair = numbers(value)
            parts.types.append((pair.get(1, 0), pair.get(2, 0)))
        elif number == _SAMPLE:
            parts.samples.append(value)
        elif number == _LOCATION:
            lines = [numbers(line) for key, line in fields(value) if key == 4 and isinstance(line, bytes)]
            parts.locations[numbers(value).get(1, 0)] = [(line.get(1, 0), line.get(2, 0)) for line in lines]
        elif number == _FUNCTION:
            one = numbers(value)
            parts.functions[one.get(1, 0)] = (one.get(2, 0), one.get(4, 0), one.get(5, 0))
        elif number == _STRING:
            parts.strings.append(value.decode("utf-8", "replace"))
    return parts


def _sample(data: bytes) -> tuple[list[int], list[int]]:
    repeated: dict[int, list[int]] = {1: [], 2: []}
    for number, value in fields(data):
        if number in repeated:
            repeated[number] += [value] if isinstance(value, int) else packed(value)
    # Values are signed.
    return repeated[1], [value - (1 << 64) if value >> 63 else value for value in repeated[2]]
