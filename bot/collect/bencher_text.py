"""Text of `cargo bench` (libtest) and of Criterion's `--output-format bencher`: one median per benchmark."""

import re
from collections.abc import Iterator

from bot.collect.console import NANOSECONDS, NUMBER, lines, number_of
from bot.collect.parser import TIME, Parsed, from_summary, gathered
from bot.collect.source import Source
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Summary

ID = "bencher_text"
DESCRIPTION = "cargo bench text, Criterion's --output-format bencher"
EXAMPLE = "cargo bench -- --output-format bencher | tee bench.txt"
DOCS = "bencher_text"

MARK = " ... bench:"
# The number after +/- is the samples' range with libtest and their standard deviation with Criterion, and the text
# does not say which of the two wrote it: it is left out.
RESULT = re.compile(
    rf"(?P<value>{NUMBER}) (?P<unit>\S{{1,60}}) \(\+/- {NUMBER}\)(?: = (?P<rate>{NUMBER}) (?P<rate_unit>\S{{1,60}}))?"
)


def matches(source: Source, /) -> bool:
    return MARK in source.text_or_empty()


def parse(source: Source, /) -> Parsed:
    found, skipped = [], 0
    for number, line in lines(source):
        if not line.startswith("test ") or MARK not in line:
            continue
        pairs = list(_benchmarks(line, f"{source.place}:{number}"))
        skipped += not pairs
        found += pairs
    return Parsed(
        benchmarks=gathered(found),
        notes=(f"{skipped} bench lines are left out: not a number with a unit that says which way is good",)
        * bool(skipped),
    )


def _benchmarks(line: str, place: str) -> Iterator[tuple[Benchmark, str]]:
    head, _, tail = line.removeprefix("test ").partition(MARK)
    result = RESULT.fullmatch(tail.strip())
    metric = None if result is None else _metric(result["unit"])
    if result is None or metric is None:
        return
    name = head.strip()
    median = Summary(value=number_of(result["value"]), statistic="median")
    yield from_summary(name, metric=metric, summary=median, place=place), place
    rate = _metric(result["rate_unit"]) if result["rate"] else None
    if rate is not None:
        yield from_summary(name, metric=rate, summary=Summary(value=number_of(result["rate"])), place=place), place


def _metric(unit: str) -> Metric | None:
    """`ns/iter` is a time, any other cost per iteration named by its unit, `MB/s` a throughput."""
    if unit.endswith("/s"):
        return Metric(name="throughput", unit=unit, direction=Direction.HIGHER_IS_BETTER)
    cost, _, per = unit.rpartition("/")
    if per != "iter":
        return None
    return Metric(name=TIME if cost in NANOSECONDS else cost, unit=cost, direction=Direction.LOWER_IS_BETTER)
