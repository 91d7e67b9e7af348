"""What the action does on each event: judge and hand over, record, publish."""

from collections.abc import Callable, Mapping

from bot import pipeline
from bot.action.commands.mode import run_bisect, run_command
from bot.action.inputs import Mode
from bot.action.job import Job
from bot.action.judging import judge
from bot.action.mainline import look_after
from bot.action.publishing import publish
from bot.action.telling import finish, open_check, record_run, summarise
from bot.errors import BotError
from bot.model.report import Report
from bot.pipeline.context import Context
from bot.publish.host import Host
from bot.publish.log import LogLevel


def run_mode(job: Job) -> int:
    """The mode that was asked for, or the one that fits the event; the step's exit code."""
    mode = job.inputs.mode
    if mode == "auto":
        mode = _mode_of_event(job.context)
    return MODES[mode](job)


def _mode_of_event(context: Context) -> Mode:
    if context.event_name == "issue_comment":
        return "command"
    if context.follows_bisection:
        return "bisect"
    return "publish" if context.event_name == "workflow_run" else "auto"


def _auto(job: Job) -> int:
    """On a push or a pull request: judge, tell, and on the default branch record."""
    context = job.context
    if context.is_fork:
        job.log.tell(
            LogLevel.NOTICE,
            "pull request from a fork: its token may not write, so the report is in the job summary; where the "
            "workflow perf-report is set up (docs/workflows.md), it writes the comment",
        )
        return _compare(job)
    host = pipeline.connect(job.destination)
    with open_check(job, host, sha=context.head_commit) as check:
        try:
            compared = judge(job)
        except BotError as error:
            _say_unmeasured(job, host, error)
            raise
        if check is not None:
            pipeline.complete_check(check, compared.report, job.destination)
    url = _comment_on_event(job, host, compared.report)
    if context.is_default_branch_push and job.inputs.auto_push:
        record_run(job, compared)
        look_after(job, host, compared)
    return finish(job, [compared.report], comment_url=url)


def _compare(job: Job) -> int:
    """Judge and leave the results as files; nothing is written to GitHub.

    A regression fails the check that the trusted job writes, not this step: the upload after it has to happen.
    """
    return finish(job, [judge(job).report], fails=False)


def _record(job: Job) -> int:
    """Judge and append to the history, whatever the branch."""
    compared = judge(job)
    record_run(job, compared)
    return finish(job, [compared.report])


MODES: Mapping[Mode, Callable[[Job], int]] = {
    "auto": _auto,
    "compare": _compare,
    "record": _record,
    "publish": publish,
    "command": run_command,
    "bisect": run_bisect,
}


def _comment_on_event(job: Job, host: Host, report: Report) -> str | None:
    pulls = host.find_pull_request(event_name=job.context.event_name, event=job.context.event).pull_requests
    if not pulls:
        return None
    return pipeline.comment(host, job.destination, report=report, number=pulls[0].number, config=job.inputs.config)


def _say_unmeasured(job: Job, host: Host, error: BotError) -> None:
    """Where an earlier comment stands: that it is no longer about this head. The error itself is on its way up."""
    summarise(job, pipeline.unmeasured_text(error.message, sha=job.context.head_commit, run_url=job.context.run_url))
    try:
        for pull in host.find_pull_request(event_name=job.context.event_name, event=job.context.event).pull_requests:
            pipeline.mark_outdated(
                host,
                job.destination,
                lack=pipeline.Lack.NOT_MEASURED,
                number=pull.number,
                sha=pull.head_sha,
                reason=error.message,
            )
    except BotError as second:
        job.log.tell(LogLevel.WARNING, f"the comment still shows an older result: {second}")
