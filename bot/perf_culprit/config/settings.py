"""What can be set: one frozen `Config`, its sections and its JSON schema."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache, cached_property
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import parse_qsl, unquote

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema, model_validator

from perf_culprit.config.units import DurationMs, Percent, SizeBytes
from perf_culprit.model.count import MINIMUM_EFFECT, SIZE, Count, as_quantity, is_exact
from perf_culprit.model.run import Direction, MetricKey

# Where a history in a database is: `postgresql://user@host/name` or `sqlite:///file.db`.
#
# What stands in a file or on a command line is read by many, so a password there is refused. It comes from
# PERF_CULPRIT_HISTORY_URL, or by libpq's own ways (PGPASSWORD, ~/.pgpass).

VARIABLE: Final = "PERF_CULPRIT_HISTORY_URL"
# Of libpq's parameters those that name no secret and no file of one.
OPEN_PARAMETERS: Final = frozenset({"application_name", "connect_timeout", "host", "port", "sslmode", "sslrootcert"})
_SCHEME: Final = re.compile(r"(postgres(?:ql)?|sqlite)://")
_POSTGRESQL: Final = re.compile(
    r"postgres(?:ql)?://(?:(?P<user>[^:/?#@]*)(?::(?P<password>[^/?#@]*))?@)?"
    r"(?:(?P<host>[A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?)?"
    r"/(?P<database>[^/?#@]+)(?:\?(?P<query>[^#]*))?"
)
_SQLITE: Final = re.compile(r"sqlite:///(?P<database>[^?#]+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class DatabaseUrl:
    """`database` is a name, or SQLite's file. Neither `repr` nor `shown` holds a secret."""

    dialect: str
    database: str
    user: str | None = None
    host: str | None = None
    port: int | None = None
    password: str | None = field(default=None, repr=False)
    parameters: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        if self.dialect == "sqlite":
            return f"sqlite:///{self.database}"
        host = self.host or self.parameters.get("host", "")
        return f"postgresql://{host}{f':{self.port}' if self.port else ''}/{self.database}"

    @property
    def place(self) -> tuple[str | int | None, ...]:
        """Equal of two that name the same user and database."""
        return (self.dialect, self.database, self.user, self.host, self.port, self.parameters.get("host"))


def is_database(text: str) -> bool:
    return _SCHEME.match(text) is not None


def parse_database(text: str, *, with_secret: bool = False) -> DatabaseUrl:
    """The place that `text` names; a ValueError that repeats nothing of it, because it may hold a secret."""
    if match := _SQLITE.fullmatch(text):
        return DatabaseUrl(dialect="sqlite", database=unquote(match["database"]))
    if (match := _POSTGRESQL.fullmatch(text)) is None or int(match["port"] or 1) not in range(1, 65536):
        raise ValueError(
            "no URL of a database: write postgresql://USER@HOST/NAME or sqlite:///FILE, and special characters as %40"
        )
    parameters = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    if not with_secret:
        if match["password"] is not None or "password" in parameters:
            raise ValueError(f"holds a password, which others can read: give it in {VARIABLE} or PGPASSWORD")
        if foreign := sorted(parameters.keys() - OPEN_PARAMETERS):
            raise ValueError(f"the parameter {foreign[0][:40]!r} belongs into {VARIABLE}")
    return DatabaseUrl(
        dialect="postgresql",
        database=unquote(match["database"]),
        user=unquote(match["user"]) if match["user"] else None,
        host=match["host"].strip("[]") if match["host"] else None,
        port=int(match["port"]) if match["port"] else None,
        password=unquote(match["password"]) if match["password"] else None,
        parameters=parameters,
    )


Database = Annotated[
    DatabaseUrl,
    BeforeValidator(lambda value: parse_database(value) if isinstance(value, str) else value),
    WithJsonSchema({"type": "string", "pattern": _SCHEME.pattern, "maxLength": 500}),
]


# The decision rule and the detectors as they can be set, and what follows for one metric.


class Section(BaseModel):
    model_config = ConfigDict(
        frozen=True, extra="forbid", populate_by_name=True, alias_generator=lambda name: name.replace("_", "-")
    )


class CategoryConfig(Section):
    """A named interval of response times: up to `below`, without it everything slower."""

    name: Annotated[str, Field(min_length=1, max_length=40)]
    below: DurationMs | None = None


# [H13, figure 3] names the three; the bounds are METHODS 1's.
CATEGORIES: Final[tuple[CategoryConfig, ...]] = (
    CategoryConfig(name="fast", below="10 ms"),
    CategoryConfig(name="medium", below="100 ms"),
    CategoryConfig(name="slow"),
)


class LevelsConfig(Section):
    """How much worse a regression must be to be a warning, and to fail the check. Default: the minimum effect."""

    warn: Percent | None = None
    fail: Percent | None = None

    @model_validator(mode="after")
    def _ordered(self) -> "LevelsConfig":
        if self.warn is not None and self.fail is not None and self.fail < self.warn:
            raise ValueError("fail is lower than warn: nothing would ever only warn")
        return self


class BenchmarkConfig(Section):
    """Settings of the benchmarks whose name matches; the first entry that matches a benchmark is its entry."""

    match: Annotated[str, Field(min_length=1, max_length=500, description="shell pattern on the benchmark's name")]
    metric: Annotated[str, Field(max_length=200, description="shell pattern on the metric's name")] = "*"
    minimum_effect: Percent | None = None
    levels: LevelsConfig = LevelsConfig()
    categories: tuple[CategoryConfig, ...] | None = None
    category: str | None = None
    direction: Direction | None = None
    ignore: bool = False

    def matches(self, key: MetricKey) -> bool:
        return fnmatchcase(key.benchmark, self.match) and fnmatchcase(key.metric, self.metric)


class RulerConfig(Section):
    """A fixed workload measured with each run: it tells how fast the machine was, and all others are scaled by it."""

    benchmark: Annotated[str, Field(min_length=1, max_length=500)]
    metric: Annotated[str, Field(min_length=1, max_length=200)] = "time"

    @property
    def key(self) -> MetricKey:
        return MetricKey(self.benchmark, self.metric)


class ControlChartConfig(Section):
    """Limits of the detector `control_chart` (docs/detectors/control-chart.md)."""

    limits: Literal["5/95", "1/99", "10/90", "3sd"] = "5/95"
    single_run_margin: Annotated[Percent, Field(description="allowed beyond the expected ratio with one run")] = 0.05
    drop_idle_time: bool = True


class RuleEnsembleConfig(Section):
    """The detector `rule_ensemble` (docs/detectors/rule-ensemble.md)."""

    ensemble: Literal["stacking", "bagging", "single"] = "stacking"
    discretisation: Literal["three_level", "equal_width"] = "three_level"
    confidence_change: Annotated[
        float, Field(gt=0, lt=1, description="cosine distance of a rule's confidences that flags its counter")
    ] = 0.25
    support: Annotated[Percent, Field(gt=0, description="share of the intervals that a rule has to hold in")] = 0.1
    confidence: Annotated[Percent, Field(gt=0, description="share of its premise's intervals in which it holds")] = 0.5
    intervals: Annotated[int, Field(ge=10, le=1440, description="that a test is cut into, at most")] = 144
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
    """What holds for one metric, all defaults resolved."""

    minimum_effect: float
    warn: float
    fail: float
    categories: tuple[CategoryConfig, ...]
    category: str | None
    direction: Direction | None
    ignore: bool


class PolicySettings(Section):
    """What a judgement depends on. Rates and effects are fractions.

    Without `levels` any regression of the minimum effect fails. `categories`, fastest first, apply to metrics of time
    where less is better. The first of `benchmarks` that matches a metric is the only one that does.
    """

    alpha: Percent = 0.01
    false_discovery_rate: Percent = 0.01
    minimum_effect: Percent = 0.05
    minimum_samples: Annotated[int, Field(ge=2, le=10_000, description="per side; below it nothing is judged")] = 4
    levels: LevelsConfig = LevelsConfig()
    categories: tuple[CategoryConfig, ...] = CATEGORIES
    benchmarks: tuple[BenchmarkConfig, ...] = ()
    ruler: RulerConfig | None = None
    control_chart: ControlChartConfig = ControlChartConfig()
    rule_ensemble: RuleEnsembleConfig = RuleEnsembleConfig()
    ignore_environment: Annotated[bool, Field(description="compare runs of different hardware all the same")] = False

    def of(self, key: MetricKey) -> MetricSettings:
        rule = next((rule for rule in self.benchmarks if rule.matches(key)), None)
        unruled = self.counted if is_exact(key.metric) else self.general
        return unruled if rule is None else self._resolved(rule, unruled.minimum_effect)

    # Asked for each of thousands of metrics, of which few have a rule.
    @cached_property
    def general(self) -> MetricSettings:
        """Of metrics without a rule."""
        return self._resolved(BenchmarkConfig(match="*"), self.minimum_effect)

    @cached_property
    def counted(self) -> MetricSettings:
        """Of counts without a rule: their own minimum effect is smaller."""
        return self._resolved(BenchmarkConfig(match="*"), min(self.minimum_effect, MINIMUM_EFFECT))

    def _resolved(self, rule: BenchmarkConfig, minimum: float) -> MetricSettings:
        minimum = minimum if rule.minimum_effect is None else rule.minimum_effect
        return MetricSettings(
            minimum_effect=minimum,
            warn=_first(rule.levels.warn, self.levels.warn, minimum),
            # Without a level of its own, what warns also fails.
            fail=_first(rule.levels.fail, rule.levels.warn, self.levels.fail, self.levels.warn, minimum),
            categories=rule.categories or self.categories,
            category=rule.category,
            direction=rule.direction,
            ignore=rule.ignore,
        )

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's, without what was resolved from the values before."""
        copied = super().model_copy(update=update, deep=deep)
        for name in ("general", "counted"):
            copied.__dict__.pop(name, None)
        return copied

    @model_validator(mode="after")
    def _of_known_categories(self) -> Self:
        for categories in (self.categories, *(entry.categories or () for entry in self.benchmarks)):
            _check_categories(categories)
        for entry in self.benchmarks:
            names = [category.name for category in (entry.categories or self.categories)]
            if entry.category is not None and entry.category not in names:
                raise ValueError(f"category {entry.category!r} is none of {', '.join(names)}")
        return self


def _check_categories(categories: Sequence[CategoryConfig]) -> None:
    bounds = [category.below for category in categories]
    inner = bounds[:-1]
    if any(bound is None for bound in inner):
        raise ValueError("only the last category may leave out below")
    stated = [bound for bound in bounds if bound is not None]
    if stated != sorted(set(stated)):
        raise ValueError("categories go from the fastest to the slowest, each below higher than the one before")


def _first(*values: float | None) -> float:
    return next(value for value in values if value is not None)


# What can be set: one frozen `Config`, its sections and its JSON schema.


class HistoryConfig(Section):
    """Where runs are stored and how many are looked at."""

    url: Annotated[
        Database | None, Field(description="database instead of the branch; its password is the environment's")
    ] = None
    branch: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$")] = "perf-history"
    window: Annotated[int, Field(ge=1, le=1000, description="baseline runs at most")] = 30
    raw_runs: Annotated[int, Field(ge=1, le=100_000, description="newest runs that keep their raw samples")] = 100
    size_limit: Annotated[SizeBytes, Field(description="of the branch as git packs it, with its past")] = 200 << 20
    keep_past: Annotated[bool, Field(description="never let the branch start over, whatever its past weighs")] = False

    @property
    def shown(self) -> str:
        """Where runs are stored, for people."""
        return self.url.shown if self.url else f"branch {self.branch}"


Mention = Annotated[str, Field(pattern=r"^@[A-Za-z0-9-]{1,39}(/[A-Za-z0-9._-]{1,100})?$")]
Mentions = Annotated[tuple[Mention, ...], Field(max_length=10)]
Pattern = Annotated[str, Field(min_length=1, max_length=500)]


class CommentConfig(Section):
    """When the pull request hears of it, and who is named on a regression."""

    when: Literal["always", "change", "regression", "never"] = "always"
    suites: Annotated[
        Literal["each", "joint"], Field(description="joint: one comment for all suites that one workflow run measured")
    ] = "each"
    mention: Mentions = ()


class IssuesConfig(Section):
    """Issues for regressions on the default branch, one per benchmark (docs/tracking-issues.md)."""

    when: Annotated[
        Literal["never", "fail", "regression"], Field(description="fail: only regressions over the fail threshold")
    ] = "never"
    mention: Mentions = ()
    labels: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=50)], ...], Field(max_length=10)] = ()
    limit: Annotated[int, Field(ge=1, le=50, description="new ones per run; more become one joint issue")] = 5
    when_found: Annotated[
        bool, Field(description="with bisect.automatic an issue opens once its culprit is known, one per culprit")
    ] = True


QUANTITY: Final = f"^({'|'.join(Count)}|{SIZE}.+)$"
Quantity = Annotated[str, Field(max_length=200, json_schema_extra={"pattern": QUANTITY}), AfterValidator(as_quantity)]
Command = Annotated[str, Field(min_length=1, max_length=4000)]


class BisectConfig(Section):
    """How `/perf-bisect` searches (docs/bisection.md); of the default branch, never of a pull request."""

    run: Annotated[Command | None, Field(description="shell command that measures a commit; needed")] = None
    automatic: Annotated[
        bool, Field(description="search by itself for what made the default branch worse (docs/tracking-issues.md)")
    ] = False
    searches_per_day: Annotated[int, Field(ge=1, le=100, description="that begin by themselves, per suite")] = 3
    build: Annotated[Command | None, Field(description="shell command that builds a commit")] = None
    tool: Annotated[str, Field(max_length=100, description="format of the results")] = "auto"
    profile: Annotated[
        Command | None, Field(description="writes a profile of a commit to $PERF_CULPRIT_OUTPUT (default: our tracer)")
    ] = None
    profile_seconds: Annotated[
        int, Field(ge=0, le=3_600, description="for the culprit and for its parent each; 0: neither is profiled")
    ] = 30
    benchmark: Annotated[str | None, Field(max_length=500, description="where the command names none")] = None
    metric: Annotated[str | None, Field(max_length=200, description="where the command names none")] = None
    paths: Annotated[
        tuple[Pattern, ...], Field(max_length=50, description="only commits that change these can be the culprit")
    ] = ()
    runner: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$", description="label of the machines")] = (
        "ubuntu-latest"
    )
    workflow: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.ya?ml$")] = "perf-bisect.yml"
    jobs_per_round: Annotated[int, Field(ge=1, le=20, description="machines at once")] = 4
    rounds_per_job: Annotated[int, Field(ge=1, le=20, description="rounds that a machine executes in a row")] = 3
    budget_executions: Annotated[int, Field(ge=4, le=10_000)] = 400
    budget_minutes: Annotated[int, Field(ge=1, le=10_000, description="from the command to the last answer")] = 360
    run_timeout: DurationMs = 600_000.0
    build_timeout: DurationMs = 3_600_000.0


class Config(PolicySettings):
    """Everything that can be set. Rates and effects are fractions, times are milliseconds."""

    suite: Annotated[str, Field(min_length=1, max_length=100)] = "default"
    detector: Annotated[
        Literal["anova", "median_interval", "control_chart", "change_point", "auto"],
        Field(description="judges benchmarks"),
    ] = "anova"
    counter_detector: Annotated[Literal["control_chart", "rule_ensemble"], Field(description="judges counters")] = (
        "control_chart"
    )
    history: Annotated[
        HistoryConfig,
        BeforeValidator(
            lambda value: {"url": value} if isinstance(value, str) else value,
            json_schema_input_type=Database | HistoryConfig,
        ),
    ] = HistoryConfig()
    comment: CommentConfig = CommentConfig()
    issues: IssuesConfig = IssuesConfig()
    bisect: BisectConfig = BisectConfig()
    simulate: Annotated[
        tuple[Pattern, ...],
        Field(
            max_length=20,
            description="model files, as shell patterns: the pull request shows what changed ones predict",
        ),
    ] = ()
    also: Annotated[
        tuple[Quantity, ...],
        Field(max_length=20, description="what `measure` and `backfill` take of the whole command besides"),
    ] = ()

    def direction_of(self, key: MetricKey) -> Direction | None:
        """What is said of a metric whose file does not say which way is good."""
        return next((entry.direction for entry in self.benchmarks if entry.matches(key)), None)

    @model_validator(mode="after")
    def _automatic_has_a_command(self) -> "Config":
        if self.bisect.automatic and self.bisect.run is None:
            raise ValueError("bisect.automatic needs bisect.run: nobody knows what to measure")
        return self


@cache
def config_schema() -> dict[str, Any]:
    """The JSON schema for editors; docs/config.schema.json is this, kept current by a test."""
    schema = Config.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "perf-culprit configuration"}
