"""Changes of series and the deviation matrix of releases, for reading and for programs."""

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from typing import Any, Final

from msgspec import structs

from perf_culprit.model.finding import Verdict
from perf_culprit.model.run import FULL_HASH
from perf_culprit.model.series import (
    Cell,
    ChangePoint,
    Detectable,
    DeviationMatrix,
    Outcome,
    Row,
    SeriesAlarm,
    SeriesChanges,
    SeriesTable,
)
from perf_culprit.say.charts import plot
from perf_culprit.say.inert import SENTENCE_LIMIT, Safe, plain
from perf_culprit.say.numbers import (
    amount_text,
    counted,
    percent,
    percent_at_least,
    percent_digits,
    quantities,
    significant,
)
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.render_html import page
from perf_culprit.say.render_terminal import columns

# Changes of series for reading and for programs: a text table, and perf-culprit-changes v1.

FORMAT: Final = "perf-culprit-changes"
VERSION: Final = 1
SERIES_NAME_LIMIT: Final = 80
LABEL_LIMIT: Final = 24
SHOWN_HASH: Final = 12
LISTED: Final = 200
FIGURES: Final = frozenset({"before", "after", "change", "strength", "q"})
PLOT_WIDTH: Final = 56
PLOT_HEIGHT: Final = 6


def changes_json(judged: Sequence[SeriesChanges], *, labels: Sequence[str], newest: int = 0) -> bytes:
    """The fields are described in docs/detectors/change-point.md. `newest`: that many rows as they were measured."""
    columns = [_column(entry, labels) for entry in judged]
    data = {"format": FORMAT, "version": VERSION, "columns": columns}
    for column, entry in zip(columns, judged if newest else (), strict=False):
        column["newest"] = [
            {"index": index, "label": labels[index], "value": value if math.isfinite(value) else None}
            for index, value in list(enumerate(entry.series.values))[-newest:]
        ]
    return (json.dumps(data, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _column(entry: SeriesChanges, labels: Sequence[str]) -> dict[str, Any]:
    rows, missing = len(entry.series.values), sum(map(math.isnan, entry.series.values))
    column: dict[str, Any] = {
        "name": entry.series.name,
        "unit": entry.series.unit,
        "rows": rows,
        "missing": missing,
        "reason": lacking_words(rows - missing, entry.values_lacking) if entry.values_lacking else None,
        "notes": [*map(sentence, entry.series.notes)],
        "minimum_effect": entry.series.minimum_effect,
        "changes": [_change(change, entry.series.values, labels) for change in entry.changes],
        "detectable": entry.detectable and asdict(entry.detectable),
    }
    if entry.alarms is not None:
        raised = {alarm.index for alarm in entry.alarms}
        column["alarms"] = [asdict(alarm) for alarm in entry.alarms]
        column["alarm"] = [index in raised for index in range(rows)]
        column["detectable_alarm"] = entry.detectable_alarm and asdict(entry.detectable_alarm)
        column["lacking_rows"] = entry.rows_lacking_online
    return column


def lacking_words(count: int, lacking: int) -> str:
    """Of a series that is too short to be judged."""
    return f"{counted(count, 'value')}, {count + lacking:,} are needed; {lacking:,} more would do"


def _change(change: ChangePoint, values: Sequence[float], labels: Sequence[str]) -> dict[str, Any]:
    last = max(index for index in range(change.index) if math.isfinite(values[index]))
    first = {"index": change.index, "label": change.label, "last_index": last, "last_label": labels[last]}
    return first | structs.asdict(change)


def changes_text(table: SeriesTable, judged: Sequence[SeriesChanges]) -> str:
    """A block per series, those that changed first; another is drawn where it is alone.

    Rows count from 0, and foreign text is made inert.
    """
    told_first = sorted(judged, key=lambda entry: not (entry.changes or entry.alarms))
    blocks = [_block(entry, label_name=table.label_name, alone=len(judged) == 1) for entry in told_first]
    notes = [f"Note: {plain(sentence(note), limit=SENTENCE_LIMIT)}" for note in table.notes]
    return "\n\n".join([*blocks, *(["\n".join(notes)] if notes else [])]) + "\n"


def _block(entry: SeriesChanges, *, label_name: str | None, alone: bool) -> str:
    series = entry.series
    name = plain(series.name, limit=SERIES_NAME_LIMIT)
    missing = sum(map(math.isnan, series.values))
    if entry.values_lacking:
        lacking = lacking_words(len(series.values) - missing, entry.values_lacking)
        return "\n".join([f"Cannot tell: {name} has {lacking}", *_notes(entry)])
    label = None if label_name is None else plain(label_name, limit=LABEL_LIMIT)
    rows = f"{len(series.values):,} rows" + (f", {missing:,} without a value" if missing else "")
    # The count first: a line that starts with a foreign "::" would be a command to GitHub's runner.
    effect = f" of {percent_digits(series.minimum_effect)} or more" if series.minimum_effect else ""
    lines = [f"{counted(len(entry.changes), 'change')}{effect} in {name} ({rows})", *_notes(entry)]
    if not entry.changes:
        lines.append(f"  {_would_have(entry.detectable, series.unit, ending='been found')}")
    if entry.changes:
        header = ("row", *([label] if label else []), "kind", "before", "after", "change", "strength", "q")
        lines += _rows(header, [_change_row(change, series.unit, bool(label)) for change in entry.changes])
    if entry.alarms is not None:
        lines += _alarm_lines(entry, entry.alarms)
    if entry.alarms:
        header = ("row", *([label] if label else []), "changed since row", "change", "strength")
        lines += _rows(header, [_alarm_row(alarm, bool(label)) for alarm in entry.alarms])
    return "\n".join([*lines, *(_drawn(entry) if alone or entry.changes or entry.alarms else ())])


def _drawn(entry: SeriesChanges) -> list[str]:
    """The series from oldest to newest, with its levels."""
    series, steps = entry.series, [(change.index, change.before, change.after) for change in entry.changes]
    rows = plot(series.values, steps, width=PLOT_WIDTH, height=PLOT_HEIGHT)
    finite = [value for value in series.values if math.isfinite(value)]
    ends = [amount_text(shown) for shown in quantities((max(finite), min(finite)), series.unit)]
    labels = [ends[0], *[""] * (len(rows) - 2), ends[1]][: len(rows)]
    wide = max(map(len, ends))
    return [f"  {label:>{wide}} ┤{row.rstrip()}".rstrip() for label, row in zip(labels, rows, strict=True)]


def _alarm_lines(entry: SeriesChanges, alarms: Sequence[SeriesAlarm]) -> list[str]:
    lacking = entry.rows_lacking_online
    if lacking:
        return [f"Seeing only the rows before: cannot tell yet, {counted(lacking, 'more row')} would do"]
    lines = [f"Seeing only the rows before: {counted(len(alarms), 'alarm')}"]
    if not alarms:
        lines.append(f"  {_would_have(entry.detectable_alarm, entry.series.unit, ending='raised one')}")
    return lines


def _would_have(detectable: Detectable | None, unit: str, *, ending: str) -> str:
    if detectable is None:
        return "cannot tell: no step of any size would stand out; take medians of more measurements per row"
    (absolute,) = quantities((detectable.size,), unit)
    size = amount_text(absolute)
    if detectable.relative_change is not None:
        size = percent_at_least(detectable.relative_change)
    step = f"a step of {size}" if detectable.size else "a step of any size"
    return f"{step} that lasts {detectable.rows} rows would have {ending}"


def _notes(entry: SeriesChanges) -> list[str]:
    return [f"  {plain(sentence(note), limit=SENTENCE_LIMIT)}" for note in entry.series.notes]


def _change_row(change: ChangePoint, unit: str, labelled: bool) -> tuple[str, ...]:
    before, after = (amount_text(shown) for shown in quantities((change.before, change.after), unit))
    return (
        str(change.index),
        *([_label(change.label)] if labelled else []),
        change.kind,
        before,
        after,
        _percent(change.relative_change),
        significant(change.strength),
        f"{change.q_value:.2g}",
    )


def _alarm_row(alarm: SeriesAlarm, labelled: bool) -> tuple[str, ...]:
    return (
        str(alarm.index),
        *([_label(alarm.label)] if labelled else []),
        str(alarm.change_index),
        _percent(alarm.relative_change),
        significant(alarm.strength),
    )


def _percent(relative_change: float | None) -> str:
    return "from 0" if relative_change is None else percent(relative_change, signed=True)


def _label(label: str) -> str:
    short = label[:SHOWN_HASH] if FULL_HASH.fullmatch(label) else label
    return plain(short, limit=LABEL_LIMIT) if short else ""


def _rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    right = [place for place, name in enumerate(header) if name in FIGURES]
    lines = columns([header, *rows[:LISTED]], right=right, indent="  ")
    return [*lines, f"  and {len(rows) - LISTED:,} more: see --json"] if len(rows) > LISTED else lines


# The deviation matrix for reading: a row per metric, a column per version in which something deviates [B17].

RELEASE_NAME_LIMIT: Final = 60
VERSION_LIMIT: Final = 24
# Versions whose cells have room for a number each.
MOST_WIDE: Final = 12
LEGEND: Final = (
    "\u25b2 worse, \u25bc better, \u25cf differs but the intervals overlap, \u00b7 no difference,",
    "blank: not measured. Each version against the one before it.",
    "With one run of each, another machine looks the same: `compare` several runs of both.",
)
SHADES: Final = {Verdict.REGRESSION: ' class="matrix-worse"', Verdict.IMPROVEMENT: ' class="matrix-better"'}
SYMBOLS: Final = {Outcome.DEVIATION: "\u00b7", Outcome.SIGNIFICANT_OVERLAP: "\u25cf", Outcome.OVERLAP: "\u00b7"}


def releases_text(matrix: DeviationMatrix) -> str:
    changed = {cell.version for row in matrix.rows for cell in row.cells if _moved(cell)}
    versions = [version for version in matrix.versions if version in changed]
    rows = [row for row in matrix.rows if any(map(_moved, row.cells))]
    lines = [_summary(matrix, rows)]
    if rows:
        header = ["", *(plain(version, limit=VERSION_LIMIT) for version in versions)]
        body = [[plain(_name(row), limit=RELEASE_NAME_LIMIT), *_symbols(row, versions)] for row in rows[:LISTED]]
        lines += ["", *columns([header, *body])]
        lines += [f"and {len(rows) - LISTED:,} more rows: see --json"] if len(rows) > LISTED else []
        lines += ["", LEGEND[0], *(f"  {line}" for line in LEGEND[1:])]
    lines += [*_transient_regressions(rows), *_too_few(matrix)]
    return "\n".join(lines) + "\n"


def releases_page(matrix: DeviationMatrix) -> str:
    return page(releases_section(matrix), title="releases")


def releases_section(matrix: DeviationMatrix) -> Safe:
    """HTML: the metrics that moved, with every version. Of many versions the numbers are in the cells' titles."""
    rows = [row for row in matrix.rows if any(map(_moved, row.cells))]
    parts = [f"<h1>{escape(_summary(matrix, rows))}</h1>"]
    if rows:
        versions = [_html(version, VERSION_LIMIT) for version in matrix.versions]
        heads = "".join(f'<th scope="col"><span>{version}</span></th>' for version in versions)
        body = (
            f'<tr><th scope="row">{_html(_name(row), RELEASE_NAME_LIMIT)}</th>'
            f"{''.join(_shaded(row, matrix.versions))}</tr>"
            for row in rows
        )
        kind = "matrix matrix-narrow" if len(versions) > MOST_WIDE else "matrix"
        parts += [
            '<div class="matrix-frame" tabindex="0" role="region" aria-label="Deviation matrix">',
            f'<table class="{kind}">\n<tr><td></td>{heads}</tr>',
            *body,
            f"</table></div>\n<p>{escape(' '.join(LEGEND).replace('`', ''))}</p>",
        ]
    transient = _transient_regressions(rows)
    if transient:
        listed = "".join(f"<li>{escape(line)}</li>" for line in transient)
        title = counted(len(transient), "regression")
        parts.append(f"<details><summary>{title} that a later version undid</summary><ul>{listed}</ul></details>")
    parts += [f"<p>{escape(line)}</p>" for line in _too_few(matrix)]
    return Safe("\n".join(parts) + "\n")


def _html(text: str, limit: int) -> str:
    return escape(plain(text, limit=limit))


def _shaded(row: Row, versions: Sequence[str]) -> Iterator[str]:
    shades = {cell.version: SHADES.get(cell.verdict, "") for cell in row.cells}
    for version, symbol in zip(versions, _symbols(row, versions), strict=True):
        shown, _, amount = symbol.partition(" ")
        if amount and len(versions) > MOST_WIDE:
            shown = f'<abbr title="{amount} in {_html(version, VERSION_LIMIT)}">{shown}</abbr>'
        else:
            shown = symbol
        yield f"<td{shades.get(version, '')}>{shown}</td>"


def _summary(matrix: DeviationMatrix, rows: Sequence[Row]) -> str:
    worse = sum(cell.verdict is Verdict.REGRESSION for row in rows for cell in row.cells)
    better = sum(cell.verdict is Verdict.IMPROVEMENT for row in rows for cell in row.cells)
    compared = f"{counted(len(matrix.rows), 'benchmark')} over {counted(len(matrix.versions), 'version')}"
    deviations = f"{worse:,} worse, {better:,} better" if worse or better else "no deviation"
    return (
        f"{compared}: {deviations} (of {percent(matrix.minimum_effect)} or more, with non-overlapping median intervals)"
    )


def _moved(cell: Cell) -> bool:
    return cell.verdict is not Verdict.NO_CHANGE


def _name(row: Row) -> str:
    return row.key.benchmark if row.key.metric == "time" else f"{row.key.benchmark} ({row.key.metric})"


def _symbols(row: Row, versions: Sequence[str]) -> list[str]:
    cells = {cell.version: cell for cell in row.cells}
    first = {row.first: "\u00b7"}
    return [_symbol(cells[version]) if version in cells else first.get(version, "") for version in versions]


def _symbol(cell: Cell) -> str:
    if not _moved(cell):
        return SYMBOLS[cell.outcome]
    arrow = "\u25b2" if cell.verdict is Verdict.REGRESSION else "\u25bc"
    return f"{arrow} {'from 0' if cell.relative_change is None else percent(cell.relative_change, signed=True)}"


def _too_few(matrix: DeviationMatrix) -> list[str]:
    few = sum(bool(row.too_few) for row in matrix.rows)
    return [f"Cannot tell of some versions of {counted(few, 'benchmark')}: under 5 samples"] if few else []


def _transient_regressions(rows: Sequence[Row]) -> list[str]:
    regressions = [(row, one) for row in rows for one in row.transient_regressions]
    return [
        f"Transient: {plain(_name(row), limit=RELEASE_NAME_LIMIT)} got worse in {plain(one.start, limit=VERSION_LIMIT)}"
        f" and was back in {plain(one.end, limit=VERSION_LIMIT)}"
        for row, one in regressions[:LISTED]
    ]
