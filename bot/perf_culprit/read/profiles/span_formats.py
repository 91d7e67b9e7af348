"""Spans of distributed traces: OTLP JSON, Jaeger, Zipkin, and tables whose columns are named."""

import csv
from collections.abc import Iterable
from functools import partial
from typing import Final

import msgspec

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.call_tree import Profile
from perf_culprit.read.logs.service_calls import seconds_since_1970
from perf_culprit.read.profiles.json_elements import UNDECODABLE, JsonElements, decode, decoded
from perf_culprit.read.profiles.profile_file import ProfileFile, ProfileReader
from perf_culprit.read.profiles.spans import Spans, profiles

# OpenTelemetry spans as OTLP JSON: one document, or one per line as the collector's file exporter writes.

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


class _OtlpSpan(msgspec.Struct, rename="camel", gc=False):
    trace_id: str
    span_id: str
    start_time_unix_nano: int | str
    end_time_unix_nano: int | str
    name: str = ""
    parent_span_id: str | None = ""


_OTLP_SPAN: Final = msgspec.json.Decoder(_OtlpSpan)
_ATTRIBUTE: Final = msgspec.json.Decoder(_Attribute)


def _read_otlp(file: ProfileFile) -> tuple[Profile, ...]:
    spans = Spans(file=file)
    for batch in JsonElements(file=file, names=_RESOURCES, kind=_ResourceSpans, what="resourceSpans"):
        for resource in batch:
            service = _otlp_service(resource)
            for scope in (*resource.scope_spans, *resource.instrumentation_library_spans):
                _otlp_take(spans, scope.spans, service, file)
    return profiles(spans)


def _otlp_service(resource: _ResourceSpans) -> str:
    for raw in resource.resource.attributes if resource.resource else ():
        try:
            attribute = _ATTRIBUTE.decode(raw)
        except UNDECODABLE:
            continue
        if attribute.key == "service.name" and attribute.value.stringValue:
            return attribute.value.stringValue
    return ""


def _otlp_take(spans: Spans, raws: Iterable[msgspec.Raw], service: str, file: ProfileFile) -> None:
    for raw in raws:
        at = f": span {file.intake.records + 1}"
        span = decoded(raw, _OTLP_SPAN, file=file, at=at)
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


OTLP = ProfileReader(
    id="otlp",
    matches=lambda file: file.begins("{", '"resourceSpans"'),
    read=_read_otlp,
)


# Jaeger's JSON of traces: what its HTTP API and its page's download give.

NS_PER_US: Final = 1_000
_TRACES: Final = frozenset({b"data"})
_CHILD: Final = "CHILD_OF"


class _Reference(msgspec.Struct, rename={"ref_type": "refType", "span_id": "spanID"}):
    ref_type: str = ""
    span_id: str = ""


class _Process(msgspec.Struct, rename="camel"):
    service_name: str = ""


class _JaegerSpan(msgspec.Struct, rename={
    "trace_id": "traceID", "span_id": "spanID", "operation_name": "operationName", "start_us": "startTime",
    "duration_us": "duration", "process_id": "processID", "parent_id": "parentSpanID",
}):  # fmt: skip
    trace_id: str
    span_id: str
    start_us: int
    duration_us: int
    operation_name: str = ""
    process_id: str = ""
    parent_id: str = ""
    references: list[_Reference] = []
    process: _Process | None = None


class _JaegerTrace(msgspec.Struct):
    spans: list[msgspec.Raw]
    processes: dict[str, _Process] = {}


_JAEGER_SPAN: Final = msgspec.json.Decoder(_JaegerSpan)


def _read_jaeger(file: ProfileFile) -> tuple[Profile, ...]:
    spans = Spans(file=file)
    for batch in JsonElements(file=file, names=_TRACES, kind=_JaegerTrace, what="trace"):
        for trace in batch:
            for raw in trace.spans:
                _jaeger_take(spans, raw, trace, file)
    return profiles(spans)


def _jaeger_take(spans: Spans, raw: msgspec.Raw, trace: _JaegerTrace, file: ProfileFile) -> None:
    at = f": span {file.intake.records + 1}"
    span = decoded(raw, _JAEGER_SPAN, file=file, at=at)
    if span is None:
        return
    parents = [one.span_id for one in span.references if one.ref_type == _CHILD]
    process = span.process or trace.processes.get(span.process_id) or _Process()
    spans.take(
        trace=span.trace_id,
        span=span.span_id,
        parent=parents[0] if parents else span.parent_id,
        start=span.start_us * NS_PER_US,
        end=(span.start_us + span.duration_us) * NS_PER_US,
        name=span.operation_name,
        service=process.service_name,
        at=at,
        text=bytes(raw),
    )


JAEGER = ProfileReader(
    id="jaeger",
    matches=lambda file: file.begins("{", '"traceID"', '"spanID"'),
    read=_read_jaeger,
)


# Zipkin's JSON of spans (API v2): an array of spans, or of traces, which are arrays of spans.

# A client and its server may write one span each under one id: the server's lies inside the client's.
_SERVER: Final = "SERVER"


class _Endpoint(msgspec.Struct, rename="camel"):
    service_name: str = ""


class _ZipkinSpan(msgspec.Struct, rename="camel"):
    trace_id: str
    id: str
    timestamp: int
    duration: int = 0
    parent_id: str | None = None
    name: str = ""
    shared: bool = False
    local_endpoint: _Endpoint | None = None


_SPANS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ZIPKIN_SPAN: Final = msgspec.json.Decoder(_ZipkinSpan)


def _read_zipkin(file: ProfileFile) -> tuple[Profile, ...]:
    stack = [decode(file, list[msgspec.Raw], what="JSON document", next_step="download the traces again")]
    records: list[_ZipkinSpan] = []
    while stack:
        for raw in stack.pop():
            if bytes(raw).lstrip().startswith(b"["):
                stack.append(_SPANS.decode(raw))
            elif (span := decoded(raw, _ZIPKIN_SPAN, file=file, at=f": span {file.intake.records + 1}")) is not None:
                records.append(span)
    return profiles(_zipkin_spans(records, file))


def _zipkin_spans(records: list[_ZipkinSpan], file: ProfileFile) -> Spans:
    spans = Spans(file=file)
    shared = {(one.trace_id, one.id) for one in records if one.shared}
    for number, one in enumerate(records, 1):
        # Children of a shared id are the server's.
        own, parent = one.id, one.parent_id or ""
        if one.shared:
            own, parent = _server(one.id), one.id
        elif (one.trace_id, parent) in shared:
            parent = _server(parent)
        service = one.local_endpoint.service_name if one.local_endpoint else ""
        spans.take(
            trace=one.trace_id,
            span=own,
            parent=parent,
            start=one.timestamp * NS_PER_US,
            end=(one.timestamp + one.duration) * NS_PER_US,
            name=one.name,
            service=service,
            at=f": span {number}",
            text=one.name,
        )
    return spans


def _server(span: str) -> str:
    return f"{span} {_SERVER}"


ZIPKIN = ProfileReader(
    id="zipkin",
    matches=lambda file: file.begins("[", '"traceId"', '"id"', '"timestamp"'),
    read=_read_zipkin,
)


# Tables of spans, a span per row (CSV): which column holds what is named, as `csv:trace=TraceID,span=SpanID,…`.

TABLE_PREFIX: Final = "csv:"
NS_PER_UNIT: Final = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
NEEDED: Final = ("trace", "span", "parent", "service", "name")
_MOMENTS: Final = ("start", *(f"start_{unit}" for unit in NS_PER_UNIT))
_ENDS: Final = tuple(f"{what}_{unit}" for what in ("duration", "end") for unit in NS_PER_UNIT)
_SEPARATORS: Final = ",;\t|"


def _read_table(file: ProfileFile, *, columns: dict[str, str]) -> tuple[Profile, ...]:
    """`columns`: what each is for -> its name in the header."""
    lines = (line for _, line in file.lines())
    header = next(lines, "")
    separator = max(_SEPARATORS, key=header.count)
    names = next(csv.reader([header], delimiter=separator), [])
    missing = [column for column in columns.values() if column not in names]
    if missing:
        step = f"name its columns: {', '.join(names)[:400]}"
        raise DataError(f"has no column {', '.join(missing)[:200]}", place=file.place, next_step=step)
    places = {what: names.index(column) for what, column in columns.items()}
    spans = Spans(file=file)
    for number, row in enumerate(csv.reader(lines, delimiter=separator), 2):
        file.intake.records += 1
        cells = {what: row[place] if place < len(row) else "" for what, place in places.items()}
        start = _ns(cells, _MOMENTS)
        length = _ns(cells, _ENDS)
        if start is not None and length is not None and any(what.startswith("end_") for what in cells):
            length -= start
        spans.take(
            **{what: cells[what] for what in NEEDED},
            start=start,
            end=None if start is None or length is None else start + length,
            at=f": row {number}",
            text=separator.join(row),
        )
    return profiles(spans)


def span_table(format_name: str) -> ProfileReader:
    """The reader that `csv:trace=TraceID,…` means; a UsageError names what is missing."""
    columns = dict(pair.partition("=")[::2] for pair in format_name.removeprefix(TABLE_PREFIX).split(","))
    one_of = [("start", _MOMENTS), ("duration_us or end_us", _ENDS)]
    missing = [what for what in NEEDED if what not in columns]
    missing += [what for what, names in one_of if sum(name in columns for name in names) != 1]
    unknown = [what for what in columns if what not in (*NEEDED, *_MOMENTS, *_ENDS)]
    if missing or unknown:
        raise UsageError(
            f"names no column for {', '.join(missing)}" if missing else f"names unknown columns: {', '.join(unknown)}",
            place=format_name[:100],
            next_step="write csv:trace=…,span=…,parent=…,service=…,name=…,start_us=…,duration_us=… with your columns' "
            "names (units ns, us, ms, s; `start` alone is a date)",
        )
    # No content shows what its columns mean: they have to be named.
    return ProfileReader(id=format_name, matches=lambda _: False, read=partial(_read_table, columns=columns))


def _ns(cells: dict[str, str], names: tuple[str, ...]) -> int | None:
    name = next(name for name in names if name in cells)
    scale = NS_PER_UNIT.get(name.rpartition("_")[2])
    try:
        number = seconds_since_1970(cells[name].encode()) if scale is None else float(cells[name])
        return None if number is None else round(number * (scale or 1e9))
    except (ValueError, OverflowError):
        return None
