"""BenchmarkTools.jl JSON (`BenchmarkTools.save`): nested groups of trials, nanoseconds."""

from collections.abc import Iterator

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import NANOSECOND_TIME, Parsed, components, from_samples, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source

ID = "julia"
DESCRIPTION = "BenchmarkTools.jl JSON (BenchmarkTools.save)"
EXAMPLE = """julia -e 'using BenchmarkTools; BenchmarkTools.save("bench.json", run(suite))'"""

MEMORY = Metric(name="memory", unit="B", direction=Direction.LOWER_IS_BETTER)


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return (
        isinstance(root, list)
        and len(root) == 2
        and isinstance(root[0], dict)
        and "BenchmarkTools" in root[0]
        and isinstance(root[1], list)
    )


def parse(source: Source, /) -> Parsed:
    versions, values = _pair(source.root())
    return Parsed(
        benchmarks=unique(pair for value in values.elements() for pair in _tree(value)),
        environment=components(julia=versions.peek("Julia")),
    )


def _pair(value: JsonValue) -> tuple[JsonValue, JsonValue]:
    """BenchmarkTools writes each value as a list of its type's name and its fields."""
    elements = list(value.elements())
    if len(elements) != 2:
        raise value.error("is not a list of two")
    return elements[0], elements[1]


def _tree(value: JsonValue) -> Iterator[tuple[Benchmark, str]]:
    pending: list[tuple[tuple[str, ...], JsonValue]] = [((), value)]
    while pending:
        path, node = pending.pop()
        kind, fields = _pair(node)
        name = kind.text().removeprefix("BenchmarkTools.")
        if name == "BenchmarkGroup":
            below = [((*path, key), member) for key, member in fields.at("data").members()]
            pending.extend(reversed(below))
        elif name in ("Trial", "TrialEstimate"):
            yield from _measured("/".join(path) or "trial", fields, has_samples=name == "Trial")
        else:
            raise kind.error("is no trial, estimate or group")


def _measured(name: str, fields: JsonValue, *, has_samples: bool) -> Iterator[tuple[Benchmark, str]]:
    time, memory = fields.at("times" if has_samples else "time"), fields.at("memory")
    if has_samples:
        yield from_samples(name, metric=NANOSECOND_TIME, samples=time.numbers(), place=time.place), time.place
    else:
        # Which estimate it is (minimum, median, mean) is not in the file.
        summary = Summary(value=time.number(), statistic="estimate")
        yield from_summary(name, metric=NANOSECOND_TIME, summary=summary, place=time.place), time.place
    summary = Summary(value=memory.number())
    yield from_summary(name, metric=MEMORY, summary=summary, place=memory.place), fields.place
