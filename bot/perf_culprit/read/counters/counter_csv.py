"""Counters as plain CSV or TSV, written by a script: a time, a column per counter and optionally one for the load."""

import csv
import re

from perf_culprit.model.run import Metric
from perf_culprit.read.counters.counter_shapes import CsvRecords, Grid, Sheet, csv_rows
from perf_culprit.read.counters.counter_tables import (
    Clock,
    build_table,
    counter,
    names_shown,
    number_or_none,
    parsed_tables,
)
from perf_culprit.read.results.parsed import Parsed, ResultReader
from perf_culprit.read.results.source import Source

# The first column's name, and the divisor that converts its numbers to seconds if the name states the unit.
TIME_COLUMNS: dict[str, float | None] = {
    **dict.fromkeys(("time", "timestamp", "date", "datetime")),
    **dict.fromkeys(("time_s", "timestamp_s"), 1.0),
    **dict.fromkeys(("time_ms", "timestamp_ms"), 1e3),
}
DELIMITERS = ("\t", ";", ",")
LOAD_COLUMN, LOAD_SUFFIX = "load", " [load]"
# Columns that belong to other formats: results of commits, and the tables of load-test tools.
FOREIGN_COLUMNS = frozenset({"commit", "label", "user count", "metric_name"})
UNIT_SUFFIX = re.compile(r"(?P<name>.*\S)\s*\[(?P<unit>[^\[\]]{1,30})\]")


def _matches(source: Source) -> bool:
    lines = [line for line in source.head().splitlines()[:50] if _is_data(line)]
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
    # The reader distinguishes decimal commas from text.
    return any(number_or_none(cell.replace(",", ".")) is not None for cell in cells[1:])


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def _header(line: str) -> tuple[str, list[str]]:
    delimiter = next((delimiter for delimiter in DELIMITERS if delimiter in line), ",")
    try:
        names = next(csv.reader([line], delimiter=delimiter), None)
    except csv.Error:
        names = None
    return delimiter, [name.strip() for name in names or [""]]


def _open(source: Source) -> Sheet:
    delimiter, columns = _header(next(filter(_is_data, source.lines()), ""))
    rows = (row for row in csv_rows(source, delimiter=delimiter) if not row[1][0].startswith("#"))
    next(rows, None)
    names = columns[1:]
    if len(set(names)) != len(names) or not all(names):
        raise source.error(
            "has a column without name, or two of one name", "give each counter a name of its own", line=1
        )
    clock = Clock(divisor=TIME_COLUMNS.get(columns[0].lower()))
    taker = _Columns(source, names, clock=clock, decimal_comma=delimiter == ";")
    return Sheet(rows=rows, cells=len(columns), taker=taker)


class _Columns(Grid):
    def __init__(self, source: Source, names: list[str], *, clock: Clock, decimal_comma: bool) -> None:
        super().__init__(len(names), time_of=clock, place=source.place, decimal_comma=decimal_comma)
        self._source, self._names, self._clock = source, names, clock

    def parsed(self) -> Parsed:
        import numpy as np

        names, place = self._names, self._place
        times_s, values, of_words = self.numbers()
        load = [index for index, name in enumerate(names) if name.lower() == LOAD_COLUMN or name.endswith(LOAD_SUFFIX)]
        if len(load) > 1:
            raise self._source.error("has two load columns", "leave one of them")
        left_out = [*load, *of_words]
        built = build_table(
            "counters",
            times_s=times_s,
            values=np.delete(values, left_out, axis=1) if left_out else values,
            metrics=[_metric(name) for index, name in enumerate(names) if index not in left_out],
            place=place,
            load=values[:, load[0]] if load else None,
            load_name=names[load[0]].removesuffix(LOAD_SUFFIX) if load else None,
        )
        words = f"{place}: columns of text are left out: {names_shown([names[index] for index in of_words])}"
        return parsed_tables([built], notes=((words,) * bool(of_words)) + self._clock.notes(place))


def _metric(name: str) -> Metric:
    unit = UNIT_SUFFIX.fullmatch(name)
    return counter(unit["name"], unit["unit"]) if unit else counter(name)


COUNTER_CSV = ResultReader(
    id="counter_csv",
    description="counters as CSV or TSV: time, counters, perhaps the load",
    example="any script that writes time,NAME,... rows",
    matches=_matches,
    read=CsvRecords(opened=_open, broken="is not a row of counters", is_exact=True),
)
