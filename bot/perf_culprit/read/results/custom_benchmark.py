"""github-action-benchmark's custom JSON: `[{name, unit, value}]`. Only the tool's name says which way is good."""

from dataclasses import dataclass, replace

from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import NAMED_DIRECTIONS, VALUE, Parsed, direction_of, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects

MAX_NUMBER_CHARACTERS = 100


@dataclass(frozen=True, kw_only=True, slots=True)
class CustomBenchmark:
    """A parser for each direction, and one (None) that takes it from units which surely are times or rates."""

    ID: str
    DESCRIPTION: str
    EXAMPLE: str
    direction: Direction | None

    def matches(self, source: Source, /) -> bool:
        return are_objects(source.json_or_none(), "name", "unit", "value")

    def parse(self, source: Source, /) -> Parsed:
        entries = list(source.root().elements())
        ranges = any(entry.find("range") is not None for entry in entries)
        return Parsed(
            benchmarks=unique((self._benchmark(entry), entry.place) for entry in entries),
            notes=("`range` is free text and left out",) * ranges,
        )

    def _benchmark(self, entry: JsonValue) -> Benchmark:
        name, unit = entry.at("name").text(), entry.at("unit").text()
        direction = self.direction or direction_of(unit) or Direction.UNKNOWN
        metric = Metric(name=VALUE, unit=unit, direction=direction)
        return from_summary(name, metric=metric, summary=Summary(value=_number(entry.at("value"))), place=entry.place)


def _number(value: JsonValue) -> float:
    """github-action-benchmark takes numbers that are written as text too."""
    if not isinstance(value.value, str):
        return value.number()
    try:
        number = float(value.value) if len(value.value) <= MAX_NUMBER_CHARACTERS else None
    except ValueError:
        number = None
    if number is None:
        raise value.error("is text that is no number")
    return JsonValue(number, value.file, value.path).number()


EITHER = CustomBenchmark(
    ID="custom_benchmark",
    DESCRIPTION="custom JSON of github-action-benchmark, direction by its units",
    EXAMPLE="any tool that writes [{name, unit, value}]",
    direction=None,
)
SMALLER, BIGGER = (
    replace(
        EITHER,
        ID=f"custom_{way}_is_better",
        DESCRIPTION=f"custom JSON of github-action-benchmark, {way} is better",
        EXAMPLE=f"any tool, with --tool custom_{way}_is_better",
        direction=direction,
    )
    for way, direction in NAMED_DIRECTIONS.items()
)
