"""Two formats in Protobuf's wire format: pprof, and OpenTelemetry's spans."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.model.unit_sizes import MILLISECONDS
from perf_culprit.read.profiles.profile_file import ProfileFile, ProfileReader
from perf_culprit.read.profiles.profile_tree import MS, SAMPLES, Frame, ProfileTree, frame, group_name
from perf_culprit.read.profiles.spans import Spans, profiles


class WireError(ValueError):
    """The bytes are not protobuf."""


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield field numbers with their varints, fixed numbers (unsigned) or bytes.

    See protobuf.dev/programming-guides/encoding. The general library is large and needs the messages' generated code.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            yield key >> 3, int.from_bytes(data[at : at + size], "little")
            at += size
        elif kind == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                raise WireError("it ends too early")
            yield key >> 3, data[at : at + size]
            at += size
        else:
            raise WireError(f"a field of the unknown kind {kind}")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
        shift += 7
    raise WireError("a number ends too early")


def _wire_numbers(data: bytes) -> dict[int, int]:
    return {number: value for number, value in _fields(data) if isinstance(value, int)}


def _packed(data: bytes) -> list[int]:
    values = []
    at = 0
    while at < len(data):
        value, at = _varint(data, at)
        values.append(value)
    return values


# Fields of Profile.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _PPROF_STRING, _DEFAULT = 1, 2, 4, 5, 6, 14
# The sample types are near the beginning: two numbers each, which are indices of strings. Go writes times before them.
_TYPES: Final = re.compile(rb"\x0a[\x02-\x06]\x08[\x00-\x7f]{1,2}\x10[\x00-\x7f]")
_FIRST: Final = (b"\x0a", b"\x48", b"\x50", b"\x5a", b"\x60")
_PPROF_HEAD: Final = 256
_COUNTED: Final = "count"
PPROF_MAX_VALUE: Final = 2**62


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


def _read_pprof(file: ProfileFile) -> tuple[Profile, ...]:
    """Read counted samples if the profile has them, else its default or last value type. Inlined calls are frames.

    The format is github.com/google/pprof/proto/profile.proto.
    """
    try:
        parts = _parts(file.content())
    except WireError as error:
        raise DataError(f"is not a pprof file: {error}", place=file.place, next_step="write it again") from None
    types = [(parts.text(kind), parts.text(unit)) for kind, unit in parts.types]
    chosen = _chosen(types, parts.text(parts.default))
    kind, unit_name = types[chosen]
    if unit_name in MILLISECONDS:
        unit, scale = MS, MILLISECONDS[unit_name]
    else:
        is_samples = unit_name == _COUNTED and kind in ("samples", "sample")
        unit, scale = SAMPLES if is_samples else group_name(unit_name)[:40] or "units", 1.0
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
        if chosen >= len(values) or not 0 <= values[chosen] <= PPROF_MAX_VALUE:
            file.reject(RecordFault.NUMBER, values, at=at)
            continue
        path: list[Frame] = []
        # The leaf comes first, in samples and in a location's inlined lines.
        for location in reversed(stack):
            if location not in frames:
                frames[location] = tuple(
                    _pprof_frame(parts, line) for line in reversed(parts.locations.get(location, ()))
                )
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


def _pprof_frame(parts: _Parts, line: tuple[int, int]) -> Frame:
    name, file, start = parts.functions.get(line[0], (0, 0, 0))
    return frame(parts.text(name), parts.text(file) or None, start or None)


def _parts(data: bytes) -> _Parts:
    parts = _Parts()
    for number, value in _fields(data):
        if number == _DEFAULT and isinstance(value, int):
            parts.default = value
        if not isinstance(value, bytes):
            continue
        if number == _SAMPLE_TYPE:
            pair = _wire_numbers(value)
            parts.types.append((pair.get(1, 0), pair.get(2, 0)))
        elif number == _SAMPLE:
            parts.samples.append(value)
        elif number == _LOCATION:
            lines = [_wire_numbers(line) for key, line in _fields(value) if key == 4 and isinstance(line, bytes)]
            parts.locations[_wire_numbers(value).get(1, 0)] = [(line.get(1, 0), line.get(2, 0)) for line in lines]
        elif number == _FUNCTION:
            one = _wire_numbers(value)
            parts.functions[one.get(1, 0)] = (one.get(2, 0), one.get(4, 0), one.get(5, 0))
        elif number == _PPROF_STRING:
            parts.strings.append(value.decode("utf-8", "replace"))
    return parts


def _sample(data: bytes) -> tuple[list[int], list[int]]:
    repeated: dict[int, list[int]] = {1: [], 2: []}
    for number, value in _fields(data):
        if number in repeated:
            repeated[number] += [value] if isinstance(value, int) else _packed(value)
    # Values are signed.
    return repeated[1], [value - (1 << 64) if value >> 63 else value for value in repeated[2]]


PPROF = ProfileReader(
    id="pprof",
    matches=lambda file: file.head[:1] in _FIRST and _TYPES.search(file.head[:_PPROF_HEAD]) is not None,
    read=_read_pprof,
)


SERVICE_NAME: Final = b"service.name"
_OTLP_PROTOBUF_HEAD: Final = 4096
_SIZE_BYTES: Final = 4
# Field numbers of the request, ResourceSpans, ScopeSpans, Span, KeyValue and AnyValue.
_RESOURCE_SPANS, _RESOURCE, _SCOPE_SPANS, _SPANS = 1, 1, 2, 2
_OTLP_PROTOBUF_TRACE, _OTLP_PROTOBUF_SPAN, _PARENT, _NAME, _START, _END = 1, 2, 4, 5, 7, 8
_ATTRIBUTES, _KEY, _VALUE, _OTLP_PROTOBUF_STRING = 1, 1, 2, 1
_LENGTH_PREFIXED: Final = (b"\x00", b"\x0a")


def _read_otlp_protobuf(file: ProfileFile) -> tuple[Profile, ...]:
    spans = Spans(file=file)
    try:
        for request in _otlp_protobuf_requests(file.content()):
            for resource_spans in _otlp_protobuf_all(request, _RESOURCE_SPANS):
                _take_resource(spans, resource_spans, file)
    except WireError as error:
        raise DataError(f"is not OTLP protobuf: {error}", place=file.place, next_step="export it again") from None
    return profiles(spans)


def _otlp_protobuf_requests(data: bytes) -> Iterator[bytes]:
    """Yield the requests: one, or several, each prefixed by its size in four bytes (big-endian).

    See opentelemetry/proto/collector/trace/v1 and trace/v1. The collector's file exporter writes the prefixes.
    """
    if data[:1] == b"\x0a":
        yield data
        return
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + _SIZE_BYTES], "big")
        at += _SIZE_BYTES + size
        if at > len(data):
            raise WireError("it ends too early")
        yield data[at - size : at]


def _otlp_protobuf_all(message: bytes, number: int) -> Iterator[bytes]:
    return (value for key, value in _fields(message) if key == number and isinstance(value, bytes))


def _take_resource(spans: Spans, resource_spans: bytes, file: ProfileFile) -> None:
    service = next(
        (name for one in _otlp_protobuf_all(resource_spans, _RESOURCE) if (name := _otlp_protobuf_service(one))), ""
    )
    for scope in _otlp_protobuf_all(resource_spans, _SCOPE_SPANS):
        for span in _otlp_protobuf_all(scope, _SPANS):
            file.intake.records += 1
            at = f": span {file.intake.records}"
            try:
                values = dict(_fields(span))
            except WireError:
                file.reject(RecordFault.MALFORMED, "", at=at)
                continue
            start, end = values.get(_START), values.get(_END)
            fault = spans.take(
                (
                    _bytes(values, _OTLP_PROTOBUF_TRACE).hex(),
                    _bytes(values, _OTLP_PROTOBUF_SPAN).hex(),
                    _bytes(values, _PARENT).hex(),
                ),
                start if isinstance(start, int) else None,
                end if isinstance(end, int) else None,
                _bytes(values, _NAME).decode("utf-8", "replace"),
                service,
            )
            if fault is not None:
                file.reject(fault, _bytes(values, _NAME), at=at)


def _otlp_protobuf_service(resource: bytes) -> str:
    for attribute in _otlp_protobuf_all(resource, _ATTRIBUTES):
        values = dict(_fields(attribute))
        if values.get(_KEY) == SERVICE_NAME:
            return _bytes(dict(_fields(_bytes(values, _VALUE))), _OTLP_PROTOBUF_STRING).decode("utf-8", "replace")
    return ""


def _bytes(message: Mapping[int, int | bytes], number: int) -> bytes:
    value = message.get(number)
    return value if isinstance(value, bytes) else b""


OTLP_PROTOBUF = ProfileReader(
    id="otlp_protobuf",
    matches=lambda file: file.head[:1] in _LENGTH_PREFIXED and SERVICE_NAME in file.head[:_OTLP_PROTOBUF_HEAD],
    read=_read_otlp_protobuf,
)
