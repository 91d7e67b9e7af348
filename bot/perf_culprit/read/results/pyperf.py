"""pyperf JSON: each worker process is a group of samples; calibrations and warm-ups are left out."""

from collections.abc import Iterator

from perf_culprit.model.run import Benchmark, Direction, Environment, Metric
from perf_culprit.read.results.parser import TIME, Parsed, components, from_groups, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects

ID = "pyperf"
DESCRIPTION = "pyperf JSON (-o)"
EXAMPLE = "python -m pyperf timeit -o bench.json STATEMENT"

# pyperf compares every unit as "less is faster".
UNITS = {"second": (TIME, "s"), "byte": ("memory", "B"), "integer": ("value", "")}


def matches(source: Source, /) -> bool:
    entries = source.member("benchmarks")
    return are_objects(entries, "runs") and all(_is_runs(entry["runs"]) for entry in entries)


def parse(source: Source, /) -> Parsed:
    root = source.root()
    shared = _metadata(root)
    entries = list(root.at("benchmarks").elements())
    groups = [(entry, list(_groups(entry))) for entry in entries]
    measured = [(_benchmark(entry, runs, shared), entry.place) for entry, runs in groups if runs]
    empty = len(groups) - len(measured)
    return Parsed(
        benchmarks=unique(measured),
        environment=_environment({**_first_run(entries), **shared}),
        notes=(f"left out because they hold only calibration runs: {empty}",) * bool(empty),
    )


def _is_runs(runs: object) -> bool:
    return isinstance(runs, list) and all(
        isinstance(run, dict) and run.keys() & {"values", "warmups", "metadata"} for run in runs
    )


def _metadata(value: JsonValue) -> dict[str, object]:
    return {name: member.value for name, member in value.members_of("metadata")}


def _groups(entry: JsonValue) -> Iterator[tuple[float, ...]]:
    for run in entry.at("runs").elements():
        if (values := run.find("values")) is not None and values.value != []:
            yield values.numbers()


def _benchmark(entry: JsonValue, groups: list[tuple[float, ...]], shared: dict[str, object]) -> Benchmark:
    # What all benchmarks of a file have in common stands only at the top.
    metadata = {**shared, **_metadata(entry)}
    name, unit = metadata.get("name"), metadata.get("unit", "second")
    if not isinstance(name, str):
        raise entry.error("has no name in its metadata")
    if not isinstance(unit, str) or unit not in UNITS:
        raise entry.error("has a unit that pyperf does not know")
    metric_name, symbol = UNITS[unit]
    metric = Metric(name=metric_name, unit=symbol, direction=Direction.LOWER_IS_BETTER)
    return from_groups(name, metric=metric, groups=groups, place=entry.place)


def _first_run(entries: list[JsonValue]) -> dict[str, object]:
    """Facts about the machine may stand at any level; the first run speaks for all."""
    for entry in entries:
        for run in entry.at("runs").elements():
            return {**_metadata(run), **_metadata(entry)}
    return {}


def _environment(metadata: dict[str, object]) -> Environment:
    platform = str(metadata.get("platform") or "")
    return components(
        cpu=metadata.get("cpu_model_name"),
        cpu_count=metadata.get("cpu_count"),
        host=metadata.get("hostname"),
        # "3.11.7 (64-bit)": other tools leave the word size out, and it is no other Python.
        python=str(metadata.get("python_version") or "").partition(" ")[0],
        os=platform.partition("-")[0],
        os_release=platform,
    )
