"""The start of a dispatched bisection: its metric, its commits and its first dispatch."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.config.settings import BisectConfig, Config
from perf_culprit.dispatch.commit_range import (
    Candidates,
    Prior,
    dependency_updates,
    fetch_missing,
    find_candidates,
    prior_of,
)
from perf_culprit.dispatch.controller import Controller, advance_named, settle
from perf_culprit.dispatch.machine_image import chosen_runner
from perf_culprit.dispatch.stored_samples import known_metrics, stored_runs, usable_blocks
from perf_culprit.errors import ConfigError, UsageError, did_you_mean, list_names
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import Engine, SearchSettings
from perf_culprit.model.count import AUTO, Count, is_exact_quantity, quantity_of
from perf_culprit.model.counted_metric import key_of, metric_of
from perf_culprit.model.dispatch import Alarm, BisectCommands, Bisection, BisectionStep, ByTime
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.model.run import Direction, Metric, MetricKey
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.search.search import Search
from perf_culprit.store.branch_files import BisectionConflictError, bisection_path


@dataclass(frozen=True, kw_only=True, slots=True)
class DispatchPlan:
    """The request. `id` is the requesting comment's: two requests with one id start one bisection.

    `good` and `bad` are revisions, or full hashes that the remote knows. `default_branch` is the tip of the branch
    whose commits are trusted; only a bisection inside it is recorded. `alarm` is set if the search is automatic.
    """

    id: str
    good: str
    bad: str
    benchmark: str | None = None
    metric: str | None = None
    pull_request: int | None = None
    requested_by: str | None = None
    head: str | None = None
    default_branch: str | None = None
    alarm: Alarm | None = None


def start_bisection(
    repository: Path, plan: DispatchPlan, *, config: Config, controller: Controller, remote: git.Remote | None = None
) -> BisectionStep:
    """Begin the bisection and send its first dispatch, or resume it if it was begun before.

    `config` must be that of the default branch. Nothing of the range is executed here: `repository` gives the graph,
    and `remote` its missing commits.
    """
    bisection_path(plan.id)
    if controller.bisections.load(plan.id) is not None:
        return advance_named(controller, plan.id)
    bisection = _begun(repository, plan, config=config, controller=controller, remote=remote)
    try:
        return settle(controller, bisection, loaded=None)
    except BisectionConflictError:
        return advance_named(controller, plan.id)


def _begun(
    repository: Path, plan: DispatchPlan, *, config: Config, controller: Controller, remote: git.Remote | None
) -> Bisection:
    commands = bisect_commands(config.bisect)
    fetch_missing(repository, [plan.good, plan.bad], remote)
    candidates = find_candidates(repository, good=plan.good, bad=plan.bad, paths=config.bisect.paths)
    commit_range = candidates.commit_range
    runs = () if controller.history is None else stored_runs(controller.history, commit_range, suite=config.suite)
    key, metric, count, times = _metric_to_follow(plan, config, known_metrics(runs))
    direction = config.direction_of(key if times is None else times.key)
    commands = replace(commands, count=count, direction=direction)
    asks_ends = plan.alarm is not None and bool(plan.alarm.closes)
    settings = SearchSettings(
        engine=Engine.BAYES if asks_ends else config.bisect.engine,
        repetitions=config.bisect.repeat,
        alpha=config.bisect.threshold,
        direction=Direction.LOWER_IS_BETTER if metric is None else metric.direction,
        minimum_effect=DEFAULTS[DataKind.COUNT] if is_exact_quantity(count) else DEFAULTS[DataKind.SEARCHED_TIME],
        budget_executions=WORK_LIMITS.recovery_executions if asks_ends else config.bisect.budget_executions,
        one_machine=False,
        expected_change=None if plan.alarm is None or is_exact_quantity(count) else plan.alarm.metrics[0].size,
        seed=int(hashlib.sha256(plan.id.encode()).hexdigest()[:8], 16),
    )
    runner, notes = chosen_runner(config.bisect.runner, runs, commit_range)
    stored = usable_blocks(runs, commit_range, key=key, commands=commands).blocks
    now = controller.now()
    return Bisection(
        id=plan.id,
        key=key,
        metric=metric,
        commands=commands,
        times=times,
        search=Search.start(
            commit_range, settings=settings, prior=prior_of(repository, commit_range, Prior.CHANGES), stored=stored
        ).state,
        started_at=now,
        # No user waits for an automatic search: a lost event costs hours, not the answer.
        deadline=None if plan.alarm else now + timedelta(minutes=config.bisect.budget_minutes),
        suite=config.suite,
        # It need not be quick either: machines run one after the other, so none starts rounds that prove unnecessary.
        jobs_per_dispatch=1 if plan.alarm else config.bisect.jobs_per_round,
        rounds_per_job=config.bisect.rounds_per_job,
        runner=runner,
        notes=notes,
        subjects={commit: text[: ARTIFACT_LIMITS.subject_characters] for commit, text in candidates.subjects.items()},
        updates=dependency_updates(repository, commit_range, remote),
        pull_request=plan.pull_request,
        requested_by=plan.requested_by,
        head=plan.head,
        alarm=plan.alarm,
        trusted=plan.default_branch is not None and _is_trusted(repository, candidates, plan.default_branch),
    )


def bisect_commands(config: BisectConfig) -> BisectCommands:
    if config.run is None:
        raise ConfigError(
            "bisect.run is not set, so nobody knows what to measure",
            place=".github/perf-culprit.yml on the default branch",
            next_step="set bisect.run to the command that runs the benchmark (docs/configuration.md)",
        )
    return BisectCommands(
        run=config.run,
        build=config.build,
        tool=config.tool,
        run_timeout_seconds=config.run_timeout / 1000,
        build_timeout_seconds=config.build_timeout / 1000,
        profile=config.profile,
        profile_seconds=config.profile_seconds,
    )


def _is_trusted(repository: Path, candidates: Candidates, default_branch: str) -> bool:
    tip = git.resolve_commit(repository, default_branch)
    ends = (candidates.commit_range.good, candidates.commit_range.bad)
    return all(git.is_ancestor(repository, commit, tip) for commit in ends)


def _metric_to_follow(
    plan: DispatchPlan, config: Config, metrics: Sequence[tuple[MetricKey, Metric]]
) -> tuple[MetricKey, Metric | None, str | None, ByTime | None]:
    """Return the named metric, else the configured one: a metric of the results, a count, or a count and then times."""
    own = config.bisect
    configured = own.metric if plan.benchmark in (None, own.benchmark) else None
    name, benchmark = plan.metric or configured, plan.benchmark or own.benchmark
    if name == AUTO:
        count, timed = Count.INSTRUCTIONS, None if configured == AUTO else configured
        return key_of(count), metric_of(count), count, ByTime(*_metric(benchmark, timed, config, metrics))
    is_own = plan.metric is None  # with a tool or a benchmark, it is a metric of the results
    counted = quantity_of(name, benchmark=benchmark if is_own else plan.benchmark, tool=own.tool if is_own else "auto")
    if counted is not None:
        return key_of(counted), metric_of(counted), counted, None
    return *_metric(benchmark, name, config, metrics), None, None


def _metric(
    benchmark: str | None, name: str | None, config: Config, metrics: Sequence[tuple[MetricKey, Metric]]
) -> tuple[MetricKey, Metric | None]:
    """Find the single metric that fits. One unknown to the history needs its full name; the first job adds its unit."""
    matches = {
        key: directed
        for key, metric in metrics
        if benchmark in (None, key.benchmark) and name in (None, key.metric)
        if (directed := _with_direction(metric, config.direction_of(key))).direction.worse_sign
    }
    if len(matches) == 1:
        return next(iter(matches.items()))
    if not matches and benchmark is not None and name is not None:
        return MetricKey(benchmark, name), None
    raise _not_one(matches or dict(metrics), benchmark=benchmark, name=name, matched=len(matches))


def _not_one(keys: Iterable[MetricKey], *, benchmark: str | None, name: str | None, matched: int) -> UsageError:
    """Make the error for no single metric. `keys` are the choices; `matched` of them fit the given names."""
    choices = sorted(f'`benchmark="{key.benchmark}" metric="{key.metric}"`' for key in keys)
    named = " ".join(f'`{option}="{text}"`' for option, text in (("benchmark", benchmark), ("metric", name)) if text)
    message = f"no stored run has {named}" if choices and named else "no stored run tells which metric is meant"
    hint = did_you_mean(named, choices, otherwise=f"write one of {list_names(choices, most=TEXT_LIMITS.names)}")
    return UsageError(
        f"that fits {matched:,} metrics, and a search follows one" if matched else message,
        place="/perf-bisect",
        next_step=hint if choices else "name it as in the report: `benchmark=NAME metric=NAME`",
    )


def _with_direction(metric: Metric, configured: Direction | None) -> Metric:
    if configured is None or metric.direction is not Direction.UNKNOWN:
        return metric
    return replace(metric, direction=configured)
