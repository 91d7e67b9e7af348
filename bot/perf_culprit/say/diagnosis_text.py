"""A diagnosis of one revision: suspects, what to test again for each, services, call trees, and unused lines."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from perf_culprit.model.call_tree import (
    CallNode,
    CallTree,
    Diagnosis,
    ImpactedService,
    LineFault,
    LogReading,
    MethodSuspect,
    RecordFault,
    ServiceStatistics,
    SlowCall,
    Window,
)
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.call_tree_pictures import single_flame_section
from perf_culprit.say.charts import chart_blocks, labelled_plot, line_chart
from perf_culprit.say.document import (
    BlockText,
    Bullets,
    Column,
    Document,
    DocumentNode,
    Figure,
    Name,
    Picture,
    Shown,
    Table,
    TableRow,
    Text,
    paragraph,
    table,
    words,
)
from perf_culprit.say.inert import NO_BREAK, Safe, plain
from perf_culprit.say.numbers import amount, count_of, percent, quantities, significant
from perf_culprit.say.render_html import html_of, page
from perf_culprit.say.render_terminal import log_text

_BAR_WIDTH: Final = 30
_FAULT_SENTENCES: Final = {
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
    """Render the diagnosis for a terminal, without foreign control characters. No line starts with foreign text."""
    return log_text(*_reading_nodes(diagnosis, top), more_at="the JSON")


def diagnosis_page(diagnosis: Diagnosis, *, top: int = 20) -> str:
    """Render the diagnosis as a page, with series as charts and the trees as an interactive flame graph."""
    body = html_of(Document(nodes=tuple(_reading_nodes(diagnosis, top, most_trees=len(diagnosis.trees)))))
    flames = single_flame_section(diagnosis.trees, diagnosis.unit)
    return page(Safe(body + flames), title="diagnosis", scripts=["flame.js.j2"])


def _reading_nodes(diagnosis: Diagnosis, top: int, *, most_trees: int = TEXT_LIMITS.trees) -> Iterator[DocumentNode]:
    reading, unit = diagnosis.reading, diagnosis.unit
    suspects = [suspect for suspect in diagnosis.suspects if not suspect.tiny][:top] or diagnosis.suspects[:top]
    counts = {
        "call": sum(service.all_calls for service in diagnosis.services),
        "service": len(diagnosis.services),
        "method": len(diagnosis.suspects),
        "line": reading.lines,
    }
    calls, *others = (count_of(count, noun) for noun, count in counts.items())
    yield paragraph(Safe(f"{calls} of {', '.join(others)}"))
    yield _suspects(suspects, unit)
    if more := len(diagnosis.suspects) - len(suspects):
        tiny = sum(suspect.tiny for suspect in diagnosis.suspects)
        limit, hidden = _amount(diagnosis.minimum_self_ms, unit), Safe(count_of(more, "more method"))
        yield paragraph(words("and {}, {} of them below {} per call of every service", hidden, tiny, limit))
    yield _impacts(suspects, title=Safe("Services to test again"))
    if (requested := diagnosis.method) is not None:
        its = [suspect for suspect in diagnosis.suspects if suspect.method == requested.service]
        yield _impacts(
            its, title=words("Services that execute {}", Name(requested.service, TEXT_LIMITS.diagnosis_line_characters))
        )
    yield _services(diagnosis.services, unit)
    yield _slowest(diagnosis.services, top)
    timed = [*diagnosis.services[: TEXT_LIMITS.tree_series], *([diagnosis.method] if diagnosis.method else [])]
    for one in timed:
        yield from _series(one, unit)
    trees = sorted(diagnosis.trees, key=lambda tree: -tree.total_ms)
    yield from (_tree(tree, unit, top) for tree in trees[:most_trees])
    if len(trees) > most_trees:
        yield paragraph(Safe(f"and {count_of(len(trees) - most_trees, 'more call tree')}: see the JSON"))
    if unused := [*_unused_lines(reading)]:
        yield Bullets(items=unused, total=len(unused), title=Safe("Not used"))


def _columns(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name=name, right=True) for name in names)


def _suspects(suspects: Sequence[MethodSuspect], unit: str) -> Table:
    def row(suspect: MethodSuspect) -> TableRow:
        method = words(
            "{}{}", Name(suspect.method, TEXT_LIMITS.diagnosis_line_characters), Safe(" (tiny)" if suspect.tiny else "")
        )
        times = (_amount(time, unit) for time in (suspect.self_ms, suspect.self_ms_per_execution))
        counts = (Safe(f"{count:,}") for count in (suspect.calls, len(suspect.services)))
        return TableRow((method, Safe(f"{suspect.score:.4f}"), *times, *counts))

    own = "self time" if unit == "ms" else f"self {plain(unit, limit=20)}"
    columns = _columns("score", own, "per execution", "executions", "services")
    return table((Column(name="method"), *columns), suspects, row, title=Safe("Suspects"), shown=Shown.TABLE)


def _impacts(suspects: Sequence[MethodSuspect], *, title: Text) -> Table:
    """Draw the services of the suspects as bars, the largest own share first [Z15, figure 4]."""

    def row(pair: tuple[ImpactedService, str]) -> TableRow:
        impact, method = pair
        bar = chart_blocks(impact.self_share, impact.children_share, width=_BAR_WIDTH)
        shares = map(Safe, map(percent, (impact.self_share, impact.children_share)))
        return TableRow(
            (
                Name(impact.service, TEXT_LIMITS.diagnosis_line_characters),
                BlockText(bar),
                *shares,
                Name(method, TEXT_LIMITS.diagnosis_line_characters),
            )
        )

    bars = Column(name="\u2588 own time, \u2591 what it calls")
    columns = (Column(name="service"), bars, *_columns("own", "calls"), Column(name="suspect"))
    pairs = [(impact, suspect.method) for suspect in suspects for impact in suspect.services]
    pairs.sort(key=lambda pair: -pair[0].self_share)
    return table(columns, pairs, row, title=title, shown=Shown.TABLE, most=TEXT_LIMITS.impacts)


def _services(services: Sequence[ServiceStatistics], unit: str) -> Table:
    def row(statistics: ServiceStatistics) -> TableRow:
        times = (
            _amount(time, unit)
            for time in (statistics.mean_ms, statistics.standard_deviation_ms, statistics.min_ms, statistics.max_ms)
        )
        return TableRow(
            (
                Name(statistics.service, TEXT_LIMITS.diagnosis_line_characters),
                Safe(f"{statistics.calls:,}"),
                *times,
                Safe(_throughput(statistics)),
            )
        )

    numbers = _columns("calls", "mean", "SD", "min", "max", "calls/s")
    return table(
        (Column(name="service"), *numbers),
        services,
        row,
        title=Safe("Services"),
        shown=Shown.TABLE,
        most=TEXT_LIMITS.impact_services,
    )


def _throughput(service: ServiceStatistics) -> str:
    """Return the range of rates, if possible without the first and last windows, which may be incomplete."""
    inner = service.windows[1:-1] or service.windows
    if not inner:
        return "n/a"
    rates = [window.calls_per_s for window in inner]
    low, high = significant(min(rates)), significant(max(rates))
    return low if low == high else f"{low}–{high}"  # noqa: RUF001 - a range of numbers takes an en dash


def _slowest(services: Sequence[ServiceStatistics], top: int) -> Table:
    def row(pair: tuple[SlowCall, str]) -> TableRow:
        slow, service = pair
        at = "" if slow.time_s is None else f"{datetime.fromtimestamp(slow.time_s, UTC):%H:%M:%S}"
        return TableRow(
            (
                Name(service, TEXT_LIMITS.diagnosis_line_characters),
                Name(slow.call, 24),
                _amount(slow.elapsed_ms, "ms"),
                Safe(at),
            )
        )

    pairs = [(slow, service.service) for service in services for slow in service.slowest]
    pairs.sort(key=lambda pair: -pair[0].elapsed_ms)
    columns = (Column(name="service"), Column(name="call"), *_columns("response time", "at"))
    return table(columns, pairs[:top], row, title=Safe("Slowest calls"), shown=Shown.TABLE)


def _series(statistics: ServiceStatistics, unit: str) -> Iterator[DocumentNode]:
    """Yield response time and throughput by window: block characters for a terminal, charts for a page."""
    if len(statistics.windows) < 2:
        return
    width = Safe(f"{statistics.windows[0].width_s:g} s")
    for what, values, of in (
        ("mean time", [window.mean_ms for window in statistics.windows], unit),
        ("calls per second", [window.calls_per_s for window in statistics.windows], ""),
    ):
        title = words(
            "{}: {} in windows of {}",
            Name(statistics.service, TEXT_LIMITS.diagnosis_line_characters),
            Safe(what),
            width,
        )
        yield Figure(lines=tuple(map(Safe, labelled_plot(values, (), of))), title=title, on_page=False)
    yield Picture(
        markdown=Safe(""),
        html=partial(_charts, statistics, unit),
        title=Name(statistics.service, TEXT_LIMITS.diagnosis_line_characters),
    )


def _charts(statistics: ServiceStatistics, unit: str) -> Safe:
    def line(value: Callable[[Window], float]) -> list[tuple[float, float]]:
        first_s = statistics.windows[0].start_s
        return [((window.start_s - first_s) / 60, value(window)) for window in statistics.windows]

    times = {"mean": line(lambda window: window.mean_ms), "longest": line(lambda window: window.longest_ms)}
    rates = {"": line(lambda window: window.calls_per_s)}
    charts = (
        line_chart(f"{statistics.service}: time ({plain(unit, limit=20)})", "minutes", times, {}),
        line_chart(f"{statistics.service}: calls per second", "minutes", rates, {}),
    )
    return Safe("\n".join(['<div class="charts">', *charts, "</div>"]))


def _tree(tree: CallTree, unit: str, top: int) -> Table:
    """Return callers above their callees, the longest first."""
    depths: list[int] = []
    for node in tree.nodes[:top]:
        depths.append(0 if node.parent is None else depths[node.parent] + 1)
    total_ms = tree.total_ms

    def row(pair: tuple[CallNode, int]) -> TableRow:
        node, depth = pair
        share = Safe(percent(node.elapsed_ms / total_ms))
        times = (_amount(time, unit) for time in (node.elapsed_ms, node.self_ms, node.longest_ms))
        method = words("{}{}", Safe(2 * NO_BREAK * depth), Name(node.method, TEXT_LIMITS.diagnosis_line_characters))
        return TableRow((method, share, *times, Safe(f"{node.calls:,}")))

    heads = _columns("of the time", "with callees", "own", "longest", "executions")
    merged = f", {tree.calls:,} calls merged" if tree.calls > 1 else ""
    title = words("Call tree of {}{}", Name(tree.service, TEXT_LIMITS.diagnosis_line_characters), Safe(merged))
    made = table((Column(name="method"), *heads), [*zip(tree.nodes, depths, strict=False)], row, title=title)
    return replace(made, total=len(tree.nodes), shown=Shown.TABLE)


def _unused_lines(reading: LogReading) -> Iterator[Text]:
    for fault, count in reading.unused.items():
        yield Safe(f"{count_of(count, 'line')}: {_FAULT_SENTENCES[fault]}")
    for example in reading.examples:
        place = Safe(f"line {example.line:,}" if example.line else "seen as")
        yield words("{}: {}", place, Name(example.text, TEXT_LIMITS.diagnosis_line_characters))
    if count := reading.headless_calls:
        yield Safe(f"{count_of(count, 'call')} without a logged root: in trees, not in statistics")
    if count := reading.rare_paths:
        given_up = "given up for their number; their methods count, without what they call"
        yield Safe(f"{count_of(count, 'rare path')} {given_up}")
    if count := reading.cut_calls:
        yield Safe(f"{count_of(count, 'call')} too long to be held whole: cut in pieces")
    for name in reading.truncated_files:
        yield words("a file ends too early or is damaged: {}", Name(name, TEXT_LIMITS.diagnosis_line_characters))


def _amount(number: float, unit: str) -> Text:
    (quantity,) = quantities((number,), unit)
    return amount(quantity)
