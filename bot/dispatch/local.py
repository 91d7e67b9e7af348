"""A bisection on this machine: the same controller as on others, with a file for the branch."""

import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bot import git, history
from bot.bisect import Search
from bot.bisect.budget import with_budget
from bot.codec.bisect_session import BisectSession, decode_session
from bot.collect import machine_environment
from bot.config import Config
from bot.dispatch.advance import advance
from bot.dispatch.candidates import Candidates, find_candidates
from bot.dispatch.controller import Controller, Dispatcher
from bot.dispatch.diagnosis import Profiling, diagnose_culprit, diagnosed_step
from bot.dispatch.facts import Prior, commit_facts, dependency_updates, prior_of
from bot.dispatch.here import StateFile
from bot.dispatch.machine import Say, this_machine
from bot.dispatch.settle import settle
from bot.dispatch.side_by_side import open_dispatcher
from bot.dispatch.step import command_line, report_of
from bot.dispatch.stop import ended
from bot.dispatch.stored import record_search, stored_runs, usable_blocks
from bot.errors import UsageError
from bot.files import read_limited
from bot.measure import Commands, ExecutionError, Workplace, choose_metric, require_benchmark
from bot.model.bisection import SMALLEST_EFFECT, Engine, FailureKind, SearchSettings, SearchState, Sought
from bot.model.bisection_report import BisectionReport, CulpritDiagnosis
from bot.model.count import MINIMUM_EFFECT, is_exact
from bot.model.dispatch import BisectCommands, Bisection
from bot.model.metric import Metric, MetricKey
from bot.model.reason import because
from bot.model.run import Run
from bot.model.search_reason import SearchReason

FOLDER: Final = "perf-culprit"
DEFAULT_EXECUTIONS: Final = 400
FIRST_TRIES: Final = 3
MOST_STATE_BYTES: Final = 256 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectPlan:
    """`executions` and `minutes` are budgets: when one is spent the answer so far is given.

    `state` is replaced after every round. `resume` is such a file; it must have been written by the same search.
    `history`: a URL or path, "" for the repository's own remote; None: no stored runs. `record` appends to it.
    `profiling`: None where the culprit is not diagnosed. Of `jobs` more than one run side by side: for counts.
    """

    good: str
    bad: str
    commands: Commands
    benchmark: str | None = None
    metric: str | None = None
    sought: Sought = Sought.ANY
    engine: Engine = Engine.BAYES
    prior: Prior = Prior.CHANGES
    seed: int = 0
    executions: int | None = None
    minutes: float | None = None
    first_parent: bool = False
    paths: tuple[str, ...] = ()
    tool: str = "auto"
    cache: Path | None = None
    state: Path | None = None
    resume: Path | None = None
    history: str | None = None
    record: bool = False
    jobs: int = 1
    profiling: Profiling | None = None


def search_here(repository: Path, plan: BisectPlan, *, config: Config, say: Say) -> BisectionReport:
    """Search until there is an answer or a budget is spent. An interrupt leaves the state file behind."""
    deadline = None if plan.minutes is None else time.monotonic() + 60 * plan.minutes
    session = None if plan.resume is None else _resumed(plan.resume)
    candidates = candidates_of(repository, plan)
    file = state_file(repository, plan)
    started = datetime.now(UTC)
    with_history = session is None and plan.history is not None
    stored = stored_in_range(repository, candidates, plan, config) if with_history else ()
    with this_machine(
        repository,
        plan.commands,
        config=config,
        tool=plan.tool,
        log=file.with_suffix(".log"),
        keep_log=session is not None,
        cache=plan.cache,
    ) as workplace:
        begun = time.monotonic()
        if session is None:
            key, metric = _tried(workplace, candidates, plan, say)
            blocks = _blocks(stored, candidates, key, plan, say)
            state = _begun(repository, candidates, plan, metric=metric, stored=blocks)
        else:
            key, metric = session.key, session.metric
            _require_same(session.run, session.build, key, session.search, candidates=candidates, plan=plan)
            state = with_budget(session.search, plan.executions or 0)
        bisection = Bisection(
            id=uuid.uuid4().hex,
            key=key,
            metric=metric,
            commands=_as_dispatched(plan),
            search=state,
            started_at=started,
            suite=config.suite,
            jobs_per_dispatch=plan.jobs,
            rounds_per_job=1,
            subjects=candidates.subjects,
            updates=dependency_updates(repository, candidates.commit_range),
            environments=(machine_environment().components,),
            runner_seconds=time.monotonic() - begun if session is None else session.runner_seconds,
        )
        with open_dispatcher(
            repository, workplace, bisection, commands=plan.commands, cache=plan.cache, say=say
        ) as here:
            bisection = _searched(bisection, here, file=file, deadline=deadline)
        diagnosis = _diagnosed(repository, bisection, workplace, plan, say)
    if plan.record:
        say(f"recorded {_record(repository, bisection, plan, config)} commits")
    return replace(_report(repository, bisection, plan), diagnosis=diagnosis)


def candidates_of(repository: Path, plan: BisectPlan) -> Candidates:
    return find_candidates(repository, good=plan.good, bad=plan.bad, first_parent=plan.first_parent, paths=plan.paths)


def settings_of(plan: BisectPlan) -> SearchSettings:
    return SearchSettings(
        engine=plan.engine,
        sought=plan.sought,
        minimum_effect=MINIMUM_EFFECT if is_exact(plan.commands.count) else SMALLEST_EFFECT,
        seed=plan.seed,
        budget_executions=plan.executions or DEFAULT_EXECUTIONS,
    )


def state_file(repository: Path, plan: BisectPlan) -> Path:
    """The named one, or one in the repository's own folder, where no status and no commit sees it."""
    named = plan.state or plan.resume
    if named is not None:
        return named
    good, bad = git.resolve_commit(repository, plan.good), git.resolve_commit(repository, plan.bad)
    return git.common_folder(repository) / FOLDER / f"bisect-{good[:12]}-{bad[:12]}.json"


def _resumed(path: Path) -> BisectSession:
    data = read_limited(path, MOST_STATE_BYTES, next_step="give a file that bisect wrote", error=UsageError)
    return decode_session(data, place=str(path))


def _tried(workplace: Workplace, candidates: Candidates, plan: BisectPlan, say: Say) -> tuple[MetricKey, Metric]:
    """Both ends once: that they work at all, what they measure, and warm caches. These numbers do not count."""
    runs = []
    for name, commit in (("good", candidates.commit_range.good), ("bad", candidates.commit_range.bad)):
        say(f"try the {name} commit {commit[:12]}")
        workplace.prepare(commit)
        if plan.commands.count is not None:
            workplace.warm_up(commit)
        runs.append(_first_run(workplace, commit))
        require_benchmark(runs[-1], benchmark=plan.benchmark, metric=plan.metric, end=name)
    return choose_metric(*runs, benchmark=plan.benchmark, metric=plan.metric)


def _first_run(workplace: Workplace, commit: str) -> Run:
    """A flaky benchmark may fail now and then; one that fails every time ends the command."""
    for _ in range(FIRST_TRIES - 1):
        try:
            return workplace.execute(commit)[1]
        except ExecutionError as error:
            if error.kind is not FailureKind.CRASHED:
                raise
    return workplace.execute(commit)[1]


def _begun(
    repository: Path,
    candidates: Candidates,
    plan: BisectPlan,
    *,
    metric: Metric,
    stored: Sequence[Mapping[str, tuple[float, ...]]],
) -> SearchState:
    return Search.start(
        candidates.commit_range,
        settings=replace(settings_of(plan), direction=metric.direction),
        prior=prior_of(repository, candidates.commit_range, plan.prior),
        stored=stored,
    ).state


def _require_same(
    run: str, build: str | None, key: MetricKey, state: SearchState, *, candidates: Candidates, plan: BisectPlan
) -> None:
    same = {
        "--good, --bad, --first-parent or --paths": state.commit_range == candidates.commit_range,
        "--run": run == plan.commands.run,
        "--build": build == plan.commands.build,
        "--benchmark": plan.benchmark in (None, key.benchmark),
        "--metric": plan.metric in (None, key.metric),
        "--direction": plan.sought in (Sought.ANY, state.settings.sought),
        "--engine": plan.engine is state.settings.engine,
    }
    different = [name for name, is_same in same.items() if not is_same]
    if different:
        raise UsageError(
            f"was written by another search: {', '.join(different)} differs",
            place=str(plan.resume),
            next_step="repeat the command line of that search, or leave out --resume",
        )


def _searched(bisection: Bisection, dispatcher: Dispatcher, *, file: Path, deadline: float | None) -> Bisection:
    """With an outcome. One that is there only because the time is over is not kept, so that the file resumes."""
    controller = Controller(bisections=StateFile(file), dispatcher=dispatcher)
    step = settle(controller, bisection, loaded=None)
    while not step.bisection.is_done:
        step = advance(controller, bisection.id)
        if deadline is not None and time.monotonic() > deadline and not step.bisection.is_done:
            return ended(step.bisection, note=because(SearchReason.TIME_SPENT, file=str(file)))
    return step.bisection


def _diagnosed(
    repository: Path, bisection: Bisection, workplace: Workplace, plan: BisectPlan, say: Say
) -> CulpritDiagnosis | None:
    count, profiling = plan.commands.count, plan.profiling
    culprit = diagnosed_step(report_of(bisection).outcome, count)
    if culprit is None or profiling is None:
        return None
    return diagnose_culprit(repository, workplace, culprit.commit, profiling=profiling, say=say, count=count)


def stored_in_range(repository: Path, candidates: Candidates, plan: BisectPlan, config: Config) -> tuple[Run, ...]:
    with history.open_history(config.history, repository, url=plan.history or None) as opened:
        return stored_runs(opened, candidates.commit_range, suite=config.suite)


def _blocks(
    stored: Sequence[Run], candidates: Candidates, key: MetricKey, plan: BisectPlan, say: Say
) -> tuple[Mapping[str, tuple[float, ...]], ...]:
    if plan.history is None:
        return ()
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
    """What was measured, appended to the history's suite of searches; of how many commits."""
    with history.open_history(config.history, repository, url=plan.history or None) as opened:
        return len(record_search(opened, bisection))


def _report(repository: Path, bisection: Bisection, plan: BisectPlan) -> BisectionReport:
    """With what this repository knows besides: who wrote the commits, and where they are to be seen."""
    report = report_of(bisection)
    prior = None if plan.prior is Prior.CHANGES else plan.prior.value
    return replace(
        report,
        facts={culprit.commit: commit_facts(repository, culprit.commit) for culprit in report.outcome.culprits},
        repository_url=git.web_address(repository),
        command=command_line(bisection, prior=prior, paths=plan.paths),
    )
