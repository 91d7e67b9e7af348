"""Reports on whole systems: web pages by Lighthouse, databases by ClickBench."""

from collections.abc import Iterator
from typing import Any, Final

from perf_culprit.model.run import Benchmark, Direction, Metric
from perf_culprit.read.results.json_value import JsonValue
from perf_culprit.read.results.parsed import SECOND_TIME, Parsed, ResultReader, from_samples, gathered, utc_time
from perf_culprit.read.results.source import Source, json_object

LIGHTHOUSE_UNITS: Final = {"millisecond": "ms", "unitless": ""}
SCORE: Final = Metric(name="performance_score", unit="", direction=Direction.HIGHER_IS_BETTER)


def _read_lighthouse(source: Source) -> Parsed:
    """Read a report: one load of a page, so one sample. Other audits count a page's content, or are estimates."""
    root = source.root()
    audits = dict(root.at("audits").members())
    timed = {
        name: audit
        for name, audit in audits.items()
        if audit.peek("scoreDisplayMode") == "numeric" and str(audit.peek("numericUnit")) in LIGHTHOUSE_UNITS
    }
    page = root.at("requestedUrl").text()
    if not timed:
        raise root.error("is the report of a page that Lighthouse could not measure: see its `runtimeError`")
    benchmarks = [
        from_samples(page, metric=_lighthouse_metric(name, audit), samples=(value.number(),), place=value.place)
        for name, audit in timed.items()
        if (value := audit.find("numericValue")) is not None
    ]
    performance = root.at("categories").find("performance")
    if performance is not None and (score := performance.find_number("score")) is not None:
        benchmarks.append(from_samples(page, metric=SCORE, samples=(score,), place=root.place))
    return Parsed(benchmarks=tuple(benchmarks), time=utc_time(root.peek("fetchTime")))


def _lighthouse_metric(name: str, audit: JsonValue) -> Metric:
    unit = LIGHTHOUSE_UNITS[audit.at("numericUnit").text()]
    return Metric(name=name.replace("-", "_"), unit=unit, direction=Direction.LOWER_IS_BETTER)


LIGHTHOUSE = ResultReader(
    id="lighthouse",
    description="Lighthouse JSON",
    example="lighthouse URL --output json --output-path page.json",
    matches=json_object(lambda root: "lighthouseVersion" in root and isinstance(root.get("audits"), dict)),
    read=_read_lighthouse,
)


COLD_TIME: Final = Metric(name="cold_time", unit="s", direction=Direction.LOWER_IS_BETTER)
CLICKBENCH_TOTALS: Final = {
    "load_time": Metric(name="load_time", unit="s", direction=Direction.LOWER_IS_BETTER),
    "data_size": Metric(name="data_size", unit="B", direction=Direction.LOWER_IS_BETTER),
}


def _is_clickbench(root: dict[str, Any]) -> bool:
    rows = root.get("result")
    return "system" in root and isinstance(rows, list) and bool(rows) and all(isinstance(row, list) for row in rows)


def _read_clickbench(source: Source) -> Parsed:
    """Read queries, each run three times, the first time with cold caches."""
    root = source.root()
    rows = list(root.at("result").elements())
    failed = [f"Q{i}" for i, row in enumerate(rows) if None in row.value]
    system = root.at("system").text()
    totals = [
        (from_samples(system, metric=metric, samples=(number,), place=root.place), root.place)
        for name, metric in CLICKBENCH_TOTALS.items()
        if (number := root.find_number(name)) is not None
    ]
    queries = [pair for i, row in enumerate(rows) for pair in _clickbench_query(f"{system} Q{i}", row)]
    return Parsed(
        benchmarks=gathered([*totals, *queries]),
        notes=(f"executions without a time are left out, of: {', '.join(failed)}",) * bool(failed),
    )


def _clickbench_query(name: str, row: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    executions = list(row.elements())
    for metric, part in ((COLD_TIME, executions[:1]), (SECOND_TIME, executions[1:])):
        if samples := [execution.number() for execution in part if execution.value is not None]:
            yield from_samples(name, metric=metric, samples=samples, place=row.place), row.place


CLICKBENCH = ResultReader(
    id="clickbench",
    description="ClickBench's results (JSON)",
    example="the file in results/ that ClickBench's benchmark.sh is made into",
    matches=json_object(_is_clickbench),
    read=_read_clickbench,
)
