"""Text of benchmark.js: `NAME x 11,465 ops/sec ±1.12% (91 runs sampled)`."""

import re

from bot.collect.console import NUMBER, lines, number_of
from bot.collect.parser import Parsed, from_summary, gathered
from bot.collect.source import Source
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Summary

ID = "benchmarkjs_text"
DESCRIPTION = "benchmark.js text"
EXAMPLE = "node bench.js | tee bench.txt"
DOCS = "benchmarkjs_text"

THROUGHPUT = Metric(name="throughput", unit="ops/sec", direction=Direction.HIGHER_IS_BETTER)
MARK = " ops/sec "
RESULT = re.compile(
    rf"(?P<rate>{NUMBER}) ops/sec (?:\N{{PLUS-MINUS SIGN}}|\+-|\+/-) ?(?P<error>{NUMBER})%"
    r" \((?P<runs>[0-9]{1,15}) runs? sampled\)"
)
# benchmark.js takes the margin of error from the t distribution at 95 %, fixed in its source.
CONFIDENCE_LEVEL = 0.95


def matches(source: Source, /) -> bool:
    text = source.text_or_empty()
    return MARK in text and " sampled)" in text


def parse(source: Source, /) -> Parsed:
    found = []
    for number, line in lines(source):
        head, mark, tail = line.rpartition(" x ")
        result = RESULT.fullmatch(tail.strip()) if mark and MARK in tail else None
        if result is not None:
            place = f"{source.place}:{number}"
            found.append((_benchmark(head.strip(), result, place), place))
    return Parsed(benchmarks=gathered(found))


def _benchmark(name: str, result: re.Match[str], place: str) -> Benchmark:
    """The rate is the inverse of the mean time, and the error is relative to that time: both ends are inverted."""
    rate, error = number_of(result["rate"]), number_of(result["error"]) / 100.0
    interval = (rate / (1.0 + error), rate / (1.0 - error)) if error < 1.0 else None
    summary = Summary(
        value=rate,
        statistic="mean",
        count=int(result["runs"]),
        confidence_interval=interval,
        confidence_level=None if interval is None else CONFIDENCE_LEVEL,
    )
    return from_summary(name, metric=THROUGHPUT, summary=summary, place=place)
