"""Criterion's own console text: `NAME  time:  [low estimate high]`."""

import re

from bot.collect.console import NUMBER, TIME_UNIT, lines, nanoseconds
from bot.collect.parser import TIME, Parsed, from_summary, gathered
from bot.collect.source import Source
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Summary

ID = "criterion_text"
DESCRIPTION = "Criterion's console text"
EXAMPLE = "cargo bench | tee bench.txt"
DOCS = "criterion_text"

MARK = " time:"
NANOSECOND_TIME = Metric(name=TIME, unit="ns", direction=Direction.LOWER_IS_BETTER)
INTERVAL = re.compile(rf"\[({NUMBER}) ({TIME_UNIT}) ({NUMBER}) ({TIME_UNIT}) ({NUMBER}) ({TIME_UNIT})\]")
ANYWHERE = re.compile(rf" time: {{1,20}}\[{NUMBER} {TIME_UNIT} {NUMBER} {TIME_UNIT} ")
# Criterion's default; the text does not say where a suite chose another.
CONFIDENCE_LEVEL = 0.95


def matches(source: Source, /) -> bool:
    return ANYWHERE.search(source.text_or_empty()) is not None


def parse(source: Source, /) -> Parsed:
    found = []
    previous = ""
    for number, line in lines(source):
        head, mark, tail = line.rpartition(MARK)
        # The `change:` block has percentages in these brackets, so it does not match.
        interval = INTERVAL.fullmatch(tail.strip()) if mark else None
        if interval is not None:
            # A name that is too long for its column stands on the line before.
            place = f"{source.place}:{number}"
            found.append((_benchmark(head.strip() or previous.strip(), interval, place), place))
        previous = line
    return Parsed(benchmarks=gathered(found))


def _benchmark(name: str, interval: re.Match[str], place: str) -> Benchmark:
    low, estimate, high = (nanoseconds(interval[i], interval[i + 1]) for i in (1, 3, 5))
    summary = Summary(
        value=estimate,
        # The slope of a linear fit where Criterion has one, else the mean.
        statistic="estimate",
        confidence_interval=(low, high),
        confidence_level=CONFIDENCE_LEVEL,
    )
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=place)
