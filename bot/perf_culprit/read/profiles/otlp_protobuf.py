"""OpenTelemetry spans as OTLP protobuf: one export request, or one after the other with their sizes in front.

The messages are those of opentelemetry/proto/collector/trace/v1 and trace/v1. The collector's file exporter writes each
after its size in four bytes, the most significant first.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import Profile, RecordFault
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.protobuf import WireError, fields
from perf_culprit.read.profiles.spans import Spans, profiles

SERVICE_NAME: Final = b"service.name"
_HEAD: Final = 4096
_SIZE_BYTES: Final = 4
# Field numbers: of the request, of ResourceSpans, of ScopeSpans, of Span, of KeyValue and AnyValue.
_RESOURCE_SPANS, _RESOURCE, _SCOPE_SPANS, _SPANS = 1, 1, 2, 2
_TRACE, _SPAN, _PARENT, _NAME, _START, _END = 1, 2, 4, 5, 7, 8
_ATTRIBUTES, _KEY, _VALUE, _STRING = 1, 1, 2, 1
_LENGTH_PREFIXED: Final = (b"\x00", b"\x0a")


def matches(file: ProfileFile, /) -> bool:
    return file.head[:1] in _LENGTH_PREFIXED and SERVICE_NAME in file.head[:_HEAD]


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    spans = Spans(file=file)
    try:
        for request in _requests(file.content()):
            for resource_spans in _all(request, _RESOURCE_SPANS):
                _take_resource(spans, resource_spans, file)
    except WireError as error:
        raise DataError(f"is no OTLP protobuf: {error}", place=file.place, next_step="export it again") from None
    return profiles(spans)


def _requests(data: bytes) -> Iterator[bytes]:
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


def _all(message: bytes, number: int) -> Iterator[bytes]:
    return (value for key, value in fields(message) if key == number and isinstance(value, bytes))


def _take_resource(spans: Spans, resource_spans: bytes, file: ProfileFile) -> None:
    service = next((name for one in _all(resource_spans, _RESOURCE) if (name := _service(one))), "")
    for scope in _all(resource_spans, _SCOPE_SPANS):
        for span in _all(scope, _SPANS):
            file.intake.records += 1
            at = f": span {file.intake.records}"
            try:
                values = dict(fields(span))
            except WireError:
                file.reject(RecordFault.MALFORMED, "", at=at)
                continue
            start, end = values.get(_START), values.get(_END)
            spans.take(
                trace=_bytes(values, _TRACE).hex(),
                span=_bytes(values, _SPAN).hex(),
                parent=_bytes(values, _PARENT).hex(),
                start=start if isinstance(start, int) else None,
                end=end if isinstance(end, int) else None,
                name=_bytes(values, _NAME).decode("utf-8", "replace"),
                service=service,
                at=at,
                text=_bytes(values, _NAME),
            )


def _service(resource: bytes) -> str:
    for attribute in _all(resource, _ATTRIBUTES):
        values = dict(fields(attribute))
        if values.get(_KEY) == SERVICE_NAME:
            return _bytes(dict(fields(_bytes(values, _VALUE))), _STRING).decode("utf-8", "replace")
    return ""


def _bytes(message: Mapping[int, int | bytes], number: int) -> bytes:
    value = message.get(number)
    return value if isinstance(value, bytes) else b""
