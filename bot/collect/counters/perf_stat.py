"""What `perf stat` counted, in either of its formats: benchmarks of one command, or counters over time (-I)."""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from bot.collect.content import shown
from bot.collect.counters.reader import counter, names_shown
from bot.collect.counters.table import Readings
from bot.collect.parser import TIME_UNITS, Parsed, from_summary, gathered
from bot.collect.source import Source
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Summary

NOT_COUNTED = ("<not counted>", "<not supported>")
# Work and its hindrances: for one command, fewer is better. Other events may be good or bad news.
COSTS = frozenset(
    {
        *("cycles", "cpu-cycles", "ref-cycles", "bus-cycles", "instructions", "branches", "branch-instructions"),
        *("task-clock", "cpu-clock", "duration_time", "user_time", "system_time", "context-switches", "cs"),
        *("cpu-migrations", "migrations", "page-faults", "faults", "minor-faults", "major-faults"),
    }
)
COST_ENDINGS = ("-misses", "-faults", "-stalls")
MODIFIERS = re.compile(r":[ukhGHpPSDIWe]{1,8}$")
MAX_READINGS = 1_000_000
# perf's spread is the standard error of the mean of the repetitions: 68.27% of a normal distribution.
STANDARD_ERROR_LEVEL = 0.6827


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """One event's value. `interval_s` with -I; `scope` is a CPU, a socket, …; `spread` in % with -r."""

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


def parsed(source: Source, readings: Iterable[Reading]) -> Parsed:
    """Benchmarks of the counts of one command, named after the file; a counter table where there are intervals."""
    listed = list(islice(readings, MAX_READINGS + 1))
    if len(listed) > MAX_READINGS:
        raise source.error(f"holds more than {MAX_READINGS:,} readings", "use longer intervals (-I)")
    if not listed:
        raise source.error("holds no event", "check that perf stat ran")
    notes = [f"{source.place}: {note}" for note in _notes(listed)]
    table = Readings(source.place)
    for reading in listed:
        if reading.interval_s is not None:
            value = math.nan if reading.value is None else reading.value
            table.add(reading.interval_s, counter(reading.name, reading.unit), value)
    if table:
        built, more = table.build("perf stat")
        return Parsed(counters=(built,), notes=(*notes, *more))
    counted = [reading for reading in listed if reading.value is not None]
    if not counted:
        raise source.error(
            f"no event was counted ({names_shown([shown(reading.event) for reading in listed])})",
            "use events that this machine supports, such as task-clock",
        )
    # The output names no command; the file's name tells one command from another.
    name = source.stem or "perf stat"
    return Parsed(benchmarks=gathered(_benchmark(name, reading) for reading in counted), notes=tuple(notes))


def _benchmark(name: str, reading: Reading) -> tuple[Benchmark, str]:
    value = reading.value or 0.0
    direction = Direction.LOWER_IS_BETTER if _is_cost(reading) else Direction.UNKNOWN
    metric = Metric(name=reading.name, unit=reading.unit, direction=direction)
    error = abs(value) * reading.spread / 100 if reading.spread else None
    summary = Summary(
        value=value,
        statistic="value" if reading.spread is None else "mean",
        confidence_interval=None if error is None else (value - error, value + error),
        confidence_level=None if error is None else STANDARD_ERROR_LEVEL,
    )
    return from_summary(name, metric=metric, summary=summary, place=reading.place), reading.place


def _is_cost(reading: Reading) -> bool:
    event = MODIFIERS.sub("", reading.event)
    return event in COSTS or event.endswith(COST_ENDINGS) or reading.unit in TIME_UNITS


def _notes(readings: list[Reading]) -> Iterator[str]:
    missing = list(dict.fromkeys(shown(reading.event) for reading in readings if reading.value is None))
    if missing:
        yield f"not counted or not supported, at least at times: {names_shown(missing)}"
    partly = [r for r in readings if r.value is not None and r.running is not None and 0 < r.running < 100]
    if shared := list(dict.fromkeys(shown(reading.event) for reading in partly)):
        least = min(reading.running or 0 for reading in partly)
        yield f"counted only part of the time (at least {least:g}%), so estimated by perf: {names_shown(shared)}"
