"""Counters as plain CSV or TSV, as a script writes them: a time, a column per counter, perhaps one with the load."""

import csv
import re

from bot.collect.content import shown
from bot.collect.counters.clock import LOCAL_NOTE, Clock
from bot.collect.counters.grid import csv_rows, read_grid
from bot.collect.counters.reader import counter, names_shown, number_or_none
from bot.collect.counters.table import build_table
from bot.collect.parser import Parsed
from bot.collect.source import Source
from bot.errors import DataError
from bot.model.metric import Metric

ID = "counter_csv"
DESCRIPTION = "counters as CSV or TSV: time, counters, perhaps the load"
EXAMPLE = "any script that writes time,NAME,... rows"

# The first column's name, and what divides its numbers into seconds where the name says so.
TIME_COLUMNS: dict[str, float | None] = {
    **dict.fromkeys(("time", "timestamp", "date", "datetime")),
    **dict.fromkeys(("time_s", "timestamp_s"), 1.0),
    **dict.fromkeys(("time_ms", "timestamp_ms"), 1e3),
}
DELIMITERS = ("\t", ";", ",")
LOAD_COLUMN, LOAD_SUFFIX = "load", " [load]"
# Columns that make such a file another format's: results of commits, and the tables of load-test tools.
FOREIGN_COLUMNS = frozenset({"commit", "label", "user count", "metric_name"})
UNIT_SUFFIX = re.compile(r"(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]{1,30})\]")
TABLE_NAME = "counters"


def matches(source: Source, /) -> bool:
    lines = [line for line in source.head().splitlines()[:50] if line.strip() and not line.startswith("#")]
    if len(lines) < 2:
        return False
    delimiter, columns = _header(lines[0])
    if columns[0].lower() not in TIME_COLUMNS or len(columns) < 2 or FOREIGN_COLUMNS & set(map(str.lower, columns)):
        return False
    cells = [cell.strip('" ') for cell in lines[1].split(delimiter)]
    try:
        Clock()(cells[0])
    except (ValueError, OverflowError):
        return False
    # Decimal commas are told apart from text by `parse`.
    return any(number_or_none(cell.replace(",", ".")) is not None for cell in cells[1:])


def parse(source: Source, /) -> Parsed:
    import numpy as np

    first = next((line for line in source.lines() if line.strip() and not line.startswith("#")), "")
    delimiter, columns = _header(first)
    clock = Clock(divisor=TIME_COLUMNS.get(columns[0].lower()))
    rows = ((line, cells) for line, cells in csv_rows(source, delimiter=delimiter) if not cells[0].startswith("#"))
    next(rows, None)
    names = columns[1:]
    _check_names(names, source.place)
    grid = read_grid(rows, columns=len(names), time_of=clock, place=source.place, decimal_comma=delimiter == ";")
    load = [index for index, name in enumerate(names) if name.lower() == LOAD_COLUMN or name.endswith(LOAD_SUFFIX)]
    if len(load) > 1:
        raise source.error("has two load columns", "leave one of them")
    left_out = [*load, *grid.text_columns]
    table, notes = build_table(
        TABLE_NAME,
        times_s=grid.times_s,
        values=np.delete(grid.values, left_out, axis=1) if left_out else grid.values,
        metrics=[_metric(name) for index, name in enumerate(names) if index not in left_out],
        place=source.place,
        load=grid.values[:, load[0]] if load else None,
        load_name=names[load[0]].removesuffix(LOAD_SUFFIX) if load else None,
    )
    texts = [shown(names[index]) for index in grid.text_columns]
    all_notes = [*grid.notes, *notes]
    if texts:
        all_notes.append(f"{source.place}: columns of text are left out: {names_shown(texts)}")
    if clock.is_local:
        all_notes.append(f"{source.place}: {LOCAL_NOTE}")
    return Parsed(counters=(table,), notes=tuple(all_notes))


def _header(line: str) -> tuple[str, list[str]]:
    delimiter = next((delimiter for delimiter in DELIMITERS if delimiter in line), ",")
    try:
        names = next(csv.reader([line], delimiter=delimiter), None)
    except csv.Error:
        names = None
    return delimiter, [name.strip() for name in names or [""]]


def _check_names(names: list[str], place: str) -> None:
    if len(set(names)) != len(names) or not all(names):
        raise DataError(
            "has a column without name, or two of one name",
            place=f"{place}:1",
            next_step="give each counter a name of its own",
        )


def _metric(name: str) -> Metric:
    unit = UNIT_SUFFIX.fullmatch(name)
    return counter(unit["name"], unit["unit"]) if unit else counter(name)
