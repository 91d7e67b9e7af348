"""C++ benchmarks other than Google Benchmark: Catch2 (XML and text), nanobench and LNT."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perf_culprit.errors import DataError, list_names
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.run import TIME, Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.console import NUMBER, TIME_UNIT, lines, nanoseconds, qualified
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.json_value import JsonValue, are_objects
from perf_culprit.read.results.parsed import (
    NANOSECOND_TIME,
    SECOND_TIME,
    Parsed,
    ResultReader,
    from_samples,
    from_summary,
    gathered,
    lost,
    unique,
)
from perf_culprit.read.results.source import (
    Source,
    attribute_number,
    has_root,
    parse_xml,
)

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

XML_SCOPES = ("TestCase", "Section")
XML_ROOTS = ("<Catch2TestRun", "<Catch ", "<Catch>")
RUN_AGAIN = "run the benchmark again with -r xml"


@dataclass(frozen=True, kw_only=True, slots=True)
class _XmlResult:
    """A `BenchmarkResults` element, with the test case and sections around it."""

    scope: str
    name: str
    element: "Element"
    place: str


def _read_catch2_xml(source: Source) -> Parsed:
    """Read the mean and standard deviation with their intervals, in ns, of versions 2 and 3."""
    results = list(_xml_results(parse_xml(source, next_step=RUN_AGAIN), source.place))
    names = qualified(((result.scope, result.name) for result in results), separator="/")
    good = [result for result in results if result.element.find("failed") is None]
    return Parsed(
        benchmarks=unique((_xml_benchmark(names[result.scope, result.name], result), result.place) for result in good),
        lost=tuple(
            lost(names[result.scope, result.name], failed.get("message"))
            for result in results
            if (failed := result.element.find("failed")) is not None
        ),
        notes=tuple(_xml_failure(result) for result in results if result.element.find("failed") is not None),
    )


def _xml_results(root: "Element", file: str) -> Iterator[_XmlResult]:
    # An explicit stack: a foreign file may be nested deeper than Python's recursion limit.
    stack: list[tuple[Element, str]] = [(root, "")]
    while stack:
        element, scope = stack.pop()
        if element.tag in XML_SCOPES:
            name = (element.get("name") or "").strip()
            scope = f"{scope}/{name}" if scope else name
            if len(scope) > FILE_LIMITS.scope_characters:
                raise DataError("nests sections with endless names", place=file, next_step=RUN_AGAIN)
        if element.tag == "BenchmarkResults":
            name = element.get("name") or ""
            yield _XmlResult(scope=scope, name=name, element=element, place=f"{file}: {shown(name)}")
        stack.extend((child, scope) for child in reversed(element))


def _xml_benchmark(name: str, result: _XmlResult) -> Benchmark:
    mean, deviation = result.element.find("mean"), result.element.find("standardDeviation")
    if mean is None:
        raise DataError("has no mean", place=result.place, next_step=RUN_AGAIN)
    low, high, level = (_xml_number(mean, attribute, result) for attribute in ("lowerBound", "upperBound", "ci"))
    if (value := _xml_number(mean, "value", result)) is None:
        raise DataError("has a mean without a value", place=result.place, next_step=RUN_AGAIN)
    count = result.element.get("samples", "")
    summary = Summary(
        value=value,
        statistic="mean",
        count=int(count) if count.isdecimal() and len(count) < FILE_LIMITS.number_characters else None,
        standard_deviation=None if deviation is None else _xml_number(deviation, "value", result),
        confidence_interval=None if low is None or high is None else (low, high),
        confidence_level=None if low is None or high is None else level,
    )
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=result.place)


def _xml_number(element: "Element", attribute: str, result: _XmlResult) -> float | None:
    return attribute_number(element, attribute, place=result.place, next_step=RUN_AGAIN)


def _xml_failure(result: _XmlResult) -> str:
    failed = result.element.find("failed")
    message = "" if failed is None else (failed.get("message") or "").strip()
    return f"`{shown(result.name)}` failed" + (f": {shown(message)}" if message else "")


CATCH2_XML = ResultReader(
    id="catch2_xml",
    description="Catch2's XML (-r xml)",
    example="./tests '[!benchmark]' -r xml > bench.xml",
    matches=lambda source: has_root(source, XML_ROOTS),
    read=_read_catch2_xml,
    aliases=("catch2",),
    smaller="lower --benchmark-samples",
)


# The last column is `estimated` or, from 3.5 on, `est run time`; without analysis it is `mean`.
TEXT_HEADER = re.compile(
    r"benchmark name {2,200}samples {2,200}iterations {2,200}(?P<last>estimated|est run time|mean)"
)
TEXT_COUNTS = re.compile(rf"([0-9]{{1,15}}) ([0-9]{{1,15}}) ({NUMBER}) ({TIME_UNIT})")
TEXT_TIMES = re.compile(rf"({NUMBER}) ({TIME_UNIT}) ({NUMBER}) ({TIME_UNIT}) ({NUMBER}) ({TIME_UNIT})")
TEXT_FAILED = "Benchmark failed ("
PROGRAM_RULE, TITLE_RULE, END_RULE = "~~~~~~~~", "--------", "========"
# Catch2's default. The text does not state another chosen level (--benchmark-confidence-interval).
CATCH2_LEVEL = 0.95


@dataclass(kw_only=True, slots=True)
class _TextRow:
    """One benchmark, with times in ns. `program` numbers the programs whose outputs the file holds."""

    program: int
    scope: str
    name: str
    place: str
    count: int
    mean: float | None = None
    interval: tuple[float, float] | None = None
    standard_deviation: float | None = None


@dataclass(kw_only=True, slots=True)
class _TextReader:
    """A line reader. `part` is the current part of the output: title, table header, table, or outside."""

    file: str
    rows: list[_TextRow] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    part: str = "outside"
    program: int = 0
    title: list[str] = field(default_factory=list)
    scope: str = ""
    analysed: bool = True
    wrapped: list[str] = field(default_factory=list)

    def read(self, line: str, number: int) -> None:
        if line.startswith((PROGRAM_RULE, END_RULE)):
            self.part = "outside"
            self.program += line.startswith(PROGRAM_RULE)
        elif line.startswith(TITLE_RULE):
            self._read_rule()
        elif (header := TEXT_HEADER.match(line)) is not None:
            self.part, self.analysed = "header", header["last"] != "mean"
        elif self.part == "title":
            self.title.append(line.strip())
        elif self.part == "table":
            self._read_row(line, number)

    def _read_rule(self) -> None:
        if self.part == "header":
            self.part, self.wrapped = "table", []
        elif self.part == "title":
            self.part, self.scope = "outside", "/".join(self.title)
        else:
            self.part, self.title = "title", []

    def _read_row(self, line: str, number: int) -> None:
        fields = line.split()
        if (counts := TEXT_COUNTS.fullmatch(" ".join(fields[-4:]))) is not None:
            name, place = " ".join((*self.wrapped, *fields[:-4])), f"{self.file}:{number}"
            row = _TextRow(program=self.program, scope=self.scope, name=name, place=place, count=int(counts[1]))
            if not self.analysed:
                row.mean = nanoseconds(counts[3], counts[4])
            self.rows.append(row)
            self.wrapped = []
        elif self.rows and (times := TEXT_TIMES.fullmatch(" ".join(fields[:7]))) is not None:
            _add_times(self.rows[-1], [nanoseconds(times[i], times[i + 1]) for i in (1, 3, 5)])
        elif TEXT_FAILED in line:
            head, _, reason = line.partition(TEXT_FAILED)
            name = " ".join((*self.wrapped, *head.split()))
            self.failures.append(f"`{shown(name)}` failed: {shown(reason.strip().removesuffix(')'))}")
            self.wrapped = []
        elif fields:
            self.wrapped.append(" ".join(fields))
        else:
            self.wrapped = []


def _read_catch2_text(source: Source) -> Parsed:
    """Read a table per test case, three rows per benchmark."""
    reader = _TextReader(file=source.place)
    for number, line in lines(source):
        reader.read(line, number)
    names = qualified(((row.scope, row.name) for row in reader.rows), separator="/")
    programs: dict[int, list[tuple[Benchmark, str]]] = {}
    for row in reader.rows:
        if row.mean is not None:
            benchmark = _text_benchmark(names[row.scope, row.name], row.mean, row)
            programs.setdefault(row.program, []).append((benchmark, row.place))
    # A name twice in one program is two benchmarks. In several programs' outputs it is one that was measured again.
    placed = [(benchmark, source.place) for pairs in programs.values() for benchmark in unique(pairs)]
    cut = sum(row.mean is None for row in reader.rows)
    return Parsed(
        benchmarks=gathered(placed), notes=(*reader.failures, *(f"{cut} benchmarks have no times",) * bool(cut))
    )


def _add_times(row: _TextRow, times: list[float]) -> None:
    value, low, high = times
    if row.mean is None:
        row.mean, row.interval = value, (low, high)
    elif row.standard_deviation is None:
        row.standard_deviation = value


def _text_benchmark(name: str, mean: float, row: _TextRow) -> Benchmark:
    summary = Summary(
        value=mean,
        statistic="mean",
        count=row.count,
        standard_deviation=row.standard_deviation,
        confidence_interval=row.interval,
        confidence_level=None if row.interval is None else CATCH2_LEVEL,
    )
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=row.place)


CATCH2_TEXT = ResultReader(
    id="catch2_text",
    description="Catch2's console text",
    example="./tests '[!benchmark]' | tee bench.txt",
    matches=lambda source: TEXT_HEADER.search(source.text_or_empty()) is not None,
    read=_read_catch2_text,
    is_console=True,
    aliases=("catch2",),
    smaller="lower --benchmark-samples",
)


NANOBENCH_ELAPSED = "elapsed"
NANOBENCH_METRICS = {
    NANOBENCH_ELAPSED: SECOND_TIME,
    "instructions": Metric(name="instructions", unit="instructions", direction=Direction.LOWER_IS_BETTER),
}


def _read_nanobench(source: Source) -> Parsed:
    """Read seconds per iteration of each epoch, and counts of `perf`."""
    results = list(source.root().at("results").elements())
    keys = [(str(entry.peek("title") or ""), entry.at("name").text()) for entry in results]
    names = qualified(keys, separator="/")
    groups = (_nanobench_benchmarks(names[key], entry) for key, entry in zip(keys, results, strict=True))
    return Parsed(benchmarks=unique((one, entry) for pairs in groups for one, entry in pairs))


def _nanobench_benchmarks(name: str, entry: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    """Yield a result's benchmarks, without counters that are all 0: nanobench writes zeros if the kernel has none."""
    measurements = entry.at("measurements")
    for member, metric in NANOBENCH_METRICS.items():
        samples = [one.at(member).number() for one in measurements.elements()]
        if member == NANOBENCH_ELAPSED or any(samples):
            benchmark = from_samples(name, metric=metric, samples=samples, place=f"{measurements.place}[].{member}")
            yield benchmark, entry.place


NANOBENCH = ResultReader(
    id="nanobench",
    description="nanobench JSON (templates::json())",
    example="bench.render(ankerl::nanobench::templates::json(), out)",
    matches=lambda source: are_objects(source.member("results"), "measurements", "epochs", "name"),
    read=_read_nanobench,
)


LNT_TIMES = {"exec": TIME, "execution_time": TIME, "compile": "compile_time", "compile_time": "compile_time"}
LNT_OTHERS = {
    "score": Metric(name="score", unit="", direction=Direction.HIGHER_IS_BETTER),
    **{
        name: Metric(name=name, unit="B", direction=Direction.LOWER_IS_BETTER)
        for name in ("code_size", "mem_bytes", "max_rss")
    },
}


def _read_lnt(source: Source) -> Parsed:
    """Read a report. Names end with the metric in version 1; version 2 has a list of numbers per metric of a test."""
    root = source.root()
    series = list(_lnt_first(root) if root.find("Tests") is not None else _lnt_second(root))
    named = [(name, metric, values) for name, text, values in series if (metric := _lnt_metric(text)) is not None]
    left_out = sorted({shown(text) for _, text, _ in series if _lnt_metric(text) is None})
    notes = (f"left out because LNT does not say what they mean: {list_names(left_out, most=3)}",) * bool(left_out)
    return Parsed(
        benchmarks=gathered(
            (from_samples(name, metric=metric, samples=values.numbers(), place=values.place), values.place)
            for name, metric, values in named
        ),
        notes=notes,
    )


def _lnt_first(root: JsonValue) -> Iterator[tuple[str, str, JsonValue]]:
    for test in root.at("Tests").elements():
        name, _, metric = test.at("Name").text().removeprefix("nts.").rpartition(".")
        yield name, metric, test.at("Data")


def _lnt_second(root: JsonValue) -> Iterator[tuple[str, str, JsonValue]]:
    for test in root.at("tests").elements():
        for metric, value in test.members():
            if metric != "name" and not isinstance(value.value, str | dict):
                numbers = value.value if isinstance(value.value, list) else [value.value]
                yield test.at("name").text(), metric, JsonValue(numbers, value.place)


def _lnt_metric(text: str) -> Metric | None:
    if (name := LNT_TIMES.get(text)) is not None:
        return Metric(name=name, unit="s", direction=Direction.LOWER_IS_BETTER)
    return LNT_OTHERS.get(text)


LNT = ResultReader(
    id="lnt",
    description="LLVM LNT's report (JSON)",
    example="lnt runtest test-suite …: report.json",
    matches=lambda source: (
        are_objects(source.member("Tests"), "Name", "Data")
        or (isinstance(source.member("run"), dict) and are_objects(source.member("tests"), "name"))
    ),
    read=_read_lnt,
)
