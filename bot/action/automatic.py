"""Searches that begin by themselves, after a run of the default branch was recorded and after each of their steps."""

from bot import dispatch, pipeline
from bot.action.commands.bisection import controller
from bot.action.commands.thread import default_branch, remote
from bot.action.job import Job
from bot.action.telling import summarise
from bot.config import Config
from bot.errors import BotError
from bot.model.dispatch import Bisection
from bot.publish.host import Host
from bot.publish.log import LogLevel


def tend(job: Job, host: Host, config: Config) -> None:
    """Trouble is a warning: what this job was for is done by now."""
    if not config.bisect.automatic:
        return
    branch = default_branch(job)
    reference = f"refs/heads/{branch}"
    try:
        with (
            dispatch.default_branch_commits(remote(job), branch) as repository,
            controller(job, host, config) as opened,
        ):

            def say(text: str) -> None:
                job.log.say(text)
                summarise(job, f"{text}\n")

            def report(bisection: Bisection) -> bool:
                return pipeline.report_search(
                    host, job.destination, bisection, config=config, repository=repository, branch=reference, say=say
                )

            dispatch.tend_searches(
                repository,
                branch=reference,
                controller=opened,
                config=config,
                remote=remote(job),
                report=report,
                say=job.log.say,
            )
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"automatic bisection: {error}")
