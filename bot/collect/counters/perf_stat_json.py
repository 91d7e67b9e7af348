"""`perf stat -j`: one JSON object per event, one per line as a rule."""

import json
import math
from collections.abc import Iterator
from typing import Any

from bot.collect.counters.perf_stat import NOT_COUNTED, Reading, parsed
from bot.collect.parser import Parsed
from bot.collect.source import Source
from bot.errors import DataError

ID = "perf_stat_json"
DESCRIPTION = "perf stat -j"
EXAMPLE = "perf stat -j -o counts.json COMMAND"

VALUE = "counter-value"
SCOPES = ("cpu", "core", "die", "socket", "node", "thread", "cgroup")
SCOPE_WORDS = 60
DECODER = json.JSONDecoder()


def matches(source: Source, /) -> bool:
    return any(line.startswith("{") and f'"{VALUE}"' in line for line in source.head().splitlines())


def parse(source: Source, /) -> Parsed:
    return parsed(source, _readings(source))


def _readings(source: Source) -> Iterator[Reading]:
    for number, line in enumerate(source.lines(), start=1):
        text = line.strip()
        # The command's own output may stand between the lines.
        if not text.startswith("{"):
            continue
        place = f"{source.place}:{number}"
        for entry in _objects(text, place):
            if (reading := _reading(entry, place)) is not None:
                yield reading


def _objects(text: str, place: str) -> Iterator[dict[str, Any]]:
    """Older versions of perf write two objects on one line."""
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


def _reading(entry: dict[str, Any], place: str) -> Reading | None:
    """None for an object that holds only a metric that perf derived from others."""
    event, value = entry.get("event"), entry.get(VALUE)
    if not isinstance(event, str) or not event or VALUE not in entry:
        return None
    unit = entry.get("unit")
    scopes = [f"{name} {str(entry[name])[:SCOPE_WORDS]}" for name in SCOPES if isinstance(entry.get(name), str | int)]
    is_counted = not (isinstance(value, str) and value.strip() in NOT_COUNTED)
    return Reading(
        event=event,
        value=_number(entry, VALUE, place) if is_counted else None,
        unit=unit if isinstance(unit, str) else "",
        place=place,
        interval_s=_number(entry, "interval", place),
        scope=", ".join(scopes),
        spread=_number(entry, "variance", place),
        running=_number(entry, "pcnt-running", place),
    )


def _number(entry: dict[str, Any], name: str, place: str) -> float | None:
    """None where there is no such member. Most of perf's numbers are written as text."""
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
    raise DataError(f"`{name}` is no number", place=place, next_step="check that perf stat wrote this line")
