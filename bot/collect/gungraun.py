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

# What a run costs. A hit of a near cache may be good news (no miss) or bad (one access more): those are left out.
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
    rows = list(_rows(source))
    costs = [(_benchmark(name, metric, value, place), place) for name, metric, value, place in rows if metric in COSTS]
    others = sorted({metric for _, metric, _, _ in rows if metric not in COSTS})
    return Parsed(
        benchmarks=gathered(costs),
        notes=(f"unknown which way is good; left out: {', '.join(others)}",) * bool(others),
    )


def _rows(source: Source) -> Iterator[tuple[str, str, float, str]]:
    name = ""
    for number, line in lines(source):
        row = ROW.match(line)
        if row is None:
            name = line.strip() if BENCHMARK.fullmatch(line) else name
        elif name and is_number(row["value"]):
            yield name, row["metric"], number_of(row["value"]), f"{source.place}:{number}"


def _benchmark(name: str, metric: str, value: float, place: str) -> Benchmark:
    cost = Metric(name=metric.lower().replace(" ", "_"), unit="", direction=Direction.LOWER_IS_BETTER)
    return from_samples(name, metric=cost, samples=(value,), place=place)
