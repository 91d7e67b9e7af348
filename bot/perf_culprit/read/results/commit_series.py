"""Formats of tools that track results over many commits: Otava and Nyrkiö."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import islice

from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Metric, Summary, in_utc
from perf_culprit.read.results.console import is_number, number_of
from perf_culprit.read.results.content import load_json, shown
from perf_culprit.read.results.json_value import JsonValue, are_objects
from perf_culprit.read.results.parsed import (
    NAMED_DIRECTIONS,
    VALUE,
    Parsed,
    ResultReader,
    direction_of,
    epoch_time,
    from_summary,
    full_hash,
    newest,
    unique,
    utc_time,
)
from perf_culprit.read.results.source import Source

TIME_COLUMN, COMMIT_COLUMN = "time", "commit"
ATTRIBUTES = (TIME_COLUMN, COMMIT_COLUMN, "branch")
HEAD_CHARACTERS = 100_000
OTAVA_MAX_ROWS = 20_000
# `latency_ms`, `latency (ms)`, `throughput [ops/s]`.
OTAVA_UNIT = re.compile(r"[\[(_ ]([^\[(_ \])]{1,30})[\])]?")
OTAVA_TIME = re.compile(r"[0-9]{4}\.[0-9]{2}\.[0-9]{2} [0-9]{1,2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class _OtavaRow:
    time: datetime | None
    commit: str
    cells: dict[str, str]
    place: str


def _is_otava(source: Source) -> bool:
    header = source.text_or_empty()[:HEAD_CHARACTERS].lstrip().partition("\n")[0]
    columns = [name.strip() for name in header.split(",")]
    return columns[0] == TIME_COLUMN and COMMIT_COLUMN in columns


def _read_otava(source: Source, *, direction: Direction | None) -> Parsed:
    """Read the newest row. Otava's rows are runs, so earlier ones are history."""
    rows = _otava_rows(source)
    others = len(rows) - 1
    notes = (f"{others} earlier rows are history, not this run",) * bool(others)
    return structs.replace(_otava_run(rows[-1], _otava_metrics(rows, direction)), notes=notes)


def _read_otava_history(source: Source, *, direction: Direction | None) -> tuple[Parsed, ...]:
    rows = _otava_rows(source)
    metrics = _otava_metrics(rows, direction)
    return tuple(_otava_run(row, metrics) for row in rows)


def _otava_metrics(rows: Sequence[_OtavaRow], direction: Direction | None) -> dict[str, Metric]:
    """Return the columns that are metrics: their first filled cell is a number. Others are attributes of the run."""
    firsts: dict[str, str] = {}
    for row in rows:
        for name, cell in row.cells.items():
            if cell:
                firsts.setdefault(name, cell)
    numeric = (name for name, cell in firsts.items() if is_number(cell.removeprefix("-")))
    return {name: _otava_metric(name, direction) for name in numeric}


def _otava_metric(column: str, direction: Direction | None) -> Metric:
    """Return a column's metric. Its direction follows from a unit at the end of its name, or from the named tool.

    The file has no directions; Otava's own configuration has them.
    """
    end = OTAVA_UNIT.fullmatch(column[max(map(column.rfind, "[(_ ")) :])
    unit = "" if end is None or direction_of(end[1]) is None else end[1]
    return Metric(name=VALUE, unit=unit, direction=direction or direction_of(unit) or Direction.UNKNOWN)


def _otava_rows(source: Source) -> list[_OtavaRow]:
    """Read all rows, oldest first; if a time cannot be read, in the order of the file."""
    reader = csv.reader(io.StringIO(source.text().lstrip(), newline=""), strict=True)
    rows: list[_OtavaRow] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        filled = (cells for cells in reader if any(cells))
        rows.extend(
            _otava_row(header, cells, f"{source.place}:{reader.line_num}")
            for cells in islice(filled, OTAVA_MAX_ROWS + 1)
        )
    except csv.Error as error:
        raise source.error(f"is not CSV: {shown(str(error))}", "check this row", line=reader.line_num) from None
    if len(rows) > OTAVA_MAX_ROWS:
        raise source.error(f"has more than {OTAVA_MAX_ROWS:,} rows", "leave out the oldest runs")
    if not rows:
        raise source.error("has no rows", "give a CSV with a row for each run")
    if any(row.time is None for row in rows):
        return rows
    return sorted(rows, key=lambda row: row.time or datetime.min.replace(tzinfo=UTC))


def _otava_row(header: Sequence[str], cells: Sequence[str], place: str) -> _OtavaRow:
    if len(cells) != len(header) or len(set(header)) != len(header):
        raise DataError(
            f"has {len(cells)} cells for {len(set(header))} different columns",
            place=place,
            next_step="check the commas and the columns' names",
        )
    named = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    return _OtavaRow(
        time=_otava_time(named.get(TIME_COLUMN, "")),
        commit=named.get(COMMIT_COLUMN, ""),
        cells={name: cell for name, cell in named.items() if name not in ATTRIBUTES},
        place=place,
    )


def _otava_time(text: str) -> datetime | None:
    if OTAVA_TIME.fullmatch(text):
        try:
            return in_utc(datetime.strptime(text, "%Y.%m.%d %H:%M:%S %z"))
        except ValueError:
            return None
    return epoch_time(number_of(text)) if is_number(text) else utc_time(text)


def _otava_run(row: _OtavaRow, metrics: dict[str, Metric]) -> Parsed:
    return Parsed(benchmarks=unique(_otava_benchmarks(row, metrics)), commit=full_hash(row.commit), time=row.time)


def _otava_benchmarks(row: _OtavaRow, metrics: dict[str, Metric]) -> Iterator[tuple[Benchmark, str]]:
    for name, metric in metrics.items():
        if not (text := row.cells[name]):
            continue
        place = f"{row.place}: {shown(name)}"
        if not is_number(text.removeprefix("-")):
            raise DataError(f"`{shown(text)}` is not a number", place=place, next_step="check this cell")
        yield from_summary(name, metric=metric, summary=Summary(value=number_of(text)), place=place), place


OTAVA_CSV = ResultReader(
    id="otava_csv",
    description="Otava CSV, direction by the units of its columns",
    example="any table of time,commit,branch,NAME_ms",
    matches=_is_otava,
    read=partial(_read_otava, direction=None),
    read_history=partial(_read_otava_history, direction=None),
)
OTAVA_CSV_SMALLER, OTAVA_CSV_BIGGER = (
    ResultReader(
        id=f"otava_csv_{way}",
        description=f"Otava CSV, {way} is better",
        example=f"any table of time,commit,branch,NAME with --tool otava_csv_{way}",
        matches=_is_otava,
        read=partial(_read_otava, direction=direction),
        read_history=partial(_read_otava_history, direction=direction),
        is_named_only=True,
    )
    for way, direction in NAMED_DIRECTIONS.items()
)


NYRKIO_MEMBERS = ("timestamp", "metrics", "attributes")
NYRKIO_DIRECTIONS = {direction.value: direction for direction in Direction}


def _is_nyrkio(source: Source) -> bool:
    if are_objects(source.json_or_none(), *NYRKIO_MEMBERS):
        return True
    head = source.head().lstrip().partition("\n")[0]
    return head.startswith("{") and are_objects([load_json(head, source.place)], *NYRKIO_MEMBERS)


def _read_nyrkio(source: Source) -> Parsed:
    if not (runs := _read_nyrkio_history(source)):
        raise source.root().error("holds no entry")
    return newest(runs)


def _read_nyrkio_history(source: Source) -> tuple[Parsed, ...]:
    """Read `[{timestamp, metrics, attributes}]`, one entry per measured commit, or an entry on each line."""
    commits: dict[object, list[JsonValue]] = {}
    entries = source.json_lines() if source.text().lstrip().startswith("{") else source.root().elements()
    for entry in sorted(entries, key=lambda entry: entry.at("timestamp").number()):
        identity = entry.at("attributes").find("git_commit")
        commits.setdefault(entry.value["timestamp"] if identity is None else identity.text(), []).append(entry)
    return tuple(_nyrkio_run(group) for group in commits.values())


def _nyrkio_run(entries: list[JsonValue]) -> Parsed:
    metrics = [(entry, metric) for entry in entries for metric in entry.at("metrics").elements()]
    first = entries[0]
    return Parsed(
        benchmarks=unique((_nyrkio_benchmark(entry, metric), metric.place) for entry, metric in metrics),
        commit=full_hash(first.at("attributes").peek("git_commit")),
        time=epoch_time(first.at("timestamp").number()),
    )


def _nyrkio_direction(metric: JsonValue) -> Direction:
    named, unit = metric.find("direction"), metric.find("unit")
    if named is not None and named.text() in NYRKIO_DIRECTIONS:
        return NYRKIO_DIRECTIONS[named.text()]
    return (unit is not None and direction_of(unit.text())) or Direction.UNKNOWN


def _nyrkio_benchmark(entry: JsonValue, metric: JsonValue) -> Benchmark:
    name, unit = metric.at("name").text(), metric.find("unit")
    test = entry.at("attributes").find("test_name")
    return from_summary(
        name if test is None else test.text(),
        metric=Metric(
            name=VALUE if test is None else name,
            unit="" if unit is None else unit.text(),
            direction=_nyrkio_direction(metric),
        ),
        summary=Summary(value=metric.at("value").number()),
        place=metric.place,
    )


NYRKIO = ResultReader(
    id="nyrkio",
    description="Nyrkiö JSON (nyrkioJson)",
    example="any tool that writes Nyrkiö's JSON",
    matches=_is_nyrkio,
    read=_read_nyrkio,
    read_history=_read_nyrkio_history,
    aliases=("nyrkioJson",),
)
