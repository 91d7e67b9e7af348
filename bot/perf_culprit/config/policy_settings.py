"""The settings of the decision rule and the detectors, and the settings that result for one metric."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from perf_culprit.config.units import DurationMs, Percent
from perf_culprit.model.count import is_exact_quantity
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.model.run import Direction, MetricKey


class ConfigSection(BaseModel):
    # Validators are built when a file is read; most commands need only the defaults (`model_construct`).
    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        populate_by_name=True,
        alias_generator=lambda name: name.replace("_", "-"),
        defer_build=True,
    )


Mention = Annotated[str, Field(pattern=r"^@[A-Za-z0-9-]{1,39}(/[A-Za-z0-9._-]{1,100})?$")]
Mentions = Annotated[tuple[Mention, ...], Field(max_length=10)]


class CategoryConfig(ConfigSection):
    """A named range of response times: up to `below`, or everything slower if that is not set."""

    name: Annotated[str, Field(min_length=1, max_length=40, description="name of the category")]
    below: Annotated[DurationMs | None, Field(description="upper bound; the last category has none")] = None


# [H13, figure 3] names the three; the bounds are METHODS 1's.
CATEGORIES: Final[tuple[CategoryConfig, ...]] = (
    CategoryConfig.model_construct(name="fast", below=10.0),
    CategoryConfig.model_construct(name="medium", below=100.0),
    CategoryConfig.model_construct(name="slow"),
)


class LevelsConfig(ConfigSection):
    """The sizes at which a regression is a warning and fails the check. Default: the minimum effect."""

    warn: Annotated[
        Percent | None, Field(description="regressions from this size on are warnings (default: the minimum effect)")
    ] = None
    fail: Annotated[
        Percent | None,
        Field(description="regressions from this size on fail: check run, exit code 1 (default: `warn`)"),
    ] = None

    lost: Annotated[
        Literal["note", "fail"] | None,
        Field(
            description="what benchmarks that the target lacks, or that failed there, do to the check (default: `note`)"
        ),
    ] = None

    @model_validator(mode="after")
    def _ordered(self) -> "LevelsConfig":
        if self.warn is not None and self.fail is not None and self.fail < self.warn:
            raise ValueError("fail is lower than warn: nothing would ever only warn")
        return self


class Matching(ConfigSection):
    """An entry of the configuration that is about some metrics."""

    match: Annotated[str, Field(min_length=1, max_length=500, description="shell pattern on the benchmark's name")] = (
        "*"
    )
    metric: Annotated[
        str,
        Field(
            max_length=200,
            description="shell pattern on the metric's name, or [`p99`](decision-rule.md#percentiles)",
        ),
    ] = "*"

    def matches(self, key: MetricKey) -> bool:
        return fnmatchcase(key.benchmark, self.match) and fnmatchcase(key.metric, self.metric)


class BenchmarkConfig(Matching):
    """Settings of the benchmarks whose name matches. For each benchmark, only the first matching entry applies."""

    match: Annotated[str, Field(min_length=1, max_length=500, description="shell pattern on the benchmark's name")]
    minimum_effect: Annotated[
        Percent | None,
        Field(description="minimum effect of these benchmarks; if unset, 0.5% for [counts](measure.md#counts)"),
    ] = None
    levels: LevelsConfig = LevelsConfig.model_construct()
    categories: Annotated[tuple[CategoryConfig, ...] | None, Field(description="categories of these benchmarks")] = None
    category: Annotated[
        str | None,
        Field(
            description="promised category, instead of the first run's: "
            "[leaving it is a regression](decision-rule.md#categories)"
        ),
    ] = None
    direction: Annotated[
        Direction | None, Field(description="which direction is better, if the file does not state it")
    ] = None
    ignore: Annotated[bool, Field(description="leave these benchmarks out")] = False
    owners: Annotated[
        Mentions, Field(description="who is [mentioned once](tracking-issues.md) in an issue about these benchmarks")
    ] = ()


UNRULED: Final = BenchmarkConfig.model_construct(match="*")


class GroupConfig(Matching):
    """Benchmarks whose changes the report summarizes by their geometric mean."""

    name: Annotated[str, Field(min_length=1, max_length=60, description="name of the group")]


class BudgetConfig(Matching):
    """An absolute limit of a metric: an upper limit if lower is better, a lower limit if higher is better."""

    limit: Annotated[
        Annotated[str, Field(pattern=r"^\d{1,15}(\.\d{1,9})? ?[^\s\d]?\S{0,39}$")] | Annotated[float, Field(ge=0)],
        Field(description="most, or least where higher is better, such as `2 MiB`; a number is in the metric's unit"),
    ]
    because: Annotated[str, Field(min_length=1, max_length=200, description="why it is the limit; the report says it")]

    @property
    def amount(self) -> tuple[float, str]:
        number = re.match(r"[\d.]+", str(self.limit))
        end = number.end() if number else 0
        return float(str(self.limit)[:end]), str(self.limit)[end:].strip()


class RulerConfig(ConfigSection):
    """A fixed workload, measured with each run. It gauges the machine's speed; other benchmarks are scaled by it."""

    benchmark: Annotated[
        str,
        Field(
            min_length=1,
            max_length=500,
            description="a fixed workload measured with each run; all other benchmarks are scaled by its time",
        ),
    ]
    metric: Annotated[str, Field(min_length=1, max_length=200, description="metric of the ruler")] = "time"

    @property
    def key(self) -> MetricKey:
        return MetricKey(self.benchmark, self.metric)


class ControlChartConfig(ConfigSection):
    """Settings of the detector `control_chart` (docs/detectors/control-chart.md)."""

    profile: Annotated[
        Literal["guarded", "published"],
        Field(
            description="`published`: of counters, whatever is out of control is called, at any load "
            "([its rate](detectors/control-chart.md#the-published-method))"
        ),
    ] = "guarded"
    limits: Annotated[
        Literal["5/95", "1/99", "10/90", "3sd"],
        Field(description="control limits: percentiles, or standard deviations"),
    ] = "5/95"
    violation_threshold: Annotated[
        Percent | None,
        Field(
            gt=0,
            lt=1,
            description="violation ratio above which a counter is called, instead of the baseline's own "
            "([how to choose one](detectors/audit.md#thresholds))",
        ),
    ] = None
    single_run_margin: Annotated[
        Percent, Field(description="added to the expected violation ratio while there is a single baseline run")
    ] = 0.05
    drop_idle_time: Annotated[bool, Field(description="leave out the lower of a counter's two modes")] = True

    @property
    def is_published(self) -> bool:
        return self.profile == "published"


class RuleEnsembleConfig(ConfigSection):
    """Settings of the detector `rule_ensemble` (docs/detectors/rule-ensemble.md)."""

    profile: Annotated[
        Literal["guarded", "thesis"],
        Field(
            description="`thesis`: as published, without our four conditions against false alarms "
            "([rates of both](detectors/rule-ensemble.md#the-thesis))"
        ),
    ] = "guarded"
    premises: Annotated[int, Field(ge=1, le=2, description="most items in a rule's premise")] = 1
    ensemble: Annotated[
        Literal["stacking", "bagging", "single"],
        Field(description="how the baseline runs' models vote; `single` has one model of all runs"),
    ] = "stacking"
    discretisation: Annotated[
        Literal["three_level", "equal_width"], Field(description="how a counter's values become levels")
    ] = "three_level"
    confidence_change: Annotated[
        float,
        Field(
            gt=0,
            lt=1,
            description="a larger change of a rule's confidence (cosine distance) flags its counter "
            "([what it means](detectors/rule-ensemble.md#what-it-computes))",
        ),
    ] = 0.25
    support: Annotated[
        Percent, Field(gt=0, description="smallest share of the intervals with a rule's premise and consequent")
    ] = 0.1
    confidence: Annotated[
        Percent, Field(gt=0, description="smallest share of the premise's intervals with the consequent")
    ] = 0.5
    intervals: Annotated[int, Field(ge=10, le=1440, description="most intervals that a test is cut into")] = 144
    warm_up: Annotated[Percent, Field(description="share of a test dropped at its start")] = 0.05
    cool_down: Annotated[Percent, Field(description="share of a test dropped at its end")] = 0.05
    weights: Annotated[
        dict[str, Annotated[float, Field(ge=0, le=1000)]], Field(description="weight of a run's model, by full commit")
    ] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _some_test_is_left(self) -> "RuleEnsembleConfig":
        if self.warm_up + self.cool_down >= 1:
            raise ValueError("warm-up and cool-down leave nothing of a test")
        return self


@dataclass(frozen=True, kw_only=True, slots=True)
class MetricSettings:
    """The settings for one metric, all defaults resolved."""

    minimum_effect: float
    warn: float
    fail: float
    categories: tuple[CategoryConfig, ...]
    category: str | None
    direction: Direction | None
    ignore: bool
    fails_if_lost: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FalseAlarmRates:
    """Shares of unchanged runs: with any regression or improvement, and with any suspected change."""

    proven: float
    suspected: float

    @property
    def written(self) -> dict[str, str]:
        """The rates in the form that users write."""
        return {"proven": f"{100 * self.proven:g}%", "suspected": f"{100 * self.suspected:g}%"}


# docs/decision-rule.md#profiles has the cost and the findings of each.
PROFILES: Final[Mapping[str, FalseAlarmRates]] = {
    "strict": FalseAlarmRates(proven=0.001, suspected=0.01),
    "balanced": FalseAlarmRates(proven=0.01, suspected=0.10),
    "sensitive": FalseAlarmRates(proven=0.05, suspected=0.25),
}
# Settings of the rule from before it used rates of runs, and the settings that replace them.
REPLACED: Final[Mapping[str, str]] = {
    "alpha": "`proven: 1%` says in how many unchanged runs anything may be called a regression",
    "false-discovery-rate": "`proven: 1%` says in how many unchanged runs anything may be called a regression",
    "minimum-samples": "samples of one file never decide; how many files or rounds do is in docs/decision-rule.md",
}


class PolicySettings(ConfigSection):
    """The settings that a judgement depends on. Rates and effects are fractions.

    Without `levels` any regression of the minimum effect fails. `categories`, fastest first, apply to metrics of time
    where less is better. The first of `benchmarks` that matches a metric is the only one that does.
    """

    profile: Annotated[
        Literal["strict", "balanced", "sensitive"],
        Field(description="sets `proven` and `suspected`: [what each costs and finds](decision-rule.md#profiles)"),
    ] = "balanced"
    proven: Annotated[
        Percent,
        Field(gt=0, lt=0.5, description="share of unchanged runs with any regression or improvement"),
    ] = PROFILES["balanced"].proven
    suspected: Annotated[
        Percent,
        Field(gt=0, lt=0.5, description="share of unchanged runs with any suspected change"),
    ] = PROFILES["balanced"].suspected
    minimum_effect: Annotated[
        Percent,
        Field(
            description=(
                "ignore changes smaller than this, such as 5%; if unset, 1% in `changes` and 0.5% for "
                "[counts](measure.md#counts)"
            )
        ),
    ] = DEFAULTS[DataKind.BENCHMARK]
    levels: LevelsConfig = LevelsConfig.model_construct()
    categories: Annotated[
        tuple[CategoryConfig, ...],
        Field(description="response-time categories, fastest first: `- {name: fast, below: 10 ms}`"),
    ] = ()
    benchmarks: Annotated[
        tuple[BenchmarkConfig, ...],
        Field(description="settings per benchmark; the first matching entry applies"),
    ] = ()
    groups: Annotated[
        tuple[GroupConfig, ...],
        Field(
            max_length=20,
            description="the report says the [geometric mean](comment.md#groups) of each: "
            '`- {name: parser, match: "parse_*"}`',
        ),
    ] = ()
    budgets: Annotated[
        tuple[BudgetConfig, ...],
        Field(
            max_length=50,
            description="[absolute limits](decision-rule.md#budgets) of sizes, memory, times or rates: "
            '`- {metric: "size:*", limit: 2 MiB, because: the function takes no more}`',
        ),
    ] = ()
    ruler: RulerConfig | None = None
    control: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=500)], ...],
        Field(
            max_length=50,
            description="shell patterns of benchmarks that no change reaches: "
            "[where these move, the machine does](decision-rule.md#controls)",
        ),
    ] = ()
    watch: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=500)], ...],
        Field(
            max_length=50,
            description="shell patterns of benchmarks that are judged and [fail nothing](decision-rule.md#watched)",
        ),
    ] = ()
    unit: Annotated[
        Literal["run", "sample"],
        Field(
            description="what the detectors anova and median_interval compare: runs, or samples as published, "
            "[which raises many false alarms](detectors/anova.md#by-sample)"
        ),
    ] = "run"
    shapes: Annotated[
        bool,
        Field(description="also note what became [more noisy](decision-rule.md#noise), of commits measured in turn"),
    ] = False
    control_chart: ControlChartConfig = ControlChartConfig.model_construct()
    rule_ensemble: RuleEnsembleConfig = RuleEnsembleConfig.model_construct()
    ignore_environment: Annotated[bool, Field(description="also compare runs of different hardware")] = False

    def is_control(self, benchmark: str) -> bool:
        return matches_any(benchmark, self.control)

    def is_watched(self, benchmark: str) -> bool:
        return matches_any(benchmark, self.watch)

    def of(self, key: MetricKey) -> MetricSettings:
        rule = next((rule for rule in self.benchmarks if rule.matches(key)), None)
        unruled = self.counted if is_exact_quantity(key.metric) else self.general
        return unruled if rule is None else self._resolved(rule, unruled.minimum_effect)

    # Called for each of thousands of metrics; few have a rule.
    @cached_property
    def general(self) -> MetricSettings:
        """The settings of metrics without a rule."""
        return self._resolved(UNRULED, self.minimum_effect)

    @cached_property
    def counted(self) -> MetricSettings:
        """The settings of counts without a rule: their own minimum effect is smaller."""
        return self._resolved(UNRULED, min(self.minimum_effect, DEFAULTS[DataKind.COUNT]))

    def _resolved(self, rule: BenchmarkConfig, minimum: float) -> MetricSettings:
        minimum = minimum if rule.minimum_effect is None else rule.minimum_effect
        return MetricSettings(
            minimum_effect=minimum,
            warn=_first(rule.levels.warn, self.levels.warn, minimum),
            # Without a fail level of its own, the warn level also fails.
            fail=_first(rule.levels.fail, rule.levels.warn, self.levels.fail, self.levels.warn, minimum),
            categories=self._categories(rule),
            category=rule.category,
            direction=rule.direction,
            ignore=rule.ignore,
            fails_if_lost=(rule.levels.lost or self.levels.lost) == "fail",
        )

    def _categories(self, rule: BenchmarkConfig) -> tuple[CategoryConfig, ...]:
        """Return none unless some are configured. A promise without any means the usual ones."""
        return rule.categories or self.categories or (CATEGORIES if rule.category else ())

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Copy as pydantic does, but drop the settings that were resolved from the old values."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("general", "counted"):
            copied.__dict__.pop(name, None)
        return copied

    @model_validator(mode="before")
    @classmethod
    def _of_profile(cls, values: Any) -> Any:
        if not isinstance(values, Mapping):
            return values
        rates = PROFILES.get(str(values.get("profile")))
        return values if rates is None else {**rates.written, **values}

    @model_validator(mode="after")
    def _tiers_in_order(self) -> Self:
        if self.suspected < self.proven:
            raise ValueError("suspected is lower than proven: what is proven is suspected first")
        return self

    @model_validator(mode="after")
    def _of_known_categories(self) -> Self:
        for categories in (self.categories, *(benchmark.categories or () for benchmark in self.benchmarks)):
            _check_categories(categories)
        for benchmark in self.benchmarks:
            names = [category.name for category in self._categories(benchmark)]
            if benchmark.category is not None and benchmark.category not in names:
                raise ValueError(f"category {benchmark.category!r} is none of {', '.join(names)}")
        return self


def _check_categories(categories: Sequence[CategoryConfig]) -> None:
    bounds = [category.below for category in categories]
    inner = bounds[:-1]
    if any(bound is None for bound in inner):
        raise ValueError("only the last category may leave out below")
    stated = [bound for bound in bounds if bound is not None]
    if stated != sorted(set(stated)):
        raise ValueError("categories go from the fastest to the slowest, each below higher than the one before")


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Return whether one of the shell patterns matches, with upper and lower case told apart."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)
