"""What a dispatched run left, checked: it was written beside a stranger's code, and nothing in it is believed."""

from dataclasses import replace
from typing import Final

from bot.codec.bisect_job import decode_job_result
from bot.errors import DataError
from bot.model.dispatch import Bisection, BisectJob, BisectJobResult, Dispatch, RunArtifact, artifact_name
from bot.pipeline.bisect_controller import Dispatcher

RESULT_NAME: Final = "bisect-job.json"
KEPT_ENVIRONMENTS: Final = 20
NEXT_STEP: Final = "nothing of it counts; upload what bisect-job wrote"


def collected(
    dispatcher: Dispatcher, bisection: str, dispatch: Dispatch, *, run_id: int
) -> tuple[tuple[BisectJobResult, ...], tuple[str, ...]]:
    """The results of the dispatch's jobs, and why others were refused. A job without an artifact is just lost."""
    jobs = {artifact_name(bisection, job.id): job for job in dispatch.jobs}
    results: list[BisectJobResult] = []
    refused: list[str] = []
    for artifact in dispatcher.artifacts(run_id, tuple(jobs)):
        try:
            result = _read(artifact)
            _check(result, bisection=bisection, dispatch=dispatch, job=jobs[artifact.name])
            results.append(result)
        except DataError as error:
            refused.append(f"the result of {jobs[artifact.name].id} was refused: {error.message}")
    return tuple(results), tuple(refused)


def _read(artifact: RunArtifact) -> BisectJobResult:
    from bot.collect import read_archive

    place = f"artifact {artifact.name}"
    if artifact.problem is not None:
        raise DataError(artifact.problem, place=place, next_step=NEXT_STEP)
    members = read_archive(artifact.zip_bytes, name=place)
    found = [member.data for member in members if member.name == f"{place}/{RESULT_NAME}"]
    if len(found) != 1:
        raise DataError(f"holds {len(found)} files {RESULT_NAME}", place=place, next_step=NEXT_STEP)
    return decode_job_result(found[0], place=place)


def _check(result: BisectJobResult, *, bisection: str, dispatch: Dispatch, job: BisectJob) -> None:
    """That it speaks of what this job was asked for, and of nothing else."""

    def refuse(fault: str) -> None:
        raise DataError(fault, next_step=NEXT_STEP)

    if result.bisection != bisection:
        refuse("it is of another bisection")
    if result.dispatch != dispatch.id:
        refuse("it is of another dispatch")
    if result.job != job.id:
        refuse("it is of another job")
    asked = {entry.id: set(entry.commits) for entry in job.rounds}
    for entry in result.rounds:
        if entry.job_id not in asked:
            refuse(f"the job was not asked for the round {entry.job_id[:40]!r}")
        elif not {*entry.values, *entry.failures} <= asked[entry.job_id]:
            refuse(f"it measured commits that {entry.job_id} does not have")
    if result.metric is None and any(entry.values for entry in result.rounds):
        refuse("it has numbers and does not say of what metric")


def take_result(bisection: Bisection, result: BisectJobResult) -> Bisection:
    """With the result's rounds recorded, each at most once.

    The first result tells unit and direction of a metric that the history did not know; later ones must agree.
    """
    from bot.bisect import Search

    state, metric = bisection.search, bisection.metric
    if result.metric is not None:
        if result.metric.name != bisection.key.metric:
            raise DataError("it is of another metric", next_step=NEXT_STEP)
        if metric is None:
            metric = result.metric
            state = replace(state, settings=replace(state.settings, direction=metric.direction))
        if (result.metric.unit, result.metric.direction) != (metric.unit, metric.direction):
            raise DataError("its unit or direction differs from that of the others", next_step=NEXT_STEP)
    search = Search(state)
    for entry in result.rounds:
        # A round in which nothing was reached is lost, not measured.
        if entry.values or entry.failures:
            search.record(entry.job_id, entry.values, entry.failures)
    known = bisection.environments
    is_new = result.environment and result.environment not in known and len(known) < KEPT_ENVIRONMENTS
    return replace(
        bisection,
        search=search.state,
        metric=metric,
        environments=(*known, result.environment) if is_new else known,
    )
