"""One execution of a benchmark suite on one commit and machine."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bot.model.counter import CounterTable
from bot.model.environment import Environment
from bot.model.metric import Metric, MetricKey


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What a tool reports instead of its samples: an honest mark that the samples are not there.

    `value` is the tool's headline number (`statistic` names it: mean, median, value, …) in the metric's unit;
    `confidence_interval` belongs to `value` at `confidence_level`. `count` is the number of samples behind it, `median`
    theirs where the headline number is another.
    """

    value: float
    statistic: str = "value"
    count: int | None = None
    standard_deviation: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    median: float | None = None
    confidence_interval: tuple[float, float] | None = None
    confidence_level: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """A named measurement: raw `samples` where the tool keeps them, else a `summary`; exactly one of the two.

    `group_sizes` splits `samples` in order into processes or forks where the tool has such levels (pyperf, JMH);
    empty means one group. `rounds` names each group's round: of runs with one job, groups of one round were executed
    one right after the other; empty where there were no rounds. `category` is the response-time category that the first
    measurement assigned.
    """

    name: str
    metric: Metric
    samples: tuple[float, ...] = ()
    summary: Summary | None = None
    group_sizes: tuple[int, ...] = ()
    rounds: tuple[int, ...] = ()
    category: str | None = None

    @property
    def key(self) -> MetricKey:
        return MetricKey(self.name, self.metric.name)

    @property
    def value(self) -> float:
        """One number for charts: the samples' mean, or the summary's headline value."""
        if self.summary is not None:
            return self.summary.value
        return sum(self.samples) / len(self.samples)


def first_doubled(benchmarks: Sequence[Benchmark]) -> tuple[int, int] | None:
    """The places of the first two of one name and metric; None where each has its own."""
    places: dict[MetricKey, int] = {}
    for index, benchmark in enumerate(benchmarks):
        if (first := places.setdefault(benchmark.key, index)) != index:
            return first, index
    return None


# All are in memory at once, and their report has to be read again: benchmarks/README.md says what that takes.
MOST_METRICS = 50_000
MOST_EXECUTIONS = 1_000_000
LONGEST_SECONDS = 1e9


@dataclass(frozen=True, slots=True)
class Cost:
    """What measuring took: executions, warm-ups included, and the machine's time with builds. 0 executions: unknown."""

    executions: int = 0
    seconds: float = 0.0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(self.executions + other.executions, self.seconds + other.seconds)


NO_COST = Cost()


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """Everything measured for one commit in one environment at one time.

    `commit` is a full hash, or None outside version control. `time` is aware (UTC) or None where unknown.
    `job` names the job that measured; runs with the same job were interleaved on one machine (paired).
    `regressions` are the metrics for which this run was judged a regression, `confirmed` those of them that a second
    measurement saw too.
    `analyses`: how often it may have been judged while it was measured, to stop when that sufficed; error rates are
    divided by it. `is_separate`: its executions are runs of their own, given as files one by one; never stored.
    `notes` are data-quality remarks of the readers, for the report.
    """

    benchmarks: tuple[Benchmark, ...] = ()
    counters: tuple[CounterTable, ...] = ()
    environment: Environment = field(default_factory=Environment)
    commit: str | None = None
    time: datetime | None = None
    suite: str = "default"
    job: str | None = None
    regressions: tuple[MetricKey, ...] = ()
    confirmed: tuple[MetricKey, ...] = ()
    analyses: int = 1
    is_separate: bool = False
    cost: Cost = NO_COST
    notes: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[MetricKey, ...]:
        """Everything measured: the benchmarks, then the counters by table and name."""
        of_counters = (key for table in self.counters for key in table.keys)
        return (*(benchmark.key for benchmark in self.benchmarks), *of_counters)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileRead:
    """`format` is the reader's id; `samples` are those of all `metrics`; `notes` say what was left out and why."""

    place: str
    format: str
    benchmarks: int
    metrics: int
    samples: int
    tables: int
    notes: tuple[str, ...] = ()
