"""One execution of a benchmark suite on one commit and machine: its metrics, counters and environment."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

import msgspec
from msgspec import structs

from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.json_files import explicit_default
from perf_culprit.model.reason import Loss, Reason, because
from perf_culprit.model.text_limits import TEXT_LIMITS

if TYPE_CHECKING:
    from perf_culprit.arrays import Floats


FULL_HASH_PATTERN: Final = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
FULL_HASH: Final = re.compile(FULL_HASH_PATTERN)
# Years that a clock of any zone can show in four digits: stored files are named by their time.
YEARS: Final = range(1970, 9999)


def short_hash(text: str) -> str:
    """Return the part of a commit's or of a benchmark version's hash that a text shows."""
    return text[: TEXT_LIMITS.hash_characters]


def in_utc(time: datetime) -> datetime | None:
    """Return the time in UTC. A time without a zone is UTC; None if no measurement can have this time."""
    if time.year not in YEARS:
        return None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


TIME: Final = "time"  # by the clock


# The names of metrics that are computed from raw samples, if the configuration names them.
PERCENTILE: Final = re.compile(r"p[5-9][0-9](?:\.[0-9]{1,2})?")


class Direction(StrEnum):
    """The better direction of a metric. It is read from the tool's output or the configuration, and never guessed."""

    LOWER_IS_BETTER = "lower_is_better"
    HIGHER_IS_BETTER = "higher_is_better"
    UNKNOWN = "unknown"  # most counters: any departure from the normal range counts against the target

    @property
    def worse_sign(self) -> int:
        """The sign of a bad relative change: +1 if lower is better, -1 if higher is better, 0 if unknown."""
        return {Direction.LOWER_IS_BETTER: 1, Direction.HIGHER_IS_BETTER: -1, Direction.UNKNOWN: 0}[self]


class Metric(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A measured quantity, such as `time` in `ns`. `unit` is the tool's own spelling, or "" without a unit."""

    name: str
    unit: str
    direction: Direction


@lru_cache(maxsize=1024)
def shared_metric(name: str, unit: str, direction: Direction) -> Metric:
    """Return the metric, one object per value: a suite has few metrics and many benchmarks."""
    return Metric(name=name, unit=unit, direction=direction)


class MetricKey(msgspec.Struct, frozen=True, order=True, forbid_unknown_fields=True):
    """The benchmark and the metric's name. Only measurements with equal keys are compared."""

    benchmark: str
    metric: str

    @property
    def full_name(self) -> str:
        """The name in a report if a benchmark has several metrics. A counter's benchmark is its table."""
        return f"{self.benchmark} {self.metric}"


# Components that change a benchmark's level on their own: numbers from another CPU are no baseline.
HARDWARE_COMPONENTS = ("cpu", "architecture", "os")

# A package of a lock file is the component "pip:numpy".
PACKAGE_SEPARATOR = ":"
# The commit whose benchmarks ran on another commit's code.
HARNESS: Final = "harness"
VARIANT: Final = "variant"  # what else distinguishes two measurements, on purpose
# Names of one machine among many alike, or of one measurement; they do not affect the results.
HOST: Final = "host"
BOOT: Final = "boot"  # one start of the machine
CI_RUN: Final = "ci_run"  # one run of a job
OF_ONE_MACHINE = frozenset({HOST, BOOT, CI_RUN, HARNESS})


class EnvironmentChange(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A component of the environment whose value changed, such as `pip:numpy` from "2.4.5" to "2.4.6"."""

    name: str
    before: str
    after: str


def is_package(component: str) -> bool:
    return PACKAGE_SEPARATOR in component


ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "aarch64"}  # names of Go and macOS to those of Linux
Components = Annotated[
    dict[
        Annotated[str, msgspec.Meta(max_length=FILE_LIMITS.component_characters)],
        Annotated[str, msgspec.Meta(max_length=FILE_LIMITS.component_value_characters)],
    ],
    msgspec.Meta(max_length=FILE_LIMITS.components),
]


def _spelt(value: str) -> str:
    """A component's value in a uniform spelling."""
    return ARCHITECTURES.get(value.casefold(), value.casefold())


class Environment:
    """Named components, such as {"cpu": "AMD EPYC 7763", "os": "Linux", "python": "3.13.5"}.

    The common names are `cpu`, `cpu_count`, `architecture`, `memory`, `os`, `os_release`, `runner_image`, `host`. There
    is one per compiler or runtime (`gcc`, `clang`, `python`, `java`, `go`, `rust`, `node`, `dotnet`). Packages of lock
    files have their ecosystem: `pip:numpy`, `npm:react`, `cargo:serde`, `go:golang.org/x/text`. An unknown component is
    omitted, never an empty string. A file holds only the components.
    """

    __slots__ = ("components",)
    JSON = Components

    def __init__(self, *, components: Mapping[str, str] | None = None) -> None:
        self.components = components or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Environment) and self.components == other.components

    def __hash__(self) -> int:
        return hash(frozenset(self.components.items()))

    def __repr__(self) -> str:
        return f"Environment(components={dict(self.components)!r})"

    def to_json(self) -> dict[str, str]:
        return dict(self.bounded.components)

    @classmethod
    def from_json(cls, components: dict[str, str]) -> "Environment":
        return cls(components=components).bounded

    def differences(self, other: "Environment", names: Iterable[str] = HARDWARE_COMPONENTS) -> tuple[str, ...]:
        """Return the names whose values are known on both sides and differ, apart from spellings (Go: linux, amd64)."""
        ours, theirs = self.components, other.components
        return tuple(
            name for name in names if name in ours and name in theirs and _spelt(ours[name]) != _spelt(theirs[name])
        )

    def changes_to(self, later: "Environment") -> tuple[EnvironmentChange, ...]:
        """Return the components that are known on both sides and differ, packages last."""
        names = sorted(self.components.keys() - OF_ONE_MACHINE, key=lambda name: (is_package(name), name))
        ours, theirs = self.components, later.components
        return tuple(
            EnvironmentChange(name=name, before=ours[name], after=theirs[name])
            for name in self.differences(later, names)
        )

    @property
    def bounded(self) -> "Environment":
        """The components that a file may hold: the machine, then packages, up to the limits of number and size."""
        components: dict[str, str] = {}
        room = FILE_LIMITS.environment_characters
        for name, value in sorted(self.components.items(), key=lambda item: is_package(item[0])):
            room -= len(name) + min(len(value), FILE_LIMITS.component_value_characters)
            if room < 0 or len(components) == FILE_LIMITS.components:
                break
            if len(name) <= FILE_LIMITS.component_characters:
                components[name] = value[: FILE_LIMITS.component_value_characters]
        return Environment(components=components)

    def merged(self, other: "Environment") -> "Environment":
        """These components, completed with `other`'s."""
        return Environment(components={**other.components, **self.components})


class Origin(NamedTuple):
    """Facts of a file that tell with which others it shares a machine and a stretch of time; None if unknown."""

    place: tuple[str | None, str | None, str | None]
    time: datetime | None

    @property
    def is_told(self) -> bool:
        return self.time is not None or any(self.place)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CounterTable:
    """Counters of one source with common sampling instants. Tables of one run may differ in rate and clock.

    `times_s` (n,): seconds since 1970, or since the start if the file has no date; strictly increasing.
    `values` (n, m): column j is `metrics[j]`; NaN where a value is missing. `load` (n,): the demand on the system at
    each instant (requests per second, users, …), where the source recorded it; NaN where missing.
    `name` identifies the source within the run: a host, a file. Arrays are read-only by convention. `interval_s`: each
    row holds medians of an interval this long and has its first instant as its time; None for raw samples.
    """

    name: str
    metrics: tuple[Metric, ...]
    times_s: "Floats"
    values: "Floats"
    load: "Floats | None" = None
    load_name: str | None = None
    interval_s: float | None = None

    @property
    def keys(self) -> tuple[MetricKey, ...]:
        return tuple(MetricKey(self.name, metric.name) for metric in self.metrics)


class TimeSeries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Chart data of one counter of the target over time: medians of equal intervals, null if an interval has none.

    The first value is at `start_s` of the table's clock, the next `interval_s` later. `lower` and `upper` are the
    medium level's boundaries or the control limits. `violations` are spans on the same clock. `is_scaled`: the values
    are scaled to the load of the baseline.
    """

    values: tuple[float, ...]
    start_s: float
    interval_s: float
    lower: float
    upper: float
    violations: tuple[tuple[float, float], ...] = ()
    is_scaled: bool = False


class Summary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A tool's summary of a measurement whose samples are unavailable.

    `value` is the tool's headline number in the metric's unit; `statistic` names it (mean, median, value, …).
    `confidence_interval` is that of `value` at `confidence_level`. `count` is the number of samples behind it, `median`
    is their median if `value` is something else.
    """

    value: float
    statistic: str = explicit_default("value")
    count: int | None = None
    standard_deviation: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    median: float | None = None
    confidence_interval: tuple[float, float] | None = None
    confidence_level: float | None = None


class Benchmark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One metric of a benchmark: raw `samples` if the tool keeps them, else a `summary`. Exactly one of them is set.

    `group_sizes` splits `samples` in order into processes or forks if the tool has such levels (pyperf, JMH); empty
    means one group. `rounds` is the round of each group: runs with the same job executed groups of one round directly
    after each other. It is empty without rounds. `category` is the response-time category that the first measurement
    assigned. `version` identifies the benchmark's own code, such as by a hash of its source, if the tool gives one.
    Numbers of two versions are not comparable.
    """

    name: str
    metric_name: str = msgspec.field(default_factory=lambda: "time", name="metric")
    unit: str = explicit_default("")
    direction: Direction = explicit_default(Direction.LOWER_IS_BETTER)
    samples: tuple[float, ...] = ()
    summary: Summary | None = None
    group_sizes: tuple[int, ...] = ()
    rounds: tuple[int, ...] = ()
    category: str | None = None
    version: Annotated[str, msgspec.Meta(max_length=FILE_LIMITS.component_characters)] | None = None

    @classmethod
    def of(cls, *, metric: Metric, **others: Any) -> "Benchmark":
        return cls(metric_name=metric.name, unit=metric.unit, direction=metric.direction, **others)

    def with_metric(self, metric: Metric) -> "Benchmark":
        """Return the same numbers, as samples of `metric`."""
        return structs.replace(self, metric_name=metric.name, unit=metric.unit, direction=metric.direction)

    @property
    def metric(self) -> Metric:
        return shared_metric(self.metric_name, self.unit, self.direction)

    @property
    def key(self) -> MetricKey:
        return MetricKey(self.name, self.metric_name)

    def is_version_of(self, other: "Benchmark") -> bool:
        """Return whether both are, or may be, the same benchmark: an unknown version matches any other."""
        return None in (self.version, other.version) or self.version == other.version

    @property
    def value(self) -> float:
        """One number for charts: the samples' mean, or the summary's headline value."""
        if self.summary is not None:
            return self.summary.value
        return sum(self.samples) / len(self.samples)


class FailedSide(StrEnum):
    """A side of a comparison."""

    BASELINE = "baseline"
    TARGET = "target"


class Lost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A benchmark that failed, and what is known about it. An empty name stands for the whole command.

    `message` is the tool's own. `count` of `total` executions or requests failed, if the tool counts them.
    `side` is set in a report.
    """

    benchmark: str
    kind: Loss
    message: Annotated[str, msgspec.Meta(max_length=FILE_LIMITS.loss_characters)] | None = None
    count: Annotated[int, msgspec.Meta(ge=0)] | None = None
    total: Annotated[int, msgspec.Meta(ge=0)] | None = None
    side: FailedSide | None = None

    @property
    def reason(self) -> Reason:
        facts = {"side": self.side, "message": self.message, "count": self.count, "total": self.total}
        return because(self.kind, **facts)


Losses = Annotated[tuple[Lost, ...], msgspec.Meta(max_length=FILE_LIMITS.losses)]


def first_doubled(benchmarks: Sequence[Benchmark]) -> tuple[int, int] | None:
    """Return the places of the first two with the same name and metric, or None if all differ."""
    places: dict[MetricKey, int] = {}
    for index, benchmark in enumerate(benchmarks):
        if (first := places.setdefault(benchmark.key, index)) != index:
            return first, index
    return None


class Cost(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cost of measuring: executions, warm-ups included, and machine time with builds. 0 executions: unknown."""

    executions: Annotated[int, msgspec.Meta(ge=0, le=FILE_LIMITS.executions)] = 0
    seconds: Annotated[float, msgspec.Meta(ge=0, le=FILE_LIMITS.measuring_s)] = 0.0

    def __bool__(self) -> bool:
        return self.executions > 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.executions + other.executions, self.seconds + other.seconds)


NO_COST = Cost()


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The parts of a suite in this run: `indices`, from 1 and in order, of the `count` parts of the whole suite.

    `division` is a hash of the list that was divided. Machines that divided different lists leave gaps.
    """

    indices: Annotated[tuple[int, ...], msgspec.Meta(min_length=1, max_length=ARTIFACT_LIMITS.reports)]
    count: Annotated[int, msgspec.Meta(ge=1, le=ARTIFACT_LIMITS.reports)]
    division: Annotated[str, msgspec.Meta(max_length=FILE_LIMITS.component_characters)] | None = None

    def __post_init__(self) -> None:
        if list(self.indices) != sorted(set(self.indices) & set(range(1, self.count + 1))):
            raise ValueError(f"indices are not different ones of 1 to {self.count}, in order")

    @property
    def missing(self) -> tuple[int, ...]:
        return tuple(index for index in range(1, self.count + 1) if index not in self.indices)


class Unreached(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The suite, or the listed `packages` of it, was not measured, because no change reaches it.

    `files` changed, and `documents` of them are documentation. The others are in the folders `changed`.
    """

    files: Annotated[int, msgspec.Meta(ge=0, le=FILE_LIMITS.executions)]
    documents: Annotated[int, msgspec.Meta(ge=0, le=FILE_LIMITS.executions)] = 0
    changed: Annotated[tuple[str, ...], msgspec.Meta(max_length=FILE_LIMITS.unreached)] = ()
    packages: Annotated[tuple[str, ...], msgspec.Meta(max_length=FILE_LIMITS.unreached)] = ()


MethodIndex = Annotated[
    dict[
        str,
        Annotated[
            tuple[Annotated[str, msgspec.Meta(max_length=FILE_LIMITS.index_method_characters)], ...],
            msgspec.Meta(max_length=FILE_LIMITS.index_methods),
        ],
    ],
    msgspec.Meta(max_length=FILE_LIMITS.index_benchmarks),
]


class Execution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The kernel's account of one execution of the command.

    `seconds` is its wall time, `cpu_seconds` the user and system time of its processes. `delay_seconds` is the time in
    which they could run and had no processor; null if the kernel does not tell. `benchmark` ran alone in it, if set.
    """

    seconds: Annotated[float, msgspec.Meta(ge=0, le=FILE_LIMITS.measuring_s)]
    cpu_seconds: Annotated[float, msgspec.Meta(ge=0, le=FILE_LIMITS.measuring_s)]
    delay_seconds: Annotated[float, msgspec.Meta(ge=0, le=FILE_LIMITS.measuring_s)] | None = None
    benchmark: str | None = None


class Run(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything measured for one commit in one environment at one time. `StoredRun` describes the members.

    `time` is aware (UTC). `origins`: those of its executions, if each was given as a file of its own; never stored.
    """

    benchmarks: tuple[Benchmark, ...] = ()
    counters: tuple[CounterTable, ...] = ()
    environment: Environment = msgspec.field(default_factory=Environment)
    commit: str | None = None
    time: datetime | None = None
    suite: str = "default"
    job: str | None = None
    regressions: tuple[MetricKey, ...] = ()
    confirmed: tuple[MetricKey, ...] = ()
    analyses: Annotated[int, msgspec.Meta(ge=1, le=1000)] = msgspec.field(default=1, name="looks")
    origins: tuple[Origin, ...] = ()
    cost: Cost = NO_COST
    notes: tuple[str, ...] = ()
    lost: Losses = ()
    part: Part | None = None
    unreached: Unreached | None = None
    executions: Annotated[tuple[Execution, ...], msgspec.Meta(max_length=FILE_LIMITS.executions)] = ()
    seed: Annotated[int, msgspec.Meta(ge=0, lt=2**32)] | None = None
    methods: MethodIndex = msgspec.field(default_factory=dict)

    @property
    def origin(self) -> Origin:
        components = self.environment.components
        return Origin((components.get(HOST), components.get(BOOT), components.get(CI_RUN)), self.time)

    @property
    def keys(self) -> tuple[MetricKey, ...]:
        """The keys of everything measured: the benchmarks, then the counters by table and name."""
        of_counters = (key for table in self.counters for key in table.keys)
        return (*(benchmark.key for benchmark in self.benchmarks), *of_counters)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRead:
    """`format` is the reader's id; `samples` are those of all `metrics`; `notes` tell what was omitted and why."""

    place: str
    format: str
    benchmarks: int
    metrics: int
    samples: int
    tables: int
    notes: tuple[str, ...] = ()
