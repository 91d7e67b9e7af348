"""`sadf -d`: what sar recorded, as `;`-separated tables, one after another in one file."""

import re

from bot.collect.content import shown
from bot.collect.counters.clock import LOCAL_NOTE, Clock
from bot.collect.counters.reader import counter, number_or_none
from bot.collect.counters.sadf_json import share_direction
from bot.collect.counters.table import MAX_CELLS, Built, Readings, check_size
from bot.collect.parser import Parsed, components
from bot.collect.source import Source
from bot.errors import DataError
from bot.model.metric import Direction, Metric

ID = "sadf_csv"
DESCRIPTION = "sar data as CSV (sadf -d)"
EXAMPLE = "sadf -d -- -A > activity.csv"

HEADER = "# hostname;interval;timestamp"
LEADING = 3
# Columns that name a device are in capitals: CPU, IFACE, DEV, FAN, DEVICE.
DEVICE = re.compile(r"[A-Z]{2,12}")
ALL_CPUS = "-1"
REPEATED = "[...]"
MAX_TABLES = 1_000


def matches(source: Source, /) -> bool:
    return any(line.startswith(HEADER) for line in source.head().splitlines())


def parse(source: Source, /) -> Parsed:
    tables: dict[tuple[str, str], Readings] = {}
    clock = Clock()
    names: tuple[str, ...] = ()
    restarts = values = 0
    for number, line in enumerate(source.lines(), start=1):
        text = line.rstrip("\r\n")
        place = f"{source.place}:{number}"
        if text.startswith(HEADER):
            names = tuple(name.removesuffix(REPEATED) for name in text.split(";")[LEADING:])
            continue
        cells = text.split(";")
        if not text.strip() or text.startswith("#"):
            continue
        if len(cells) > LEADING and cells[1] == "-1":
            restarts += cells[LEADING].startswith("LINUX-RESTART")  # the other such line is a comment
            continue
        if not names or len(cells) != LEADING + len(names):
            raise DataError(
                "does not have the cells that its header names",
                place=place,
                next_step="write the file with sadf -d, without -h for several devices; or sadf -j",
            )
        values += len(names)
        if values > MAX_CELLS:
            check_size(values, 1, place=source.place)
        key = (cells[0], names[0])
        if key not in tables and len(tables) == MAX_TABLES:
            raise DataError(f"holds more than {MAX_TABLES:,} tables", place=place, next_step="record fewer hosts")
        try:
            _add(tables.setdefault(key, Readings(source.place)), clock(cells[2]), names, cells[LEADING:])
        except (ValueError, OverflowError):
            raise DataError(f"`{shown(cells[2])}` is no time", place=place, next_step="check this row") from None
    return _parsed(source, tables, restarts=restarts, is_local=clock.is_local)


def _parsed(source: Source, tables: dict[tuple[str, str], Readings], *, restarts: int, is_local: bool) -> Parsed:
    hosts = list(dict.fromkeys(host for host, _ in tables))
    built: list[Built] = [
        readings.build(f"{host}: {activity}" if len(hosts) > 1 else activity)
        for (host, activity), readings in tables.items()
        if readings
    ]
    if not built:
        raise source.error("holds no rows", "check that sar recorded something")
    notes = [note for _, table_notes in built for note in table_notes]
    if restarts:
        notes.append(f"{source.place}: the machine was started {restarts} times; parts of one table")
    if is_local:
        notes.append(f"{source.place}: {LOCAL_NOTE}")
    return Parsed(
        counters=tuple(table for table, _ in built),
        environment=components(host=hosts[0], os="Linux") if len(hosts) == 1 else components(os="Linux"),
        notes=tuple(dict.fromkeys(notes)),
    )


def _add(readings: Readings, time_s: float, names: tuple[str, ...], cells: list[str]) -> None:
    """What the header names first is the activity."""
    pairs = list(zip(names, cells, strict=True))
    devices = ["all" if name == "CPU" and cell == ALL_CPUS else cell for name, cell in pairs if DEVICE.fullmatch(name)]
    for name, cell in pairs:
        number = None if DEVICE.fullmatch(name) else number_or_none(cell)
        if number is not None:
            readings.add(time_s, _metric(names[0], name, " ".join([*devices, name])), number)


def _metric(activity: str, column: str, name: str) -> Metric:
    is_share = column.startswith("%")
    direction = share_direction(column[1:]) if activity == "CPU" and is_share else Direction.UNKNOWN
    unit = "%" if is_share else "kB" if column.startswith("kb") else ""
    return counter(name, "1/s" if column.endswith("/s") else unit, direction)
