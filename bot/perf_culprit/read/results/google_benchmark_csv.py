"""Google Benchmark's CSV (`--benchmark_format=csv`): the entries of its JSON as rows, without the machine."""

import csv
from collections.abc import Iterator

from perf_culprit.read.results import google_benchmark
from perf_culprit.read.results.console import is_number, number_of
from perf_culprit.read.results.parser import Parsed
from perf_culprit.read.results.source import JsonValue, Source

ID = "google_benchmark_csv"
DESCRIPTION = "Google Benchmark CSV (--benchmark_format=csv)"
EXAMPLE = "./bench --benchmark_repetitions=10 --benchmark_format=csv > bench.csv"

HEADER = "name,iterations,real_time,cpu_time,time_unit,"
LEAST_CELLS = 10
TEXTS = ("name", "time_unit", "label", "error_message")


def matches(source: Source, /) -> bool:
    return any(line.startswith(HEADER) for line in source.text_or_empty().splitlines())


def parse(source: Source, /) -> Parsed:
    return google_benchmark.read(list(_entries(source)), JsonValue({}, source.place))


def _entries(source: Source) -> Iterator[JsonValue]:
    names: list[str] = []
    for number, line in enumerate(source.text().splitlines(), start=1):
        # Other output, such as the machine's facts, which some redirect to the same file, is in between.
        if line.startswith(HEADER):
            names = line.split(",")
            continue
        try:
            cells = next(csv.reader([line]), [])
        except csv.Error:
            continue
        # A failed benchmark's row ends before the user counters.
        if names and LEAST_CELLS <= len(cells) <= len(names):
            row = {name.strip('"'): cell for name, cell in zip(names, cells, strict=False) if cell}
            numbers = {name: number_of(row[name]) for name in row if name not in TEXTS and is_number(row[name])}
            yield JsonValue(row | numbers, f"{source.place}:{number}")
