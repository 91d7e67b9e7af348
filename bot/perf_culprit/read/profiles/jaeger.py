"""Jaeger's JSON of traces: what its HTTP API and its page's download give."""

from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile
from perf_culprit.read.profiles import json_elements
from perf_culprit.read.profiles.json_elements import JsonElements
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.spans import Spans, profiles

NS_PER_US: Final = 1_000
_TRACES: Final = frozenset({b"data"})
_CHILD: Final = "CHILD_OF"


class _Reference(msgspec.Struct, rename={"ref_type": "refType", "span_id": "spanID"}):
    ref_type: str = ""
    span_id: str = ""


class _Process(msgspec.Struct, rename="camel"):
    service_name: str = ""


class _Span(msgspec.Struct, rename={
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


class _Trace(msgspec.Struct):
    spans: list[msgspec.Raw]
    processes: dict[str, _Process] = {}


_SPAN: Final = msgspec.json.Decoder(_Span)


def matches(file: ProfileFile, /) -> bool:
    return file.begins("{", '"traceID"', '"spanID"')


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    spans = Spans(file=file)
    for batch in JsonElements(file=file, names=_TRACES, kind=_Trace, what="trace"):
        for trace in batch:
            for raw in trace.spans:
                _take(spans, raw, trace, file)
    return profiles(spans)


def _take(spans: Spans, raw: msgspec.Raw, trace: _Trace, file: ProfileFile) -> None:
    at = f": span {file.intake.records + 1}"
    span = json_elements.one(raw, _SPAN, file=file, at=at)
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
