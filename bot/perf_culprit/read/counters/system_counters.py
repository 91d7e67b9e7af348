"""Counters of operating systems: sysstat's `sadf` (JSON, CSV, lines) and Windows performance counters (perfmon)."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Direction, Environment, Metric
from perf_culprit.read.counters.counter_shapes import CsvRecords, Grid, LineRecords, Row, Sheet, csv_rows, first_line
from perf_culprit.read.counters.counter_tables import (
    LOCAL_NOTE,
    Built,
    Clock,
    Readings,
    build_table,
    check_size,
    counter,
    number_of,
    number_or_none,
    parsed_tables,
)
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue
from perf_culprit.read.results.parsed import Parsed, ResultReader, components
from perf_culprit.read.results.source import Source, json_object

RESTART = "LINUX-RESTART"
BUSY = frozenset({"user", "usr", "nice", "system", "sys", "iowait", "steal", "irq", "soft"})


def _share_direction(name: str) -> Direction:
    """Return the direction of a share of processor time. On one machine under one load, less work is better."""
    if name in BUSY:
        return Direction.LOWER_IS_BETTER
    return Direction.HIGHER_IS_BETTER if name == "idle" else Direction.UNKNOWN


# sadf -j: versions of sysstat name the keys differently, so all numbers are read.
# The key of a number that identifies a device and is not a measurement.
NUMBERED = "number"


def _sysstat(source: Source) -> Parsed:
    root = source.root()
    hosts = list(root.at("sysstat").at("hosts").elements())
    built: list[Built] = []
    notes: list[str] = []
    for host in hosts:
        prefix = f"{host.peek('nodename')}: " if len(hosts) > 1 else ""
        tables, remarks = _host(host, prefix)
        built += tables
        notes += remarks
    if not built:
        raise root.error("holds no statistics")
    return parsed_tables(built, notes=notes, environment=_environment(hosts[0]) if len(hosts) == 1 else Environment())


def _host(host: JsonValue, prefix: str) -> tuple[list[Built], list[str]]:
    """Build a table per activity, because its counters belong together and share their instants."""
    activities: dict[str, Readings] = {}
    clock = Clock()
    for entry in host.at("statistics").elements():
        if (time_s := _time(entry, clock)) is None:
            continue
        for name, activity in entry.members():
            if name == "timestamp" or (name not in activities and len(activities) == FILE_LIMITS.activities):
                continue
            readings = activities.setdefault(name, Readings(activity.file))
            for path, leaf, number in _leaves(activity, "", FILE_LIMITS.activity_depth):
                readings.add(time_s, _leaf_metric(name, path, leaf), number)
    notes = list(clock.notes(host.file))
    restarts = host.peek("restarts")
    if isinstance(restarts, list) and restarts:
        machine = shown(str(host.peek("nodename")))
        notes.append(f"{host.file}: {machine} was started {len(restarts)} times; parts of one table")
    return [readings.build(prefix + name) for name, readings in activities.items() if readings], notes


def _time(entry: JsonValue, clock: Clock) -> float | None:
    """Read an entry's time; None if it has none, as sadf writes for an empty recording."""
    if (timestamp := entry.find("timestamp")) is None or timestamp.find("date") is None:
        return None
    is_utc = timestamp.peek("utc") == 1 or timestamp.peek("tz") == "UTC"
    text = f"{timestamp.at('date').text()} {timestamp.at('time').text()}{' UTC' if is_utc else ''}"
    try:
        return clock(text)
    except (ValueError, OverflowError):
        raise timestamp.error("is not a date and time") from None


def _leaves(value: JsonValue, path: str, depth: int) -> Iterator[tuple[str, str, float]]:
    """Yield every number with its path. List elements are distinguished by the words in them (a CPU, a device)."""
    if depth == 0:
        return
    if isinstance(value.value, list):
        for index, element in enumerate(value.elements()):
            yield from _leaves(element, f"{path}{_identity(element.value) or index}/", depth - 1)
    elif isinstance(value.value, dict):
        for name, member in value.members():
            if member.is_finite and name != NUMBERED:
                yield path + name, name, member.number()
            elif isinstance(member.value, dict | list):
                yield from _leaves(member, f"{path}{name}/", depth - 1)


def _identity(element: object) -> str:
    if not isinstance(element, dict):
        return ""
    words = [str(element[NUMBERED])[:20]] if NUMBERED in element else []
    return " ".join([*words, *(word for word in element.values() if isinstance(word, str))])


def _leaf_metric(activity: str, path: str, leaf: str) -> Metric:
    is_processor = activity.startswith("cpu-load")
    direction = _share_direction(leaf) if is_processor else Direction.UNKNOWN
    unit = "%" if is_processor or leaf.endswith("-percent") or leaf.startswith("percent-") else ""
    return counter(path, unit, direction)


def _environment(host: JsonValue) -> Environment:
    return components(
        host=host.peek("nodename"),
        os=host.peek("sysname"),
        os_release=host.peek("release"),
        architecture=host.peek("machine"),
        cpu_count=host.peek("number-of-cpus"),
    )


# sadf -d: `;`-separated tables, one after another in one file.
HEADER = "# hostname;interval;timestamp"
LEADING = 3
# Columns that name a device are in capitals: CPU, IFACE, DEV, FAN, DEVICE.
DEVICE = re.compile(r"[A-Z]{2,12}")
ALL_CPUS = "-1"
REPEATED = "[...]"


class _SadfTables:
    """A taker that builds a table per host and block. A header's first name is the activity."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._tables: dict[tuple[str, str], Readings] = {}
        self._clock = Clock()
        self._names: tuple[str, ...] = ()
        self._restarts = self._values = 0

    def take(self, line: int, text: str) -> None:
        cells = text.split(";")
        if text.startswith(HEADER):
            self._names = tuple(name.removesuffix(REPEATED) for name in cells[LEADING:])
        elif text.startswith("#"):
            pass
        elif len(cells) > LEADING and cells[1] == "-1":
            self._restarts += cells[LEADING].startswith(RESTART)  # the other such line is a comment
        elif not self._names or len(cells) != LEADING + len(self._names):
            raise self._source.error(
                "does not have the cells that its header names",
                "write the file with sadf -d, without -h for several devices; or sadf -j",
                line=line,
            )
        else:
            self._row(line, cells)

    def parsed(self) -> Parsed:
        hosts = list(dict.fromkeys(host for host, _ in self._tables))
        built = [
            readings.build(f"{host}: {activity}" if len(hosts) > 1 else activity)
            for (host, activity), readings in self._tables.items()
            if readings
        ]
        if not built:
            raise self._source.error("holds no rows", "check that sar recorded something")
        place = self._source.place
        restarts = (f"{place}: the machine was started {self._restarts} times; parts of one table",)
        return parsed_tables(
            built,
            notes=(*restarts * bool(self._restarts), *self._clock.notes(place)),
            environment=components(host=hosts[0] if len(hosts) == 1 else None, os="Linux"),
        )

    def _row(self, line: int, cells: list[str]) -> None:
        names = self._names
        self._values += len(names)
        if self._values > FILE_LIMITS.counter_cells:
            check_size(self._values, 1, place=self._source.place)
        key = (cells[0], names[0])
        if (readings := self._tables.get(key)) is None:
            if len(self._tables) == FILE_LIMITS.counter_tables:
                raise self._source.error(
                    f"holds more than {FILE_LIMITS.counter_tables:,} tables", "record fewer hosts", line=line
                )
            readings = self._tables[key] = Readings(self._source.place)
        try:
            time_s = self._clock(cells[2])
        except (ValueError, OverflowError):
            raise self._source.error(f"`{shown(cells[2])}` is not a time", "check this row", line=line) from None
        pairs = list(zip(names, cells[LEADING:], strict=True))
        devices = [
            "all" if name == "CPU" and cell == ALL_CPUS else cell for name, cell in pairs if DEVICE.fullmatch(name)
        ]
        for name, cell in pairs:
            number = None if DEVICE.fullmatch(name) else number_or_none(cell)
            if number is not None:
                readings.add(time_s, _column_metric(names[0], name, " ".join([*devices, name])), number)


def _column_metric(activity: str, column: str, name: str) -> Metric:
    is_share = column.startswith("%")
    direction = _share_direction(column[1:]) if activity == "CPU" and is_share else Direction.UNKNOWN
    unit = "%" if is_share else "kB" if column.startswith("kb") else ""
    return counter(name, "1/s" if column.endswith("/s") else unit, direction)


# sadf -p: a line per value, `host interval time device counter value`, separated by tabs.
CELLS = 6


def _is_sadf_line(source: Source) -> bool:
    cells = first_line(source).split("\t")
    return len(cells) == CELLS and cells[1].removeprefix("-").isdecimal() and number_or_none(cells[5]) is not None


class _SadfLines:
    def __init__(self, source: Source) -> None:
        self._place = source.place
        self._readings, self._clock, self._host = Readings(source.place), Clock(), ""

    def take(self, _: int, text: str) -> None:
        if RESTART not in text:
            self._host, _interval, time, device, name, value = text.split("\t")
            whole = name if device in ("-", "all") else f"{device}: {name}"
            self._readings.add(self._clock(time), counter(whole, "%" * name.startswith("%")), number_of(value))

    def parsed(self) -> Parsed:
        return parsed_tables(
            [self._readings.build("sadf")],
            notes=self._clock.notes(self._place),
            environment=components(host=self._host),
        )


# perfmon, logman, relog and typeperf write PDH-CSV and PDH-TSV.
# "(PDH-CSV 4.0) (Pacific Standard Time)(480)": UTC is the local time plus the minutes. typeperf omits both.
START = re.compile(r'\s{0,10}"?\(?PDH-[CT]SV 4\.0\)?')
BIAS = re.compile(r"\((?P<minutes>-?\d{1,4})\)$")
HOST = re.compile(r"\\\\(?P<host>[^\\]{1,255})\\")
TIME_FORMATS = ("%m/%d/%Y %H:%M:%S.%f", "%m/%d/%Y %H:%M:%S")
BYTE_RATE = re.compile(r"Bytes.{0,100}/sec")
UNITS = (("/sec", "1/s"), ("MBytes", "MB"), ("KBytes", "kB"), ("Bytes", "B"))
BUSY_COUNTERS = frozenset({"% Processor Time", "% Privileged Time", "% User Time"})


def _perfmon(source: Source) -> Sheet:
    rows = csv_rows(source, delimiter="\t" if "PDH-TSV" in source.head()[:100] else ",")
    line, header = next(((line, cells) for line, cells in rows if any(cells)), (1, [""]))
    # relog ends its header with an empty column that the rows lack.
    names = [name for name in header[1:] if name.strip()]
    if not names:
        raise source.error("names no counter", "record at least one counter", line=line)
    width = len(names) + 1
    return Sheet(rows=_samples(rows, width), cells=width, taker=_Perfmon(source, header[0], names))


class _Perfmon(Grid):
    def __init__(self, source: Source, start: str, names: list[str]) -> None:
        bias = BIAS.search(start.strip())
        offset = timedelta(minutes=int(bias["minutes"])) if bias else timedelta()
        super().__init__(len(names), time_of=lambda text: _seconds(text, offset), place=source.place)
        self._names = names
        self._notes = () if bias else (f"{source.place}: {LOCAL_NOTE}",)

    def parsed(self) -> Parsed:
        times_s, values, _ = self.numbers()
        hosts = {match["host"] for name in self._names if (match := HOST.match(name))}
        built = build_table(
            "perfmon",
            times_s=times_s,
            values=values,
            metrics=[_pdh_metric(name, is_only_host=len(hosts) == 1) for name in self._names],
            place=self._place,
        )
        host = next(iter(hosts)) if len(hosts) == 1 else None
        return parsed_tables([built], notes=self._notes, environment=components(host=host, os="Windows"))


def _samples(rows: Iterator[Row], width: int) -> Iterator[Row]:
    """Yield the rows that begin with a time, without empty trailing cells. typeperf ends its output with sentences."""
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


def _pdh_metric(column: str, *, is_only_host: bool) -> Metric:
    name = HOST.sub("", column, count=1) if is_only_host else column
    last = name.rpartition("\\")[2]
    unit = "%" if last.startswith("%") else next((unit for end, unit in UNITS if last.endswith(end)), "")
    unit = "B/s" if BYTE_RATE.fullmatch(last) else unit
    direction = Direction.UNKNOWN
    if name.startswith("Processor"):
        # On one machine under one load, less work for the processor is better.
        if last in BUSY_COUNTERS:
            direction = Direction.LOWER_IS_BETTER
        elif last == "% Idle Time":
            direction = Direction.HIGHER_IS_BETTER
    return counter(name, unit, direction)


SADF_JSON = ResultReader(
    id="sadf_json",
    description="sar data as JSON (sadf -j)",
    example="sadf -j -- -A > activity.json",
    matches=json_object(lambda root: isinstance(root.get("sysstat"), dict) and "hosts" in root["sysstat"]),
    read=_sysstat,
)
SADF_CSV = ResultReader(
    id="sadf_csv",
    description="sar data as CSV (sadf -d)",
    example="sadf -d -- -A > activity.csv",
    matches=lambda source: any(line.startswith(HEADER) for line in source.head().splitlines()),
    read=LineRecords(taker=_SadfTables, broken="is not a row of sadf -d"),
)
SADF_LINES = ResultReader(
    id="sadf_lines",
    description="sysstat, a line per value (sadf -p)",
    example="sadf -p -- -A > counters.txt",
    matches=_is_sadf_line,
    read=LineRecords(taker=_SadfLines, broken="is not a value of sadf"),
)
PERFMON_CSV = ResultReader(
    id="perfmon_csv",
    description="Windows performance counters (perfmon, logman, relog, typeperf)",
    example="typeperf -cf counters.txt -o counters.csv",
    matches=lambda source: START.match(source.head()) is not None,
    read=CsvRecords(opened=_perfmon, broken="is not a row of performance counters", is_exact=True),
)
