"""A bisection on this machine, and the forecast of its measurements and cost."""

import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from perf_culprit import git
from perf_culprit.commands.measure_requests import Bisect
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.bisection_view import command_line, diagnosed_step, of_its_change, report_of
from perf_culprit.dispatch.commit_range import (
    Candidates,
    Prior,
    commit_facts,
    dependency_updates,
    find_candidates,
    prior_facts,
    prior_from,
)
from perf_culprit.dispatch.controller import Controller, Dispatcher, advance_named, end_search, settle
from perf_culprit.dispatch.local_dispatcher import StateFile, open_dispatcher
from perf_culprit.dispatch.stored_samples import record_search, stored_runs, usable_blocks
from perf_culprit.errors import BotError, UsageError
from perf_culprit.explain.tracer.traced_command import executed_functions
from perf_culprit.explain.tracer.tracer_fault import TraceError
from perf_culprit.files import read_limited
from perf_culprit.judge.judged_times import of_one_time
from perf_culprit.machine.culprit_diagnosis import Profiling, diagnose_culprit
from perf_culprit.machine.this_machine import this_machine
from perf_culprit.machine.trace_means import PYTHON_MEANS, means_of, reached_python
from perf_culprit.measure.runner import Commands, ExecutionError, NoSamplesError
from perf_culprit.measure.workplace import Workplace
from perf_culprit.measure.worktree_executor import choose_metric, require_benchmark, shown_key
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import (
    BisectionReport,
    CulpritDiagnosis,
    Engine,
    ExecutedCode,
    FailureKind,
    PlannedSearch,
    SearchSettings,
    SearchState,
    Sought,
    StoredNoise,
)
from perf_culprit.model.bisection_files import BisectSession, decode_session
from perf_culprit.model.count import FAILURES, Count, is_built, is_exact_quantity, quantity_of
from perf_culprit.model.counted_metric import key_of, metric_of, timed_quantity
from perf_culprit.model.dispatch import BisectCommands, Bisection, BisectionStep, ByTime
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.model.reason import SearchReason, because
from perf_culprit.model.run import NO_COST, Direction, Metric, MetricKey, Run
from perf_culprit.progress import Say
from perf_culprit.read.results.merge import join_executions
from perf_culprit.read.results.surroundings import machine_environment
from perf_culprit.search.cost import executions_for, forecast
from perf_culprit.search.search import Search, with_budget
from perf_culprit.stats.conventions import UPPER_QUARTILE
from perf_culprit.stats.steps import SHORTEST_LEVEL
from perf_culprit.store.opening import open_history

FOLDER: Final = "perf-culprit"
DEFAULT_EXECUTIONS: Final = SearchSettings().budget_executions
FIRST_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectPlan:
    """The request, completed by the configuration. `profiling`: None if the culprit is not diagnosed.

    `auto` says what follows a search by times whose metric is chosen here; None: the request names the metric.
    """

    options: Bisect
    commands: Commands
    tool: str
    profiling: Profiling | None = None
    auto: str | None = None

    @property
    def of_failures(self) -> bool:
        return self.commands.count == FAILURES

    @property
    def sought(self) -> Sought:
        return Sought(self.options.direction)

    @property
    def prior(self) -> Prior:
        return Prior(self.options.prior)

    def with_options(self, **changes: object) -> "BisectPlan":
        return replace(self, options=self.options.replaced(**changes))


def search_here(
    plan: BisectPlan, *, config: Config, say: Say, report: Callable[[BisectionStep], None], by_time: Path | None = None
) -> BisectionReport:
    """Search until there is an answer or a budget is spent. An interrupt leaves the state file.

    `report` gets every step. `by_time`: the state file of a search by times that ended too early. Times follow this
    search by counts (`auto`).
    """
    repository = plan.options.repository
    deadline = None if plan.options.minutes is None else time.monotonic() + 60 * plan.options.minutes
    session = None if plan.options.resume is None else resumed(plan.options.resume)
    times = None if by_time is None else resumed(by_time)
    candidates = candidates_of(plan)
    file = state_file(plan)
    started = datetime.now(UTC)
    with_history = plan.options.history_url is not None and session is None and times is None
    stored = stored_in_range(repository, candidates, plan, config) if with_history else None
    with this_machine(
        repository,
        plan.commands,
        config=config,
        tool=plan.tool,
        log=file.with_suffix(".log"),
        keep_log=session is not None,
        cache=plan.options.cache,
    ) as workplace:
        begun = time.monotonic()
        if session is None:
            key, metric, state, executed = _begun(workplace, candidates, plan, config=config, say=say, stored=stored)
        else:
            key, metric = session.key, session.metric
            settings = _settings_of(plan, config, metric)
            _require_same(session, settings, candidates=candidates, plan=plan)
            state, executed = with_budget(session.search, plan.options.executions or 0), session.executed
        plan = _measuring(plan, key)
        bisection = Bisection(
            id=(session and session.id) or uuid.uuid4().hex,
            key=key,
            metric=metric,
            commands=_as_dispatched(plan),
            search=state,
            started_at=(session and session.started_at) or started,
            suite=config.suite,
            jobs_per_dispatch=plan.options.jobs,
            rounds_per_job=1,
            times=None if times is None else ByTime(times.key, times.metric),
            subjects=candidates.subjects,
            updates=dependency_updates(repository, candidates.commit_range),
            executed=executed,
            environments=(machine_environment().components,),
            runner_seconds=time.monotonic() - begun if session is None else session.runner_seconds,
        )
        with open_dispatcher(
            repository, workplace, bisection, commands=plan.commands, cache=plan.options.cache
        ) as here:
            bisection = _search(bisection, here, report, begun=times, files=(file, by_time), deadline=deadline)
        diagnosis = _diagnose(repository, bisection, workplace, plan, say)
    if plan.options.record:
        say(f"recorded {_record(repository, bisection, plan, config)} commits")
    return replace(_report(repository, bisection, plan), diagnosis=diagnosis)


def candidates_of(plan: BisectPlan) -> Candidates:
    options = plan.options
    return find_candidates(
        options.repository, good=options.good, bad=options.bad, first_parent=options.first_parent, paths=options.paths
    )


def _settings_of(plan: BisectPlan, config: Config, metric: Metric | None = None) -> SearchSettings:
    return SearchSettings(
        engine=Engine.BAYES if plan.of_failures else config.bisect.engine,
        of_failures=plan.of_failures,
        repetitions=config.bisect.repeat,
        alpha=config.bisect.threshold,
        direction=Direction.LOWER_IS_BETTER if metric is None else metric.direction,
        sought=plan.sought,
        minimum_effect=DEFAULTS[DataKind.COUNT]
        if is_exact_quantity(plan.commands.count)
        else DEFAULTS[DataKind.SEARCHED_TIME],
        seed=plan.options.seed,
        budget_executions=plan.options.executions or DEFAULT_EXECUTIONS,
    )


def _measuring(plan: BisectPlan, key: MetricKey) -> BisectPlan:
    """The plan with the quantity of the metric that `auto` chose: the command may print none."""
    count = plan.commands.count if plan.auto is None else timed_quantity(key)
    return replace(plan, commands=replace(plan.commands, count=count))


def state_file(plan: BisectPlan) -> Path:
    """Return the named state file, or one in the git folder, where neither status nor commits include it."""
    options = plan.options
    named = options.state or options.resume
    if named is not None:
        return named
    good, bad = (git.resolve_commit(options.repository, end) for end in (options.good, options.bad))
    return git.common_folder(options.repository) / FOLDER / f"bisect-{good[:12]}-{bad[:12]}.json"


def resumed(path: Path) -> BisectSession:
    data = read_limited(path, ARTIFACT_LIMITS.search_bytes, next_step="give a file that bisect wrote", error=UsageError)
    return decode_session(data, place=str(path))


def _try_ends(
    workplace: Workplace, candidates: Candidates, plan: BisectPlan, say: Say, *, is_traced: bool
) -> tuple[MetricKey, Metric, frozenset[tuple[str, str]]]:
    """Execute both ends once, to check that they work, find the metric and warm the caches. These numbers do not count.

    Also return the files and functions that they execute, if `is_traced`.
    """
    runs, executed = list[Run](), frozenset[tuple[str, str]]()
    why: TraceError | None = None
    ends = {"good": candidates.commit_range.good, "bad": candidates.commit_range.bad}
    workplace = workplace if plan.auto is None else _printing_or_timing(workplace, ends["good"])
    for name, commit in ends.items():
        say(f"try the {name} commit {commit[:12]}")
        workplace.prepare(commit)
        run = None
        if is_traced:
            run, functions, why = _traced_run(workplace, commit, is_watched=bool(runs) and not executed)
            executed |= functions
        runs.append(run or _first_run(workplace, commit))
        require_benchmark(runs[-1], benchmark=plan.options.benchmark, metric=plan.options.metric, end=name)
    if is_traced and not executed:
        means = means_of(plan.commands.run, plan.tool)
        if why is None and means is PYTHON_MEANS:
            why = TraceError("its Python left no list of them", next_step="let it end without os._exit or a signal")
        if why is not None and means in {None, PYTHON_MEANS}:
            say(f"the prior does not know which functions the benchmark executes: {why.message} ({why.next_step})")
    good, bad = runs
    computes: Mapping[MetricKey, bool] = {}
    if plan.auto is not None:
        good, bad, computes = of_one_time(*(_repeat(workplace, commit) for commit in ends.values()))
    key, metric = choose_metric(good, bad, benchmark=plan.options.benchmark, metric=plan.options.metric, say=say)
    if plan.auto is not None:
        line = f"auto: {shown_key(key)} first: {_TIME_OF[computes.get(key)]}; {plan.auto}"
        say(line)
        workplace.remark(line)
    return key, metric, executed


_TIME_OF: Final[Mapping[bool | None, str]] = {
    True: "the command only computes, and its processor time varies least",
    False: "the command waits, which its processor time does not show",
    None: "the command prints it",
}


def _printing_or_timing(workplace: Workplace, commit: str) -> Workplace:
    """Return the workplace; if the command prints no samples, one that times the whole command."""
    workplace.prepare(commit)
    try:
        _first_run(workplace, commit)
    except NoSamplesError:
        return workplace.executing(replace(workplace.commands, count=Count.CPU_TIME))
    return workplace


def _repeat(workplace: Workplace, commit: str) -> Run:
    """Several executions of a commit that ran before: its first one may have waited for the disk."""
    rounds = range(1, FIRST_TRIES + 1)
    return join_executions([(commit, _first_run(workplace, commit)) for _ in rounds], rounds=rounds)


def _traced_run(
    workplace: Workplace, commit: str, *, is_watched: bool
) -> tuple[Run | None, frozenset[tuple[str, str]], TraceError | None]:
    """Execute, list functions if possible, and return why a Python lists none.

    With counts that takes twice as long, so the run does not count.
    """
    runs = list[Run]()
    with reached_python(workplace.commands.run) as (command, site):
        traced = workplace.executing(replace(workplace.commands, run=command))

        def execute(variables: Mapping[str, str]) -> None:
            if workplace.commands.count is None:
                runs.append(traced.execute(commit, variables={**site, **variables})[1])
            else:
                traced.run(commit, variables={**site, **variables})

        why, executed = None, frozenset[tuple[str, str]]()
        try:
            executed = executed_functions(
                execute,
                root=workplace.tree(commit),
                python_path=os.environ.get("PYTHONPATH", ""),
                is_watched=is_watched,
            )
        except TraceError as error:
            why = error
        except BotError as error:
            why = TraceError(f"traced, it fails: {error.message}", next_step="let it run under a trace function")
    return (runs[0] if runs else None), executed, why


def _first_run(workplace: Workplace, commit: str) -> Run:
    """Execute a commit, and repeat crashes, as a flaky benchmark may fail sometimes. The last failure is raised."""
    for _ in range(FIRST_TRIES - 1):
        try:
            return workplace.execute(commit)[1]
        except ExecutionError as error:
            if error.kind is not FailureKind.CRASHED or isinstance(error, NoSamplesError):
                raise
    return workplace.execute(commit)[1]


def _begun(
    workplace: Workplace,
    candidates: Candidates,
    plan: BisectPlan,
    *,
    config: Config,
    say: Say,
    stored: Sequence[Run] | None,
) -> tuple[MetricKey, Metric, SearchState, Mapping[str, tuple[ExecutedCode, ...]]]:
    """Begin a search of the metric that both ends have; with it, the executed code that each candidate changes.

    `stored`: runs whose executions count, if requested.
    """
    if plan.of_failures:
        search = Search.start(candidates.commit_range, settings=_settings_of(plan, config))
        return key_of(FAILURES), metric_of(FAILURES), search.state, {}
    has_prior = plan.prior is Prior.CHANGES and config.bisect.engine is Engine.BAYES
    is_traced = has_prior and not is_built(plan.commands.count)
    key, metric, traced = _try_ends(workplace, candidates, plan, say, is_traced=is_traced)
    blocks = () if stored is None else _blocks(stored, candidates, key, _measuring(plan, key), say)
    commit_range, settings = candidates.commit_range, _settings_of(plan, config, metric)
    facts = prior_facts(plan.options.repository, commit_range, plan.prior, traced)
    search = Search.start(commit_range, settings=settings, prior=prior_from(commit_range, facts), stored=blocks)
    most = ARTIFACT_LIMITS.executed_names
    executed = {commit: one.executed[:most] for commit, one in (facts or {}).items() if one.executed}
    return key, metric, search.state, executed


def _require_same(
    session: BisectSession, settings: SearchSettings, *, candidates: Candidates, plan: BisectPlan
) -> None:
    options, key, state = plan.options, session.key, session.search
    same = {
        "--good, --bad, --first-parent or --paths": state.commit_range == candidates.commit_range,
        "--run": session.run == plan.commands.run,
        "--build": session.build == plan.commands.build,
        "--benchmark": options.benchmark in (None, key.benchmark),
        "--metric": options.metric in (None, key.metric),
        "--outcome": settings.of_failures == state.settings.of_failures,
        "--direction": plan.sought in (Sought.ANY, state.settings.sought),
        "--engine": options.engine in (None, state.settings.engine),
        "--repeat": options.repeat in (None, state.settings.repetitions),
        "--threshold": options.threshold is None or settings.alpha == state.settings.alpha,
    }
    different = [name for name, is_same in same.items() if not is_same]
    if different:
        raise UsageError(
            f"was written by another search: {', '.join(different)} differs",
            place=str(plan.options.resume),
            next_step="repeat the command line of that search, or leave out --resume",
        )


def _search(
    bisection: Bisection,
    dispatcher: Dispatcher,
    report: Callable[[BisectionStep], None],
    *,
    begun: BisectSession | None,
    files: tuple[Path, Path | None],
    deadline: float | None,
) -> Bisection:
    """Search until there is an outcome. One caused by the time limit alone is not stored, so the file can resume."""
    file, by_time = files
    controller = Controller(
        bisections=StateFile(file, times=by_time),
        dispatcher=dispatcher,
        report=report,
        begun=None if begun is None else begun.search,
    )
    step = settle(controller, bisection, loaded=None)
    while not step.bisection.is_done:
        step = advance_named(controller, bisection.id)
        if deadline is not None and time.monotonic() > deadline and not step.bisection.is_done:
            return end_search(step.bisection, note=because(SearchReason.TIME_SPENT, file=str(by_time or file)))
    return step.bisection


def _diagnose(
    repository: Path, bisection: Bisection, workplace: Workplace, plan: BisectPlan, say: Say
) -> CulpritDiagnosis | None:
    count, profiling = bisection.commands.count, plan.profiling
    culprit = diagnosed_step(report_of(bisection).outcome, count)
    if culprit is None or profiling is None:
        return None
    if culprit.improvement:
        profiling = replace(profiling, budget_s=0)
    profiling = replace(profiling, tool=plan.tool)
    diagnosis = diagnose_culprit(repository, workplace, culprit.commit, profiling=profiling, say=say, count=count)
    return of_its_change(diagnosis, culprit)


def stored_in_range(repository: Path, candidates: Candidates, plan: BisectPlan, config: Config) -> tuple[Run, ...]:
    with open_history(config.history, repository, url=plan.options.history_url or None) as opened:
        return stored_runs(opened, candidates.commit_range, suite=config.suite)


def _blocks(
    stored: Sequence[Run], candidates: Candidates, key: MetricKey, plan: BisectPlan, say: Say
) -> tuple[Mapping[str, tuple[float, ...]], ...]:
    usable = usable_blocks(
        stored, candidates.commit_range, key=key, commands=_as_dispatched(plan), environment=machine_environment()
    )
    left_out = {
        "measured alone": usable.alone,
        "on other hardware": usable.other_hardware,
        "by other commands": usable.other_commands,
    }
    without = "; ".join(f"{count} runs {why} left out" for why, count in left_out.items() if count)
    say(f"{usable.executions} stored executions count" + (f"; {without}" if without else ""))
    return usable.blocks


def _as_dispatched(plan: BisectPlan) -> BisectCommands:
    commands = plan.commands
    return BisectCommands(run=commands.run, build=commands.build, tool=plan.tool, count=commands.count)


def _record(repository: Path, bisection: Bisection, plan: BisectPlan, config: Config) -> int:
    """Record the measurements in the history's suite of searches, and the answer. Return the number of commits.

    The answer is last: it tells the next call, which resumes the search, which rounds are recorded.
    """
    with open_history(config.history, repository, url=plan.options.history_url or None) as opened:
        there = opened.load(bisection.id)
        recorded = 0 if there is None else len(there.bisection.search.results)
        commits = record_search(opened, bisection, recorded_rounds=recorded)
        if there is None or recorded < len(bisection.search.results):
            opened.store(bisection, expected=None if there is None else there.version)
        return len(commits)


def _report(repository: Path, bisection: Bisection, plan: BisectPlan) -> BisectionReport:
    """Add facts from this repository to the report: the culprits' authors, and the commits' web address."""
    report = report_of(bisection)
    prior = None if plan.prior is Prior.CHANGES else plan.prior.value
    return replace(
        report,
        facts={culprit.commit: commit_facts(repository, culprit.commit) for culprit in report.outcome.culprits},
        repository_url=git.web_address(repository),
        command=command_line(bisection, prior=prior, paths=plan.options.paths),
    )


FORESEEN_STEPS = (0.05, 0.10, 0.15, 0.30)


def planned_search(plan: BisectPlan, *, config: Config) -> PlannedSearch:
    """Foresee what `bisect` would do. With a history, add the cost of finding steps at the stored noise."""
    repository = plan.options.repository
    candidates = candidates_of(plan)
    count = plan.commands.count or quantity_of(plan.options.metric, benchmark=plan.options.benchmark, tool=plan.tool)
    settings = _settings_of(replace(plan, commands=replace(plan.commands, count=count)), config)
    commit_range = candidates.commit_range
    expected = forecast(commit_range, settings)
    noise: list[StoredNoise] = []
    cost = NO_COST
    if plan.options.history_url is not None:
        runs = stored_in_range(repository, candidates, plan, config)
        cost = sum((run.cost for run in runs), NO_COST)
        for (benchmark, metric), values in _medians(runs, plan):
            spread = run_spread(values)
            if spread is not None and expected.tests is None:
                costs = [
                    (step, executions_for(commit_range, settings, d_prime=float(np.log1p(step)) / max(spread, 1e-6)))
                    for step in FORESEEN_STEPS
                ]
                noise.append(
                    StoredNoise(
                        benchmark=benchmark, metric=metric, spread=spread, runs=len(values), executions=tuple(costs)
                    )
                )
    facts = prior_facts(repository, commit_range, plan.prior) if expected.tests is None else None
    return PlannedSearch(
        commit_range=commit_range,
        subjects=candidates.subjects,
        facts=facts,
        prior=prior_from(commit_range, facts),
        executions=(expected.clear, expected.hidden),
        budget=settings.budget_executions,
        tests=expected.tests,
        noise=None if plan.options.history_url is None or expected.tests is not None else tuple(noise),
        seconds=cost.seconds / cost.executions if cost.executions else None,
        of_failures=plan.of_failures,
    )


def _medians(runs: Sequence[Run], plan: BisectPlan) -> list[tuple[tuple[str, str], list[float]]]:
    """Return the medians of each requested benchmark's metric, run by run."""
    benchmark, metric = plan.options.benchmark, plan.options.metric
    values: dict[tuple[str, str], list[float]] = {}
    for run in runs:
        for entry in run.benchmarks:
            key = entry.key
            value = median(entry.samples) if entry.samples else entry.value
            if benchmark in (None, key.benchmark) and metric in (None, key.metric) and value > 0:
                values.setdefault((key.benchmark, key.metric), []).append(value)
    return sorted(values.items())


def run_spread(values: Sequence[float]) -> float | None:
    """Standard deviation of ln(value) from one stored run to the next; None below `SHORTEST_LEVEL` runs.

    It uses the median of absolute differences of neighbours, so steps between them hardly count. It includes
    differences between machines, so a search on one machine usually costs less.
    """
    if len(values) < SHORTEST_LEVEL:
        return None
    differences = np.abs(np.diff(np.log(values)))
    return float(np.median(differences) / UPPER_QUARTILE / np.sqrt(2))
