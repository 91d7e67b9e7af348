"""Changes of series and the deviation matrix of releases, for reading and for programs."""

import json
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Final, TypeVar

from msgspec import structs

from perf_culprit.model.run import FULL_HASH, short_hash
from perf_culprit.model.series import (
    Cell,
    ChangePoint,
    Detectable,
    DeviationMatrix,
    Outcome,
    SeriesAlarm,
    SeriesChanges,
    SeriesTable,
)
from perf_culprit.model.series import Row as Metric
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.charts import interval_chart, labelled_plot
from perf_culprit.say.document import (
    Bullets,
    Column,
    Document,
    DocumentNode,
    Figure,
    Fold,
    Heading,
    Name,
    Picture,
    Prose,
    Shown,
    Span,
    Table,
    TableRow,
    Text,
    Tone,
    paragraph,
    table,
    words,
)
from perf_culprit.say.inert import Safe, plain
from perf_culprit.say.numbers import (
    amount,
    count_of,
    percent,
    percent_at_least,
    percent_digits,
    quantities,
    significant,
)
from perf_culprit.say.reason_text import sentence, worded
from perf_culprit.say.render_html import html, html_of, page
from perf_culprit.say.render_terminal import columns, log_text

_FORMAT: Final = "perf-culprit-changes"
_VERSION: Final = 1
_LISTED: Final = 200
FIGURES: Final = frozenset({"before", "after", "change", "strength", "q"})
_T = TypeVar("_T", ChangePoint, SeriesAlarm)


def changes_json(all_changes: Sequence[SeriesChanges], *, labels: Sequence[str], newest: int = 0) -> bytes:
    """Encode the changes. docs/evidence/change-point.md describes the fields. `newest`: the number of rows to add."""
    columns = [_column(changes, labels) for changes in all_changes]
    data = {"format": _FORMAT, "version": _VERSION, "columns": columns}
    for column, entry in zip(columns, all_changes if newest else (), strict=False):
        column["newest"] = [
            {"index": index, "label": labels[index], "value": value if math.isfinite(value) else None}
            for index, value in list(enumerate(entry.series.values))[-newest:]
        ]
    return (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _column(changes: SeriesChanges, labels: Sequence[str]) -> dict[str, Any]:
    rows, missing = len(changes.series.values), sum(map(math.isnan, changes.series.values))
    column: dict[str, Any] = {
        "name": changes.series.name,
        "unit": changes.series.unit,
        "rows": rows,
        "missing": missing,
        "reason": lacking_words(rows - missing, changes.values_lacking) if changes.values_lacking else None,
        "notes": [*map(sentence, changes.series.notes)],
        "minimum_effect": changes.series.minimum_effect,
        "changes": [_change(change, changes.series.values, labels) for change in changes.changes],
        "detectable": changes.detectable and asdict(changes.detectable),
    }
    if changes.alarms is not None:
        raised = {alarm.index for alarm in changes.alarms}
        column["alarms"] = [_alarm(alarm) for alarm in changes.alarms]
        column["alarm"] = [index in raised for index in range(rows)]
        column["detectable_alarm"] = changes.detectable_alarm and asdict(changes.detectable_alarm)
        column["lacking_rows"] = changes.rows_lacking_online
    return column


def lacking_words(count: int, lacking: int) -> str:
    """Explain that a series is too short to be judged."""
    return f"{count_of(count, 'value')}, {count + lacking:,} are needed; {lacking:,} more would do"


def _change(change: ChangePoint, values: Sequence[float], labels: Sequence[str]) -> dict[str, Any]:
    last = max(index for index in range(change.index) if math.isfinite(values[index]))
    first = {"index": change.index, "label": change.label, "last_index": last, "last_label": labels[last]}
    return first | structs.asdict(change)


def _alarm(alarm: SeriesAlarm) -> dict[str, Any]:
    change = alarm.change
    of_change = {"change_index": change.index, "change_label": change.label, "relative_change": change.relative_change}
    return {"index": alarm.index, "label": alarm.label, **of_change, "strength": change.strength}


def changes_text(table: SeriesTable, all_changes: Sequence[SeriesChanges]) -> str:
    """Render a block per series, changed ones first. A single unchanged one is drawn too. Rows count from 0."""
    told_first = sorted(all_changes, key=lambda changes: not (changes.changes or changes.alarms))
    label = None if table.label_name is None else plain(table.label_name, limit=TEXT_LIMITS.tag_characters)
    nodes = [node for entry in told_first for node in _series_nodes(entry, label, alone=len(all_changes) == 1)]
    notes = [*map(worded, table.notes)]
    if notes:
        nodes.append(Bullets(items=notes, total=len(notes), title=Safe("Notes")))
    return log_text(*nodes, more_at="--json")


def _series_nodes(changes: SeriesChanges, label: str | None, *, alone: bool) -> Iterator[DocumentNode]:
    series, name = changes.series, Name(changes.series.name, TEXT_LIMITS.series_name_characters)
    missing = sum(map(math.isnan, series.values))
    below = [words("  {}", worded(note)) for note in series.notes]
    if changes.values_lacking:
        lacking = Safe(lacking_words(len(series.values) - missing, changes.values_lacking))
        yield _heading(words("Cannot tell: {} has {}", name, lacking), *below)
        return
    rows = Safe(f"{len(series.values):,} rows" + (f", {missing:,} without a value" if missing else ""))
    # Start with the count: a line that starts with a foreign "::" would be a command to GitHub's runner.
    effect = f" of {percent_digits(series.minimum_effect)} or more" if series.minimum_effect else ""
    count = Safe(f"{count_of(len(changes.changes), 'change')}{effect}")
    below += [] if changes.changes else [_would_have(changes.detectable, series.unit, ending="been found")]
    yield _heading(words("{} in {} ({})", count, name, rows), *below)
    if changes.changes:
        names = ("kind", "before", "after", "change", "strength", "q")
        yield _table(label, names, changes.changes, partial(_change_cells, unit=series.unit))
    if changes.alarms is not None:
        yield paragraph(*_alarm_lines(changes, changes.alarms))
    if changes.alarms:
        yield _table(label, ("changed since row", "change", "strength"), changes.alarms, _alarm_cells)
    if alone or changes.changes or changes.alarms:
        steps = [(change.index, change.before, change.after) for change in changes.changes]
        yield Figure(lines=tuple(map(Safe, labelled_plot(series.values, steps, series.unit))))


def _heading(text: Text, *below: Text) -> Heading:
    return Heading(text=text, tone=Tone.PLAIN, below=below)


def _alarm_lines(changes: SeriesChanges, alarms: Sequence[SeriesAlarm]) -> Iterator[Text]:
    if lacking := changes.rows_lacking_online:
        yield Safe(f"Seeing only the rows before: cannot tell yet, {count_of(lacking, 'more row')} would do")
        return
    yield Safe(f"Seeing only the rows before: {count_of(len(alarms), 'alarm')}")
    if not alarms:
        yield _would_have(changes.detectable_alarm, changes.series.unit, ending="raised one")


def _would_have(detectable: Detectable | None, unit: str, *, ending: str) -> tuple[Span, ...]:
    if detectable is None:
        return words("  cannot tell: no step of any size would stand out; take medians of more measurements per row")
    (absolute,) = quantities((detectable.size,), unit)
    size = amount(absolute) if detectable.size else Safe("any size")
    if detectable.relative_change is not None and detectable.size:
        size = Safe(percent_at_least(detectable.relative_change))
    return words("  a step of {} that lasts {} rows would have {}", size, detectable.rows, Safe(ending))


def _table(label: str | None, names: Sequence[str], rows: Sequence[_T], cells: Callable[[_T], Iterator[Text]]) -> Table:
    """Make a table. `label` describes the rows' labels; None if they have none."""

    def row(one: _T) -> TableRow:
        short = short_hash(one.label) if FULL_HASH.fullmatch(one.label) else one.label
        labelled: tuple[Text, ...] = (Name(short, TEXT_LIMITS.tag_characters) if short else Safe(""),) if label else ()
        return TableRow((Safe(one.index), *labelled, *cells(one)))

    heads = tuple(Column(name=name, right=name in FIGURES) for name in ("row", label, *names) if name)
    return table(heads, rows, row, shown=Shown.TABLE, most=_LISTED)


def _change_cells(change: ChangePoint, *, unit: str) -> Iterator[Text]:
    yield Safe(change.kind)
    yield from map(amount, quantities((change.before, change.after), unit))
    yield from map(Safe, (_percent(change.relative_change), significant(change.strength), f"{change.q_value:.2g}"))


def _alarm_cells(alarm: SeriesAlarm) -> Iterator[Text]:
    change = alarm.change
    yield from map(Safe, (change.index, _percent(change.relative_change), significant(change.strength)))


def _percent(relative_change: float | None) -> str:
    return "from 0" if relative_change is None else percent(relative_change, signed=True)


LEGEND: Final = (
    Safe("\u25b2 worse, \u25bc better, \u25cf differs but the intervals overlap, \u00b7 no difference,"),
    Safe("  blank: not measured. Each version against the one before it."),
    words("  With one run of each, another machine looks the same: {} several runs of both.", Name("compare")),
)
SHADES: Final = {"regression": "matrix-worse", "improvement": "matrix-better"}
# A mark grows with the gap between the intervals, as a share of the earlier median, in these steps.
GAPS: Final = (0.05, 0.2, 0.5, 1.0)
SYMBOLS: Final = {Outcome.DEVIATION: "\u00b7", Outcome.SIGNIFICANT_OVERLAP: "\u25cf", Outcome.OVERLAP: "\u00b7"}


def releases_text(matrix: DeviationMatrix) -> str:
    return log_text(*_releases(matrix), more_at="--json")


def releases_page(matrix: DeviationMatrix) -> str:
    return page(html_of(Document(nodes=tuple(_releases(matrix)))), title="releases")


def _releases(matrix: DeviationMatrix) -> Iterator[DocumentNode]:
    rows = [row for row in matrix.rows if any(map(_moved, row.cells))]
    yield _heading(_summary(matrix, rows))
    if rows:
        yield Figure(lines=tuple(_grid(matrix, rows)), on_page=False)
        yield Picture(markdown=Safe(""), html=partial(_frame, matrix, rows))
        yield paragraph(*LEGEND)
    if apart := [*_other_means(matrix.rows)]:
        title = Safe("Where means and medians answer differently (means follow outliers)")
        yield Bullets(items=apart, total=len(apart), title=title)
    by_mean = [row for row in matrix.rows if any(cell.mean_verdict != cell.verdict for cell in row.cells)]
    title = Safe("Levels over the versions")
    yield Picture(
        markdown=Safe(""),
        html=partial(_curves, matrix, [*rows, *(row for row in by_mean if row not in rows)]),
        title=title,
    )
    if transient := [*_transient_regressions(rows)]:
        summary = Safe(f"{count_of(len(transient), 'regression')} that a later version undid")
        yield Fold(summary=summary, parts=(Bullets(items=transient, total=len(transient)),))
    if few := sum(bool(row.too_few) for row in matrix.rows):
        yield paragraph(Safe(f"Cannot tell of some versions of {count_of(few, 'benchmark')}: under 5 samples"))


def _grid(matrix: DeviationMatrix, rows: Sequence[Metric]) -> Iterator[Safe]:
    """Draw the versions in which something changed."""
    changed = {cell.version for row in rows for cell in row.cells if _moved(cell)}
    versions = [version for version in matrix.versions if version in changed]
    header = ["", *(plain(version, limit=TEXT_LIMITS.tag_characters) for version in versions)]
    body = [
        [plain(_name(row), limit=TEXT_LIMITS.release_name_characters), *_symbols(row, versions)]
        for row in rows[:_LISTED]
    ]
    yield from map(Safe, columns([header, *body]))
    if len(rows) > _LISTED:
        yield Safe(f"and {len(rows) - _LISTED:,} more rows: see --json")


def _frame(matrix: DeviationMatrix, rows: Sequence[Metric]) -> Safe:
    """Return HTML with every version. If there are many versions, the numbers are in the cells' titles."""
    heads = (
        f'<th scope="col"><span>{html(Prose(version, TEXT_LIMITS.tag_characters))}</span></th>'
        for version in matrix.versions
    )
    lines = [f"<tr><td></td>{''.join(heads)}</tr>"]
    for row in rows:
        name = html(Prose(_name(row), TEXT_LIMITS.release_name_characters))
        lines.append(f'<tr><th scope="row">{name}</th>{"".join(_shaded_cells(row, matrix.versions))}</tr>')
    kind = "matrix matrix-narrow" if len(matrix.versions) > TEXT_LIMITS.wide_versions else "matrix"
    frame = '<div class="matrix-frame" tabindex="0" role="region" aria-label="Deviation matrix">'
    return Safe("\n".join([frame, f'<table class="{kind}">', *lines, "</table></div>"]))


def _shaded_cells(row: Metric, versions: Sequence[str]) -> Iterator[str]:
    shades = {}
    for cell in filter(_moved, row.cells):
        gap = len(GAPS) if cell.gap is None else bisect_right(GAPS, cell.gap)
        shades[cell.version] = f' class="{SHADES[cell.verdict]} matrix-gap-{gap}"'
    for version, symbol in zip(versions, _symbols(row, versions), strict=True):
        content, _, change = symbol.partition(" ")
        if change and len(versions) > TEXT_LIMITS.wide_versions:
            content = f'<abbr title="{change} in {html(Prose(version, TEXT_LIMITS.tag_characters))}">{content}</abbr>'
        else:
            content = symbol
        yield f"<td{shades.get(version, '')}>{content}</td>"


def _curves(matrix: DeviationMatrix, rows: Sequence[Metric]) -> Safe:
    """Draw metrics whose median or mean changed over the versions, or the first metrics if none did."""
    curves = (_curve(row, matrix.versions) for row in (rows or matrix.rows)[: TEXT_LIMITS.curves] if row.levels)
    return Safe("\n".join(['<div class="charts">', *curves, "</div>"]))


def _curve(row: Metric, versions: Sequence[str]) -> str:
    places = {version: place for place, version in enumerate(versions)}
    levels = [(places[level.version], level) for level in row.levels]
    medians = [(place, each.median, each.interval.low, each.interval.high) for place, each in levels]
    means = [(place, each.mean, each.mean_interval.low, each.mean_interval.high) for place, each in levels]
    title = f"{_name(row)} ({row.metric.unit})" if row.metric.unit else _name(row)
    return interval_chart(title, versions, {"median, 95% interval": medians, "mean, 95% interval": means})


def _summary(matrix: DeviationMatrix, rows: Sequence[Metric]) -> Safe:
    worse = sum(cell.verdict == "regression" for row in rows for cell in row.cells)
    better = sum(cell.verdict == "improvement" for row in rows for cell in row.cells)
    compared = f"{count_of(len(matrix.rows), 'benchmark')} over {count_of(len(matrix.versions), 'version')}"
    deviations = f"{worse:,} worse, {better:,} better" if worse or better else "no deviation"
    sure = f"of {percent(matrix.minimum_effect)} or more, with non-overlapping median intervals"
    return Safe(f"{compared}: {deviations} ({sure})")


def _moved(cell: Cell) -> bool:
    return cell.verdict != "no_change"


def _name(row: Metric) -> str:
    return row.key.benchmark if row.key.metric == "time" else f"{row.key.benchmark} ({row.key.metric})"


def _symbols(row: Metric, versions: Sequence[str]) -> list[str]:
    cells = {cell.version: cell for cell in row.cells}
    first = {row.first: "\u00b7"}
    return [_symbol(cells[version]) if version in cells else first.get(version, "") for version in versions]


def _symbol(cell: Cell) -> str:
    if not _moved(cell):
        return SYMBOLS[cell.outcome]
    arrow = "\u25b2" if cell.verdict == "regression" else "\u25bc"
    return f"{arrow} {_percent(cell.relative_change)}"


def _other_means(rows: Sequence[Metric]) -> Iterator[Text]:
    called = {"regression": "worse", "improvement": "better", "no_change": "no change"}
    for row in rows:
        for cell in row.cells:
            if cell.mean_verdict != cell.verdict:
                says = Safe(f"{called[cell.mean_verdict]} by the means, {called[cell.verdict]} by the medians")
                yield words(
                    "{} in {}: {}",
                    Name(_name(row), TEXT_LIMITS.release_name_characters),
                    Name(cell.version, TEXT_LIMITS.tag_characters),
                    says,
                )


def _transient_regressions(rows: Sequence[Metric]) -> Iterator[Text]:
    for row in rows:
        for regression in row.transient_regressions:
            ends = (Name(version, TEXT_LIMITS.tag_characters) for version in (regression.start, regression.end))
            yield words(
                "{} got worse in {} and was back in {}", Name(_name(row), TEXT_LIMITS.release_name_characters), *ends
            )
