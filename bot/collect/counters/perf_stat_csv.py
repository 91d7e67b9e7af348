"""`perf stat -x SEPARATOR`: no header; the fields before the value depend on the options."""

import re
from collections.abc import Iterator

from bot.collect.counters.perf_stat import NOT_COUNTED, Reading, parsed
from bot.collect.parser import Parsed
from bot.collect.source import Source
from bot.errors import DataError

ID = "perf_stat_csv"
DESCRIPTION = "perf stat -x"
EXAMPLE = "perf stat -x, -o counts.csv COMMAND"

SEPARATORS = (",", ";", "\t", "|")
# Nanoseconds are what tells -I's time from a count.
INTERVAL = re.compile(r" {0,20}\d{1,12}\.\d{9}")
NUMBER = re.compile(r"-?\d{1,30}(\.\d{0,20})?")
VALUE = re.compile(rf"{NUMBER.pattern}|<not (counted|supported)>")
UNIT = re.compile(r"[A-Za-z%][A-Za-z%/ ]{0,19}|")
NAME = re.compile(r"[A-Za-z][^\x00-\x1f]{0,500}")
WHOLE = re.compile(r"\d{1,20}")
SPREAD = re.compile(r"\d{1,10}\.\d{0,5}%")
MIN_FIELDS = 5
MATCHED_LINES = 20


def matches(source: Source, /) -> bool:
    head = source.head()
    lines = [line for line in head.splitlines()[:-1] or [head] if _is_data(line)][:MATCHED_LINES]
    return bool(lines) and all(_separated(line) is not None for line in lines)


def parse(source: Source, /) -> Parsed:
    return parsed(source, _readings(source))


def _readings(source: Source) -> Iterator[Reading]:
    for number, line in enumerate(source.lines(), start=1):
        if not _is_data(line):
            continue
        place = f"{source.place}:{number}"
        if (reading := _separated(line.rstrip("\r\n"), place)) is None:
            raise DataError("is no line of perf stat -x", place=place, next_step="write perf's output with -o FILE")
        yield reading


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.startswith("#")


def _separated(line: str, place: str = "") -> Reading | None:
    candidates = (_reading(line.split(separator), place) for separator in SEPARATORS if separator in line)
    return next((reading for reading in candidates if reading is not None), None)


def _reading(fields: list[str], place: str) -> Reading | None:
    """Value, unit and event stand together; before them -I's time, and the scope with its number of CPUs."""
    start = 1 if INTERVAL.fullmatch(fields[0]) else 0
    for at in range(start, min(start + 3, len(fields) - MIN_FIELDS + 1)):
        value, unit, event, *rest = fields[at:]
        if at > start and not NAME.fullmatch(fields[start]):
            return None
        if VALUE.fullmatch(value) and UNIT.fullmatch(unit) and NAME.fullmatch(event):
            break
    else:
        return None
    spread = rest.pop(0) if SPREAD.fullmatch(rest[0]) else None
    if len(rest) < 2 or not WHOLE.fullmatch(rest[0]) or not NUMBER.fullmatch(rest[1]):
        return None
    return Reading(
        event=event,
        value=None if value in NOT_COUNTED else float(value),
        unit=unit,
        place=place,
        interval_s=float(fields[0]) if start else None,
        scope=fields[start] if at > start else "",
        spread=None if spread is None else float(spread[:-1]),
        running=float(rest[1]),
    )
