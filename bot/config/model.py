"""What can be set: one frozen `Config`, its sections and its JSON schema."""

from functools import cache
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from bot.config.database import Database
from bot.config.policy import PolicySettings, Section
from bot.config.units import DurationMs, SizeBytes
from bot.model.count import SIZE, Count, as_quantity
from bot.model.metric import Direction, MetricKey


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
