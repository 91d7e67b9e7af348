"""Bencher: its metric format, and its stored results."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from perf_culprit.model.run import TIME, Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.json_value import JsonValue, are_objects
from perf_culprit.read.results.parsed import (
    Parsed,
    ResultReader,
    direction_of,
    from_summary,
    full_hash,
    gathered,
    newest,
    unique,
    utc_time,
    writable,
)
from perf_culprit.read.results.source import Source

BOUNDS_LEFT_OUT = "lower_value and upper_value are left out: the format does not say what they bound"

_LOWER, _HIGHER = Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER
# The measures that Bencher itself defines. The file does not define a user's own measures.
BENCHER_MEASURES = {
    "latency": Metric(name=TIME, unit="ns", direction=_LOWER),
    "throughput": Metric(name="throughput", unit="ops/s", direction=_HIGHER),
    "instructions": Metric(name="instructions", unit="", direction=_LOWER),
    "estimated-cycles": Metric(name="estimated-cycles", unit="", direction=_LOWER),
    "total-cycles": Metric(name="total-cycles", unit="", direction=_LOWER),
    "build-time": Metric(name="build_time", unit="s", direction=_LOWER),
    "file-size": Metric(name="file-size", unit="B", direction=_LOWER),
}


def _is_bencher_metrics(source: Source) -> bool:
    root = source.json_or_none()
    benchmarks = root.values() if isinstance(root, dict) else ()
    is_measured = (isinstance(one, dict) and are_objects([*one.values()], "value") for one in benchmarks)
    return bool(benchmarks) and all(is_measured)


def _read_bencher_metrics(source: Source) -> Parsed:
    reports = source.root().members()
    values = [(name, measure, value) for name, measures in reports for measure, value in measures.members()]
    return Parsed(
        benchmarks=unique((_measured(name, measure, value), value.place) for name, measure, value in values),
        notes=(BOUNDS_LEFT_OUT,) * any(_has_bounds(value) for _, _, value in values),
    )


def _has_bounds(value: JsonValue) -> bool:
    return value.find("lower_value") is not None or value.find("upper_value") is not None


def _measured(name: str, measure: str, value: JsonValue) -> Benchmark:
    metric = BENCHER_MEASURES.get(measure) or Metric(name=measure, unit="", direction=Direction.UNKNOWN)
    summary = Summary(value=value.at("value").number())
    return from_summary(name, metric=metric, summary=summary, place=value.place)


BENCHER_METRIC_FORMAT = ResultReader(
    id="bencher_metric_format",
    description="Bencher Metric Format JSON, also within text",
    example="bencher mock > bench.json",
    matches=_is_bencher_metrics,
    read=_read_bencher_metrics,
)


PERF = frozenset({"project", "results", "start_time", "end_time"})
BENCHER_PERF_SERIES = frozenset({"branch", "testbed", "benchmark", "measure", "metrics"})
BENCHER_PERF_REPORT = frozenset({"uuid", "branch", "testbed", "adapter", "start_time"})
EARLIEST = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Result:
    """One number of a `report`, which is one execution on one commit. `version` has the commit's hash."""

    report: str
    version: JsonValue | None
    started: JsonValue
    testbed: str
    benchmark: JsonValue
    measure: JsonValue
    metric: JsonValue


def _is_bencher_perf(source: Source) -> bool:
    root = source.json_or_none()
    if _has(root, PERF):
        return isinstance(root["results"], list) and all(_has(one, BENCHER_PERF_SERIES) for one in root["results"])
    return are_objects(root if isinstance(root, list) else [root], *BENCHER_PERF_REPORT)


def _read_bencher_perf_history(source: Source) -> tuple[Parsed, ...]:
    """Read a run per report. Its suite is the testbed's name, because nothing else is known about the machine.

    `JsonPerf` has a series of metrics per branch, testbed, benchmark and measure. `JsonReport` is one report, or a list
    of them with `expand=true`. Both are in lib/bencher_json/src/project (perf.rs, report.rs) of Bencher 0.6.12.
    """
    root = source.root()
    reports: dict[str, dict[str, _Result]] = {}
    for result in _of_series(root) if _has(root.value, PERF) else _of_reports(root):
        reports.setdefault(result.report, {})[result.metric.at("uuid").text()] = result
    if not reports:
        raise root.error("holds no results; `bencher report list` needs --expand")
    runs = [_stored_run(list(results.values())) for results in reports.values()]
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
            for measure in result.at("measures").elements():
                yield _Result(
                    report=report.at("uuid").text(),
                    version=report.at("branch").at("head").find("version"),
                    started=report.at("start_time"),
                    testbed=report.at("testbed").at("name").text(),
                    benchmark=result.at("benchmark"),
                    measure=measure.at("measure"),
                    metric=measure.at("metric"),
                )


def _stored_run(results: list[_Result]) -> Parsed:
    first = results[0]
    return Parsed(
        benchmarks=gathered((_stored(result), result.metric.place) for result in results),
        commit=None if first.version is None else full_hash(first.version.peek("hash")),
        time=utc_time(first.started.text()),
        suite=writable(first.testbed),
        notes=(BOUNDS_LEFT_OUT,) * any(_has_bounds(result.metric) for result in results),
    )


def _stored(result: _Result) -> Benchmark:
    name = result.measure.at("name").text()
    # Only the part in brackets of "nanoseconds (ns)" is the unit.
    unit = result.measure.at("units").text().rpartition("(")[2].removesuffix(")")
    own = Metric(name=name, unit=unit, direction=direction_of(unit) or Direction.UNKNOWN)
    return from_summary(
        result.benchmark.at("name").text(),
        metric=BENCHER_MEASURES.get(result.measure.at("slug").text(), own),
        summary=Summary(value=result.metric.at("value").number()),
        place=result.metric.place,
    )


def _has(value: Any, names: frozenset[str]) -> bool:
    return isinstance(value, dict) and value.keys() >= names


BENCHER_PERF = ResultReader(
    id="bencher_perf",
    description="Bencher's stored results (bencher perf, bencher report)",
    example="bencher perf PROJECT --branches … --testbeds … --benchmarks … --measures … > perf.json",
    matches=_is_bencher_perf,
    read=lambda source: newest(_read_bencher_perf_history(source)),
    read_history=_read_bencher_perf_history,
)
