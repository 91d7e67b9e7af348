"""Windows performance counters as perfmon, logman, relog and typeperf write them (PDH-CSV, PDH-TSV)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from bot.collect.counters.grid import csv_rows, read_grid
from bot.collect.counters.reader import counter
from bot.collect.counters.table import build_table
from bot.collect.parser import Parsed, components
from bot.collect.source import Source
from bot.model.metric import Direction, Metric

ID = "perfmon_csv"
DESCRIPTION = "Windows performance counters (perfmon, logman, relog, typeperf)"
EXAMPLE = "typeperf -cf counters.txt -o counters.csv"

# "(PDH-CSV 4.0) (Pacific Standard Time)(480)": UTC is the local time plus the minutes; typeperf says neither.
START = re.compile(r'\s{0,10}"?\(?PDH-[CT]SV 4\.0\)?')
BIAS = re.compile(r"\((?P<minutes>-?\d{1,4})\)$")
HOST = re.compile(r"\\\\(?P<host>[^\\]{1,255})\\")
TIME_FORMATS = ("%m/%d/%Y %H:%M:%S.%f", "%m/%d/%Y %H:%M:%S")
TABLE_NAME = "perfmon"
BYTE_RATE = re.compile(r"Bytes.{0,100}/sec")
UNITS = (("/sec", "1/s"), ("MBytes", "MB"), ("KBytes", "kB"), ("Bytes", "B"))
BUSY_COUNTERS = frozenset({"% Processor Time", "% Privileged Time", "% User Time"})


def matches(source: Source, /) -> bool:
    return START.match(source.head()) is not None


def parse(source: Source, /) -> Parsed:
    delimiter = "\t" if "PDH-TSV" in source.head()[:100] else ","
    rows = csv_rows(source, delimiter=delimiter)
    line, header = next(((line, cells) for line, cells in rows if any(cells)), (1, [""]))
    bias = BIAS.search(header[0].strip())
    offset = timedelta(minutes=int(bias["minutes"])) if bias else timedelta()
    # relog ends its header with an empty column where the rows have none.
    names = [name for name in header[1:] if name.strip()]
    if not names:
        raise source.error("names no counter", "record at least one counter", line=line)
    grid = read_grid(
        _samples(rows, len(names) + 1),
        columns=len(names),
        time_of=lambda text: _seconds(text, offset),
        place=source.place,
    )
    hosts = {match["host"] for name in names if (match := HOST.match(name))}
    table, notes = build_table(
        TABLE_NAME,
        times_s=grid.times_s,
        values=grid.values,
        metrics=[_metric(name, is_only_host=len(hosts) == 1) for name in names],
        place=source.place,
    )
    all_notes = [*grid.notes, *notes]
    if bias is None:
        all_notes.append(f"{source.place}: its times have no time zone and are taken as UTC")
    environment = components(host=next(iter(hosts)), os="Windows") if len(hosts) == 1 else components(os="Windows")
    return Parsed(counters=(table,), environment=environment, notes=tuple(all_notes))


def _samples(rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[int, list[str]]]:
    """The rows that begin with a time, without empty cells at their ends: typeperf ends with sentences."""
    for line, cells in rows:
        if cells[0][:1].isdecimal():
            yield line, cells if any(map(str.strip, cells[width:])) else cells[:width]


def _seconds(text: str, offset: timedelta) -> float:
    for form in TIME_FORMATS:
        try:
            return (datetime.strptime(text.strip(), form).replace(tzinfo=UTC) + offset).timestamp()
        except ValueError:
            continue
    raise ValueError(text)


def _metric(column: str, *, is_only_host: bool) -> Metric:
    name = HOST.sub("", column, count=1) if is_only_host else column
    last = name.rpartition("\\")[2]
    unit = "%" if last.startswith("%") else next((unit for end, unit in UNITS if last.endswith(end)), "")
    unit = "B/s" if BYTE_RATE.fullmatch(last) else unit
    direction = Direction.UNKNOWN
    if name.startswith("Processor"):
        # Of one machine under one load: less work for the processor is better.
        if last in BUSY_COUNTERS:
            direction = Direction.LOWER_IS_BETTER
        elif last == "% Idle Time":
            direction = Direction.HIGHER_IS_BETTER
    return counter(name, unit, direction)
