"""The dispatcher of other machines: runs of the bisect workflow, and their results.

A run's results were written where untrusted code ran: all of them are checked against the dispatch's request.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from perf_culprit import git
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.controller import Collected, Controller, no_objection
from perf_culprit.errors import DataError
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection_files import decode_job_result, encode_request
from perf_culprit.model.dispatch import (
    Bisection,
    BisectionStep,
    BisectJob,
    BisectJobResult,
    BisectRequest,
    Dispatch,
    RunArtifact,
    WorkflowRuns,
    artifact_name,
)
from perf_culprit.model.reason import Objection, Reason, SearchReason, because
from perf_culprit.read.results.input_files import read_archive
from perf_culprit.store.opening import open_history

RESULT_NAME: Final = "bisect-job.json"
UPLOAD_AGAIN: Final = "nothing of it counts; upload what bisect-job wrote"


class Workflow:
    def __init__(self, runs: WorkflowRuns) -> None:
        self._runs = runs
        self.find = runs.find
        self.look = runs.look

    def send(self, bisection: Bisection, dispatch: Dispatch) -> int | None:
        return self._runs.send(_inputs(bisection, dispatch))

    def results(self, bisection: Bisection, dispatch: Dispatch, *, run_id: int) -> Collected:
        jobs = {artifact_name(bisection.id, job.id): job for job in dispatch.jobs}
        followed = 0 if bisection.alarm is None else len(bisection.alarm.followed)
        results: list[BisectJobResult] = []
        refused: list[Reason] = []
        for artifact in self._runs.artifacts(run_id, tuple(jobs)):
            job = jobs[artifact.name]
            try:
                result = _read_result(artifact)
                _check(result, bisection=bisection.id, dispatch=dispatch, job=job, followed=followed)
                results.append(result)
            except DataError as error:
                refused.append(because(SearchReason.RESULT_REFUSED, job=job.id, why=error.message))
        return Collected(results=tuple(results), refused=tuple(refused))


def _inputs(bisection: Bisection, dispatch: Dispatch) -> dict[str, str]:
    """Return the inputs of the bisect workflow, all of them strings."""
    alarm = bisection.alarm
    request = encode_request(
        BisectRequest(
            bisection=bisection.id,
            dispatch=dispatch.id,
            key=bisection.key,
            commands=bisection.commands,
            jobs=dispatch.jobs,
            followed=() if alarm is None else alarm.followed,
            minutes=None if alarm is None or alarm.proves is None else alarm.proves.minutes,
        )
    )
    if len(request) > ARTIFACT_LIMITS.request_bytes:
        raise DataError(
            f"a request of {len(request):,} bytes is more than GitHub takes",
            next_step="set a smaller bisect.jobs-per-round or bisect.rounds-per-job",
        )
    return {
        "bisection": bisection.id,
        "dispatch": dispatch.id,
        "jobs": json.dumps([job.id for job in dispatch.jobs]),
        "request": request.decode(),
        "commit": bisection.search.commit_range.bad,
        "runner": bisection.runner,
    }


def _read_result(artifact: RunArtifact) -> BisectJobResult:
    place = f"artifact {artifact.name}"
    if artifact.problem is not None:
        raise DataError(artifact.problem, place=place, next_step=UPLOAD_AGAIN)
    members = read_archive(artifact.zip_bytes, name=place)
    results = [member.content() for member in members if member.name == f"{place}/{RESULT_NAME}"]
    if len(results) != 1:
        raise DataError(f"holds {len(results)} files {RESULT_NAME}", place=place, next_step=UPLOAD_AGAIN)
    return decode_job_result(results[0], place=place)


def _refusal(fault: str) -> DataError:
    return DataError(fault, next_step=UPLOAD_AGAIN)


def _check(result: BisectJobResult, *, bisection: str, dispatch: Dispatch, job: BisectJob, followed: int) -> None:
    """Check that the result belongs to this job's request, and contains nothing else."""
    if result.bisection != bisection:
        raise _refusal("it is of another bisection")
    if result.dispatch != dispatch.id:
        raise _refusal("it is of another dispatch")
    if result.job != job.id:
        raise _refusal("it is of another job")
    if result.diagnosis is not None and result.diagnosis.commit != job.diagnose:
        raise _refusal("it diagnoses a commit that the job was not asked for")
    _check_rounds(result, job, followed=followed)


def _check_rounds(result: BisectJobResult, job: BisectJob, *, followed: int) -> None:
    expected_commits = {entry.id: set(entry.commits) for entry in job.rounds}
    for entry in result.rounds:
        if entry.job_id not in expected_commits:
            raise _refusal(f"the job was not asked for the round {entry.job_id[:40]!r}")
        if not {*entry.values, *entry.failures} <= expected_commits[entry.job_id]:
            raise _refusal(f"it measured commits that {entry.job_id} does not have")
    fits = all(
        set(commits) <= expected_commits.get(name, set())
        and all(len(values) == followed for values in commits.values())
        for name, commits in result.followed.items()
    )
    if not fits:
        raise _refusal("its further metrics are not those of the rounds and commits that it was asked for")
    if result.metric is None and any(entry.values for entry in result.rounds):
        raise _refusal("it has numbers and does not say of what metric")


@contextmanager
def open_controller(
    runs: WorkflowRuns,
    *,
    config: Config,
    remote: git.Remote,
    name: str,
    report: Callable[[BisectionStep], None],
    objection: Callable[[Bisection], Objection | None] = no_objection,
) -> Iterator[Controller]:
    """Open the controller in a GitHub job. The history (a branch of `remote`) stores, and `runs` measure.

    `config` is the repository's own, never a pull request's. `name` is the job's, the same for each of its attempts.
    """
    with open_history(config.history, url=remote.url, token=remote.token) as bisections:
        yield Controller(
            bisections=bisections,
            dispatcher=Workflow(runs),
            report=report,
            history=bisections,
            objection=objection,
            name=name,
        )
