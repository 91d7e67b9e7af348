"""OpenTelemetry spans as OTLP JSON: one document, or one per line as the collector's file exporter writes."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from bot.diagnose.profiles.file import ProfileFile
from bot.diagnose.profiles.frame import Frame, bounded, frame
from bot.diagnose.profiles.intake import Intake
from bot.diagnose.profiles.json_elements import JsonElements
from bot.diagnose.profiles.tree import TOP, ProfileTree
from bot.errors import DataError
from bot.model.profile import Profile, RecordFault

ID: Final = "otlp"
DESCRIPTION: Final = "OTLP JSON traces (spans of OpenTelemetry)"
DOCS: Final = "otlp"
MAX_SPANS: Final = 5_000_000
# What the specification says where an instrumented program does not name itself.
UNKNOWN_SERVICE: Final = "unknown_service"
MS_PER_NS: Final = 1e-6
MAX_TIME_NS: Final = 2**63 - 1
_RESOURCES: Final = frozenset({b"resourceSpans"})
_NO_PARENT: Final = -1


class _Value(msgspec.Struct, frozen=True):
    stringValue: str = ""  # noqa: N815 - the format's name


class _Attribute(msgspec.Struct):
    key: str = ""
    value: _Value = _Value()


class _Resource(msgspec.Struct):
    attributes: list[msgspec.Raw] = []


class _Scope(msgspec.Struct):
    spans: list[msgspec.Raw] = []


class _ResourceSpans(msgspec.Struct, rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_Scope] = []
    instrumentation_library_spans: list[_Scope] = []


class _Span(msgspec.Struct, rename="camel", gc=False):
    trace_id: str
    span_id: str
    start_time_unix_nano: int | str
    end_time_unix_nano: int | str
    name: str = ""
    parent_span_id: str | None = ""


@dataclass(kw_only=True, slots=True)
class _Spans:
    """All spans, as columns. `keys`: trace and span id -> place in the columns."""

    keys: dict[str, int] = field(default_factory=dict)
    parent_keys: list[str] = field(default_factory=list)
    starts: "array[int]" = field(default_factory=lambda: array("q"))
    ends: "array[int]" = field(default_factory=lambda: array("q"))
    names: list[str] = field(default_factory=list)
    services: list[str] = field(default_factory=list)


_SPAN: Final = msgspec.json.Decoder(_Span)
_ATTRIBUTE: Final = msgspec.json.Decoder(_Attribute)


def matches(file: ProfileFile, /) -> bool:
    return file.beginning.startswith("{") and '"resourceSpans"' in file.beginning


def read(file: ProfileFile, intake: Intake, /) -> tuple[Profile, ...]:
    """A profile per service that begins traces; spans of other services below them are `service: name`.

    Self time is a span's time in which none of its children ran.
    """
    spans = _Spans()

    def reject(number: int, value: bytes) -> None:
        intake.records += 1
        intake.reject(RecordFault.MALFORMED, place=f"{file.place}: resourceSpans {number}", text=value)

    elements = JsonElements(
        chunks=file.chunks(),
        names=_RESOURCES,
        kind=_ResourceSpans,
        reject=reject,
        cut=lambda: intake.truncated(file.name),
    )
    for batch in elements:
        for resource in batch:
            service = _service(resource)
            for scope in (*resource.scope_spans, *resource.instrumentation_library_spans):
                _take(spans, scope.spans, service, file.place, intake)
    return _profiles(spans, file.place, intake)


def _service(resource: _ResourceSpans) -> str:
    for raw in resource.resource.attributes if resource.resource else ():
        try:
            attribute = _ATTRIBUTE.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            continue
        if attribute.key == "service.name" and attribute.value.stringValue:
            return bounded(attribute.value.stringValue)
    return UNKNOWN_SERVICE


def _take(spans: _Spans, raws: Iterable[msgspec.Raw], service: str, place: str, intake: Intake) -> None:
    names: dict[str, str] = {}
    for raw in raws:
        intake.records += 1
        located = f"{place}: span {intake.records}"
        try:
            span = _SPAN.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            intake.reject(RecordFault.MALFORMED, place=located, text=bytes(raw))
            continue
        start, end = _nanoseconds(span.start_time_unix_nano), _nanoseconds(span.end_time_unix_nano)
        if start is None or end is None or end < start:
            intake.reject(RecordFault.NUMBER, place=located, text=bytes(raw))
            continue
        key = f"{span.trace_id}/{span.span_id}"
        if key in spans.keys:
            intake.reject(RecordFault.REPEATED, place=located, text=bytes(raw))
            continue
        if len(spans.keys) >= MAX_SPANS:
            raise DataError(f"holds more than {MAX_SPANS:,} spans", next_step="give files of a shorter time")
        spans.keys[key] = len(spans.starts)
        spans.parent_keys.append(f"{span.trace_id}/{span.parent_span_id}" if span.parent_span_id else "")
        spans.starts.append(start)
        spans.ends.append(end)
        spans.names.append(names.setdefault(span.name, span.name))
        spans.services.append(service)


def _nanoseconds(value: int | str) -> int | None:
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) < 20):
            return None
        value = int(value)
    return value if 0 <= value <= MAX_TIME_NS else None


def _profiles(spans: _Spans, place: str, intake: Intake) -> tuple[Profile, ...]:
    parents = array("l", [_NO_PARENT]) * len(spans.starts)
    children: dict[int, list[int]] = {}
    roots = []
    for i, key in enumerate(spans.parent_keys):
        parent = spans.keys.get(key, _NO_PARENT)
        if parent == _NO_PARENT:
            roots.append(i)
            if key:
                intake.reject(RecordFault.LOST_PARENT, place=place, text=spans.names[i])
        else:
            parents[i] = parent
            children.setdefault(parent, []).append(i)
    own = _self_times(spans, parents)
    trees: dict[str, ProfileTree] = {}
    reached = _add(spans, roots, children, own, trees=trees, place=place, intake=intake)
    for i, name in enumerate(spans.names):
        if not reached[i]:
            intake.reject(RecordFault.CYCLE, place=place, text=name)
    return tuple(tree.profile(service, scale=MS_PER_NS) for service, tree in trees.items())


def _self_times(spans: _Spans, parents: "array[int]") -> list[int]:
    """Each span's time less the union of its children's, as far as they lie within it."""
    own = [end - start for start, end in zip(spans.starts, spans.ends, strict=True)]
    covered = array("q", spans.starts)
    for i in sorted(range(len(own)), key=spans.starts.__getitem__):
        parent = parents[i]
        if parent != _NO_PARENT:
            start, end = max(spans.starts[i], covered[parent]), min(spans.ends[i], spans.ends[parent])
            if end > start:
                own[parent] -= end - start
                covered[parent] = end
    return own


def _add(
    spans: _Spans,
    roots: list[int],
    children: dict[int, list[int]],
    own: list[int],
    *,
    trees: dict[str, ProfileTree],
    place: str,
    intake: Intake,
) -> bytearray:
    """Fills the trees; which spans were reached from the roots: those on a circle are not."""
    reached = bytearray(len(own))
    frames: dict[tuple[str, str, str], Frame] = {}
    for root in roots:
        entry = spans.services[root]
        tree = trees.setdefault(entry, ProfileTree())
        stack = [(root, TOP)]
        while stack:
            i, parent = stack.pop()
            reached[i] = 1
            service, name = spans.services[i], spans.names[i]
            known = frames.get((entry, service, name))
            if known is None:
                known = frame(name if service == entry else f"{service}: {name}")
                frames[entry, service, name] = known
            node = tree.child(parent, known)
            if node == parent:
                intake.reject(RecordFault.TOO_DEEP, place=place, text=name)
            else:
                tree.add(node, elapsed=spans.ends[i] - spans.starts[i], self_time=own[i], calls=1)
            stack += [(child, node) for child in children.get(i, ())]
    return reached
