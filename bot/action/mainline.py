"""What the action does beside judging a run of the default branch: accepted changes and tracking issues."""

from typing import TYPE_CHECKING

from bot import pipeline
from bot.action.job import Job
from bot.errors import BotError, InfrastructureError
from bot.model.acceptance import Acceptance
from bot.model.report import Report
from bot.publish.log import LogLevel

if TYPE_CHECKING:
    from bot.publish.client import Client


def accepted_changes(job: Job, commit: str) -> tuple[Acceptance, ...]:
    """What was accepted of this very commit, or on the default branch of the pull request that it merges.

    Where nobody can say, nothing was accepted: a check that fails too often is told, one that passes is not.
    """
    on_default_branch = job.context.is_default_branch_push
    if not (on_default_branch or job.inputs.baseline_files):
        return ()
    try:
        stored = _stored(job)
        carried = pipeline.carried_acceptances(pipeline.connect(job.destination), stored) if on_default_branch else ()
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"accepted changes are unknown: {error}")
        return ()
    here = tuple(entry for entry in stored if entry.commit == commit) if job.inputs.baseline_files else ()
    merged = tuple(entry for entry in carried if entry.commit == commit or not job.inputs.baseline_files)
    return here + merged


def follow_up(job: Job, client: "Client", report: Report) -> None:
    """After a run of the default branch was recorded. The run is told already, so trouble here is a warning."""
    try:
        settled = pipeline.settle_acceptances(
            report, config=job.inputs.config, history_url=job.context.git_url, token=job.inputs.token or None
        )
        if settled:
            job.log.say(f"accepted from here on: {len(settled)} benchmarks")
        if job.inputs.config.issues.when == "never":
            return
        said = pipeline.track_regressions(
            client,
            job.destination,
            report=report,
            config=job.inputs.config,
            repository=job.context.workspace,
            accepted=_stored(job),
        )
    except InfrastructureError as error:
        job.log.tell(LogLevel.WARNING, f"tracking issues: {error}")
        return
    for line in said:
        job.log.say(line)


def _stored(job: Job) -> tuple[Acceptance, ...]:
    return pipeline.stored_acceptances(
        config=job.inputs.config,
        history_url=job.context.git_url,
        token=job.inputs.token or None,
    )
