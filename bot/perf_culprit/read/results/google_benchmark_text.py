"""Google Benchmark's console table: the entries of its JSON, rounded, without the machine."""

import re
from collections.abc import Iterator

from perf_culprit.read.results import google_benchmark
from perf_culprit.read.results.console import NUMBER, lines, number_of
from perf_culprit.read.results.parser import Parsed
from perf_culprit.read.results.source import JsonValue, Source

ID = "google_benchmark_text"
DESCRIPTION = "Google Benchmark's console table"
EXAMPLE = "./bench --benchmark_repetitions=10 | tee bench.txt"

HEADER = re.compile(r"Benchmark {1,1000}Time {1,40}CPU {1,40}Iterations")
ROW = re.compile(
    rf"(?P<name>\S{{1,1000}}) {{1,1000}}(?P<real_time>{NUMBER}) (?P<time_unit>ns|us|ms|s) {{1,40}}"
    rf"(?P<cpu_time>{NUMBER}) (?:ns|us|ms|s) {{1,40}}[0-9]{{1,20}}(?P<counters>| .{{0,5000}})"
)
FAILED = re.compile(r"(?P<name>\S{1,1000}) {1,1000}(?:ERROR OCCURRED|SKIPPED): .{0,5000}")
RATE = re.compile(rf"(?P<name>bytes_per_second|items_per_second)=(?P<value>{NUMBER})(?P<prefix>[kMGT]?)i?/s")
# The library scales bytes by 1024, whether it says so ("Gi/s", since 1.8) or not ("G/s"), and all else by 1000.
BASES = {"bytes_per_second": 1024.0, "items_per_second": 1000.0}
PREFIXES = ("", "k", "M", "G", "T")


def matches(source: Source, /) -> bool:
    text = source.text_or_empty()
    return "Iterations" in text and HEADER.search(text) is not None


def parse(source: Source, /) -> Parsed:
    return google_benchmark.read(list(_entries(source)), JsonValue({}, source.place))


def _entries(source: Source) -> Iterator[JsonValue]:
    for number, line in lines(source):
        place = f"{source.place}:{number}"
        row = ROW.fullmatch(line.rstrip())
        failed = None if row else FAILED.fullmatch(line.rstrip())
        if row is not None:
            times = {name: number_of(row[name]) for name in ("real_time", "cpu_time")}
            yield JsonValue(
                {"name": row["name"], "time_unit": row["time_unit"], **times, **dict(_rates(row["counters"]))}, place
            )
        elif failed is not None:
            yield JsonValue({"name": failed["name"], "error_occurred": True}, place)


def _rates(counters: str) -> Iterator[tuple[str, float]]:
    for rate in RATE.finditer(counters):
        scale = BASES[rate["name"]] ** PREFIXES.index(rate["prefix"])
        yield rate["name"], number_of(rate["value"]) * scale
