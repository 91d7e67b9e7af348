"""Rust benchmarks: Criterion and its relatives, cargo's own text, and divan."""

import re
from collections.abc import Iterator, Sequence

from msgspec import structs

from perf_culprit.errors import DataError
from perf_culprit.model.run import TIME, Benchmark, Direction, Metric, Summary
from perf_culprit.read.results.console import (
    NUMBER,
    PRINTED_NS,
    TIME_UNIT,
    VALUE_GROUP,
    Lines,
    Measured,
    line_reader,
    lines,
    nanoseconds,
    qualified,
)
from perf_culprit.read.results.json_value import JsonValue, are_objects
from perf_culprit.read.results.parsed import (
    NANOSECOND_TIME,
    Parsed,
    ResultReader,
    Tree,
    from_samples,
    from_summary,
    gathered,
    unique,
)
from perf_culprit.read.results.source import Source, json_object

SAMPLE, ESTIMATES, BENCHMARK = "sample.json", "estimates.json", "benchmark.json"
# Other files of Criterion, whose content is not needed.
UNUSED = ("tukey.json", "raw.csv")
REPORT, REPORT_ENDS = "report", (".html", ".svg")
NEWEST = "new"
COMPARISON = "change"
CRITERION_ROOT = "criterion"
GIVE_DIRECTORY = "give the whole directory target/criterion"


def _is_of_criterion(source: Source) -> bool:
    name = source.parts[-1]
    if name in UNUSED:
        return len(source.parts) > 1
    if source.parts[-2:] == [COMPARISON, ESTIMATES]:
        return True
    if REPORT in source.parts[:-1] and name.endswith(REPORT_ENDS):
        return True
    root = source.json_or_none() if name in (SAMPLE, ESTIMATES, BENCHMARK) else None
    return isinstance(root, dict) and (_is_sample(root) or _is_estimates(root) or "full_id" in root)


def _read_criterion_tree(sources: Sequence[Source], /) -> Parsed:
    """Read `target/criterion`: raw samples of the newest measurement of each benchmark.

    A benchmark's directory holds one per measurement: `new` (the newest), `base` and named ones (earlier), and `change`
    (a comparison, no measurement).
    """
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
        benchmarks=unique(
            _criterion_benchmark(_newest(measurements), path) for path, measurements in benchmarks.items()
        )
    )


def mean_of(estimates: JsonValue) -> Summary:
    """Read the mean of `estimates.json` with its interval, which replaces missing samples."""
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
    """Return the role of a file, None if it is not needed. A file given alone may have any name."""
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


def _criterion_benchmark(files: dict[str, Source], path: tuple[str, ...]) -> tuple[Benchmark, str]:
    source = files.get(SAMPLE) or files[ESTIMATES]
    name = _criterion_name(files.get(BENCHMARK), path, source.place)
    root = source.root()
    if SAMPLE in files:
        return from_samples(
            name, metric=NANOSECOND_TIME, samples=_criterion_samples(root), place=source.place
        ), source.place
    return from_summary(name, metric=NANOSECOND_TIME, summary=mean_of(root), place=source.place), source.place


def _criterion_name(described: Source | None, path: tuple[str, ...], place: str) -> str:
    if described is not None:
        return described.root().at("full_id").text()
    # Directory names are the id with some characters replaced, and cut at 64.
    below = path[len(path) - path[::-1].index(CRITERION_ROOT) :] if CRITERION_ROOT in path else path
    if not below:
        raise DataError("does not hold its benchmark's name", place=place, next_step=GIVE_DIRECTORY)
    return "/".join(below)


def _criterion_samples(root: JsonValue) -> list[float]:
    """Return the times per iteration: each sample is the total of a known number of iterations."""
    iterations, times = root.at("iters"), root.at("times")
    counts, totals = iterations.numbers(), times.numbers()
    if len(counts) != len(totals):
        raise times.error(f"holds {len(totals)} times for {len(counts)} samples")
    if min(counts, default=1.0) <= 0:
        raise iterations.error("holds a sample without iterations")
    return [total / count for total, count in zip(totals, counts, strict=True)]


CRITERION = ResultReader(
    id="criterion",
    description="Criterion's directory target/criterion",
    example="cargo bench, then target/criterion",
    matches=json_object(lambda root: _is_sample(root) or _is_estimates(root)),
    read=lambda source: _read_criterion_tree((source,)),
    tree=Tree(belongs=_is_of_criterion, read=_read_criterion_tree),
    aliases=("cargo",),
    smaller="lower --sample-size",
)


CRITCMP_ESTIMATES = "criterion_estimates_v1"


def _is_critcmp(source: Source) -> bool:
    benchmarks = source.member("benchmarks")
    return isinstance(benchmarks, dict) and are_objects([*benchmarks.values()], CRITCMP_ESTIMATES)


def _read_critcmp(source: Source) -> Parsed:
    """Read `critcmp --export NAME`: estimates without samples."""
    entries = source.root().at("benchmarks").members()
    return Parsed(benchmarks=unique((_critcmp_benchmark(key, entry), entry.place) for key, entry in entries))


def _critcmp_benchmark(key: str, entry: JsonValue) -> Benchmark:
    described = entry.find("criterion_benchmark_v1")
    full_id = None if described is None else described.find("full_id")
    name = key if full_id is None else full_id.text()
    return from_summary(name, metric=NANOSECOND_TIME, summary=mean_of(entry.at(CRITCMP_ESTIMATES)), place=entry.place)


CRITCMP = ResultReader(
    id="critcmp",
    description="critcmp --export JSON",
    example="critcmp --export new > bench.json",
    matches=_is_critcmp,
    read=_read_critcmp,
)


# Criterion's default. The text does not state another level that a suite chose.
CRITERION_LEVEL = 0.95


def _criterion_summary(row: re.Match[str], value: float) -> Summary:
    low, high = (nanoseconds(row[end], row[f"{end}_unit"]) for end in ("low", "high"))
    # The value is the slope of a linear fit if Criterion has one, else the mean.
    return Summary(value=value, statistic="estimate", confidence_interval=(low, high), confidence_level=CRITERION_LEVEL)


CRITERION_TEXT = line_reader(
    "criterion_text",
    Lines(
        mark=" time:",
        # The `change:` block has percentages in these brackets. A name too long for its column is on the line before.
        title=re.compile(r"(?P<name>\S.{0,9999})"),
        row=re.compile(
            rf"(?P<name>.{{0,9999}}) time: {{0,99}}\[(?P<low>{NUMBER}) (?P<low_unit>{TIME_UNIT}) {VALUE_GROUP} "
            rf"(?P<unit>{TIME_UNIT}) (?P<high>{NUMBER}) (?P<high_unit>{TIME_UNIT})\]\s{{0,9}}"
        ),
        measures=lambda row: (Measured(metric=NANOSECOND_TIME, factor=PRINTED_NS[row["unit"]]),),
        summary=_criterion_summary,
    ),
    description="Criterion's console text",
    example="cargo bench | tee bench.txt",
    aliases=("cargo",),
)


def _libtest(row: re.Match[str]) -> tuple[Measured, ...]:
    """Return a row's measurements: a time (`ns/iter`) or other cost named by its unit, and optionally a throughput.

    The form is that of cargo's own harness, which Criterion can write too.
    """
    cost, _, per = row["unit"].rpartition("/")
    rate = Metric(name="throughput", unit=row["rate_unit"] or "", direction=Direction.HIGHER_IS_BETTER)
    if row["unit"].endswith("/s"):
        return (Measured(metric=structs.replace(rate, unit=row["unit"])),)
    if per != "iter":
        return ()
    first = Measured(
        metric=Metric(name=TIME if cost in PRINTED_NS else cost, unit=cost, direction=Direction.LOWER_IS_BETTER)
    )
    return (first, Measured(metric=rate, group="rate")) if rate.unit.endswith("/s") else (first,)


BENCHER_TEXT = line_reader(
    "bencher_text",
    Lines(
        mark=" ... bench:",
        # The number after +/- is the samples' range with libtest and their standard deviation with Criterion. The text
        # does not show which of the two wrote it.
        row=re.compile(
            rf"test (?P<name>\S.{{0,9999}}?) \.\.\. bench: {{1,99}}{VALUE_GROUP} (?P<unit>\S{{1,60}}) \(\+/- {NUMBER}\)"
            rf"(?: = (?P<rate>{NUMBER}) (?P<rate_unit>\S{{1,60}}))?\s{{0,9}}"
        ),
        measures=_libtest,
        summary=lambda _, value: Summary(value=value, statistic="median"),
        lost=re.compile(r"test .{1,9999} \.\.\. bench:.{0,9999}"),
        loss="bench lines without a number whose unit says which way is good",
    ),
    description="cargo bench text, Criterion's --output-format bencher",
    example="cargo bench -- --output-format bencher | tee bench.txt",
    aliases=("cargo",),
)


FASTEST = "fastest"
DIVAN_HEADER = re.compile(
    r"\S.{0,1000}? fastest {1,40}│ slowest {1,40}│ median {1,40}│ mean {1,40}│ samples {1,40}│ iters"
)
DIVAN_BRANCH = re.compile(r"(?P<stems>(?:│  |   ){0,100})(?:├─|╰─) (?P<name>.*)")
DIVAN_STEM = 3
DIVAN_QUANTITY = re.compile(rf"(?P<number>{NUMBER}) (?P<unit>{TIME_UNIT})")
DIVAN_COLUMNS = 6


def _is_divan(source: Source) -> bool:
    text = source.text_or_empty()
    return "│ slowest" in text and any(DIVAN_HEADER.match(line) for _, line in lines(source))


def _read_divan(source: Source) -> Parsed:
    """Read a tree of benchmarks, with the fastest, slowest, median and mean time of each."""
    rows = list(_divan_rows(source))
    with_times = [(key, summary, place) for key, summary, place in rows if summary is not None]
    names = qualified((key for key, _, _ in with_times), separator="::")
    other = len(rows) - len(with_times)
    return Parsed(
        benchmarks=gathered(
            (from_summary(names[key], metric=NANOSECOND_TIME, summary=summary, place=place), place)
            for key, summary, place in with_times
        ),
        notes=(f"left out: throughputs (the same times said again) and allocations, lines: {other}",) * bool(other),
    )


def _divan_rows(source: Source) -> Iterator[tuple[tuple[str, str], Summary | None, str]]:
    """Yield each line with numbers: (binary, path), times and place. Lines below a benchmark's times have None."""
    binary, column = "", 0
    path: list[str] = []
    for number, line in lines(source):
        if DIVAN_HEADER.match(line):
            column = line.index(FASTEST)
            binary, path = line[:column].strip(), []
            continue
        cells = [cell.strip() for cell in line[column:].split("│")]
        if not column or len(cells) != DIVAN_COLUMNS:
            continue
        if (branch := DIVAN_BRANCH.match(line[:column])) is not None:
            path = [*path[: len(branch["stems"]) // DIVAN_STEM], branch["name"].strip()]
        summary = _divan_summary(cells)
        is_below = branch is None and any(cells)
        if summary is not None or is_below:
            yield (binary, "::".join(path)), None if is_below else summary, f"{source.place}:{number}"


def _divan_summary(cells: list[str]) -> Summary | None:
    times = [DIVAN_QUANTITY.fullmatch(cell) for cell in cells[:3]]
    fastest, slowest, median = (None if time is None else nanoseconds(time["number"], time["unit"]) for time in times)
    if median is None:
        return None
    count = cells[4].replace(",", "")
    return Summary(
        value=median,
        statistic="median",
        count=int(count) if count.isdecimal() and len(count) < 16 else None,
        minimum=fastest,
        maximum=slowest,
    )


DIVAN = ResultReader(
    id="divan",
    description="divan table (cargo bench)",
    example="cargo bench | tee bench.txt",
    matches=_is_divan,
    read=_read_divan,
    is_console=True,
    smaller="lower --sample-count",
)
