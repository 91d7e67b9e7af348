"""Locust's `PREFIX_stats.csv`: one row per request name, without samples."""

import math
from collections.abc import Iterator

from bot.collect.content import shown
from bot.collect.counters.grid import csv_rows
from bot.collect.counters.reader import ERROR_RATE, RESPONSE_TIME, number_or_none
from bot.collect.parser import Parsed, from_summary, unique
from bot.collect.source import Source
from bot.errors import DataError
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Summary

ID = "locust_stats"
DESCRIPTION = "Locust statistics (PREFIX_stats.csv)"
EXAMPLE = "locust --headless --csv results, then results_stats.csv"

NEEDED = frozenset({"type", "name", "request count", "failure count", "average response time"})
# Other percentile columns differ between Locust's versions.
PERCENTILES = (("50%", "p50_response_time"), ("95%", "p95_response_time"), ("99%", "p99_response_time"))
TOTAL = "Aggregated"


def matches(source: Source, /) -> bool:
    return _columns(source.head().partition("\n")[0].strip().split(",")).keys() >= NEEDED


def parse(source: Source, /) -> Parsed:
    rows = csv_rows(source, delimiter=",")
    _, header = next(rows, (1, []))
    columns = _columns(header)
    if not columns.keys() >= NEEDED:
        raise source.error("is no statistics of Locust", "give the file PREFIX_stats.csv", line=1)
    failed: dict[str, None] = {}
    placed: list[tuple[Benchmark, str]] = []
    for line, cells in rows:
        place = f"{source.place}:{line}"
        if len(cells) != len(header):
            raise DataError(
                f"has {len(cells)} cells, not {len(header)}", place=place, next_step="check the commas of this row"
            )
        row = {name: cells[index].strip() for name, index in columns.items()}
        if row["name"] == TOTAL and not row["type"]:
            continue  # the rows before it, once more
        benchmarks = list(_benchmarks(row, place))
        placed += [(benchmark, place) for benchmark in benchmarks]
        if _number(row, "failure count", place):
            failed[shown(row["name"])] = None
    notes = (f"{source.place}: response times of failed requests are among those of {len(failed)} names",)
    return Parsed(benchmarks=unique(placed), notes=notes if failed else ())


def _benchmarks(row: dict[str, str], place: str) -> Iterator[Benchmark]:
    name = " ".join(filter(None, (row["type"], row["name"])))
    if not (requests := _number(row, "request count", place)):
        return
    if (mean := _number(row, "average response time", place)) is None:
        return
    summary = Summary(
        value=mean,
        statistic="mean",
        count=max(1, int(requests)),
        minimum=_number(row, "min response time", place),
        maximum=_number(row, "max response time", place),
    )
    yield from_summary(name, metric=RESPONSE_TIME, summary=summary, place=place)
    for column, metric_name in PERCENTILES:
        if (value := _number(row, column, place)) is not None:
            metric = Metric(name=metric_name, unit="ms", direction=Direction.LOWER_IS_BETTER)
            yield from_summary(name, metric=metric, summary=Summary(value=value, statistic=metric_name), place=place)
    failures = _number(row, "failure count", place) or 0.0
    yield from_summary(name, metric=ERROR_RATE, summary=Summary(value=100 * failures / requests), place=place)


def _number(row: dict[str, str], column: str, place: str) -> float | None:
    """None where the column or its value is missing."""
    if (number := number_or_none(row.get(column, ""))) is None or math.isinf(number):
        raise DataError(f"`{shown(row[column])}` is no number", place=f"{place}: {column}", next_step="check this cell")
    return None if math.isnan(number) else number


def _columns(header: list[str]) -> dict[str, int]:
    return {name.strip().strip('"').lower(): index for index, name in enumerate(header)}
