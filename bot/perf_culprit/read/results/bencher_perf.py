"""What Bencher stores, as its API and `bencher perf` or `bencher report` give it: results of many commits.

Shapes: `JsonPerf` (a series of metrics per branch, testbed, benchmark and measure) and `JsonReport`, one or a list of
them with `expand=true`, in lib/bencher_json/src/project/perf.rs and report.rs of Bencher 0.6.12.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.bencher_metric_format import BOUNDS_LEFT_OUT, MEASURES, has_bounds
from perf_culprit.read.results.parser import (
    Parsed,
    direction_of,
    from_summary,
    full_hash,
    gathered,
    newest,
    utc_time,
    writable,
)
from perf_culprit.read.results.source import JsonValue, Source, are_objects

ID = "bencher_perf"
DESCRIPTION = "Bencher's stored results (bencher perf, bencher report)"
EXAMPLE = "bencher perf PROJECT --branches … --testbeds … --benchmarks … --measures … > perf.json"

PERF = frozenset({"project", "results", "start_time", "end_time"})
SERIES = frozenset({"branch", "testbed", "benchmark", "measure", "metrics"})
REPORT = frozenset({"uuid", "branch", "testbed", "adapter", "start_time"})
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Result:
    """One number of a `report`, which is one execution on one commit; `version` has the commit's hash."""

    report: str
    version: JsonValue | None
    started: JsonValue
    testbed: str
    benchmark: JsonValue
    measure: JsonValue
    metric: JsonValue


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    if _has(root, PERF):
        return isinstance(root["results"], list) and all(_has(one, SERIES) for one in root["results"])
    return are_objects(root if isinstance(root, list) else [root], *REPORT)


def parse(source: Source, /) -> Parsed:
    """The newest report."""
    return newest(parse_history(source))


def parse_history(source: Source, /) -> tuple[Parsed, ...]:
    """A run per report, its suite the testbed's name: of the machine behind it, nothing else is known.

    A branch that began at another one shows that one's results again; each counts once.
    """
    root = source.root()
    reports: dict[str, dict[str, _Result]] = {}
    for result in _of_series(root) if _has(root.value, PERF) else _of_reports(root):
        reports.setdefault(result.report, {})[result.metric.at("uuid").text()] = result
    if not reports:
        raise root.error("holds no results; `bencher report list` needs --expand")
    runs = [_run(list(results.values())) for results in reports.values()]
    return tuple(sorted(runs, key=lambda run: run.time or EARLIEST))


def _of_series(root: JsonValue) -> Iterator[_Result]:
    for series in root.at("results").elements():
        for point in series.at("metrics").elements():
            yield _Result(
                report=point.at("report").text(),
                version=point.find("version"),
                started=point.at("start_time"),
                testbed=series.at("testbed").at("name").text(),
                benchmark=series.at("benchmark"),
                measure=series.at("measure"),
                metric=point.at("metric"),
            )


def _of_reports(root: JsonValue) -> Iterator[_Result]:
    for report in [root] if isinstance(root.value, dict) else root.elements():
        for result in (one for group in report.elements_of("results") for one in group.elements()):
            for measured in result.at("measures").elements():
                yield _Result(
                    report=report.at("uuid").text(),
                    version=report.at("branch").at("head").find("version"),
                    started=report.at("start_time"),
                    testbed=report.at("testbed").at("name").text(),
                    benchmark=result.at("benchmark"),
                    measure=measured.at("measure"),
                    metric=measured.at("metric"),
                )


def _run(results: list[_Result]) -> Parsed:
    first = results[0]
    return Parsed(
        benchmarks=gathered((_benchmark(result), result.metric.place) for result in results),
        commit=None if first.version is None else full_hash(first.version.peek("hash")),
        time=utc_time(first.started.text()),
        suite=writable(first.testbed),
        notes=(BOUNDS_LEFT_OUT,) * any(has_bounds(result.metric) for result in results),
    )


def _benchmark(result: _Result) -> Benchmark:
    name = result.measure.at("name").text()
    # The words of "nanoseconds (ns)" are for people.
    unit = result.measure.at("units").text().rpartition("(")[2].removesuffix(")")
    own = Metric(name=name, unit=unit, direction=direction_of(unit) or Direction.UNKNOWN)
    return from_summary(
        result.benchmark.at("name").text(),
        metric=MEASURES.get(result.measure.at("slug").text(), own),
        summary=Summary(value=result.metric.at("value").number()),
        place=result.metric.place,
    )


def _has(value: Any, names: frozenset[str]) -> bool:
    return isinstance(value, dict) and value.keys() >= names
