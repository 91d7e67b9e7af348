"""Catch2's XML (`-r xml`), versions 2 and 3: mean and standard deviation with intervals, in ns."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Summary
from perf_culprit.read.results.console import qualified
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parser import NANOSECOND_TIME, Parsed, from_summary, unique
from perf_culprit.read.results.source import Source
from perf_culprit.read.results.xml_tree import MAX_NUMBER_CHARACTERS, has_root, number, parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


ID = "catch2_xml"
DESCRIPTION = "Catch2's XML (-r xml)"
EXAMPLE = "./tests '[!benchmark]' -r xml > bench.xml"

SCOPES = ("TestCase", "Section")
ROOTS = ("<Catch2TestRun", "<Catch ", "<Catch>")
MAX_SCOPE_CHARACTERS = 10_000
RUN_AGAIN = "run the benchmark again with -r xml"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Result:
    """A `BenchmarkResults` element and the test case and sections around it."""

    scope: str
    name: str
    element: "Element"
    place: str


def matches(source: Source, /) -> bool:
    return has_root(source, ROOTS)


def parse(source: Source, /) -> Parsed:
    results = list(_results(parse_xml(source, next_step=RUN_AGAIN), source.place))
    names = qualified(((result.scope, result.name) for result in results), separator="/")
    good = [result for result in results if result.element.find("failed") is None]
    return Parsed(
        benchmarks=unique((_benchmark(names[result.scope, result.name], result), result.place) for result in good),
        notes=tuple(_failure(result) for result in results if result.element.find("failed") is not None),
    )


def _results(root: "Element", file: str) -> Iterator[_Result]:
    # A stack of our own: a stranger's file may be nested deeper than Python's.
    stack: list[tuple[Element, str]] = [(root, "")]
    while stack:
        element, scope = stack.pop()
        if element.tag in SCOPES:
            name = (element.get("name") or "").strip()
            scope = f"{scope}/{name}" if scope else name
            if len(scope) > MAX_SCOPE_CHARACTERS:
                raise DataError("nests sections with endless names", place=file, next_step=RUN_AGAIN)
        if element.tag == "BenchmarkResults":
            name = element.get("name") or ""
            yield _Result(scope=scope, name=name, element=element, place=f"{file}: {shown(name)}")
        stack.extend((child, scope) for child in reversed(element))


def _benchmark(name: str, result: _Result) -> Benchmark:
    mean, deviation = result.element.find("mean"), result.element.find("standardDeviation")
    if mean is None:
        raise DataError("has no mean", place=result.place, next_step=RUN_AGAIN)
    low, high, level = (_number(mean, attribute, result) for attribute in ("lowerBound", "upperBound", "ci"))
    if (value := _number(mean, "value", result)) is None:
        raise DataError("has a mean without a value", place=result.place, next_step=RUN_AGAIN)
    count = result.element.get("samples", "")
    summary = Summary(
        value=value,
        statistic="mean",
        count=int(count) if count.isdecimal() and len(count) < MAX_NUMBER_CHARACTERS else None,
        standard_deviation=None if deviation is None else _number(deviation, "value", result),
        confidence_interval=None if low is None or high is None else (low, high),
        confidence_level=None if low is None or high is None else level,
    )
    return from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=result.place)


def _number(element: "Element", attribute: str, result: _Result) -> float | None:
    return number(element, attribute, place=result.place, next_step=RUN_AGAIN)


def _failure(result: _Result) -> str:
    failed = result.element.find("failed")
    message = "" if failed is None else (failed.get("message") or "").strip()
    return f"`{shown(result.name)}` failed" + (f": {shown(message)}" if message else "")
