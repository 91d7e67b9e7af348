"""PHPBench's XML (`--dump-file`), version 1: the net time of every iteration, and the memory that PHP took at most."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Metric
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parser import TIME, Parsed, from_samples, unique, utc_time
from perf_culprit.read.results.source import Source
from perf_culprit.read.results.xml_tree import has_root, number, parse_xml

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


ID = "phpbench"
DESCRIPTION = "PHPBench's XML (--dump-file)"
EXAMPLE = "phpbench run --dump-file=bench.xml"

MICROSECONDS = Metric(name=TIME, unit="us", direction=Direction.LOWER_IS_BETTER)
PEAK_MEMORY = Metric(name="peak_memory", unit="B", direction=Direction.LOWER_IS_BETTER)
# The parameter set of a subject without parameters.
UNNAMED = ("", "0")
RUN_AGAIN = "run phpbench again with --dump-file"


def matches(source: Source, /) -> bool:
    return has_root(source, ("<phpbench ", "<phpbench>"))


def parse(source: Source, /) -> Parsed:
    """Of several suites in one file the first one's time."""
    root = parse_xml(source, next_step=RUN_AGAIN)
    variants = [
        (_name(benchmark, subject, variant), variant)
        for benchmark in root.iterfind("suite/benchmark")
        for subject in benchmark.iterfind("subject")
        for variant in subject.iterfind("variant")
    ]
    failed = [name for name, variant in variants if variant.find("errors") is not None]
    suite = root.find("suite")
    return Parsed(
        benchmarks=unique(
            (each, f"{source.place}: {shown(name)}")
            for name, variant in variants
            if variant.find("errors") is None
            for each in _benchmarks(name, variant, place=f"{source.place}: {shown(name)}")
        ),
        time=None if suite is None else utc_time(suite.get("date")),
        notes=tuple(f"`{shown(name)}` failed" for name in failed),
    )


def _name(benchmark: "Element", subject: "Element", variant: "Element") -> str:
    parameters = variant.find("parameter-set")
    given = "" if parameters is None else parameters.get("name", "")
    of_class = benchmark.get("class", "").removeprefix("\\")
    name = f"{of_class}::{subject.get('name', '')}"
    return name if given in UNNAMED else f"{name} {given}"


def _benchmarks(name: str, variant: "Element", *, place: str) -> Iterator[Benchmark]:
    iterations = variant.findall("iteration")
    times = [_per_revolution(iteration, place) for iteration in iterations]
    yield from_samples(name, metric=MICROSECONDS, samples=times, place=place)
    peaks = [number(iteration, "mem-peak", place=place, next_step=RUN_AGAIN) for iteration in iterations]
    measured = [peak for peak in peaks if peak is not None]
    if measured:
        yield from_samples(name, metric=PEAK_MEMORY, samples=measured, place=place)


def _per_revolution(iteration: "Element", place: str) -> float:
    net, revolutions = (
        number(iteration, attribute, place=place, next_step=RUN_AGAIN) for attribute in ("time-net", "time-revs")
    )
    if net is None or not revolutions:
        raise DataError("has an iteration without its net time and revolutions", place=place, next_step=RUN_AGAIN)
    return net / revolutions
