"""A diagnosis of one revision for a terminal: suspects, what to test again for each, services, and unused lines."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from perf_culprit.model.call_tree import (
    Diagnosis,
    ImpactedService,
    LineFault,
    MethodSuspect,
    RecordFault,
    ServiceStatistics,
    SlowCall,
)
from perf_culprit.say.charts import blocks
from perf_culprit.say.inert import plain
from perf_culprit.say.numbers import amount_text, counted, percent, quantities, significant
from perf_culprit.say.render_terminal import columns

BAR_WIDTH: Final = 30
SHOWN_IMPACTS: Final = 5
SHOWN_SERVICES: Final = 20
SHOWN_SLOW_CALLS: Final = 3
_LINE_LIMIT: Final = 160
_plain = partial(plain, limit=_LINE_LIMIT)
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
    suspects = [suspect for suspect in diagnosis.suspects if not suspect.tiny][:top]
    shown = suspects or list(diagnosis.suspects[:top])
    blocks = [
        _headline(diagnosis),
        _suspects(shown, diagnosis.unit),
        _impacts(shown[:SHOWN_IMPACTS]),
        _services(diagnosis.services, diagnosis.unit),
    ]
    more = len(diagnosis.suspects) - len(shown)
    if more:
        tiny = sum(suspect.tiny for suspect in diagnosis.suspects)
        limit = _amount(diagnosis.minimum_self_ms, diagnosis.unit)
        blocks.insert(
            2, f"and {counted(more, 'more method')}, {tiny:,} of them below {limit} per call of every service"
        )
    blocks += [block for block in (_unused(diagnosis),) if block]
    return "\n\n".join(blocks) + "\n"


def _headline(diagnosis: Diagnosis) -> str:
    reading = diagnosis.reading
    calls = sum(service.all_calls for service in diagnosis.services)
    return (
        f"{counted(calls, 'call')} of {counted(len(diagnosis.services), 'service')}, "
        f"{counted(len(diagnosis.suspects), 'method')}, {counted(reading.lines, 'line')}"
    )


def _suspects(suspects: Sequence[MethodSuspect], unit: str) -> str:
    header = (
        "rank",
        "score",
        "self time" if unit == "ms" else f"self {_plain(unit, limit=20)}",
        "per execution",
        "executions",
        "services",
        "method",
    )
    rows = [
        (
            str(rank),
            f"{suspect.score:.4f}",
            _amount(suspect.self_ms, unit),
            _amount(suspect.self_ms_per_execution, unit),
            f"{suspect.calls:,}",
            str(len(suspect.services)),
            _plain(suspect.method) + (" (tiny)" if suspect.tiny else ""),
        )
        for rank, suspect in enumerate(suspects, 1)
    ]
    return "\n".join(["Suspects", *columns([header, *rows], right=range(6))])


def _impacts(suspects: Sequence[MethodSuspect]) -> str:
    parts = [
        "\n".join([f"{rank}. {_plain(suspect.method)}", *_bars(suspect.services[:SHOWN_SERVICES])])
        for rank, suspect in enumerate(suspects, 1)
    ]
    return "Services to test again (█ own time, ░ what it calls)\n" + "\n".join(parts)


def _bars(impacts: Sequence[ImpactedService]) -> list[str]:
    rows = [
        (
            blocks(impact.self_share, impact.children_share, width=BAR_WIDTH),
            percent(impact.self_share),
            percent(impact.children_share),
            _plain(impact.service),
        )
        for impact in impacts
    ]
    return columns(rows, right=(1, 2), indent="   ")


def _services(services: Sequence[ServiceStatistics], unit: str) -> str:
    header = ("calls", "mean", "SD", "min", "max", "calls/s", "slowest", "service")
    rows = [
        (
            f"{service.calls:,}",
            *(
                _amount(value, unit)
                for value in (service.mean_ms, service.standard_deviation_ms, service.min_ms, service.max_ms)
            ),
            _throughput(service),
            ", ".join(map(_slow_call, service.slowest[:SHOWN_SLOW_CALLS])) or "n/a",
            _plain(service.service),
        )
        for service in services[:SHOWN_SERVICES]
    ]
    more = len(services) - len(rows)
    lines = ["Services", *columns([header, *rows], right=range(6))]
    return "\n".join([*lines, f"and {more:,} more: see the JSON"] if more else lines)


def _throughput(service: ServiceStatistics) -> str:
    """The lowest and the highest; the first and the last window may hold less than their width."""
    inner = service.windows[1:-1] or service.windows
    if not inner:
        return "n/a"
    rates = [window.calls_per_s for window in inner]
    low, high = significant(min(rates)), significant(max(rates))
    return low if low == high else f"{low}–{high}"  # noqa: RUF001 - a range of numbers takes an en dash


def _slow_call(slow: SlowCall) -> str:
    at = "" if slow.time_s is None else f" at {datetime.fromtimestamp(slow.time_s, UTC):%H:%M:%S}"
    return _plain(slow.call, limit=24) + at


def _unused(diagnosis: Diagnosis) -> str:
    reading = diagnosis.reading
    lines = [f"- {counted(count, 'line')}: {FAULTS[fault]}" for fault, count in reading.unused.items()]
    lines += [
        f"  {f'line {example.line:,}' if example.line else 'seen as'}: {_plain(example.text)}"
        for example in reading.examples
    ]
    if reading.headless_calls:
        lines.append(f"- {counted(reading.headless_calls, 'call')} without a logged root: in trees, not in statistics")
    if reading.rare_paths:
        paths = counted(reading.rare_paths, "rare path")
        lines.append(f"- {paths} given up for their number; their methods count, without what they call")
    if reading.cut_calls:
        lines.append(f"- {counted(reading.cut_calls, 'call')} too long to be held whole: cut in pieces")
    lines += [f"- a file ends too early or is damaged: {_plain(name)}" for name in reading.truncated_files]
    return "Not used\n" + "\n".join(lines) if lines else ""


def _amount(amount: float, unit: str) -> str:
    (quantity,) = quantities((amount,), unit)
    return amount_text(quantity)
