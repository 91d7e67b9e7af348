"""Text of `go test -bench`: one line per measurement; `-count=N` repeats the name, and these are the samples."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perf_culprit.model.run import Direction, Metric
from perf_culprit.read.results.console import is_number, lines, number_of, qualified
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parser import TIME, Parsed, components, direction_of, from_samples
from perf_culprit.read.results.source import Source

if TYPE_CHECKING:
    from perf_culprit.model.run import Benchmark


ID = "go_text"
DESCRIPTION = "go test -bench text"
EXAMPLE = "go test -bench . -count 10 | tee bench.txt"

LINE = re.compile(r"^Benchmark\S{0,10000}[ \t]+[0-9]+[ \t]+[0-9.]+ ns/op", re.MULTILINE | re.ASCII)
OTHER_LINE = re.compile(r"^Benchmark\S{0,10000}[ \t]+[0-9]+[ \t]+[0-9.]+ \S", re.MULTILINE | re.ASCII)
CONFIGURATION = ("goos", "goarch", "pkg", "cpu")
BETTER = {"better=lower": Direction.LOWER_IS_BETTER, "better=higher": Direction.HIGHER_IS_BETTER}
LEAST_FIELDS = 4
PROCESSORS = re.compile(r"-[0-9]{1,9}", re.ASCII)


@dataclass(kw_only=True, slots=True)
class _Output:
    """What was read so far. Samples by (package, name, unit), each with the line where it first stood."""

    samples: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)
    first_lines: dict[tuple[str, str, str], int] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)
    directions: dict[str, Direction] = field(default_factory=dict)
    failed: int = 0
    failed_packages: list[str] = field(default_factory=list)
    not_finite: int = 0


def matches(source: Source, /) -> bool:
    text = source.text_or_empty()
    return LINE.search(text) is not None or ("\ngoarch: " in text and OTHER_LINE.search(text) is not None)


def parse(source: Source, /) -> Parsed:
    output = _read(source)
    names = _names({(package, name) for package, name, _ in output.samples})
    benchmarks: list[Benchmark] = []
    for key, samples in output.samples.items():
        package, name, unit = key
        metric = _metric(unit, output.directions)
        place = f"{source.place}:{output.first_lines[key]}"
        benchmarks.append(from_samples(names[package, name], metric=metric, samples=samples, place=place))
    facts = output.configuration
    return Parsed(
        benchmarks=tuple(benchmarks),
        environment=components(os=facts.get("goos"), architecture=facts.get("goarch"), cpu=facts.get("cpu")),
        notes=(
            *(f"left out because they failed: {output.failed}",) * bool(output.failed),
            *(f"go test failed in {shown(name)}: results may be missing" for name in output.failed_packages),
            *(f"{output.not_finite} values are left out: not finite numbers",) * bool(output.not_finite),
        ),
    )


def _read(source: Source) -> _Output:
    output = _Output()
    package = ""
    for number, line in lines(source):
        if line.startswith("Benchmark"):
            _read_result(output, package, line.split(), number)
            continue
        key, colon, value = line.partition(": ")
        if colon and key in CONFIGURATION:
            package = value.strip() if key == "pkg" else package
            output.configuration.setdefault(key, value)
        elif line.lstrip().startswith("--- FAIL: Benchmark"):
            output.failed += 1
        elif line.startswith("FAIL\t"):
            output.failed_packages.append(line.split("\t")[1])
        elif line.startswith("Unit "):
            _, unit, *settings = [*line.split(), ""]
            output.directions.update((unit, BETTER[setting]) for setting in settings if setting in BETTER)
    return output


def _read_result(output: _Output, package: str, fields: list[str], number: int) -> None:
    # A benchmark that logs has its name on a line of its own: no result.
    if len(fields) < LEAST_FIELDS or len(fields) % 2 or not fields[1].isdecimal():
        return
    for value, unit in zip(fields[2::2], fields[3::2], strict=True):
        if not is_number(value.removeprefix("-")):
            output.not_finite += 1
            continue
        key = (package, fields[0], unit)
        output.first_lines.setdefault(key, number)
        output.samples.setdefault(key, []).append(number_of(value))


def _names(measured: set[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """What to call each benchmark of each package.

    Go ends each name with -GOMAXPROCS. Where all names share that end it is no part of them; where they differ
    (`-cpu 1,2,4`, or GOMAXPROCS=1) it tells benchmarks apart and stays.
    """
    ends = {_processors(name) for _, name in measured}
    common = ends.pop() if len(ends) == 1 else ""
    stable = {(package, name): name.removesuffix(common) for package, name in measured}
    names = qualified({(package, name) for (package, _), name in stable.items()}, separator=".")
    return {(package, full): names[package, name] for (package, full), name in stable.items()}


def _processors(name: str) -> str:
    _, dash, digits = name.rpartition("-")
    return dash + digits if PROCESSORS.fullmatch(dash + digits) else ""


def _metric(unit: str, directions: dict[str, Direction]) -> Metric:
    if unit == "ns/op":
        return Metric(name=TIME, unit="ns", direction=Direction.LOWER_IS_BETTER)
    if (direction := directions.get(unit)) is None and unit.endswith("/op"):
        direction = Direction.LOWER_IS_BETTER
    if direction is None and unit.endswith("/s"):
        direction = Direction.HIGHER_IS_BETTER
    if direction is None:
        # Go's convention for ReportMetric: `p99-ns` is in ns.
        direction = direction_of(unit.rpartition("-")[2]) or Direction.UNKNOWN
    return Metric(name=unit, unit=unit, direction=direction)
