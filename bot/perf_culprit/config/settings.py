"""The settings: one frozen `Config`, its sections and its JSON schema."""

import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeAlias

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from perf_culprit.commands.measure_requests import Affected
from perf_culprit.config.database_url import DatabaseSetting
from perf_culprit.config.policy_settings import ConfigSection, Mentions, PolicySettings, matches_any
from perf_culprit.config.units import DurationMs, Percent, SizeBytes
from perf_culprit.model.bisection import Engine
from perf_culprit.model.count import SIZE, Count, as_quantity
from perf_culprit.model.detectors import (
    BENCHMARK_DETECTORS,
    COUNTER_DETECTORS,
    DECLARED,
    DEFAULT_COUNTER_DETECTOR,
    DEFAULT_DETECTOR,
    detector_page,
)
from perf_culprit.model.run import Direction, MetricKey


class HistoryConfig(ConfigSection):
    """The storage of runs, and the number of runs in use."""

    url: Annotated[
        DatabaseSetting | None,
        Field(
            description="[database](history.md#a-database) instead of the branch, also as `history` alone: "
            "`postgresql://USER@HOST/NAME` or `sqlite:///FILE`; its password comes from the environment"
        ),
    ] = None
    branch: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,99}$", description="orphan branch that stores the runs")
    ] = "perf-history"
    window: Annotated[int, Field(ge=1, le=1000, description="most baseline runs")] = 30
    raw_runs: Annotated[
        int,
        Field(
            ge=1, le=100_000, description="newest runs that keep their raw samples; older ones are stored as summaries"
        ),
    ] = 100
    size_limit: Annotated[
        SizeBytes,
        Field(
            description=(
                "of the branch as git packs it, with its past; [old runs are thinned out](history.md#what-is-kept)"
            )
        ),
    ] = 200 << 20
    keep_past: Annotated[
        bool,
        Field(description="never [force-push the branch](history.md#what-is-kept) to free its past, whatever its size"),
    ] = False

    @property
    def shown(self) -> str:
        """The place of the stored runs, as text."""
        return self.url.shown if self.url else f"branch {self.branch}"


Pattern = Annotated[str, Field(min_length=1, max_length=500)]


class CommentConfig(ConfigSection):
    """When a pull request gets a comment, and who is mentioned on a regression."""

    when: Annotated[
        Literal["always", "change", "regression", "never"], Field(description="when a pull request gets a comment")
    ] = "always"
    suites: Annotated[
        Literal["each", "joint"],
        Field(description="one comment for each suite, or for all that one workflow run measured (on `workflow_run`)"),
    ] = "each"
    mention: Annotated[
        Mentions, Field(description='names to mention on a regression, such as `["@octocat", "@octo-org/perf"]`')
    ] = ()


class IssuesConfig(ConfigSection):
    """Issues for regressions on the default branch, one per benchmark (docs/tracking-issues.md)."""

    when: Annotated[
        Literal["never", "fail", "regression"],
        Field(
            description=(
                "when a push to the default branch opens an [issue](tracking-issues.md); `fail`: over the"
                " fail threshold"
            )
        ),
    ] = "never"
    mention: Annotated[Mentions, Field(description="names to mention in issues")] = ()
    code_owners: Annotated[
        bool,
        Field(
            description="mention the owners of the suspected file by CODEOWNERS, unless `benchmarks[].owners` are set"
        ),
    ] = False
    labels: Annotated[
        tuple[Annotated[str, Field(min_length=1, max_length=50)], ...],
        Field(max_length=10, description="labels that new issues get"),
    ] = ()
    limit: Annotated[
        int, Field(ge=1, le=50, description="new issues per run; more benchmarks share one joint issue")
    ] = 5
    digest: Annotated[
        int | None,
        Field(ge=1, description="the number of an issue for [a comment each week](tracking-issues.md#each-week)"),
    ] = None
    when_found: Annotated[
        bool, Field(description="with `bisect.automatic`, open one issue per culprit, after the search")
    ] = True


QUANTITY: Final = f"^({'|'.join(Count)}|{SIZE}.+)$"
_QuantityName = Annotated[
    str, Field(max_length=200, json_schema_extra={"pattern": QUANTITY}), AfterValidator(as_quantity)
]
_CommandLine = Annotated[str, Field(min_length=1, max_length=4000)]


class ConfirmConfig(ConfigSection):
    """The time limit for automatically measuring suspected changes of stored runs again (docs/confirm.md)."""

    budget: Annotated[
        int,
        Field(
            ge=0,
            le=360,
            description="minutes to [measure suspected benchmarks again](confirm.md#by-itself) automatically; 0: never",
        ),
    ] = 10


class SkipConfig(ConfigSection):
    """The texts by which a pull request is not measured. The `if` of the measuring job names the same."""

    title: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=100,
            description="a pull request with this in its title [is not measured](how-to/skip-a-pull-request.md); "
            "the measuring job's `if` says the same",
        ),
    ] = "[skip perf]"
    label: Annotated[str | None, Field(min_length=1, max_length=50, description="the same for one with this label")] = (
        "perf: off"
    )


class BisectConfig(ConfigSection):
    """Settings of `/perf-bisect` (docs/bisection.md). They apply from the default branch, never from a pull request."""

    run: Annotated[
        _CommandLine | None,
        Field(
            description=(
                "shell command that measures a commit ([measure](measure.md)); `/perf-bisect` needs it, "
                "on the default branch"
            )
        ),
    ] = None
    automatic: Annotated[
        bool,
        Field(
            description=(
                "[search automatically](tracking-issues.md#the-culprit-without-anybody-asking) for the culprit "
                "of a regression on the default branch"
            )
        ),
    ] = False
    searches_per_day: Annotated[int, Field(ge=1, le=100, description="automatic searches per suite and day")] = 3
    build: Annotated[_CommandLine | None, Field(description="shell command that builds a commit")] = None
    tool: Annotated[str, Field(max_length=100, description="format of the results")] = "auto"
    profile: Annotated[
        _CommandLine | None,
        Field(
            description=(
                "command that writes a profile of a commit to `$PERF_CULPRIT_OUTPUT`, in any format of "
                "[profiles.md](profiles.md) (default: [the profiler of its language](tracing.md#three-ways-to-use-it))"
            )
        ),
    ] = None
    profile_seconds: Annotated[
        int, Field(ge=0, le=3_600, description="limit for the culprit and its parent each; 0: no profiles")
    ] = 30
    benchmark: Annotated[
        str | None,
        Field(max_length=500, description="benchmark of `/perf-bisect` if the comment names none"),
    ] = None
    metric: Annotated[
        str | None,
        Field(
            max_length=200,
            description="metric of `/perf-bisect` if the comment names none; also a [count](measure.md#counts), "
            "`size:…`, `build-time` or `auto`",
        ),
    ] = None
    paths: Annotated[
        tuple[Pattern, ...], Field(max_length=50, description="only commits that change these can be the culprit")
    ] = ()
    runner: Annotated[
        str | None,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$",
            description=(
                "label of the machines (default, and instead of `…-latest`: the image in the runs of the ends; "
                "else `ubuntu-24.04`)"
            ),
        ),
    ] = None
    workflow: Annotated[
        str,
        Field(
            pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\.ya?ml$",
            description="file of the [bisect workflow](workflows.md)",
        ),
    ] = "perf-bisect.yml"
    engine: Annotated[
        Engine,
        Field(
            description="search engine: [bayes](bisection.md#the-search), [weighted](bisection.md#the-weighted-engine)"
        ),
    ] = Engine.BAYES
    repeat: Annotated[int, Field(ge=3, le=1000, description="weighted: executions of each tested commit")] = 10
    threshold: Annotated[
        Percent,
        Field(gt=0, lt=1, description="weighted: chance that noise alone decides in any test of a search"),
    ] = 0.01
    jobs_per_round: Annotated[int, Field(ge=1, le=20, description="machines at once (one for automatic searches)")] = 4
    rounds_per_job: Annotated[int, Field(ge=1, le=20, description="rounds that a machine executes in a row")] = 3
    budget_executions: Annotated[
        int, Field(ge=4, le=10_000, description="most executions; then the answer so far is given")
    ] = 400
    budget_minutes: Annotated[
        int, Field(ge=1, le=10_000, description="most minutes from the command to the last answer")
    ] = 360
    run_timeout: Annotated[DurationMs, Field(description="longest time of one execution")] = 600_000.0
    build_timeout: Annotated[DurationMs, Field(description="longest time of one build")] = 3_600_000.0


if TYPE_CHECKING:
    _AnyDetector: TypeAlias = str
    _CounterDetector: TypeAlias = str
else:  # a type checker knows no literals that a declaration lists
    _AnyDetector = Literal[tuple(detector.name for detector in DECLARED)]
    _CounterDetector = Literal[COUNTER_DETECTORS]
_FOR_COUNTERS_ALONE: Final = tuple(name for name in COUNTER_DETECTORS if name not in BENCHMARK_DETECTORS)
JudgedTime = Literal["auto", "wall", "cpu"]


def _linked(detectors: Iterable[str]) -> str:
    return ", ".join(f"[{name}]({detector_page(name)})" for name in detectors)


class Config(PolicySettings):
    """All settings. Rates and effects are fractions, times are milliseconds."""

    suite: Annotated[
        str,
        Field(min_length=1, max_length=100, description="name of the suite; each has its own history and comment"),
    ] = "default"
    detector: Annotated[
        _AnyDetector,
        Field(
            description=f"detector of benchmarks: {_linked(BENCHMARK_DETECTORS)}; "
            f"{', '.join(f'`{name}`' for name in _FOR_COUNTERS_ALONE)} sets `counter-detector`"
        ),
    ] = DEFAULT_DETECTOR
    counter_detector: Annotated[
        _CounterDetector, Field(description=f"detector of counters: {_linked(COUNTER_DETECTORS)}")
    ] = DEFAULT_COUNTER_DETECTOR
    history: Annotated[
        HistoryConfig,
        BeforeValidator(
            lambda value: {"url": value} if isinstance(value, str) else value,
            json_schema_input_type=DatabaseSetting | HistoryConfig,
        ),
    ] = HistoryConfig.model_construct()
    comment: CommentConfig = CommentConfig.model_construct()
    issues: IssuesConfig = IssuesConfig.model_construct()
    notify: Annotated[
        Literal["json", "slack", "teams"] | None,
        Field(
            description="form of the [message](tracking-issues.md#messages) about a new issue, to the webhook of "
            "the input `notify-url`"
        ),
    ] = None
    confirm: ConfirmConfig = ConfirmConfig.model_construct()
    bisect: BisectConfig = BisectConfig.model_construct()
    skip: SkipConfig = SkipConfig.model_construct()
    simulate: Annotated[
        tuple[Pattern, ...],
        Field(
            max_length=20,
            description=(
                "[model files](simulation.md#in-a-pull-request) as shell patterns, such as `docs/*.yml`: if a pull "
                "request changes one, its comment has predictions"
            ),
        ),
    ] = ()
    affected: Annotated[
        Affected,
        BeforeValidator(lambda value: "off" if value is False else value),  # YAML's `off`
        Field(
            description="of a pull request measure only what its [changes can reach](how-to/only-what-changed.md): "
            "code alone, whole suites, or also packages"
        ),
    ] = "documents"
    time: Annotated[
        JudgedTime,
        Field(description="[judged time](measure.md#processor-time) of a benchmark that has both"),
    ] = "auto"
    also: Annotated[
        tuple[_QuantityName, ...],
        Field(
            max_length=20,
            description="what `measure` and `backfill` also measure of the [whole command](measure.md#more-than-time): "
            "`[build-time, 'size:dist/*.whl', peak-memory]`",
        ),
    ] = ()

    benchmark_files: Annotated[
        tuple[Pattern, ...],
        Field(max_length=50, description="[benchmarks' own files](measure.md#changed-benchmarks), as shell patterns"),
    ] = ("bench*/*", "*/bench*/*", "asv_bench*/*", "*/jmh/*", "*.bench.*", "*[Bb]enchmark*.*")

    def is_benchmark_file(self, path: str) -> bool:
        is_code = not path.endswith((".md", ".rst", ".txt"))
        return is_code and matches_any(path, self.benchmark_files)

    def owners_of(self, keys: Iterable[MetricKey]) -> tuple[str, ...]:
        """Return the owners of these metrics, by the first entry that matches each."""
        entries = (next((benchmark for benchmark in self.benchmarks if benchmark.matches(key)), None) for key in keys)
        return tuple(dict.fromkeys(name for entry in entries if entry is not None for name in entry.owners))

    def direction_of(self, key: MetricKey) -> Direction | None:
        """Return the configured direction of a metric whose file does not state it."""
        return next((benchmark.direction for benchmark in self.benchmarks if benchmark.matches(key)), None)

    @model_validator(mode="before")
    @classmethod
    def _detector_of_counters(cls, values: Any) -> Any:
        """Treat a counter detector under `detector` as `--detector` does."""
        if not isinstance(values, Mapping) or values.get("detector") not in _FOR_COUNTERS_ALONE:
            return values
        rest = {name: value for name, value in values.items() if name != "detector"}
        return {"counter-detector": values["detector"], **rest}

    @model_validator(mode="after")
    def _automatic_has_a_command(self) -> "Config":
        if self.bisect.automatic and self.bisect.run is None:
            raise ValueError("bisect.automatic needs bisect.run: nobody knows what to measure")
        return self

    @model_validator(mode="after")
    def _notify_has_issues(self) -> "Config":
        if self.notify is not None and self.issues.when == "never":
            raise ValueError("notify needs issues.when: a message is about a new issue; write `fail` or `regression`")
        return self


def description_of(key: str) -> str:
    """Return the description of a key such as `history.branch`, without links to other pages."""
    section: Any = Config
    *sections, name = key.split(".")
    for part in sections:
        section = section.model_fields[part].annotation
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", section.model_fields[name].description or "")


@cache
def config_schema() -> dict[str, Any]:
    """Return the JSON schema for editors; docs/config.schema.json is this, kept current by a test."""
    schema = Config.model_json_schema(mode="validation")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "perf-culprit configuration"}
