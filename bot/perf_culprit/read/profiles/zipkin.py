"""Zipkin's JSON of spans (API v2): an array of spans, or of traces, which are arrays of spans."""

from typing import Final

import msgspec

from perf_culprit.model.call_tree import Profile
from perf_culprit.read.profiles import json_elements
from perf_culprit.read.profiles.json_elements import decode
from perf_culprit.read.profiles.profile_file import ProfileFile
from perf_culprit.read.profiles.spans import Spans, profiles

NS_PER_US: Final = 1_000
# A client and its server may write one span each under one id: the server's lies inside the client's.
_SERVER: Final = "SERVER"


class _Endpoint(msgspec.Struct, rename="camel"):
    service_name: str = ""


class _Span(msgspec.Struct, rename="camel"):
    trace_id: str
    id: str
    timestamp: int
    duration: int = 0
    parent_id: str | None = None
    name: str = ""
    shared: bool = False
    local_endpoint: _Endpoint | None = None


_SPANS: Final = msgspec.json.Decoder(list[msgspec.Raw])
_SPAN: Final = msgspec.json.Decoder(_Span)


def matches(file: ProfileFile, /) -> bool:
    return file.begins("[", '"traceId"', '"id"', '"timestamp"')


def read(file: ProfileFile, /) -> tuple[Profile, ...]:
    stack = [decode(file, list[msgspec.Raw], what="JSON", next_step="download the traces again")]
    records: list[_Span] = []
    while stack:
        for raw in stack.pop():
            if bytes(raw).lstrip().startswith(b"["):
                stack.append(_SPANS.decode(raw))
            elif (span := json_elements.one(raw, _SPAN, file=file, at=f": span {file.intake.records + 1}")) is not None:
                records.append(span)
    return profiles(_spans(records, file))


def _spans(records: list[_Span], file: ProfileFile) -> Spans:
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
