"""codec -> measure -> codec: one bisect job on the machine that it was given, in the untrusted workflow."""

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, BinaryIO, Final

from bot import git
from bot.codec.bisect_job import LARGEST_VALUE, LEAST_VALUE, encode_job_result
from bot.codec.bisect_request import MOST_REQUEST_BYTES, decode_request, job_of
from bot.config import Config
from bot.errors import DataError, UsageError
from bot.files import replace_file
from bot.model.bisection import Failure, FailureKind, Result
from bot.model.dispatch import BisectCommands, BisectJob, BisectJobResult, BisectRequest
from bot.model.metric import Metric
from bot.pipeline.bisect_results import RESULT_NAME
from bot.pipeline.measure import Say, read_result

if TYPE_CHECKING:
    from bot.measure import RoundResult, Workplace

LOG_NAME: Final = "log.txt"
STDIN: Final = Path("-")


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectJobPlan:
    """`run`, `build` and `tool` replace the request's where they are given. After `minutes` no round is begun."""

    request: Path
    job: str
    output: Path
    run: str | None = None
    build: str | None = None
    tool: str | None = None
    minutes: float | None = None
    cache: Path | None = None
    environment: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectJobDone:
    """`rounds` of `asked` gave something; the file holds them."""

    file: Path
    rounds: int
    asked: int


def bisect_job(
    repository: Path, plan: BisectJobPlan, *, config: Config, say: Say, stdin: BinaryIO | None = None
) -> BisectJobDone:
    """Measure the job's rounds. The result is replaced after each, so that an end of any kind loses one at most."""
    from bot.collect import machine_environment
    from bot.measure import Commands, Log, WorktreeExecutor, interruptible, open_workplace

    deadline = None if plan.minutes is None else time.monotonic() + 60 * plan.minutes
    request = decode_request(_read(plan.request, stdin), place=str(plan.request))
    job = job_of(request, plan.job, place=str(plan.request))
    commands = request.commands
    tool = plan.tool or commands.tool
    _fetch_missing(repository, job)
    environment = {name: value[:200] for name, value in machine_environment().components.items()}
    results: list[Result] = []
    file = plan.output / RESULT_NAME
    with ExitStack() as stack:
        stack.enter_context(interruptible())
        log = stack.enter_context(Log(plan.output / LOG_NAME))
        workplace = stack.enter_context(
            open_workplace(
                repository,
                commands=Commands(
                    run=plan.run or commands.run,
                    build=plan.build or commands.build,
                    run_timeout_seconds=commands.run_timeout_seconds,
                    build_timeout_seconds=commands.build_timeout_seconds,
                    environment=plan.environment,
                ),
                read=lambda result: read_result(result, tool=tool, config=config),
                log=log,
                cache=plan.cache,
            )
        )
        executor = WorktreeExecutor(workplace, key=request.key)
        _warm_up(workplace, job, say)
        for number, entry in enumerate(job.rounds, start=1):
            if deadline is not None and time.monotonic() > deadline:
                say(f"the time is spent after {number - 1} of {len(job.rounds)} rounds")
                break
            say(f"round {number} of {len(job.rounds)} ({entry.purpose}): {len(entry.commits)} executions")
            measured = executor.execute(entry)
            results.append(_result(entry.id, measured))
            replace_file(file, _encoded(request, job, results, metric=executor.metric, environment=environment))
    if not results:
        raise DataError("no round was measured", place=plan.job, next_step="give the job more time")
    return BisectJobDone(file=file, rounds=len(results), asked=len(job.rounds))


def _read(path: Path, stdin: BinaryIO | None) -> bytes:
    try:
        if path == STDIN and stdin is not None:
            data = stdin.read(MOST_REQUEST_BYTES + 1)
        else:
            with path.open("rb") as file:
                data = file.read(MOST_REQUEST_BYTES + 1)
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror}", place=str(path), next_step="write the input `request` into this file"
        ) from None
    if len(data) > MOST_REQUEST_BYTES:
        raise DataError(
            f"is larger than {MOST_REQUEST_BYTES:,} bytes", place=str(path), next_step="give the input as it was sent"
        )
    return data


def _fetch_missing(repository: Path, job: BisectJob) -> None:
    """Commits that the checkout lacks, such as a good end on another branch, by their hash."""
    names = dict.fromkeys(commit for entry in job.rounds for commit in entry.commits)
    for name in names:
        if not git.FULL_HASH.fullmatch(name):
            raise DataError(f"{name[:80]!r} is no full hash", place=job.id, next_step="ask for commits by full hash")
    missing = [name for name in names if git.find_commit(repository, name) is None]
    url = git.default_remote_url(repository) if missing else None
    if url is not None:
        git.fetch(repository, git.Remote(url=url), [f"+{name}:refs/perf-culprit/bisect/{name}" for name in missing])
    for name in missing:
        git.resolve_commit(repository, name)


def _warm_up(workplace: "Workplace", job: BisectJob, say: Say) -> None:
    """The first commit once, without counting: a new machine's caches are cold."""
    from bot.measure import ExecutionError

    first = job.rounds[0].commits[0]
    say(f"warm-up: {first[:12]}")
    try:
        workplace.execute(first)
    except ExecutionError as error:
        # It will fail again in its round, and be told there.
        say(error.message)


def _result(round_id: str, measured: "RoundResult") -> Result:
    """An execution counts by the median of its numbers, so that is all that is sent."""
    values: dict[str, tuple[float, ...]] = {}
    failures = dict(measured.failures)
    for commit, numbers in measured.samples.items():
        value = median(numbers)
        if LEAST_VALUE < value < LARGEST_VALUE:
            values[commit] = (float(value),)
        else:
            failures[commit] = Failure(kind=FailureKind.UNUSABLE, message="its number is not positive and finite")
    return Result(job_id=round_id, values=values, failures=failures)


def _encoded(
    request: BisectRequest,
    job: BisectJob,
    results: list[Result],
    *,
    metric: Metric | None,
    environment: dict[str, str],
) -> bytes:
    if metric is not None and not metric.direction.worse_sign:
        raise UsageError(
            f"{request.key.benchmark} ({request.key.metric}) does not say whether lower or higher is better",
            place="the results",
            next_step="search for another metric, or name the format of the results with bisect.tool",
        )
    return encode_job_result(
        BisectJobResult(
            bisection=request.bisection,
            dispatch=request.dispatch,
            job=job.id,
            rounds=tuple(results),
            metric=metric,
            environment=environment,
        )
    )


def run_commands(config: Config, *, run: str | None, build: str | None, tool: str) -> BisectCommands:
    """The command line's commands, and where it names none those of the configuration."""
    chosen = run or config.bisect.run
    if chosen is None:
        raise UsageError(
            "nothing says how to run the benchmark",
            place="--run",
            next_step="give --run 'COMMAND', or set bisect.run in the configuration",
        )
    # A configured build belongs to the configured run: a command of one's own may need none.
    built = build or (None if run else config.bisect.build)
    return BisectCommands(run=chosen, build=built, tool=tool if tool != "auto" or run else config.bisect.tool)
