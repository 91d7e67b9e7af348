"""Go's `go test -bench`: its text, and its events with -json."""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from perf_culprit.model.run import Benchmark, Direction, Metric
from perf_culprit.read.results.console import is_number, lines, number_of, qualified
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.parsed import (
    NANOSECOND_TIME,
    Parsed,
    ResultReader,
    components,
    direction_of,
    from_samples,
    lost,
)
from perf_culprit.read.results.source import Source

GO_LINE = re.compile(r"^Benchmark\S{0,10000}[ \t]+[0-9]+[ \t]+[0-9.]+ ns/op", re.MULTILINE | re.ASCII)
GO_OTHER_LINE = re.compile(r"^Benchmark\S{0,10000}[ \t]+[0-9]+[ \t]+[0-9.]+ \S", re.MULTILINE | re.ASCII)
CONFIGURATION = ("goos", "goarch", "pkg", "cpu")
BETTER = {"better=lower": Direction.LOWER_IS_BETTER, "better=higher": Direction.HIGHER_IS_BETTER}
LEAST_FIELDS = 4
GO_FAILED = re.compile(r"\s{0,40}--- FAIL: (?P<name>Benchmark\S{0,1000})")
# The benchmark's own frame, or that of a function in it, in a panic's stack.
GO_FRAME = re.compile(r"\S{1,1000}\.(?P<name>Benchmark[A-Za-z0-9_]{0,500})(?:\.func\S{1,99})?\(")
PROCESSORS = re.compile(r"-[0-9]{1,9}", re.ASCII)


@dataclass(kw_only=True, slots=True)
class _Output:
    """The content read so far: samples by (package, name, unit), and the first line of each."""

    samples: dict[tuple[str, str, str], list[float]] = field(default_factory=dict)
    first_lines: dict[tuple[str, str, str], int] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)
    directions: dict[str, Direction] = field(default_factory=dict)
    failed: dict[tuple[str, str], str] = field(default_factory=dict)
    panic: str = ""
    failed_packages: list[str] = field(default_factory=list)
    not_finite: int = 0


def _is_go_text(source: Source) -> bool:
    text = source.text_or_empty()
    return GO_LINE.search(text) is not None or ("\ngoarch: " in text and GO_OTHER_LINE.search(text) is not None)


def _read_go_text(source: Source) -> Parsed:
    """Read one line per measurement. `-count=N` repeats the name, and the repetitions are samples."""
    output = _go_output(source)
    keys = {(package, name) for package, name, _ in output.samples}
    names = _go_names(keys, failed=output.failed.keys() - keys)
    benchmarks: list[Benchmark] = []
    for key, samples in output.samples.items():
        package, name, unit = key
        metric = _go_metric(unit, output.directions)
        place = f"{source.place}:{output.first_lines[key]}"
        benchmarks.append(from_samples(names[package, name], metric=metric, samples=samples, place=place))
    facts = output.configuration
    return Parsed(
        benchmarks=tuple(benchmarks),
        environment=components(os=facts.get("goos"), architecture=facts.get("goarch"), cpu=facts.get("cpu")),
        lost=tuple(lost(names[key], message) for key, message in output.failed.items()),
        notes=(
            *(f"left out because they failed: {len(output.failed)}",) * bool(output.failed),
            *(f"go test failed in {shown(name)}: results may be missing" for name in output.failed_packages),
            *(f"{output.not_finite} values are left out: not finite numbers",) * bool(output.not_finite),
        ),
    )


def _go_output(source: Source) -> _Output:
    output = _Output()
    package = ""
    failing: tuple[str, str] | None = None
    for number, line in lines(source):
        if failing is not None and not output.failed[failing]:
            output.failed[failing] = line.strip()
            failing = None
        if line.startswith("Benchmark"):
            _take_result(output, package, line.split(), number)
            continue
        key, colon, value = line.partition(": ")
        if colon and key in CONFIGURATION:
            package = value.strip() if key == "pkg" else package
            output.configuration.setdefault(key, value)
        elif (failed := GO_FAILED.match(line)) is not None:
            failing = package, failed["name"]
            output.failed[failing] = ""
        elif line.startswith("panic: "):
            output.panic = line
        elif output.panic and (frame := GO_FRAME.match(line)) is not None:
            output.failed[package, frame["name"]] = output.panic
            output.panic = ""
        elif line.startswith("FAIL\t"):
            output.failed_packages.append(line.split("\t")[1])
        elif line.startswith("Unit "):
            _, unit, *settings = [*line.split(), ""]
            output.directions.update((unit, BETTER[setting]) for setting in settings if setting in BETTER)
    return output


def _take_result(output: _Output, package: str, fields: list[str], number: int) -> None:
    # A benchmark that logs has its name on a separate line, without a result.
    if len(fields) < LEAST_FIELDS or len(fields) % 2 or not fields[1].isdecimal():
        return
    for value, unit in zip(fields[2::2], fields[3::2], strict=True):
        if not is_number(value.removeprefix("-")):
            output.not_finite += 1
            continue
        key = (package, fields[0], unit)
        output.first_lines.setdefault(key, number)
        output.samples.setdefault(key, []).append(number_of(value))


def _go_names(keys: set[tuple[str, str]], *, failed: Collection[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Name each benchmark of each package. A name in `failed` may lack the suffix.

    Go ends each name with -GOMAXPROCS. If all names share that suffix, it is removed. If they differ (`-cpu 1,2,4`, or
    GOMAXPROCS=1), it distinguishes benchmarks and stays.
    """
    ends = {_processors(name) for _, name in keys}
    common = ends.pop() if len(ends) == 1 else ""
    stable = {(package, name): name.removesuffix(common) for package, name in (*keys, *failed)}
    names = qualified({(package, name) for (package, _), name in stable.items()}, separator=".")
    return {(package, full): names[package, name] for (package, full), name in stable.items()}


def _processors(name: str) -> str:
    _, dash, digits = name.rpartition("-")
    return dash + digits if PROCESSORS.fullmatch(dash + digits) else ""


def _go_metric(unit: str, directions: dict[str, Direction]) -> Metric:
    if unit == "ns/op":
        return NANOSECOND_TIME
    if (direction := directions.get(unit)) is None and unit.endswith("/op"):
        direction = Direction.LOWER_IS_BETTER
    if direction is None and unit.endswith("/s"):
        direction = Direction.HIGHER_IS_BETTER
    if direction is None:
        # Go's convention for ReportMetric: `p99-ns` is in ns.
        direction = direction_of(unit.rpartition("-")[2]) or Direction.UNKNOWN
    return Metric(name=unit, unit=unit, direction=direction)


GO_TEXT = ResultReader(
    id="go_text",
    description="go test -bench text",
    example="go test -bench . -count 10 | tee bench.txt",
    matches=_is_go_text,
    read=_read_go_text,
    is_console=True,
    aliases=("go",),
    smaller="lower -count",
)


MATCHED_LINES = 5


def _is_go_json(source: Source) -> bool:
    text = source.text_or_empty()
    likely = (line for line in text.splitlines() if '"Action"' in line) if '"Action"' in text else iter(())
    return any(_event(line) is not None for line in islice(likely, MATCHED_LINES))


def _read_go_json(source: Source) -> Parsed:
    """Read the printed output with the text reader, one package after the other. The events hold it in pieces."""
    printed: dict[str, list[str]] = {}
    for event in _events(source):
        if event["Action"] == "output" and isinstance(event.get("Output"), str):
            printed.setdefault(str(event.get("Package")), []).append(event["Output"])
    text = "\n".join("".join(outputs) for outputs in printed.values())
    # The tool may write lone surrogates, which are not valid text.
    return _read_go_text(Source(source.name, text.encode("utf-8", errors="replace")))


def _events(source: Source) -> Iterator[dict[str, Any]]:
    lines = [line for line in source.text().splitlines() if line.strip()]
    for number, line in enumerate(lines, start=1):
        if (event := _event(line)) is not None:
            yield event
        elif line.lstrip().startswith("{") and number < len(lines):
            # Other lines are the build's output; the last line may be cut off.
            raise source.error(
                "is not an event of go test -json", "check that only go test writes to this file", line=number
            )


def _event(line: str) -> dict[str, Any] | None:
    if '"Action"' not in line:
        return None
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return None
    # Builds are events too, with an import path instead of a package.
    is_event = isinstance(event, dict) and isinstance(event.get("Action"), str)
    return event if is_event and event.keys() & {"Package", "ImportPath"} else None


GO_JSON = ResultReader(
    id="go_json",
    description="go test -json -bench events",
    example="go test -json -bench . -count 10 > bench.jsonl",
    matches=_is_go_json,
    read=_read_go_json,
    is_console=True,
    aliases=("go",),
    smaller="lower -count",
)
