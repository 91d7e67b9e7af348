"""JMH JSON (`-rf json`): forks are groups of samples; the direction follows the mode, never the tool's name."""

from perf_culprit.errors import DataError
from perf_culprit.model.run import Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.parser import TIME, Parsed, components, from_groups, from_summary, unique
from perf_culprit.read.results.source import JsonValue, Source, are_objects

ID = "jmh"
DESCRIPTION = "JMH JSON (-rf json)"
EXAMPLE = "java -jar benchmarks.jar -rf json -rff bench.json"

# A suite may measure one method in several modes: each is a metric of its own.
MODES = {
    "thrpt": ("throughput", Direction.HIGHER_IS_BETTER),
    "avgt": (TIME, Direction.LOWER_IS_BETTER),
    "sample": ("sample_time", Direction.LOWER_IS_BETTER),
    "ss": ("single_shot_time", Direction.LOWER_IS_BETTER),
}
# JMH's own, fixed in its source: scoreConfidence is the 99.9% interval.
CONFIDENCE_LEVEL = 0.999
LOWER_SECONDARY_UNITS = ("counts", "ms")


def matches(source: Source, /) -> bool:
    return are_objects(source.json_or_none(), "primaryMetric", "mode")


def parse(source: Source, /) -> Parsed:
    entries = list(source.root().elements())
    primary = [(_primary(entry), entry.place) for entry in entries]
    secondary = [
        (metric, _secondary(entry, metric)) for entry in entries for _, metric in entry.members_of("secondaryMetrics")
    ]
    further = [(benchmark, metric.place) for metric, benchmark in secondary if benchmark is not None]
    without = len(secondary) - len(further)
    versions = {text for entry in entries if isinstance(text := entry.peek("jdkVersion"), str)}
    return Parsed(
        benchmarks=unique(primary + further),
        environment=components(java=", ".join(sorted(versions))),
        notes=(f"secondary results without a finite value are left out: {without}",) * bool(without),
    )


def _primary(entry: JsonValue) -> Benchmark:
    name, direction = _mode(entry)
    score = entry.at("primaryMetric")
    return _benchmark(entry, score, Metric(name=name, unit=score.at("scoreUnit").text(), direction=direction))


def _mode(entry: JsonValue) -> tuple[str, Direction]:
    mode = entry.at("mode")
    if mode.text() not in MODES:
        raise mode.error("is no known mode (thrpt, avgt, sample, ss)")
    return MODES[mode.text()]


def _secondary(entry: JsonValue, score: JsonValue) -> Benchmark | None:
    """A profiler's or an auxiliary counter's result, or None where it has no value."""
    unit = score.at("scoreUnit").text()
    # Older versions mark profilers with a middle dot.
    name = score.path.partition(".secondaryMetrics.")[2].removeprefix("·")
    if unit == entry.at("primaryMetric").at("scoreUnit").text():
        direction = _mode(entry)[1]
    elif unit.endswith("/op") or (name.startswith("gc.") and unit in LOWER_SECONDARY_UNITS):
        direction = Direction.LOWER_IS_BETTER
    else:
        direction = Direction.UNKNOWN
    try:
        return _benchmark(entry, score, Metric(name=name, unit=unit, direction=direction))
    except DataError:
        # A profiler that saw nothing writes "NaN"; that is no reason to lose the times.
        return None


def _benchmark(entry: JsonValue, score: JsonValue, metric: Metric) -> Benchmark:
    name = _name(entry)
    if forks := _forks(score):
        return from_groups(name, metric=metric, groups=forks, place=score.place)
    interval = score.find("scoreConfidence")
    bounds = interval.value if interval is not None else None
    bounded = isinstance(bounds, list) and len(bounds) == 2 and all(isinstance(bound, int | float) for bound in bounds)
    low_high = interval.numbers() if interval is not None and bounded else None
    summary = Summary(
        value=score.at("score").number(),
        statistic="mean",
        confidence_interval=None if low_high is None else (low_high[0], low_high[1]),
        confidence_level=None if low_high is None else CONFIDENCE_LEVEL,
    )
    return from_summary(name, metric=metric, summary=summary, place=score.place)


def _forks(score: JsonValue) -> list[tuple[float, ...]]:
    """Per fork one value per iteration. Sample mode keeps a histogram per iteration: its mean is the iteration's."""
    if (raw := score.find("rawData")) is not None:
        forks = [fork.numbers() for fork in raw.elements()]
    else:
        if (histogram := score.find("rawDataHistogram")) is None:
            return []
        forks = [tuple(_histogram_mean(iteration) for iteration in fork.elements()) for fork in histogram.elements()]
    return [fork for fork in forks if fork]


def _histogram_mean(iteration: JsonValue) -> float:
    total = weight = 0.0
    for bucket in iteration.elements():
        pair = bucket.numbers()
        if len(pair) != 2 or pair[1] < 0:
            raise bucket.error("is not a pair of value and count")
        total += pair[0] * pair[1]
        weight += pair[1]
    if not weight:
        raise iteration.error("is an empty histogram")
    return total / weight


def _name(entry: JsonValue) -> str:
    name = entry.at("benchmark").text()
    parameters = entry.listed("params")
    return f"{name}({parameters})" if parameters else name
