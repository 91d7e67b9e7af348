"""Criterion's directory `target/criterion`: raw samples of the newest measurement of each benchmark.

A benchmark's directory holds one directory per measurement: `new` (the newest), `base` and named ones (earlier), and
`change` (a comparison, no measurement).
"""

from collections.abc import Sequence

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Summary
from perf_culprit.read.results.parser import NANOSECOND_TIME, Parsed, from_samples, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source

ID = "criterion"
DESCRIPTION = "Criterion's directory target/criterion"
EXAMPLE = "cargo bench, then target/criterion"

SAMPLE, ESTIMATES, BENCHMARK = "sample.json", "estimates.json", "benchmark.json"
# Criterion's as well, but nothing in them is needed.
UNUSED = ("tukey.json", "raw.csv")
REPORT, REPORT_ENDS = "report", (".html", ".svg")
NEWEST = "new"
COMPARISON = "change"
ROOT = "criterion"
GIVE_DIRECTORY = "give the whole directory target/criterion"


def matches(source: Source, /) -> bool:
    root = source.json_or_none()
    return isinstance(root, dict) and (_is_sample(root) or _is_estimates(root))


def belongs(source: Source, /) -> bool:
    name = source.parts[-1]
    if name in UNUSED:
        return len(source.parts) > 1
    if source.parts[-2:] == [COMPARISON, ESTIMATES]:
        return True
    if REPORT in source.parts[:-1] and name.endswith(REPORT_ENDS):
        return True
    root = source.json_or_none() if name in (SAMPLE, ESTIMATES, BENCHMARK) else None
    return isinstance(root, dict) and (_is_sample(root) or _is_estimates(root) or "full_id" in root)


def parse(source: Source, /) -> Parsed:
    return parse_tree((source,))


def parse_tree(sources: Sequence[Source], /) -> Parsed:
    directories: dict[tuple[str, ...], dict[str, Source]] = {}
    for source in sources:
        if (role := _role(source)) is not None:
            directories.setdefault(tuple(source.parts[:-1]), {})[role] = source
    benchmarks: dict[tuple[str, ...], dict[str, dict[str, Source]]] = {}
    for directory, files in directories.items():
        measurement = directory[-1] if directory else NEWEST
        if measurement != COMPARISON and (SAMPLE in files or ESTIMATES in files):
            benchmarks.setdefault(directory[:-1], {})[measurement] = files
    return Parsed(
        benchmarks=unique(_benchmark(_newest(measurements), path) for path, measurements in benchmarks.items())
    )


def mean_of(estimates: JsonValue) -> Summary:
    """The mean of `estimates.json` with its interval: what is left where the samples are not at hand."""
    mean, deviation = estimates.at("mean"), estimates.find("std_dev")
    interval = mean.find("confidence_interval")
    return Summary(
        value=mean.at("point_estimate").number(),
        statistic="mean",
        standard_deviation=None if deviation is None else deviation.at("point_estimate").number(),
        confidence_interval=None
        if interval is None
        else (interval.at("lower_bound").number(), interval.at("upper_bound").number()),
        confidence_level=None if interval is None else interval.at("confidence_level").number(),
    )


def _is_sample(root: dict[str, object]) -> bool:
    return isinstance(root.get("iters"), list) and isinstance(root.get("times"), list)


def _is_estimates(root: dict[str, object]) -> bool:
    mean = root.get("mean")
    return "median_abs_dev" in root and isinstance(mean, dict) and "point_estimate" in mean


def _role(source: Source) -> str | None:
    """Which file this is, None for one that is not needed. A file given alone may have any name."""
    if source.parts[-1] in (SAMPLE, ESTIMATES, BENCHMARK):
        return source.parts[-1]
    root = source.json_or_none()
    if not isinstance(root, dict):
        return None
    return SAMPLE if _is_sample(root) else ESTIMATES if _is_estimates(root) else None


def _newest(measurements: dict[str, dict[str, Source]]) -> dict[str, Source]:
    if NEWEST in measurements:
        return measurements[NEWEST]
    if len(measurements) == 1:
        return next(iter(measurements.values()))
    place = next(iter(next(iter(measurements.values())).values())).place
    raise DataError(
        "is one of several measurements of this benchmark, and none is `new`", place=place, next_step=GIVE_DIRECTORY
    )


def _benchmark(files: dict[str, Source], path: tuple[str, ...]) -> tuple[Benchmark, str]:
    source = files.get(SAMPLE) or files[ESTIMATES]
    name = _name(files.get(BENCHMARK), path, source.place)
    root = source.root()
    if SAMPLE in files:
        return from_samples(name, metric=NANOSECOND_TIME, samples=_samples(root), place=source.place), source.place
    return from_summary(name, metric=NANOSECOND_TIME, summary=mean_of(root), place=source.place), source.place


def _name(described: Source | None, path: tuple[str, ...], place: str) -> str:
    if described is not None:
        return described.root().at("full_id").text()
    # Directory names are the id with some characters replaced, and cut at 64.
    below = path[len(path) - path[::-1].index(ROOT) :] if ROOT in path else path
    if not below:
        raise DataError("does not hold its benchmark's name", place=place, next_step=GIVE_DIRECTORY)
    return "/".join(below)


def _samples(root: JsonValue) -> list[float]:
    """Time per iteration: each sample is the total of a known number of iterations."""
    iterations, times = root.at("iters"), root.at("times")
    counts, totals = iterations.numbers(), times.numbers()
    if len(counts) != len(totals):
        raise times.error(f"holds {len(totals)} times for {len(counts)} samples")
    if min(counts, default=1.0) <= 0:
        raise iterations.error("holds a sample without iterations")
    return [total / count for total, count in zip(totals, counts, strict=True)]
