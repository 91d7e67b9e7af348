"""Declarations and results of readers, and the only functions that build a benchmark from foreign numbers."""

import math
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

from msgspec import structs

from perf_culprit.errors import DataError, TooLargeError
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.reason import Loss
from perf_culprit.model.run import (
    FULL_HASH,
    TIME,
    Benchmark,
    Direction,
    Environment,
    Lost,
    Metric,
    MetricKey,
    Run,
    Summary,
    in_utc,
)
from perf_culprit.model.unit_sizes import SECONDS
from perf_culprit.read.format_reader import Reader
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.source import LargeFile, Source

# The metric's name if the file has none.
VALUE = "value"
SECOND_TIME = Metric(name=TIME, unit="s", direction=Direction.LOWER_IS_BETTER)
MILLISECOND_TIME = Metric(name=TIME, unit="ms", direction=Direction.LOWER_IS_BETTER)
MICROSECOND_TIME = Metric(name=TIME, unit="us", direction=Direction.LOWER_IS_BETTER)
NANOSECOND_TIME = Metric(name=TIME, unit="ns", direction=Direction.LOWER_IS_BETTER)
ALLOCATED = Metric(name="allocated", unit="B", direction=Direction.LOWER_IS_BETTER)
# Directions of tools whose name, given by the user, is the only source.
NAMED_DIRECTIONS = {"smaller": Direction.LOWER_IS_BETTER, "bigger": Direction.HIGHER_IS_BETTER}
_SURROGATE = re.compile("[\ud800-\udfff]")
_RATE_UNIT = re.compile(
    r"(ops|op|iter|iterations|items|bytes|[kmgt]i?b|b|req|requests|calls)/(s|sec|second)", re.IGNORECASE
)


class Parsed(Run, frozen=True, kw_only=True):
    """A run in another tool's file. Its `suite` is empty unless the file names it.

    `commit` is a full hash, `time` aware UTC; None if unknown.
    """

    suite: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Tree:
    """The reading of a run that a tool spreads over the files of a directory (Criterion).

    `belongs` checks by name and content whether a file is part of such a tree. It is cheap and never raises. `read`
    receives all files of one input that belong, in path order.
    """

    belongs: Callable[[Source], bool]
    read: Callable[[Sequence[Source]], Run]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ResultReader(Reader[Source, Run]):
    """A format of results or counters. `example` shows how to write such a file.

    Places look like `bench.json: benchmarks[3].stats.data` or `bench.txt:12`. `matches` uses `text_or_empty` or
    `json_or_none`, and `head` for formats whose files grow with time.

    `read_history`: one file holds runs of many commits; `read` returns the newest. `tree`: files in a directory are
    one run; `read` reads one of them alone. `is_console`: a tool prints it, and one log may hold the output of
    several. `is_named_only`: only the name states the direction, or that a log's times are results. `aliases`: `tool`
    names of github-action-benchmark, so that its users change nothing. `smaller`: the tool's own option for smaller
    files, named in the message about a file beyond a limit.
    """

    description: str
    example: str
    read_history: Callable[[Source], tuple[Run, ...]] | None = None
    tree: Tree | None = None
    is_console: bool = False
    is_named_only: bool = False
    aliases: tuple[str, ...] = ()
    smaller: str = ""

    def history(self, source: Source) -> tuple[Run, ...]:
        """Return every run of the file, oldest first."""
        return (self.read(source),) if self.read_history is None else self.read_history(source)


def from_samples(
    name: str, *, metric: Metric, samples: Sequence[float], place: str, group_sizes: Sequence[int] = ()
) -> Benchmark:
    """Build a benchmark from repeated numbers, which must pass `check_samples`."""
    check_samples(samples, metric=metric, place=place)
    if group_sizes and (sum(group_sizes) != len(samples) or min(group_sizes) < 1):
        raise DataError("groups of samples do not add up", place=place, next_step="run the benchmark again")
    return Benchmark.of(
        name=checked_name(name, place=place),
        metric=checked_metric(metric, place=place),
        samples=tuple(map(float, samples)),
        group_sizes=tuple(group_sizes) if len(group_sizes) > 1 else (),
    )


def from_groups(name: str, *, metric: Metric, groups: Sequence[Sequence[float]], place: str) -> Benchmark:
    """Build a benchmark like `from_samples`, but from samples grouped by process or launch."""
    return from_samples(
        name,
        metric=metric,
        samples=tuple(chain.from_iterable(groups)),
        place=place,
        group_sizes=tuple(map(len, groups)),
    )


def from_summary(name: str, *, metric: Metric, summary: Summary, place: str) -> Benchmark:
    """Build a benchmark that the tool reports without samples, with the same checks as for samples."""
    check_summary(summary, metric=metric, place=place)
    return Benchmark.of(
        name=checked_name(name, place=place), metric=checked_metric(metric, place=place), summary=summary
    )


def lost(
    benchmark: str,
    message: object = None,
    *,
    kind: Loss = Loss.FAILED,
    count: int | None = None,
    total: int | None = None,
) -> Lost:
    """Note that a benchmark failed, with the tool's message, if it gives one."""
    text = " ".join(writable(message).split())[: FILE_LIMITS.loss_characters] if isinstance(message, str) else ""
    name = writable(benchmark)[: FILE_LIMITS.name_characters]
    return Lost(benchmark=name, kind=kind, message=text or None, count=count, total=total)


def check_samples(samples: Sequence[float], *, metric: Metric, place: str) -> None:
    """Raise DataError unless there are samples, all finite, and none negative for a time."""
    if not samples:
        raise DataError("holds no samples", place=place, next_step="let the tool write its repeated numbers")
    if len(samples) > FILE_LIMITS.json_samples:
        raise TooLargeError(
            f"holds more than {FILE_LIMITS.json_samples:,} samples",
            place=place,
            next_step="let the tool keep fewer samples",
        )
    # The usual case, without any fault, is checked in C, because a suite has millions of samples.
    if not (all(map(math.isfinite, samples)) and min(samples) >= 0):
        for i, sample in enumerate(samples):
            check_number(sample, metric=metric, place=place if len(samples) == 1 else f"{place}[{i}]")


def check_summary(summary: Summary, *, metric: Metric, place: str) -> None:
    check_number(summary.value, metric=metric, place=place)
    interval = summary.confidence_interval or ()
    for number in (summary.standard_deviation, summary.minimum, summary.maximum, *interval):
        if number is not None and not math.isfinite(number):
            raise DataError("a number of the summary is not finite", place=place, next_step="run the benchmark again")


def check_number(number: float, *, metric: Metric, place: str) -> None:
    """Raise DataError for a number that cannot have been measured."""
    if not math.isfinite(number):
        raise DataError("is not a finite number", place=place, next_step="run the benchmark again")
    if number < 0 and (metric.name == TIME or metric.name.endswith(f"_{TIME}")):
        raise DataError(
            f"{number:g} {shown(metric.unit)}: a time cannot be negative",
            place=place,
            next_step="run the benchmark again",
        )


def checked_name(name: str, *, place: str) -> str:
    """Check a benchmark's name. Return it as the tool spells it, without characters that are not valid UTF-8."""
    if not name.strip():
        raise DataError("the benchmark has no name", place=place, next_step="give each benchmark a name")
    if len(name) > FILE_LIMITS.name_characters:
        raise DataError(
            f"the name is longer than {FILE_LIMITS.name_characters:,} characters",
            place=place,
            next_step="give the benchmark a shorter name",
        )
    return writable(name)


def checked_metric(metric: Metric, *, place: str) -> Metric:
    if len(metric.unit) > FILE_LIMITS.unit_characters:
        raise DataError(
            f"the unit is longer than {FILE_LIMITS.unit_characters} characters",
            place=place,
            next_step="shorten the unit",
        )
    name, unit = checked_name(metric.name, place=place), writable(metric.unit).strip()
    # Return the same object, which thousands of a suite's benchmarks share.
    return metric if (name, unit) == (metric.name, metric.unit) else structs.replace(metric, name=name, unit=unit)


def writable(text: str) -> str:
    """Replace lone surrogates, which JSON can contain but no file can hold."""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def components(**values: object) -> Environment:
    """Make an environment of the known values: numbers as text, without empty or odd values."""
    texts = {
        name: writable(" ".join(str(value).split()))[:200]
        for name, value in values.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    return Environment(components={name: text for name, text in texts.items() if text})


def full_hash(text: object) -> str | None:
    """Return a commit's full hash; None for anything else, since short hashes and branches are not permanent names."""
    if isinstance(text, str) and FULL_HASH.fullmatch(text.strip().lower()):
        return text.strip().lower()
    return None


def utc_time(text: object, *, local_is_unknown: bool = False) -> datetime | None:
    """Parse an ISO 8601 time and convert it to UTC; None for anything else.

    A time without a zone counts as UTC, or as unknown if the tool writes local times.
    """
    if not isinstance(text, str) or len(text) > 64:
        return None
    try:
        time = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return None if local_is_unknown and time.tzinfo is None else in_utc(time)


def epoch_time(seconds: object) -> datetime | None:
    """Convert seconds since 1970 to a time in UTC; None for anything else."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return in_utc(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return None


def direction_of(unit: str) -> Direction | None:
    """Return the direction that follows from the unit alone: a time per something, or a rate such as ops/s. Or None."""
    unit = unit.strip()
    if unit.partition("/")[0] in SECONDS:
        return Direction.LOWER_IS_BETTER
    return Direction.HIGHER_IS_BETTER if _RATE_UNIT.fullmatch(unit) else None


def newest(runs: Sequence[Parsed]) -> Parsed:
    """Return the last of a file's runs, with a note about the number of earlier ones."""
    older = len(runs) - 1
    return structs.replace(
        runs[-1],
        notes=(*runs[-1].notes, *(f"only the newest run of the file is used; older ones: {older}",) * bool(older)),
    )


def unique(benchmarks: Iterable[tuple[Benchmark, str]]) -> tuple[Benchmark, ...]:
    """Collect (benchmark, place) pairs of a format in which a name is unique in a file; raise DataError otherwise."""
    places: dict[MetricKey, str] = {}
    result: list[Benchmark] = []
    for benchmark, place in benchmarks:
        if (key := benchmark.key) in places:
            raise DataError(
                f"`{shown(benchmark.name)}` is also at {places[key].rpartition(': ')[2]}",
                place=place,
                next_step="give each benchmark a name of its own",
            )
        places[key] = place
        result.append(benchmark)
    return tuple(result)


def gathered(benchmarks: Iterable[tuple[Benchmark, str]]) -> tuple[Benchmark, ...]:
    """Collect the benchmarks of a format in which a repeated name means more samples (Go -count, repetitions).

    Several summaries of one metric are repeated measurements too: their values become samples.
    """
    first: dict[MetricKey, tuple[Benchmark, str]] = {}
    samples: dict[MetricKey, list[float]] = {}
    for benchmark, place in benchmarks:
        earlier, earlier_place = first.setdefault(benchmark.key, (benchmark, place))
        if earlier.metric != benchmark.metric:
            raise DataError(
                f"`{shown(benchmark.name)}` has another unit or direction than at {earlier_place.rpartition(': ')[2]}",
                place=place,
                next_step="let one suite measure a benchmark in one unit",
            )
        samples.setdefault(benchmark.key, []).extend(benchmark.samples or (benchmark.value,))
    return tuple(
        benchmark
        if benchmark.summary is not None and len(samples[key]) == 1
        else Benchmark.of(
            name=benchmark.name, metric=benchmark.metric, samples=tuple(samples[key]), version=benchmark.version
        )
        for key, (benchmark, _) in first.items()
    )


# CPython's memory for a float and its place in a tuple, and for a benchmark with its summary, place and key.
SAMPLE_BYTES = 32
BENCHMARK_BYTES = 1_000


@dataclass
class Thinning:
    """The benchmarks of one file. If it is too large for memory, each keeps one sample per equal stretch of time."""

    source: Source
    benchmarks: list[tuple[Benchmark, str]] = field(default_factory=list)
    kept: int = 0
    left_out: int = 0
    _bytes: int = 0

    def add(self, benchmark: Benchmark, place: str) -> None:
        """Add a benchmark. Raises: TooLargeError if the kept samples of a large file take too much memory."""
        if isinstance(self.source, LargeFile):
            samples = thinned(benchmark.samples)
            self.kept += len(samples)
            self.left_out += len(benchmark.samples) - len(samples)
            self._hold(SAMPLE_BYTES * len(samples) + len(benchmark.name) + BENCHMARK_BYTES)
            benchmark = structs.replace(benchmark, samples=samples)
        self.benchmarks.append((benchmark, place))

    def notes(self) -> tuple[str, ...]:
        if not self.left_out:
            return ()
        above = f"the file is above {FILE_LIMITS.file_bytes >> 20} MiB: at most {FILE_LIMITS.kept_samples:,} samples of"
        return (
            f"{above} each benchmark are kept, spread evenly over time: {self.kept:,} of {self.kept + self.left_out:,}",
        )

    def _hold(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        if self._bytes > FILE_LIMITS.kept_bytes:
            raise TooLargeError(
                f"its benchmarks take more than {FILE_LIMITS.kept_bytes >> 20} MiB of memory",
                place=self.source.place,
                next_step="split the suite into several files, or let the tool write fewer samples",
            )


def thinned(samples: Sequence[float], most: int = FILE_LIMITS.kept_samples) -> tuple[float, ...]:
    """Keep at most `most` samples in order: a random one of each of `most` equal stretches, with a fixed seed.

    With a constant distance, noise of the same period would be invisible.
    """
    if len(samples) <= most:
        return tuple(samples)
    place = random.Random(0).random  # noqa: S311 - a repeatable choice of samples guards nothing
    return tuple(samples[int((i + place()) * len(samples) / most)] for i in range(most))
