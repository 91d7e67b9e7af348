"""Gungraun's (iai-callgrind's) console text: exact counts of Valgrind, a block per benchmark."""

import re
from collections.abc import Iterator

from bot.collect.console import NUMBER, is_number, lines, number_of
from bot.collect.parser import Parsed, from_samples, gathered
from bot.collect.source import Source
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark

ID = "gungraun"
DESCRIPTION = "Gungraun (iai-callgrind) console text"
EXAMPLE = "cargo bench | tee bench.txt"
DOCS = "gungraun"

# What a run costs. A hit of a near cache may be good news (no miss) or bad (one access more): nothing says which.
COSTS = frozenset({"Instructions", "Total read+write", "RAM Hits", "Estimated Cycles", "Total bytes", "Total blocks"})
BENCHMARK = re.compile(r"\S+::\S+(?: \S.{0,10000})?")
ROW = re.compile(
    rf" {{2,8}}(?P<metric>[A-Z][A-Za-z0-9+() -]{{1,40}}): {{1,60}}(?P<value>{NUMBER})\|(?:N/A|{NUMBER}) {{1,40}}\("
)
MARK = "Instructions:"


def matches(source: Source, /) -> bool:
    text = source.text_or_empty()
    return MARK in text and any(ROW.match(line) for _, line in lines(source))


def parse(source: Source, /) -> Parsed:
    return Parsed(benchmarks=gathered((_benchmark(*row), row[-1]) for row in _rows(source)))


def _rows(source: Source) -> Iterator[tuple[str, str, float, str]]:
    name = ""
    for number, line in lines(source):
        row = ROW.match(line)
        if row is None:
            name = line.strip() if BENCHMARK.fullmatch(line) else name
        elif name and is_number(row["value"]):
            yield name, row["metric"], number_of(row["value"]), f"{source.place}:{number}"


def _benchmark(name: str, metric: str, value: float, place: str) -> Benchmark:
    direction = Direction.LOWER_IS_BETTER if metric in COSTS else Direction.UNKNOWN
    count = Metric(name=metric.lower().replace(" ", "_"), unit="", direction=direction)
    return from_samples(name, metric=count, samples=(value,), place=place)
