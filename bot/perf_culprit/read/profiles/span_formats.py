"""Spans of distributed traces: OTLP JSON, Jaeger, Zipkin, and tables whose columns the user names."""

import csv
from collections.abc import Iterable, Iterator
from functools import partial
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

import msgspec

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.call_tree import Profile
from perf_culprit.model.unit_sizes import NANOSECONDS
from perf_culprit.read.logs.service_calls import seconds_since_1970
from perf_culprit.read.profiles.json_elements import UNDECODABLE, JsonElements, decoded_each
from perf_culprit.read.profiles.profile_file import ProfileFile, ProfileReader
from perf_culprit.read.profiles.spans import Spans, profiles

# A span, decoded or raw.
S = TypeVar("S")

_RESOURCES: Final = frozenset({b"resourceSpans"})


class _Value(msgspec.Struct, frozen=True):
    stringValue: str = ""  # noqa: N815 - the format's name


class _Attribute(msgspec.Struct):
    key: str = ""
    value: _Value = _Value()


class _Resource(msgspec.Struct):
    attributes: list[msgspec.Raw] = []


class _Scope(msgspec.Struct, Generic[S]):
    spans: list[S] = []


class _ResourceSpans(msgspec.Struct, Generic[S], rename="camel"):
    resource: _Resource | None = None
    scope_spans: list[_Scope[S]] = []
    instrumentation_library_spans: list[_Scope[S]] = []


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
    """Read one document, or one per line, as the collector's file exporter writes them."""
    spans = Spans(file=file)
    elements = JsonElements(
        file=file,
        names=_RESOURCES,
        whole=_ResourceSpans[_OtlpSpan],
        kind=_ResourceSpans[msgspec.Raw],
        what="resourceSpans",
    )
    for batch in elements:
        for resource in batch:
            service = _otlp_service(resource)
            for scope in (*resource.scope_spans, *resource.instrumentation_library_spans):
                for one in decoded_each(scope.spans, _OTLP_SPAN, file=file):
                    fault = spans.take(
                        (one.trace_id, one.span_id, one.parent_span_id or ""),
                        _nanoseconds(one.start_time_unix_nano),
                        _nanoseconds(one.end_time_unix_nano),
                        one.name,
                        service,
                    )
                    if fault is not None:
                        file.reject(fault, one.name, at=f": span {file.intake.records}")
    return profiles(spans)


def _otlp_service(resource: "_ResourceSpans[Any]") -> str:
    for raw in resource.resource.attributes if resource.resource else ():
        try:
            attribute = _ATTRIBUTE.decode(raw)
        except UNDECODABLE:
            continue
        if attribute.key == "service.name" and attribute.value.stringValue:
            return attribute.value.stringValue
    return ""


def _nanoseconds(value: int | str) -> int | None:
    try:
        return int(value)
    except ValueError:
        return None


OTLP = ProfileReader(
    id="otlp",
    matches=lambda file: file.begins("{", '"resourceSpans"'),
    read=_read_otlp,
)


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


class _JaegerTrace(msgspec.Struct, Generic[S]):
    spans: list[S]
    processes: dict[str, _Process] = {}


_JAEGER_SPAN: Final = msgspec.json.Decoder(_JaegerSpan)


def _read_jaeger(file: ProfileFile) -> tuple[Profile, ...]:
    """Read traces as Jaeger's HTTP API and its web page's download return them."""
    spans = Spans(file=file)
    elements = JsonElements(
        file=file, names=_TRACES, whole=_JaegerTrace[_JaegerSpan], kind=_JaegerTrace[msgspec.Raw], what="trace"
    )
    for batch in elements:
        for trace in batch:
            for one in decoded_each(trace.spans, _JAEGER_SPAN, file=file):
                parents = [above.span_id for above in one.references if above.ref_type == _CHILD]
                process = one.process or trace.processes.get(one.process_id) or _Process()
                fault = spans.take(
                    (one.trace_id, one.span_id, parents[0] if parents else one.parent_id),
                    one.start_us * NS_PER_US,
                    (one.start_us + one.duration_us) * NS_PER_US,
                    one.operation_name,
                    process.service_name,
                )
                if fault is not None:
                    file.reject(fault, one.operation_name, at=f": span {file.intake.records}")
    return profiles(spans)


JAEGER = ProfileReader(
    id="jaeger",
    matches=lambda file: file.begins("{", '"traceID"', '"spanID"'),
    read=_read_jaeger,
)


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


_RAWS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_ZIPKIN_SPAN: Final = msgspec.json.Decoder(_ZipkinSpan)


def _read_zipkin(file: ProfileFile) -> tuple[Profile, ...]:
    """Read an array of spans, or of traces, which are arrays of spans (API v2)."""
    spans = Spans(file=file)
    whole = _ZipkinSpan | list[_ZipkinSpan]
    for batch in JsonElements(file=file, names=frozenset(), whole=whole, kind=msgspec.Raw, what="span"):
        for one in decoded_each(_flat(batch), _ZIPKIN_SPAN, file=file):
            fault = spans.take(
                (one.trace_id, one.id, one.parent_id or ""),
                one.timestamp * NS_PER_US,
                (one.timestamp + one.duration) * NS_PER_US,
                one.name,
                one.local_endpoint.service_name if one.local_endpoint else "",
                is_shared=one.shared,
            )
            if fault is not None:
                file.reject(fault, one.name, at=f": span {file.intake.records}")
    return profiles(spans)


def _flat(elements: Iterable[Any]) -> Iterator[Any]:
    for one in elements:
        if isinstance(one, msgspec.Raw) and bytes(one).lstrip().startswith(b"["):
            yield from _flat(_RAWS.decode(one))
        elif isinstance(one, list):
            yield from one
        else:
            yield one


ZIPKIN = ProfileReader(
    id="zipkin",
    matches=lambda file: file.begins("[", '"traceId"', '"id"', '"timestamp"'),
    read=_read_zipkin,
)


TABLE_PREFIX: Final = "csv:"
# Whole numbers, because a float does not hold the nanoseconds since 1970.
NS_PER_UNIT: Final = {unit: int(NANOSECONDS[unit]) for unit in ("ns", "us", "ms", "s")}
NEEDED: Final = ("trace", "span", "parent", "service", "name")
_MOMENTS: Final = ("start", *(f"start_{unit}" for unit in NS_PER_UNIT))
_ENDS: Final = tuple(f"{what}_{unit}" for what in ("duration", "end") for unit in NS_PER_UNIT)
_SEPARATORS: Final = ",;\t|"


def _read_table(file: ProfileFile, *, columns: dict[str, str]) -> tuple[Profile, ...]:
    """Read a table. `columns`: role -> the column's name in the header."""
    lines = map(itemgetter(1), file.lines())
    header = next(lines, "")
    separator = max(_SEPARATORS, key=header.count)
    names = next(csv.reader([header], delimiter=separator), [])
    missing = [column for column in columns.values() if column not in names]
    if missing:
        step = f"name its columns: {', '.join(names)[:400]}"
        raise DataError(f"has no column {', '.join(missing)[:200]}", place=file.place, next_step=step)
    spans = Spans(file=file)
    start_at, start_scale = _moment(columns, names, _MOMENTS)
    end_at, end_scale = _moment(columns, names, _ENDS)
    is_length = any(what.startswith("duration") for what in columns)
    pick = itemgetter(*(names.index(columns[what]) for what in NEEDED), start_at, end_at)
    number = 1
    for number, row in enumerate(csv.reader(lines, delimiter=separator), 2):
        try:
            *ids, service, name, start_text, end_text = pick(row)
        except IndexError:
            *ids, service, name, start_text, end_text = pick([*row, *[""] * len(names)])
        start, end = _ns(start_text, start_scale), _ns(end_text, end_scale)
        if is_length and start is not None and end is not None:
            end += start
        if (fault := spans.take(ids, start, end, name, service)) is not None:
            file.reject(fault, separator.join(row), at=f": row {number}")
    file.intake.records += number - 1
    return profiles(spans)


def _moment(columns: dict[str, str], names: list[str], kinds: Iterable[str]) -> tuple[int, int]:
    """Return the index of a time's column, and the ns per unit; 0 for a date."""
    what = next(one for one in kinds if one in columns)
    return names.index(columns[what]), NS_PER_UNIT.get(what.rpartition("_")[2], 0)


def span_table(format_name: str) -> ProfileReader:
    """Return the reader for `csv:trace=TraceID,…`; a UsageError names missing roles."""
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
    # The content does not show the columns' roles, so the user must name them.
    return ProfileReader(id=format_name, matches=lambda _: False, read=partial(_read_table, columns=columns))


def _ns(text: str, scale: int) -> int | None:
    try:
        if scale and text.isdecimal():
            # Integers keep this exact.
            return int(text) * scale
        number = float(text) if scale else seconds_since_1970(text.encode())
        return None if number is None else round(number * (scale or NS_PER_UNIT["s"]))
    except (ValueError, OverflowError):
        return None
