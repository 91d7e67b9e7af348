"""`perf stat` as -x, -j or text: benchmarks of a command, or counters over time (-I)."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from perf_culprit.errors import DataError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.model.unit_sizes import SECONDS
from perf_culprit.read.counters.counter_shapes import LineRecords
from perf_culprit.read.counters.counter_tables import Readings, counter, names_shown
from perf_culprit.read.results.console import Lines, Measured, line_reader
from perf_culprit.read.results.parsed import Parsed, ResultReader, from_summary, gathered
from perf_culprit.read.results.source import Source

NOT_COUNTED = ("<not counted>", "<not supported>")
# Events that count work or stalls: fewer are better for one command. The direction of other events is unknown.
COSTS = frozenset(
    {
        *("cycles", "cpu-cycles", "ref-cycles", "bus-cycles", "instructions", "branches", "branch-instructions"),
        *("task-clock", "cpu-clock", "duration_time", "user_time", "system_time", "context-switches", "cs"),
        *("cpu-migrations", "migrations", "page-faults", "faults", "minor-faults", "major-faults"),
    }
)
COST_ENDINGS = ("-misses", "-faults", "-stalls")
MODIFIERS = re.compile(r":[ukhGHpPSDIWe]{1,8}$")
# perf's spread is the standard error of the mean of the repetitions: 68.27% of a normal distribution.
STANDARD_ERROR_LEVEL = 0.6827


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One event's value. -I adds `interval_s`, -r adds `spread` in %. `scope` is a CPU or socket, for example."""

    event: str
    value: float | None
    unit: str
    place: str
    interval_s: float | None = None
    scope: str = ""
    spread: float | None = None
    running: float | None = None

    @property
    def name(self) -> str:
        return f"{self.scope}: {self.event}" if self.scope else self.event


@dataclass(slots=True)
class PerfStat:
    """A command's counts: benchmarks named after the file, or a counter table if there are intervals."""

    source: Source
    readings: list[Reading] = field(default_factory=list)

    def add(self, reading: Reading) -> None:
        if len(self.readings) == FILE_LIMITS.counter_readings:
            raise self.source.error(
                f"holds more than {FILE_LIMITS.counter_readings:,} readings", "use longer intervals (-I)"
            )
        self.readings.append(reading)

    def parsed(self) -> Parsed:
        if not self.readings:
            raise self.source.error("holds no event", "check that perf stat ran")
        notes = tuple(f"{self.source.place}: {note}" for note in _notes(self.readings))
        table = Readings(self.source.place)
        for reading in self.readings:
            if reading.interval_s is not None:
                value = math.nan if reading.value is None else reading.value
                table.add(reading.interval_s, counter(reading.name, reading.unit), value)
        if table:
            built, table_notes = table.build("perf stat")
            return Parsed(counters=(built,), notes=(*notes, *table_notes))
        counted = [reading for reading in self.readings if reading.value is not None]
        if not counted:
            raise self.source.error(
                f"no event was counted ({names_shown([reading.event for reading in self.readings])})",
                "use events that this machine supports, such as task-clock",
            )
        # The output does not name the command, so the file's name stands for it.
        name = self.source.stem or "perf stat"
        return Parsed(benchmarks=gathered(_benchmark(name, reading) for reading in counted), notes=notes)


def _benchmark(name: str, reading: Reading) -> tuple[Benchmark, str]:
    value = reading.value or 0.0
    direction = Direction.LOWER_IS_BETTER if _is_cost(reading) else Direction.UNKNOWN
    metric = Metric(name=reading.name, unit=reading.unit, direction=direction)
    summary = _summary(value, reading.spread)
    return from_summary(name, metric=metric, summary=summary, place=reading.place), reading.place


def _summary(value: float, spread: float | None) -> Summary:
    error = abs(value) * spread / 100 if spread else None
    return Summary(
        value=value,
        statistic="value" if spread is None else "mean",
        confidence_interval=None if error is None else (value - error, value + error),
        confidence_level=None if error is None else STANDARD_ERROR_LEVEL,
    )


def _is_cost(reading: Reading) -> bool:
    event = MODIFIERS.sub("", reading.event)
    return event in COSTS or event.endswith(COST_ENDINGS) or reading.unit in SECONDS


def _notes(readings: list[Reading]) -> Iterator[str]:
    missing = list(dict.fromkeys(reading.event for reading in readings if reading.value is None))
    if missing:
        yield f"not counted or not supported, at least at times: {names_shown(missing)}"
    partly = [r for r in readings if r.value is not None and r.running is not None and 0 < r.running < 100]
    if shared := list(dict.fromkeys(reading.event for reading in partly)):
        least = min(reading.running or 0 for reading in partly)
        yield f"counted only part of the time (at least {least:g}%), so estimated by perf: {names_shown(shared)}"


# perf stat -x has no header. Value, unit and event are adjacent. The time of -I, distinguished from a count by its
# nanoseconds, and the scope, optionally with its number of CPUs, precede them. The spread of -r follows them.
NAME = r"[A-Za-z][^\x00-\x1f{separator}]{{0,500}}"
FIELDS = (
    r"(?:(?P<interval> {{0,20}}\d{{1,12}}\.\d{{9}}){separator})?+"
    rf"(?:(?P<scope>{NAME}){{separator}}(?:[^{{separator}}]*{{separator}})??)??"
    r"(?P<value>-?\d{{1,30}}(?:\.\d{{0,20}})?|<not (?:counted|supported)>){separator}"
    r"(?P<unit>[A-Za-z%][A-Za-z%/ ]{{0,19}}|){separator}"
    rf"(?P<event>{NAME}){{separator}}"
    r"(?:(?P<spread>\d{{1,10}}\.\d{{0,5}})%{separator})?"
    r"\d{{1,20}}{separator}(?P<running>-?\d{{1,30}}(?:\.\d{{0,20}})?)(?:{separator}.*)?"
)
ROWS = tuple(re.compile(FIELDS.format(separator=separator), re.DOTALL) for separator in (",", ";", "\t", r"\|"))
MATCHED_LINES = 20


class _Fields(PerfStat):
    def take(self, line: int, text: str) -> None:
        if text.startswith("#"):
            return
        if (row := _row(text)) is None:
            raise ValueError(text[:20])
        interval, spread, value = row["interval"], row["spread"], row["value"]
        self.add(
            Reading(
                event=row["event"],
                value=None if value in NOT_COUNTED else float(value),
                unit=row["unit"],
                place=f"{self.source.place}:{line}",
                interval_s=None if interval is None else float(interval),
                scope=row["scope"] or "",
                spread=None if spread is None else float(spread),
                running=float(row["running"]),
            )
        )


def _is_separated(source: Source) -> bool:
    head = source.head()
    lines = [line for line in head.splitlines()[:-1] or [head] if line.strip() and not line.startswith("#")]
    return bool(lines) and all(_row(line) is not None for line in lines[:MATCHED_LINES])


def _row(line: str) -> re.Match[str] | None:
    return next((row for pattern in ROWS if (row := pattern.fullmatch(line))), None)


# perf stat -j: one JSON object per event, usually one per line.
COUNTER_VALUE = "counter-value"
SCOPES = ("cpu", "core", "die", "socket", "node", "thread", "cgroup")
SCOPE_WORDS = 60
DECODER = json.JSONDecoder()


class _Objects(PerfStat):
    def take(self, line: int, text: str) -> None:
        text = text.strip()
        # The command's own output may be mixed in between the lines.
        if text.startswith("{"):
            place = f"{self.source.place}:{line}"
            for entry in _objects(text, place):
                # An object may hold only a metric that perf derived from others.
                if isinstance(event := entry.get("event"), str) and event and COUNTER_VALUE in entry:
                    self.add(_count(event, entry, place))


def _objects(text: str, place: str) -> Iterator[dict[str, Any]]:
    """Yield the objects of a line; older versions of perf write two on one line."""
    position = 0
    while position < len(text):
        try:
            entry, position = DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            raise DataError("is not valid JSON", place=place, next_step="check that perf stat finished") from None
        if isinstance(entry, dict):
            yield entry
        while position < len(text) and text[position] in " ,\t":
            position += 1


def _count(event: str, entry: dict[str, Any], place: str) -> Reading:
    unit, value = entry.get("unit"), entry[COUNTER_VALUE]
    scopes = [f"{name} {str(entry[name])[:SCOPE_WORDS]}" for name in SCOPES if isinstance(entry.get(name), str | int)]
    is_counted = not (isinstance(value, str) and value.strip() in NOT_COUNTED)
    return Reading(
        event=event,
        value=_number(entry, COUNTER_VALUE, place) if is_counted else None,
        unit=unit if isinstance(unit, str) else "",
        place=place,
        interval_s=_number(entry, "interval", place),
        scope=", ".join(scopes),
        spread=_number(entry, "variance", place),
        running=_number(entry, "pcnt-running", place),
    )


def _number(entry: dict[str, Any], name: str, place: str) -> float | None:
    """Read a member as a number; None if it is missing. perf writes most numbers as text."""
    if name not in entry:
        return None
    value = entry[name]
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
    raise DataError(f"`{name}` is not a number", place=place, next_step="check that perf stat wrote this line")


PERF_STAT_CSV = ResultReader(
    id="perf_stat_csv",
    description="perf stat -x",
    example="perf stat -x, -o counts.csv COMMAND",
    matches=_is_separated,
    read=LineRecords(
        taker=_Fields, broken="is not a line of perf stat -x", next_step="write perf's output with -o FILE"
    ),
)
PERF_STAT_JSON = ResultReader(
    id="perf_stat_json",
    description="perf stat -j",
    example="perf stat -j -o counts.json COMMAND",
    matches=lambda source: any(
        line.startswith("{") and f'"{COUNTER_VALUE}"' in line for line in source.head().splitlines()
    ),
    read=LineRecords(taker=_Objects, broken="is not a line of perf stat -j"),
    is_console=True,
)


# perf's own text has a section per command. Only numbers of LC_ALL=C are unambiguous: others may group by points.
# Indian languages group by two digits above the thousands.
WHOLE = r"(?:[0-9]{1,3}(?:,?[0-9]{3}){0,9}|[0-9]{1,2}(?:,[0-9]{2}){1,9},[0-9]{3})"
TEXT_TIMES = {"time elapsed": "time", "user": "user_time", "sys": "system_time"}


def _text_measures(row: re.Match[str]) -> tuple[Measured]:
    if row["seconds"] is not None:
        metric = Metric(name=TEXT_TIMES[row["which"]], unit="s", direction=Direction.LOWER_IS_BETTER)
        return (Measured(metric=metric, group="seconds"),)
    group = "count" if row["time"] is None else "time"
    reading = Reading(event=row["event"], value=None, unit=row["unit"] or "", place="")
    direction = Direction.LOWER_IS_BETTER if _is_cost(reading) else Direction.UNKNOWN
    return (Measured(metric=Metric(name=reading.event, unit=reading.unit, direction=direction), group=group),)


PERF_STAT_TEXT = line_reader(
    "perf_stat_text",
    Lines(
        mark="Performance counter stats for ",
        title=re.compile(r" Performance counter stats for '(?P<name>.{1,9999})'(?: \([0-9]{1,9} runs\))?:"),
        row=re.compile(
            rf"\s{{1,40}}(?:(?P<seconds>[0-9]{{1,12}}\.[0-9]{{1,12}})(?: \+- [0-9.]{{1,20}})? seconds "
            rf"(?P<which>{'|'.join(TEXT_TIMES)})"
            rf"|(?:(?P<time>{WHOLE}\.[0-9]{{1,9}}) (?P<unit>msec|ns)|(?P<count>{WHOLE}) {{5}}) "
            r"(?P<event>[a-zA-Z]\S{0,200}))"
            r"(?:\s{1,60}#[^()]{0,200})?(?:\s{1,60}\( \+- {1,9}(?P<spread>[0-9]{1,9}\.[0-9]{1,5})% \))?\s{0,60}"
        ),
        measures=_text_measures,
        summary=lambda row, value: _summary(value, None if row["spread"] is None else float(row["spread"])),
        lost=re.compile(r"\s{1,40}(?:<not (?:supported|counted)>|[0-9][0-9.,]{0,40})\s{1,60}[a-zA-Z+].{0,999}"),
        loss="events not counted, or only part of the time, and numbers of another language than that of LC_ALL=C",
    ),
    description="perf stat's console text",
    example="LC_ALL=C perf stat -o counts.txt --append COMMAND",
)
