"""What a format module provides, what it gives back, and the only ways to build a benchmark from foreign numbers."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Protocol

from msgspec import structs

from perf_culprit.errors import DataError, TooLargeError
from perf_culprit.model.run import (
    FULL_HASH,
    NO_COST,
    Benchmark,
    Cost,
    CounterTable,
    Direction,
    Environment,
    Metric,
    MetricKey,
    Part,
    Run,
    Summary,
)
from perf_culprit.read.results.content import shown
from perf_culprit.read.results.source import MAX_SAMPLES, Source

MAX_NAME_CHARACTERS = 10_000
MAX_UNIT_CHARACTERS = 100
TIME = "time"
# The metric's name where the file has none.
VALUE = "value"
SECOND_TIME = Metric(name=TIME, unit="s", direction=Direction.LOWER_IS_BETTER)
NANOSECOND_TIME = Metric(name=TIME, unit="ns", direction=Direction.LOWER_IS_BETTER)
# Where only the name that a user gives says which way is good.
NAMED_DIRECTIONS = {"smaller": Direction.LOWER_IS_BETTER, "bigger": Direction.HIGHER_IS_BETTER}
TIME_UNITS = {
    *("ns", "nsec", "nanoseconds", "us", "\N{MICRO SIGN}s", "\N{GREEK SMALL LETTER MU}s", "usec", "microseconds"),
    *("ms", "msec", "milliseconds", "s", "sec", "second", "seconds", "min", "minutes"),
}
_SURROGATE = re.compile("[\ud800-\udfff]")
_RATE_UNIT = re.compile(
    r"(ops|op|iter|iterations|items|bytes|[kmgt]i?b|b|req|requests|calls)/(s|sec|second)", re.IGNORECASE
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Parsed:
    """What one file says about one run. `commit` is a full hash, `time` aware UTC; None where the file is silent.

    `benchmarks` of unknown direction are left out unless the configuration states it (`directions`): `undirected` of
    them were. `suite`, `job`, `regressions`, `confirmed`, `analyses`, `cost` and `part` come only from our own run
    files. `notes` are data-quality remarks for the report.
    """

    benchmarks: tuple[Benchmark, ...] = ()
    counters: tuple[CounterTable, ...] = ()
    environment: Environment = field(default_factory=Environment)
    commit: str | None = None
    time: datetime | None = None
    suite: str | None = None
    job: str | None = None
    regressions: tuple[MetricKey, ...] = ()
    confirmed: tuple[MetricKey, ...] = ()
    analyses: int = 1
    cost: Cost = NO_COST
    undirected: int = 0
    notes: tuple[str, ...] = ()
    part: Part | None = None

    @classmethod
    def of(cls, run: Run, **others: Any) -> "Parsed":
        held = structs.asdict(run)
        del held["is_separate"]
        return cls(**held | others)

    @property
    def is_own_run(self) -> bool:
        return self.suite is not None


class Parser(Protocol):
    """One format. A module that has these names is one (PEP 544: no `self` in a module).

    `matches` looks at the content only, is cheap and never raises (`text_or_empty`, `json_or_none`); where it says yes
    for broken numbers, `parse` says what is wrong. `parse` raises DataError with a place such as
    `bench.json: benchmarks[3].stats.data` or `bench.txt:12`, and nothing else. `EXAMPLE` is how
    such a file is written. `ID` is its anchor in docs/formats.md.
    """

    @property
    def ID(self) -> str: ...  # noqa: N802 - a module's constant
    @property
    def DESCRIPTION(self) -> str: ...  # noqa: N802 - a module's constant
    @property
    def EXAMPLE(self) -> str: ...  # noqa: N802 - a module's constant
    def matches(self, source: Source, /) -> bool: ...
    def parse(self, source: Source, /) -> Parsed: ...


class HistoryParser(Parser, Protocol):
    """A format whose one file holds runs of many commits (data.js, Otava CSV, Nyrkiö): `parse` gives the newest."""

    def parse_history(self, source: Source, /) -> tuple[Parsed, ...]:
        """All runs, oldest first."""


class TreeParser(Parser, Protocol):
    """A format that spreads one run over files of a directory (Criterion). Files are recognized by name and content.

    `belongs` says whether a file is part of such a tree (cheap, never raises); `parse_tree` gets all that belong, of
    one input, in path order. `parse` of a single file is the tree of that file alone.
    """

    def belongs(self, source: Source, /) -> bool: ...
    def parse_tree(self, sources: Sequence[Source], /) -> Parsed: ...


def from_samples(
    name: str, *, metric: Metric, samples: Sequence[float], place: str, group_sizes: Sequence[int] = ()
) -> Benchmark:
    """A benchmark of repeated numbers, as `check_samples` wants them."""
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
    """As `from_samples`, of samples by process or launch."""
    return from_samples(
        name,
        metric=metric,
        samples=tuple(chain.from_iterable(groups)),
        place=place,
        group_sizes=tuple(map(len, groups)),
    )


def from_summary(name: str, *, metric: Metric, summary: Summary, place: str) -> Benchmark:
    """A benchmark that the tool reports without its samples; the same refusals as for samples."""
    check_summary(summary, metric=metric, place=place)
    return Benchmark.of(
        name=checked_name(name, place=place), metric=checked_metric(metric, place=place), summary=summary
    )


def check_samples(samples: Sequence[float], *, metric: Metric, place: str) -> None:
    """At least one, all finite, none negative in a time."""
    if not samples:
        raise DataError("holds no samples", place=place, next_step="let the tool write its repeated numbers")
    if len(samples) > MAX_SAMPLES:
        raise TooLargeError(
            f"holds more than {MAX_SAMPLES:,} samples", place=place, next_step="let the tool keep fewer samples"
        )
    # In C where all is well, which is nearly always: a suite has millions of samples.
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
    """Refuses what cannot have been measured."""
    if not math.isfinite(number):
        raise DataError("is not a finite number", place=place, next_step="run the benchmark again")
    if number < 0 and (metric.name == TIME or metric.name.endswith(f"_{TIME}")):
        raise DataError(
            f"{number:g} {shown(metric.unit)}: a time cannot be negative",
            place=place,
            next_step="run the benchmark again",
        )


def checked_name(name: str, *, place: str) -> str:
    """A benchmark's name as the tool spells it; only what cannot be written as UTF-8 is replaced."""
    if not name.strip():
        raise DataError("the benchmark has no name", place=place, next_step="give each benchmark a name")
    if len(name) > MAX_NAME_CHARACTERS:
        raise DataError(
            f"the name is longer than {MAX_NAME_CHARACTERS:,} characters",
            place=place,
            next_step="give the benchmark a shorter name",
        )
    return writable(name)


def checked_metric(metric: Metric, *, place: str) -> Metric:
    if len(metric.unit) > MAX_UNIT_CHARACTERS:
        raise DataError(
            f"the unit is longer than {MAX_UNIT_CHARACTERS} characters", place=place, next_step="shorten the unit"
        )
    name, unit = checked_name(metric.name, place=place), writable(metric.unit).strip()
    # A suite's benchmarks share one, thousands of times.
    return metric if (name, unit) == (metric.name, metric.unit) else structs.replace(metric, name=name, unit=unit)


def writable(text: str) -> str:
    """JSON can spell half characters (lone surrogates) that no file can hold."""
    return text if text.isascii() else _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def components(**values: object) -> Environment:
    """An environment of what is known: numbers as text, empty or odd values left out."""
    texts = {
        name: writable(" ".join(str(value).split()))[:200]
        for name, value in values.items()
        if isinstance(value, str | int | float) and not isinstance(value, bool)
    }
    return Environment(components={name: text for name, text in texts.items() if text})


def full_hash(text: object) -> str | None:
    """A commit's full hash, or None for anything else: short hashes and branch names do not name a commit for ever."""
    if isinstance(text, str) and FULL_HASH.fullmatch(text.strip().lower()):
        return text.strip().lower()
    return None


def utc_time(text: object, *, local_is_unknown: bool = False) -> datetime | None:
    """An ISO 8601 time in UTC; None for anything else.

    A time without a zone is taken as UTC, or as unknown where the tool writes local times.
    """
    if not isinstance(text, str) or len(text) > 64:
        return None
    try:
        time = datetime.fromisoformat(text.strip())
        if time.tzinfo is None:
            return None if local_is_unknown else time.replace(tzinfo=UTC)
        return time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def epoch_time(seconds: object) -> datetime | None:
    """Seconds since 1970 in UTC; None for anything that is no such time."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def direction_of(unit: str) -> Direction | None:
    """The direction that the unit alone says: a time per something, or a rate such as ops/s. None where it does not."""
    unit = unit.strip()
    if unit.partition("/")[0] in TIME_UNITS:
        return Direction.LOWER_IS_BETTER
    return Direction.HIGHER_IS_BETTER if _RATE_UNIT.fullmatch(unit) else None


def newest(runs: Sequence[Parsed]) -> Parsed:
    """The last of a file's runs, with a note of how many come before it."""
    older = len(runs) - 1
    return replace(
        runs[-1],
        notes=(*runs[-1].notes, *(f"only the newest run of the file is used; older ones: {older}",) * bool(older)),
    )


def unique(benchmarks: Iterable[tuple[Benchmark, str]]) -> tuple[Benchmark, ...]:
    """The benchmarks, each given with its place, of a format where a name may stand only once in a file."""
    places: dict[MetricKey, str] = {}
    kept: list[Benchmark] = []
    for benchmark, place in benchmarks:
        if (key := benchmark.key) in places:
            raise DataError(
                f"`{shown(benchmark.name)}` is also at {places[key].rpartition(': ')[2]}",
                place=place,
                next_step="give each benchmark a name of its own",
            )
        places[key] = place
        kept.append(benchmark)
    return tuple(kept)


def gathered(benchmarks: Iterable[tuple[Benchmark, str]]) -> tuple[Benchmark, ...]:
    """The benchmarks of a format where the same name again means more samples (Go -count, repetitions).

    Several summaries of one metric are repeated measurements too: their headline values become samples.
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
