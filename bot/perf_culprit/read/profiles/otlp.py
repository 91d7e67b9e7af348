"""OpenTelemetry spans as OTLP JSON: one document, or one per line as the collector's file exporter writes."""

from collections.abc import Iterable
from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile
from perf_culprit.read.profiles.json_elements import UNDECODABLE, JsonElements, one
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.spans import Spans, profiles

_RESOURCES: Final = frozenset({b"resourceSpans"})


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


_SPAN: Final = msgspec.json.Decoder(_Span)
_ATTRIBUTE: Final = msgspec.json.Decoder(_Attribute)


def matches(file: ProfileFile, /) -> bool:
    return file.begins("{", '"resourceSpans"')


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    spans = Spans(file=file)
    for batch in JsonElements(file=file, names=_RESOURCES, kind=_ResourceSpans, what="resourceSpans"):
        for resource in batch:
            service = _service(resource)
            for scope in (*resource.scope_spans, *resource.instrumentation_library_spans):
                _take(spans, scope.spans, service, file)
    return profiles(spans)


def _service(resource: _ResourceSpans) -> str:
    for raw in resource.resource.attributes if resource.resource else ():
        try:
            attribute = _ATTRIBUTE.decode(raw)
        except UNDECODABLE:
            continue
        if attribute.key == "service.name" and attribute.value.stringValue:
            return attribute.value.stringValue
    return ""


def _take(spans: Spans, raws: Iterable[msgspec.Raw], service: str, file: ProfileFile) -> None:
    for raw in raws:
        at = f": span {file.intake.records + 1}"
        span = one(raw, _SPAN, file=file, at=at)
        if span is None:
            continue
        spans.take(
            trace=span.trace_id,
            span=span.span_id,
            parent=span.parent_span_id or "",
            start=_nanoseconds(span.start_time_unix_nano),
            end=_nanoseconds(span.end_time_unix_nano),
            name=span.name,
            service=service,
            at=at,
            text=bytes(raw),
        )


def _nanoseconds(value: int | str) -> int | None:
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) < 20):
            return None
        return int(value)
    return value
