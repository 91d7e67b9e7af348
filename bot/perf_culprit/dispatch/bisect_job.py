"""codec -> measure -> codec: one bisect job on its assigned machine, in the untrusted workflow."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import BinaryIO, Final

from perf_culprit import git
from perf_culprit.commands.measure_requests import MeasureBisectJob
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.commit_range import fetch_missing
from perf_culprit.dispatch.workflow_dispatcher import RESULT_NAME
from perf_culprit.errors import DataError, UsageError
from perf_culprit.files import read_limited, replace_file
from perf_culprit.machine.culprit_diagnosis import Profiling, diagnose_culprit
from perf_culprit.machine.this_machine import this_machine
from perf_culprit.measure.quantities_of_commands import why_uncountable
from perf_culprit.measure.runner import Commands
from perf_culprit.measure.worktree_executor import Pace, RoundResult, WorktreeExecutor
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import CulpritDiagnosis, Failure, FailureKind, Result
from perf_culprit.model.bisection_files import LARGEST_VALUE, LEAST_VALUE, decode_request, encode_job_result, job_of
from perf_culprit.model.dispatch import BisectJob, BisectJobResult, BisectRequest, FollowedValues
from perf_culprit.model.run import Metric
from perf_culprit.progress import Say
from perf_culprit.read.results.surroundings import machine_environment

BISECT_LOG_NAME: Final = "log.txt"
STDIN: Final = Path("-")
SETUP: Final = "install it in the `setup` of the bisect workflow (docs/measure.md)"


@dataclass(frozen=True, kw_only=True, slots=True)
class BisectJobDone:
    """The result file. `rounds` are in it, of `requested_rounds`."""

    file: Path
    rounds: int
    requested_rounds: int


def measure_job(options: MeasureBisectJob, *, config: Config, say: Say, stdin: BinaryIO | None = None) -> BisectJobDone:
    """Measure the job's rounds. The result file is replaced after each, so an interruption loses one at most.

    `run`, `build` and `tool` replace those of the request if given.
    """
    started = time.monotonic()
    step = "write the input `request` into this file, as it was sent"
    stream = stdin if options.request == STDIN else None
    data = read_limited(options.request, ARTIFACT_LIMITS.request_bytes, next_step=step, stream=stream)
    request = decode_request(data, place=str(options.request))
    job = job_of(request, options.job, place=str(options.request))
    minutes = [each for each in (options.minutes, request.minutes) if each is not None]
    pace = Pace(deadline=started + 60 * min(minutes, default=math.inf))
    commands = request.commands
    _require_commits(options.repository, job)
    environment = {name: value[:200] for name, value in machine_environment().components.items()}
    results: list[Result] = []
    encoded = partial(_encode, request, job, results, started, environment=environment)
    file = options.output / RESULT_NAME
    shell = Commands(
        run=options.run or commands.run,
        build=options.build or commands.build,
        run_timeout_seconds=commands.run_timeout_seconds,
        build_timeout_seconds=commands.build_timeout_seconds,
        environment=options.environment,
        count=commands.count,
    )
    missing = None if commands.count is None else why_uncountable(commands.count)
    if missing is not None:
        say(cannot := f"{commands.count} cannot be counted: {missing}")
        file.parent.mkdir(parents=True, exist_ok=True)
        failure = Failure(kind=FailureKind.UNUSABLE, message=f"{cannot}; {SETUP}")
        results += (Result(job_id=entry.id, failures=dict.fromkeys(entry.commits, failure)) for entry in job.rounds)
        replace_file(file, encoded(metric=None))
        return BisectJobDone(file=file, rounds=0, requested_rounds=len(job.rounds))
    with this_machine(
        options.repository,
        shell,
        config=config,
        tool="auto" if commands.count else options.tool or commands.tool,
        log=options.output / BISECT_LOG_NAME,
        directions=lambda key: commands.direction or config.direction_of(key),
        cache=options.cache,
    ) as workplace:
        executor = WorktreeExecutor(workplace, key=request.key, followed=request.followed)
        followed: dict[str, Mapping[str, tuple[float | None, ...]]] = {}
        for number, entry in enumerate(job.rounds, start=1):
            if not pace.allows_a_round:
                say(f"the time is spent after {number - 1} of {len(job.rounds)} rounds")
                break
            say(f"round {number} of {len(job.rounds)} ({entry.purpose}): {len(entry.commits)} executions")
            begun = time.monotonic()
            result = executor.execute(entry)
            pace.add(time.monotonic() - begun)
            results.append(_result(entry.id, result))
            if result.followed:
                followed[entry.id] = _usable(result.followed)
            replace_file(file, encoded(metric=executor.metric, followed=followed))
        if job.diagnose is not None and time.monotonic() < pace.deadline:
            profiling = Profiling(
                command=commands.profile, budget_s=commands.profile_seconds, tool=options.tool or commands.tool
            )
            diagnosis = diagnose_culprit(
                options.repository, workplace, job.diagnose, profiling=profiling, say=say, count=commands.count
            )
            with_diagnosis = encoded(metric=executor.metric, followed=followed, diagnosis=diagnosis)
            if len(with_diagnosis) <= ARTIFACT_LIMITS.job_bytes:
                replace_file(file, with_diagnosis)
    return BisectJobDone(file=file, rounds=len(results), requested_rounds=len(job.rounds))


def _require_commits(repository: Path, job: BisectJob) -> None:
    names = list(dict.fromkeys(commit for entry in job.rounds for commit in entry.commits))
    for name in names:
        if not git.FULL_HASH.fullmatch(name):
            raise DataError(f"{name[:80]!r} is not a full hash", place=job.id, next_step="ask for commits by full hash")
    url = git.default_remote_url(repository)
    fetch_missing(repository, names, None if url is None else git.Remote(url=url))
    for name in git.missing_commits(repository, names):
        git.resolve_commit(repository, name)


def _result(round_id: str, result: RoundResult) -> Result:
    """Send only each execution's median, because an execution counts by its median."""
    values: dict[str, tuple[float, ...]] = {}
    failures = dict(result.failures)
    for commit, numbers in result.samples.items():
        value = median(numbers)
        if LEAST_VALUE < value < LARGEST_VALUE:
            values[commit] = (float(value),)
        else:
            failures[commit] = Failure(kind=FailureKind.UNUSABLE, message="its number is not positive and finite")
    return Result(job_id=round_id, values=values, failures=failures)


def _usable(followed: Mapping[str, tuple[float | None, ...]]) -> dict[str, tuple[float | None, ...]]:
    """Round the values to the digits that matter against noise: they are stored, for hundreds of metrics."""
    return {
        commit: tuple(
            None if value is None or not LEAST_VALUE < value < LARGEST_VALUE else float(f"{value:g}")
            for value in values
        )
        for commit, values in followed.items()
    }


def _encode(
    request: BisectRequest,
    job: BisectJob,
    results: list[Result],
    started: float,
    *,
    metric: Metric | None,
    environment: dict[str, str],
    followed: FollowedValues | None = None,
    diagnosis: CulpritDiagnosis | None = None,
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
            diagnosis=diagnosis,
            elapsed_seconds=time.monotonic() - started,
            followed=followed or {},
        )
    )
