"""Partial results of a log. They form a monoid, so processes or a cluster can share the work in any grouping.

`analyse` makes the part of a stretch of lines and `merge` joins the parts of neighbouring stretches. `Part()` with
the same settings is the neutral element. A call with lines near an end of the stretch stays open: its other lines may
be in the neighbour.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from msgspec import structs

from perf_culprit.arrays import Integers
from perf_culprit.model.call_tree import LineFault, UnusedLine
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.read.logs.log_pattern import CALL, LABEL, METHOD, SERVICE, LinePattern, Row
from perf_culprit.read.logs.log_rows import Rows, read_lines
from perf_culprit.read.logs.reading_settings import ReadingSettings
from perf_culprit.read.logs.service_calls import CompleteCalls, ServicePart, check_services

_Key: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenCall:
    """`from_start`, `from_end`: executions before its first row and after its last one in the part."""

    rows: list[Row]
    from_start: int
    from_end: int

    @property
    def key(self) -> _Key:
        return self.rows[0][2:4]

    @property
    def is_too_long(self) -> bool:
        rows = self.rows
        return len(rows) > FILE_LIMITS.call_rows or sum(
            [len(row[LABEL] or b"") + len(row[METHOD] or b"") for row in rows]
        ) > (FILE_LIMITS.call_bytes)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """`rows`: lines that the pattern matched. `open_calls`: in the order of their first rows."""

    settings: ReadingSettings = field(default_factory=ReadingSettings)
    ms_per_unit: float = 1.0
    lines: int = 0
    rows: int = 0
    services: dict[bytes, ServicePart] = field(default_factory=dict)
    open_calls: tuple[OpenCall, ...] = ()
    unused: Counter[LineFault] = field(default_factory=Counter)
    examples: tuple[UnusedLine, ...] = ()
    cut_calls: int = 0


def analyse(data: bytes, *, pattern: LinePattern, settings: ReadingSettings) -> Part:
    """Make the part of a stretch of whole lines."""
    # Searching for one byte is much faster than for two.
    data = data.replace(b"\r\n", b"\n") if b"\r" in data else data
    read = read_lines(data, pattern)
    faults = [
        (LineFault.TOO_LONG if len(line) > FILE_LIMITS.log_line_bytes else LineFault.NO_MATCH, place, line)
        for place, line in read.unread
    ]
    part = Part(
        settings=settings,
        ms_per_unit=pattern.ms_per_unit,
        lines=read.lines,
        rows=len(read.rows),
        unused=Counter(fault for fault, _, _ in faults),
        examples=tuple(
            UnusedLine(fault=fault, line=place + 1, text=_line_start(line))
            for fault, place, line in faults[: TEXT_LIMITS.log_examples]
        ),
    )
    complete = CompleteCalls(settings=settings, ms_per_unit=pattern.ms_per_unit)
    return _with_calls(part, complete, open_calls=_by_call(read.rows, settings.horizon, complete))


def merge(a: Part, b: Part) -> Part:
    """Join `a`'s lines and the following lines of `b`. Associative up to rounding of sums; changes neither part."""
    if not a.lines or not b.lines:
        return b if b.lines else a
    open_calls = _join(a, b)
    later = (one if one.line is None else structs.replace(one, line=one.line + a.lines) for one in b.examples)
    whole = replace(
        a,
        lines=a.lines + b.lines,
        rows=a.rows + b.rows,
        unused=a.unused + b.unused,
        examples=(*a.examples, *later)[: TEXT_LIMITS.log_examples],
        cut_calls=a.cut_calls + b.cut_calls,
    )
    horizon = a.settings.horizon
    still_open = [call for call in open_calls if call.from_start < horizon or call.from_end < horizon]
    closed = [call.rows for call in open_calls if call.from_start >= horizon and call.from_end >= horizon]
    return _with_calls(whole, _complete(a, closed), open_calls=still_open, neighbour=b.services)


def _join(a: Part, b: Part) -> list[OpenCall]:
    """Return the open calls of both parts; the two halves of one call become one."""
    last = {call.key: i for i, call in enumerate(a.open_calls)}
    first = {call.key: i for i, call in reversed([*enumerate(b.open_calls)])}
    halves: set[int] = set()
    open_calls = []
    for i, call in enumerate(a.open_calls):
        half = first.get(call.key) if last[call.key] == i else None
        if half is None or call.from_end + b.open_calls[half].from_start >= a.settings.horizon:
            open_calls.append(replace(call, from_end=call.from_end + b.rows))
        else:
            halves.add(half)
            other = b.open_calls[half]
            open_calls.append(
                OpenCall(rows=call.rows + other.rows, from_start=call.from_start, from_end=other.from_end)
            )
    return open_calls + [
        replace(call, from_start=call.from_start + a.rows) for i, call in enumerate(b.open_calls) if i not in halves
    ]


def finish(part: Part) -> Part:
    """Close the open calls of a whole log's part: no lines come before or after it that could complete them."""
    return _with_calls(part, _complete(part, [call.rows for call in part.open_calls]), open_calls=[])


def _by_call(rows: Rows, horizon: int, complete: CompleteCalls) -> list[OpenCall]:
    """Collect the complete calls; return those near an end of the stretch in the order of their first rows."""
    calls, _ = rows.numbers(SERVICE, CALL)
    sizes = np.bincount(calls)
    # numpy sorts 16-bit numbers in linear time.
    order = np.argsort(calls.astype(np.uint16) if len(sizes) <= 1 << 16 else calls, kind="stable")
    places = np.split(order, np.cumsum(sizes)[:-1])[: len(sizes)]
    from_start = _first_places(calls[:horizon])
    from_end = _first_places(calls[::-1][:horizon])
    is_open = from_start.keys() | from_end.keys()
    complete.add_all(rows, [own for call, own in enumerate(places) if call not in is_open])
    return [
        OpenCall(
            rows=rows.rows(places[call]),
            from_start=from_start.get(call, horizon),
            from_end=from_end.get(call, horizon),
        )
        for call in sorted(is_open)
    ]


def _first_places(calls: Integers) -> dict[int, int]:
    numbers, firsts = np.unique(calls, return_index=True)
    return dict(zip(numbers.tolist(), firsts.tolist(), strict=True))


def _complete(part: Part, calls: Iterable[Sequence[Row]]) -> CompleteCalls:
    complete = CompleteCalls(settings=part.settings, ms_per_unit=part.ms_per_unit)
    for rows in calls:
        complete.add(rows)
    return complete


def _with_calls(
    part: Part,
    complete: CompleteCalls,
    *,
    open_calls: Sequence[OpenCall],
    neighbour: Mapping[bytes, ServicePart] | None = None,
) -> Part:
    """Add complete calls and the neighbour's services to the part. Open calls that are too long count as complete."""
    too_long: list[OpenCall] = []
    still_open: list[OpenCall] = []
    for call in open_calls:
        (too_long if call.is_too_long else still_open).append(call)
    for call in too_long:
        complete.add(call.rows)
    services = {**part.services}
    sources = [source for source in (neighbour, complete.services()) if source]
    for service in {name: None for source in sources for name in source}:
        more = [source[service] for source in sources if service in source]
        first = services.get(service)
        services[service] = (
            first.merged(more, settings=part.settings) if first else more[0].merged(more[1:], settings=part.settings)
        )
    nodes = sum(len(one.tree.methods) for one in services.values())
    if nodes > FILE_LIMITS.log_nodes:
        services = {
            name: replace(
                one, tree=one.tree.without_rare(max(1, len(one.tree.methods) * FILE_LIMITS.log_nodes // 2 // nodes))
            )
            for name, one in services.items()
        }
    check_services(len(services))
    examples = (
        UnusedLine(fault=fault, line=None, text=_line_start(b" ".join([field for field in row if field])))
        for fault, row in complete.unused_rows
    )
    return replace(
        part,
        services=services,
        open_calls=tuple(still_open),
        unused=part.unused + complete.unused,
        examples=(*part.examples, *examples)[: TEXT_LIMITS.log_examples],
        cut_calls=part.cut_calls + len(too_long),
    )


def _line_start(line: bytes) -> str:
    return line[:400].decode("utf-8", "replace")
