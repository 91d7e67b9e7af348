"""Apache Otava's CSV: a row per run with time, commit and one column per metric.

The file does not say which way is good (Otava's own configuration does): a column's name may end with a unit that says
it, or one of the two named tools does.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.console import is_number, number_of
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parser import (
    NAMED_DIRECTIONS,
    VALUE,
    Parsed,
    direction_of,
    epoch_time,
    from_summary,
    full_hash,
    unique,
    utc_time,
)
from perf_culprit.read.results.source import Source

TIME_COLUMN, COMMIT_COLUMN = "time", "commit"
ATTRIBUTES = (TIME_COLUMN, COMMIT_COLUMN, "branch")
HEAD_CHARACTERS = 100_000
MAX_ROWS = 20_000
# `latency_ms`, `latency (ms)`, `throughput [ops/s]`.
UNIT = re.compile(r"[\[(_ ]([^\[(_ \])]{1,30})[\])]?")
OTAVA_TIME = re.compile(r"[0-9]{4}\.[0-9]{2}\.[0-9]{2} [0-9]{1,2}:[0-9]{2}:[0-9]{2} [+-][0-9]{4}", re.ASCII)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Row:
    time: datetime | None
    commit: str
    cells: dict[str, str]
    place: str


@dataclass(frozen=True, kw_only=True, slots=True)
class OtavaCsv:
    """A parser that takes the directions from the columns' units (None), and one for each direction."""

    ID: str
    DESCRIPTION: str
    EXAMPLE: str
    direction: Direction | None

    def matches(self, source: Source, /) -> bool:
        header = source.text_or_empty()[:HEAD_CHARACTERS].lstrip().partition("\n")[0]
        columns = [name.strip() for name in header.split(",")]
        return columns[0] == TIME_COLUMN and COMMIT_COLUMN in columns

    def parse(self, source: Source, /) -> Parsed:
        """The newest row; Otava's rows are runs, so earlier ones are history."""
        rows = _rows(source)
        others = len(rows) - 1
        notes = (f"{others} earlier rows are history, not this run",) * bool(others)
        return replace(_run(rows[-1], self._metrics(rows)), notes=notes)

    def parse_history(self, source: Source, /) -> tuple[Parsed, ...]:
        rows = _rows(source)
        metrics = self._metrics(rows)
        return tuple(_run(row, metrics) for row in rows)

    def _metrics(self, rows: Sequence[_Row]) -> dict[str, Metric]:
        """A column is a metric where its first filled cell is a number, else another attribute of the run."""
        firsts: dict[str, str] = {}
        for row in rows:
            for name, cell in row.cells.items():
                if cell:
                    firsts.setdefault(name, cell)
        return {name: self._metric(name) for name, cell in firsts.items() if is_number(cell.removeprefix("-"))}

    def _metric(self, column: str) -> Metric:
        end = UNIT.fullmatch(column[max(map(column.rfind, "[(_ ")) :])
        unit = "" if end is None or direction_of(end[1]) is None else end[1]
        return Metric(name=VALUE, unit=unit, direction=self.direction or direction_of(unit) or Direction.UNKNOWN)


def _rows(source: Source) -> list[_Row]:
    """All rows, oldest first; where a time cannot be read, in the order of the file."""
    reader = csv.reader(io.StringIO(source.text().lstrip(), newline=""), strict=True)
    rows: list[_Row] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        filled = (cells for cells in reader if any(cells))
        rows.extend(_row(header, cells, f"{source.place}:{reader.line_num}") for cells in islice(filled, MAX_ROWS + 1))
    except csv.Error as error:
        raise source.error(f"is no CSV: {shown(str(error))}", "check this row", line=reader.line_num) from None
    if len(rows) > MAX_ROWS:
        raise source.error(f"has more than {MAX_ROWS:,} rows", "leave out the oldest runs")
    if not rows:
        raise source.error("has no rows", "give a CSV with a row for each run")
    if any(row.time is None for row in rows):
        return rows
    return sorted(rows, key=lambda row: row.time or datetime.min.replace(tzinfo=UTC))


def _row(header: Sequence[str], cells: Sequence[str], place: str) -> _Row:
    if len(cells) != len(header) or len(set(header)) != len(header):
        raise DataError(
            f"has {len(cells)} cells for {len(set(header))} different columns",
            place=place,
            next_step="check the commas and the columns' names",
        )
    named = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
    return _Row(
        time=_time(named.get(TIME_COLUMN, "")),
        commit=named.get(COMMIT_COLUMN, ""),
        cells={name: cell for name, cell in named.items() if name not in ATTRIBUTES},
        place=place,
    )


def _time(text: str) -> datetime | None:
    if OTAVA_TIME.fullmatch(text):
        try:
            return datetime.strptime(text, "%Y.%m.%d %H:%M:%S %z").astimezone(UTC)
        except (ValueError, OverflowError):
            return None
    return epoch_time(number_of(text)) if is_number(text) else utc_time(text)


def _run(row: _Row, metrics: dict[str, Metric]) -> Parsed:
    return Parsed(benchmarks=unique(_benchmarks(row, metrics)), commit=full_hash(row.commit), time=row.time)


def _benchmarks(row: _Row, metrics: dict[str, Metric]) -> Iterator[tuple[Benchmark, str]]:
    for name, metric in metrics.items():
        if not (text := row.cells[name]):
            continue
        place = f"{row.place}: {shown(name)}"
        if not is_number(text.removeprefix("-")):
            raise DataError(f"`{shown(text)}` is no number", place=place, next_step="check this cell")
        yield from_summary(name, metric=metric, summary=Summary(value=number_of(text)), place=place), place


EITHER = OtavaCsv(
    ID="otava_csv",
    DESCRIPTION="Otava CSV, direction by the units of its columns",
    EXAMPLE="any table of time,commit,branch,NAME_ms",
    direction=None,
)
SMALLER, BIGGER = (
    replace(
        EITHER,
        ID=f"otava_csv_{way}",
        DESCRIPTION=f"Otava CSV, {way} is better",
        EXAMPLE=f"any table of time,commit,branch,NAME with --tool otava_csv_{way}",
        direction=direction,
    )
    for way, direction in NAMED_DIRECTIONS.items()
)
