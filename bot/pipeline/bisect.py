"""git -> bisect <-> measure -> report: the commits that brought a change, found on this machine."""

import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from bot import git
from bot.config import Config
from bot.errors import UsageError
from bot.files import replace_file
from bot.model.bisection import SMALLEST_EFFECT, Engine, FailureKind, Job, Progress, SearchSettings, Sought
from bot.model.bisection_report import BisectionReport
from bot.model.dispatch import BisectCommands
from bot.model.metric import MetricKey
from bot.model.run import Run
from bot.pipeline.bisect_answer import report_of
from bot.pipeline.bisect_facts import Prior, prior_of
from bot.pipeline.bisect_history import record_search, stored_runs, usable_blocks
from bot.pipeline.bisect_range import Candidates, find_candidates
from bot.pipeline.counting import cannot_count, count_of
from bot.pipeline.measure import Say, read_result
from bot.pipeline.settings import history_remote

if TYPE_CHECKING:
    from bot.codec.bisect_session import BisectSession
    from bot.measure import Commands, Workplace

FOLDER: Final = "perf-culprit"
DEFAULT_EXECUTIONS: Final = 400
FIRST_TRIES: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectPlan:
    """`executions` and `minutes` are budgets: when one is spent the answer so far is given.

    `state` is replaced after every round. `resume` is such a file; it must have been written by the same search.
    `history`: a URL or path, "" for the repository's own remote; None: no stored runs. `record` appends to it.
    """

    good: str
    bad: str
    commands: "Commands"
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


def state_file(repository: Path, plan: BisectPlan) -> Path:
    """The named one, or one in the repository's own folder, where no status and no commit sees it."""
    named = plan.state or plan.resume
    if named is not None:
        return named
    good, bad = git.resolve_commit(repository, plan.good), git.resolve_commit(repository, plan.bad)
    return git.common_folder(repository) / FOLDER / f"bisect-{good[:12]}-{bad[:12]}.json"


def bisect(repository: Path, plan: BisectPlan, *, config: Config, say: Say) -> BisectionReport:
    """Search until there is an answer or a budget is spent. An interrupt leaves the state file behind.

    What cannot be counted here is measured by time, and the answer says so.
    """
    from bot.measure import ExecutionError, is_missing

    count = count_of(plan.metric, benchmark=plan.benchmark, tool=plan.tool)
    if count is None:
        return _bisect(repository, plan, config=config, say=say)
    why = is_missing()
    if why is None:
        try:
            return _bisect(
                repository, replace(plan, commands=replace(plan.commands, count=count)), config=config, say=say
            )
        except ExecutionError as error:
            why = f"valgrind cannot run the command ({error.message})"
    note = cannot_count(count, why)
    say(note)
    report = _bisect(repository, replace(plan, metric=None), config=config, say=say)
    return replace(report, outcome=replace(report.outcome, notes=(*report.outcome.notes, note)))


def _bisect(repository: Path, plan: BisectPlan, *, config: Config, say: Say) -> BisectionReport:
    from bot.measure import Log, interruptible, open_workplace

    deadline = None if plan.minutes is None else time.monotonic() + 60 * plan.minutes
    session = None if plan.resume is None else _resumed(plan.resume)
    candidates = candidates_of(repository, plan)
    file = state_file(repository, plan)
    started = datetime.now(UTC)
    stored = (
        stored_in_range(repository, candidates, plan, config) if session is None and plan.history is not None else ()
    )
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        log = stack.enter_context(Log(file.with_suffix(".log"), keep=session is not None))
        workplace = stack.enter_context(
            open_workplace(
                repository,
                commands=plan.commands,
                read=lambda result: read_result(result, tool=plan.tool, config=config),
                log=log,
                cache=plan.cache,
            )
        )
        begun = (
            _begun(repository, workplace, candidates, plan, say, stored=stored)
            if session is None
            else _continued(session, candidates, plan)
        )
        session = _search(begun, workplace, file=file, deadline=deadline, say=say)
    if plan.record:
        say(f"recorded {_record(repository, session, plan, config, started)} commits")
    return report_of(repository, session, candidates, plan)


def candidates_of(repository: Path, plan: BisectPlan) -> Candidates:
    return find_candidates(repository, good=plan.good, bad=plan.bad, first_parent=plan.first_parent, paths=plan.paths)


def settings_of(plan: BisectPlan) -> SearchSettings:
    from bot.measure import MINIMUM_EFFECT

    return SearchSettings(
        engine=plan.engine,
        sought=plan.sought,
        minimum_effect=SMALLEST_EFFECT if plan.commands.count is None else MINIMUM_EFFECT,
        seed=plan.seed,
        budget_executions=plan.executions or DEFAULT_EXECUTIONS,
    )


def _begun(
    repository: Path,
    workplace: "Workplace",
    candidates: Candidates,
    plan: BisectPlan,
    say: Say,
    *,
    stored: Sequence[Run],
) -> "BisectSession":
    """Both ends once: that they work at all, what they measure, and warm caches. These numbers do not count."""
    from bot.bisect import Search
    from bot.codec.bisect_session import BisectSession
    from bot.measure import choose_metric, require_benchmark

    runs = []
    for name, commit in (("good", candidates.commit_range.good), ("bad", candidates.commit_range.bad)):
        say(f"try the {name} commit {commit[:12]}")
        workplace.prepare(commit)
        if plan.commands.count is not None:
            workplace.warm_up(commit)
        runs.append(_first_run(workplace, commit))
        require_benchmark(runs[-1], benchmark=plan.benchmark, metric=plan.metric, end=name)
    key, metric = choose_metric(*runs, benchmark=plan.benchmark, metric=plan.metric)
    search = Search.start(
        candidates.commit_range,
        settings=replace(settings_of(plan), direction=metric.direction),
        prior=prior_of(repository, candidates.commit_range, plan.prior),
        stored=_blocks(stored, candidates, key, plan, say),
    )
    return BisectSession(run=plan.commands.run, build=plan.commands.build, key=key, metric=metric, search=search.state)


def _commands(plan: BisectPlan) -> BisectCommands:
    return BisectCommands(run=plan.commands.run, build=plan.commands.build, tool=plan.tool)


def stored_in_range(repository: Path, candidates: Candidates, plan: BisectPlan, config: Config) -> tuple[Run, ...]:
    from bot.history import open_git_branch

    remote = history_remote(repository, plan.history or None, None)
    with open_git_branch(remote, branch=config.history.branch) as history:
        return stored_runs(history, candidates.commit_range, suite=config.suite)


def _blocks(
    stored: Sequence[Run], candidates: Candidates, key: MetricKey, plan: BisectPlan, say: Say
) -> tuple[Mapping[str, tuple[float, ...]], ...]:
    from bot.collect import machine_environment

    if plan.history is None:
        return ()
    found = usable_blocks(
        stored, candidates.commit_range, key=key, commands=_commands(plan), environment=machine_environment()
    )
    left_out = {
        "measured alone": found.alone,
        "on other hardware": found.other_hardware,
        "by other commands": found.other_commands,
    }
    without = "; ".join(f"{count} runs {why} left out" for why, count in left_out.items() if count)
    say(f"{found.executions} stored executions count" + (f"; {without}" if without else ""))
    return found.blocks


def _record(repository: Path, session: "BisectSession", plan: BisectPlan, config: Config, started: datetime) -> int:
    """What was measured, appended to the history's suite of searches; of how many commits."""
    from bot.collect import machine_environment
    from bot.history import Retention, open_git_branch

    retention = Retention(raw_runs=config.history.raw_runs, branch_bytes=config.history.size_limit)
    remote = history_remote(repository, plan.history or None, None)
    with open_git_branch(remote, branch=config.history.branch, retention=retention) as history:
        names = record_search(
            history,
            session.search,
            key=session.key,
            metric=session.metric,
            commands=_commands(plan),
            suite=config.suite,
            job=uuid.uuid4().hex,
            time=started,
            environments=(machine_environment().components,),
        )
    return len(names)


def _first_run(workplace: "Workplace", commit: str) -> Run:
    """A flaky benchmark may fail now and then; one that fails every time ends the verb."""
    from bot.measure import ExecutionError

    for _ in range(FIRST_TRIES - 1):
        try:
            return workplace.execute(commit)[1]
        except ExecutionError as error:
            if error.kind is not FailureKind.CRASHED:
                raise
    return workplace.execute(commit)[1]


def _resumed(path: Path) -> "BisectSession":
    from bot.codec.bisect_session import decode_session

    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", place=str(path), next_step="give a file that bisect wrote"
        ) from None
    return decode_session(data, place=str(path))


def _continued(session: "BisectSession", candidates: Candidates, plan: BisectPlan) -> "BisectSession":
    """The session with this call's budget, if it is the same search; what was running when it ended is lost."""
    from bot.bisect import Search
    from bot.bisect.budget import with_budget

    state = session.search
    same = {
        "--good, --bad, --first-parent or --paths": state.commit_range == candidates.commit_range,
        "--run": session.run == plan.commands.run,
        "--build": session.build == plan.commands.build,
        "--benchmark": plan.benchmark in (None, session.key.benchmark),
        "--metric": plan.metric in (None, session.key.metric),
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
    search = Search(with_budget(state, plan.executions or 0))
    for job in search.pending:
        search.abandon(job.id)
    return replace(session, search=search.state)


def _search(
    session: "BisectSession", workplace: "Workplace", *, file: Path, deadline: float | None, say: Say
) -> "BisectSession":
    from bot.bisect import Search
    from bot.codec.bisect_session import encode_session
    from bot.measure import WorktreeExecutor

    search = Search(session.search)
    commit_range = session.search.commit_range
    executor = WorktreeExecutor(workplace, key=session.key, warm={commit_range.good, commit_range.bad})

    def save() -> None:
        replace_file(file, encode_session(replace(session, search=search.state)))

    save()
    while search.outcome() is None:
        for job in search.propose(1):
            say(progress_line(search.progress(), job))
            result = executor.execute(job)
            search.record(job.id, result.samples, result.failures)
        save()
        if deadline is not None and time.monotonic() > deadline and search.outcome() is None:
            partial = search.partial_outcome()
            note = f"the time was spent before the search had ended; --resume {file} resumes it"
            stopped = replace(search.state, outcome=replace(partial, notes=(*partial.notes, note)))
            return replace(session, search=stopped)
    return replace(session, search=search.state)


def progress_line(progress: Progress, job: Job) -> str:
    expected = progress.expected_executions
    parts = [
        # As many as equally suspicious ones would be.
        f"{job.purpose}: about {max(1, round(2**progress.entropy_bits))} commits left",
        f"{progress.entropy_bits:.1f} bits",
        f"{progress.executions} executions" + ("" if expected is None else f", about {expected} to go"),
    ]
    if progress.leader is not None:
        parts.append(f"first suspect {progress.leader.commit[:12]} ({100 * progress.leader.posterior:.0f} %)")
    return "; ".join(parts)
