"""Locust's `PREFIX_stats_history.csv`: what happened over time, in total and, with --csv-full-history, by name."""

from bot.collect.counters.clock import Clock
from bot.collect.counters.grid import csv_rows
from bot.collect.counters.reader import RESPONSE_TIME, THROUGHPUT, USERS, counter, number_or_none
from bot.collect.counters.table import Readings
from bot.collect.parser import Parsed
from bot.collect.source import Source
from bot.errors import DataError
from bot.model.metric import Direction

ID = "locust_history"
DESCRIPTION = "Locust's history (PREFIX_stats_history.csv)"
EXAMPLE = "locust --headless --csv results, then results_stats_history.csv"

START = ("timestamp", "user count", "type", "name")
LOAD = "requests/s"
# Of the moment. The columns `Total ...` are since the start, so they say little about the moment.
FAILURES = "failures/s"
PERCENTILES = {
    column: counter(f"p{column[:-1]}_{RESPONSE_TIME.name}", RESPONSE_TIME.unit, Direction.LOWER_IS_BETTER)
    for column in ("50%", "95%", "99%")
}
TOTAL = "Aggregated"


def matches(source: Source, /) -> bool:
    return _names(source.head().partition("\n")[0].split(","))[: len(START)] == list(START)


def parse(source: Source, /) -> Parsed:
    rows = csv_rows(source, delimiter=",")
    _, header = next(rows, (1, []))
    names = _names(header)
    if tuple(names[: len(START)]) != START or not {LOAD, FAILURES} <= set(names):
        raise source.error("is no history of Locust", "give the file PREFIX_stats_history.csv", line=1)
    readings = Readings(source.place)
    clock = Clock()
    cut: int | None = None
    for line, cells in rows:
        if cut is not None or len(cells) > len(names):
            raise _broken(source, cut or line)
        if len(cells) < len(names):
            cut = line
            continue
        try:
            _add(readings, clock(cells[0]), dict(zip(names, cells, strict=True)))
        except (ValueError, OverflowError):
            raise _broken(source, line) from None
    table, notes = readings.build("locust", load_column=LOAD, load_name=THROUGHPUT)
    cut_note = () if cut is None else (f"{source.place}: the last line is cut off and left out",)
    return Parsed(counters=(table,), notes=(*notes, *cut_note))


def _add(readings: Readings, time_s: float, row: dict[str, str]) -> None:
    is_total = row["name"] == TOTAL and not row["type"]
    scope = "" if is_total else f"{row['type']} {row['name']}: ".lstrip()
    rate = _number(row[LOAD])
    readings.add(time_s, counter(f"{scope}{LOAD}", "1/s"), rate)
    if is_total:
        readings.add(time_s, USERS, _number(row["user count"]))
    readings.add(time_s, counter(f"{scope}{FAILURES}", "1/s", Direction.LOWER_IS_BETTER), _number(row[FAILURES]))
    for column, metric in PERCENTILES.items():
        if column in row:
            value = _number(row[column])
            # Without a request in its window Locust writes 0.
            readings.add(
                time_s,
                counter(f"{scope}{metric.name}", metric.unit, metric.direction),
                value if value or rate else float("nan"),
            )


def _number(text: str) -> float:
    if (number := number_or_none(text)) is None:
        raise ValueError(text)
    return number


def _names(header: list[str]) -> list[str]:
    return [name.strip().strip('"').lower() for name in header]


def _broken(source: Source, line: int) -> DataError:
    return source.error("is no row of Locust's history", "check this row, or leave it out", line=line)
