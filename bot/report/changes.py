"""Changes of series for reading and for programs: a text table, and perf-culprit-changes v1."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from bot.model.change import ChangePoint, Detectable, SeriesAlarm, SeriesChanges, SeriesTable
from bot.model.commit import FULL_HASH
from bot.report.charts import plot
from bot.report.inert import SENTENCE_LIMIT, plain
from bot.report.numbers import amount_text, percent, percent_at_least, percent_digits, quantities, significant
from bot.report.reasons import sentence
from bot.report.tables import columns
from bot.report.words import counted

FORMAT: Final = "perf-culprit-changes"
VERSION: Final = 1
NAME_LIMIT: Final = 80
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
    return first | asdict(change)


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
    name = plain(series.name, limit=NAME_LIMIT)
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
