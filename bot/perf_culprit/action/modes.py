"""The action's modes for each event: judge and hand over, record, publish."""

from collections.abc import Callable, Mapping

from perf_culprit.action.comment_command import answer_comment, run_bisect
from perf_culprit.action.default_branch import follow_reference, follow_release, look_after, sum_up_week
from perf_culprit.action.inputs import Mode
from perf_culprit.action.job import READ_ONLY, ActionJob, finish, open_job_check, record_compared, say_report, summarise
from perf_culprit.action.measured_job import compare_measured
from perf_culprit.action.measuring_run import publish_measuring_run
from perf_culprit.errors import BotError
from perf_culprit.github.bot_texts import reference_check_name
from perf_culprit.github.host import Host
from perf_culprit.github.job_context import Context
from perf_culprit.github.runner_files import LogLevel
from perf_culprit.model.report import Report
from perf_culprit.say.unjudged_texts import Lack


def run_mode(job: ActionJob) -> int:
    """Run the requested mode, or the one that fits the event. Return the step's exit code."""
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


def _auto(job: ActionJob) -> int:
    """Judge and report a push or a pull request; on the default branch, record it too."""
    from perf_culprit.flows.publish import complete_check
    from perf_culprit.github.job_context import connect_host

    context = job.context
    if context.is_fork:
        job.log.tell(LogLevel.NOTICE, READ_ONLY)
        return _compare(job)
    host = connect_host(job.destination)
    name = reference_check_name(job.inputs.config.suite) if job.inputs.reference else None
    with open_job_check(job, host, sha=context.head_commit, name=name) as check:
        try:
            compared = compare_measured(job)
        except BotError as error:
            _say_unmeasured(job, host, error)
            raise
        if check is not None:
            complete_check(check, [compared.report], job.destination)
    say_report(job, compared.report)
    url = _comment_on_event(job, host, compared.report)
    if context.is_default_branch_push and job.inputs.is_recorded and not job.inputs.reference:
        record_compared(job, compared)
        look_after(job, host, compared)
        follow_release(job, host, commit=context.head_commit, base=compared.report.base_commit)
        sum_up_week(job, host, [compared.run.suite])
    follow_reference(job, host, [compared.report])
    return finish(job, [compared.report], comment_url=url)


def _compare(job: ActionJob) -> int:
    """Judge and leave the results as files; nothing is written to GitHub.

    A regression fails the check that the trusted job writes, not this step: the upload after it has to happen.
    """
    report = compare_measured(job).report
    say_report(job, report)
    return finish(job, [report], fails=False)


def _record(job: ActionJob) -> int:
    """Judge and append to the history, on any branch."""
    compared = compare_measured(job)
    say_report(job, compared.report)
    record_compared(job, compared)
    return finish(job, [compared.report])


MODES: Mapping[Mode, Callable[[ActionJob], int]] = {
    "auto": _auto,
    "compare": _compare,
    "record": _record,
    "publish": publish_measuring_run,
    "command": answer_comment,
    "bisect": run_bisect,
}


def _comment_on_event(job: ActionJob, host: Host, report: Report) -> str | None:
    from perf_culprit.flows.publish import comment

    pulls = host.find_pull_request(event_name=job.context.event_name, event=job.context.event).pull_requests
    if not pulls:
        return None
    return comment(host, job.destination, report=report, number=pulls[0].number, config=job.inputs.config)


def _say_unmeasured(job: ActionJob, host: Host, error: BotError) -> None:
    """Mark an earlier comment as being about an older head. The caller raises the error itself."""
    from perf_culprit.action.jobs.job_posts import mark_outdated
    from perf_culprit.say.unjudged_texts import unmeasured_text

    summarise(job, unmeasured_text(error.message, sha=job.context.head_commit, run_url=job.context.run_url))
    try:
        for pull in host.find_pull_request(event_name=job.context.event_name, event=job.context.event).pull_requests:
            mark_outdated(
                host,
                job.destination,
                lack=Lack.NOT_MEASURED,
                number=pull.number,
                sha=pull.head_sha,
                reason=error.message,
            )
    except BotError as second:
        job.log.tell(LogLevel.WARNING, f"the comment still shows an older result: {second}")
