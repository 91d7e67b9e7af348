"""A diagnosis of one revision: suspects, what to test again for each, services, and unused lines."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from perf_culprit.model.call_tree import (
    Diagnosis,
    ImpactedService,
    LineFault,
    LogReading,
    MethodSuspect,
    RecordFault,
    ServiceStatistics,
    SlowCall,
)
from perf_culprit.say.charts import blocks
from perf_culprit.say.document import (
    Bullets,
    Column,
    Document,
    Drawn,
    Name,
    Node,
    Row,
    Shown,
    Table,
    Text,
    joined,
    paragraph,
    table,
    words,
)
from perf_culprit.say.inert import Safe, plain
from perf_culprit.say.numbers import amount, counted, percent, quantities, significant
from perf_culprit.say.render_terminal import WIDE, render_terminal

BAR_WIDTH: Final = 30
SHOWN_IMPACTS: Final = 5
SHOWN_SERVICES: Final = 20
SHOWN_SLOW_CALLS: Final = 3
_LINE_LIMIT: Final = 160
FAULTS: Final = {
    LineFault.NO_MATCH: "not a method execution by the pattern",
    LineFault.TOO_LONG: "longer than a line may be",
    LineFault.ELAPSED: "its time is negative, not a number or too large",
    LineFault.LABEL: "its label is not dot-separated or too long",
    LineFault.REPEATED: "the line before, once more",
}
RECORD_FAULTS: Final = {
    RecordFault.MALFORMED: "not a record of the format",
    RecordFault.TOO_LONG: "longer than a record may be",
    RecordFault.NUMBER: "its time or count is negative, not a number or too large",
    RecordFault.UNOPENED: "ends what never began",
    RecordFault.UNCLOSED: "begins and never ends: closed with its caller or at the last time known",
    RecordFault.OVERLAP: "ends after its caller: cut there",
    RecordFault.ORDER: "its time lies before the record before it",
    RecordFault.LOST_PARENT: "its caller is missing: taken as called by nobody",
    RecordFault.CYCLE: "is its own caller",
    RecordFault.REPEATED: "its id was there before",
    RecordFault.TOO_DEEP: "deeper than calls may be nested: its time stays with its caller",
    RecordFault.ASYNCHRONOUS: "asynchronous: not nested in a thread",
    RecordFault.NO_EXECUTION: "measures no execution",
}


def diagnosis_text(diagnosis: Diagnosis, *, top: int = 20) -> str:
    """For a terminal; foreign control characters never reach it, and no line starts with foreign text."""
    document = Document(nodes=tuple(_told(diagnosis, top)))
    return render_terminal(document, width=WIDE, colour=False, more_at="the JSON")


def _told(diagnosis: Diagnosis, top: int) -> Iterator[Node]:
    reading, unit = diagnosis.reading, diagnosis.unit
    shown = [suspect for suspect in diagnosis.suspects if not suspect.tiny][:top] or diagnosis.suspects[:top]
    counts = {
        "call": sum(service.all_calls for service in diagnosis.services),
        "service": len(diagnosis.services),
        "method": len(diagnosis.suspects),
        "line": reading.lines,
    }
    calls, *others = (counted(count, noun) for noun, count in counts.items())
    yield paragraph(Safe(f"{calls} of {', '.join(others)}"))
    yield _suspects(shown, unit)
    if more := len(diagnosis.suspects) - len(shown):
        tiny = sum(suspect.tiny for suspect in diagnosis.suspects)
        limit, hidden = _amount(diagnosis.minimum_self_ms, unit), Safe(counted(more, "more method"))
        yield paragraph(words("and {}, {} of them below {} per call of every service", hidden, tiny, limit))
    yield _impacts(shown[:SHOWN_IMPACTS])
    yield _services(diagnosis.services, unit)
    if unused := [*_unused(reading)]:
        yield Bullets(items=unused, total=len(unused), title=Safe("Not used"))


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, right=True) for name in names)


def _suspects(suspects: Sequence[MethodSuspect], unit: str) -> Table:
    def row(suspect: MethodSuspect) -> Row:
        method = words("{}{}", Name(suspect.method, _LINE_LIMIT), Safe(" (tiny)" if suspect.tiny else ""))
        times = (_amount(time, unit) for time in (suspect.self_ms, suspect.self_ms_per_execution))
        counts = (Safe(f"{count:,}") for count in (suspect.calls, len(suspect.services)))
        return Row((method, Safe(f"{suspect.score:.4f}"), *times, *counts))

    own = "self time" if unit == "ms" else f"self {plain(unit, limit=20)}"
    columns = _columns("score", own, "per execution", "executions", "services")
    return table((Column(name="method"), *columns), suspects, row, title=Safe("Suspects"), shown=Shown.TABLE)


def _impacts(suspects: Sequence[MethodSuspect]) -> Table:
    def row(pair: tuple[ImpactedService, str]) -> Row:
        impact, method = pair
        bar = blocks(impact.self_share, impact.children_share, width=BAR_WIDTH)
        shares = map(Safe, map(percent, (impact.self_share, impact.children_share)))
        return Row((Name(impact.service, _LINE_LIMIT), Drawn(bar), *shares, Name(method, _LINE_LIMIT)))

    bars = Column(name="\u2588 own time, \u2591 what it calls")
    columns = (Column(name="service"), bars, *_columns("own", "calls"), Column(name="suspect"))
    pairs = [(impact, suspect.method) for suspect in suspects for impact in suspect.services[:SHOWN_SERVICES]]
    return table(columns, pairs, row, title=Safe("Services to test again"), shown=Shown.TABLE)


def _services(services: Sequence[ServiceStatistics], unit: str) -> Table:
    def row(one: ServiceStatistics) -> Row:
        times = (_amount(time, unit) for time in (one.mean_ms, one.standard_deviation_ms, one.min_ms, one.max_ms))
        slowest = joined(", ", map(_slow_call, one.slowest[:SHOWN_SLOW_CALLS])) or Safe("n/a")
        return Row((Name(one.service, _LINE_LIMIT), Safe(f"{one.calls:,}"), *times, Safe(_throughput(one)), slowest))

    numbers = _columns("calls", "mean", "SD", "min", "max", "calls/s")
    columns = (Column(name="service"), *numbers, Column(name="slowest"))
    return table(columns, services, row, title=Safe("Services"), shown=Shown.TABLE, most=SHOWN_SERVICES)


def _throughput(service: ServiceStatistics) -> str:
    """The lowest and the highest; the first and the last window may hold less than their width."""
    inner = service.windows[1:-1] or service.windows
    if not inner:
        return "n/a"
    rates = [window.calls_per_s for window in inner]
    low, high = significant(min(rates)), significant(max(rates))
    return low if low == high else f"{low}–{high}"  # noqa: RUF001 - a range of numbers takes an en dash


def _slow_call(slow: SlowCall) -> Text:
    at = "" if slow.time_s is None else f" at {datetime.fromtimestamp(slow.time_s, UTC):%H:%M:%S}"
    return words("{}{}", Name(slow.call, 24), Safe(at))


def _unused(reading: LogReading) -> Iterator[Text]:
    for fault, count in reading.unused.items():
        yield Safe(f"{counted(count, 'line')}: {FAULTS[fault]}")
    for example in reading.examples:
        place = Safe(f"line {example.line:,}" if example.line else "seen as")
        yield words("{}: {}", place, Name(example.text, _LINE_LIMIT))
    if count := reading.headless_calls:
        yield Safe(f"{counted(count, 'call')} without a logged root: in trees, not in statistics")
    if count := reading.rare_paths:
        given_up = "given up for their number; their methods count, without what they call"
        yield Safe(f"{counted(count, 'rare path')} {given_up}")
    if count := reading.cut_calls:
        yield Safe(f"{counted(count, 'call')} too long to be held whole: cut in pieces")
    for name in reading.truncated_files:
        yield words("a file ends too early or is damaged: {}", Name(name, _LINE_LIMIT))


def _amount(number: float, unit: str) -> Text:
    (quantity,) = quantities((number,), unit)
    return amount(quantity)
