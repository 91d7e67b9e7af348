"""What the action does on each event: judge and hand over, record, publish."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bot import git, pipeline
from bot.action.commands.bisection import stop_outdated
from bot.action.commands.mode import run_bisect, run_command
from bot.action.commands.thread import trusted_config
from bot.action.context import Context
from bot.action.inputs import Mode
from bot.action.job import Job
from bot.action.mainline import accepted_changes, check_claims, follow_up
from bot.codec.run import encode_run
from bot.errors import EXIT_FINE, EXIT_REGRESSION, BotError, InfrastructureError, UsageError
from bot.files import replace_file
from bot.model.baseline import BaselineSource
from bot.model.report import Conclusion, Report
from bot.model.run import Run
from bot.publish.log import LogLevel
from bot.publish.outputs import write_outputs
from bot.publish.summary import append_summary

if TYPE_CHECKING:
    from bot.publish.check import CheckRun
    from bot.publish.client import Client

DEFAULT_ARTIFACT = "perf-culprit-report"
LOG_WIDTH = 160


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
            "pull request from a fork: its token may not write, so the report waits for the workflow_run job",
        )
        return _compare(job)
    client = pipeline.connect(job.destination)
    with _check(job, client, sha=context.head_commit) as check:
        compared = _judge(job)
        if check is not None:
            pipeline.complete_check(check, compared.report, job.destination)
    url = _comment_on_event(job, client, compared.report)
    if context.is_default_branch_push and job.inputs.auto_push:
        _record_run(job, compared)
        follow_up(job, client, compared.report)
    return _finish(job, [compared.report], comment_url=url)


def _compare(job: Job) -> int:
    """Judge and leave the results as files; nothing is written to GitHub."""
    return _finish(job, [_judge(job).report])


def _record(job: Job) -> int:
    """Judge and append to the history, whatever the branch."""
    compared = _judge(job)
    _record_run(job, compared)
    return _finish(job, [compared.report])


def _publish(job: Job) -> int:
    """On workflow_run: what the measuring run left, written where GitHub says it belongs."""
    from bot.publish.pull_request import find_pull_request, is_current, number_at, sha_at, value_at

    context = job.context
    if context.event_name != "workflow_run":
        raise UsageError(
            f"mode publish works on the event workflow_run, this is {context.event_name!r}",
            place="input mode",
            next_step="use mode auto, or trigger the workflow on workflow_run",
        )
    client = pipeline.connect(job.destination)
    job = _configured(job, client)
    inputs = job.inputs
    sha = sha_at(context.event, "workflow_run", "head_sha")
    run_id = number_at(context.event, "workflow_run", "id")
    cause = value_at(context.event, "workflow_run", "event")
    search = find_pull_request(client, event_name=context.event_name, event=context.event)
    results = pipeline.fetch_results(client, run_id=run_id, sha=sha, artifact=inputs.artifact_name or DEFAULT_ARTIFACT)
    if not context.follows_default_branch_push:
        check_claims(job, [result.report for result in results])
    joint = inputs.config.comment.suites == "joint" and len(results) > 1
    url: str | None = None
    for result in results:
        with _check(job, client, sha=sha, suite=result.report.suite) as check:
            if check is not None:
                pipeline.complete_check(check, result.report, job.destination)
        pull_request = search.pull_request
        if pull_request is not None and is_current(client, pull_request):
            if joint:
                reports = [other.report for other in results]
                url = pipeline.joint_comment(
                    client, job.destination, reports=reports, number=pull_request.number, config=inputs.config
                )
            else:
                url = pipeline.comment(
                    client, job.destination, report=result.report, number=pull_request.number, config=inputs.config
                )
        elif cause == "pull_request":
            job.log.tell(LogLevel.NOTICE, f"no comment: {search.reason or 'the pull request has moved on meanwhile'}")
        if result.run is not None and inputs.auto_push and context.follows_default_branch_push:
            _record_run(job, pipeline.Compared(run=result.run, report=result.report))
            follow_up(job, client, result.report)
        _say(job, result.report)
    if search.pull_request is not None:
        _stop_outdated(job, client, number=search.pull_request.number)
    return _finish(job, [result.report for result in results], comment_url=url)


def _configured(job: Job, client: "Client") -> Job:
    """With the default branch's configuration where nothing is checked out."""
    if job.inputs.has_config:
        return job
    try:
        return replace(job, inputs=replace(job.inputs, config=trusted_config(job, client)))
    except InfrastructureError as error:
        job.log.tell(LogLevel.WARNING, f"the defaults are used: {error}")
        return job


MODES: Mapping[Mode, Callable[[Job], int]] = {
    "auto": _auto,
    "compare": _compare,
    "record": _record,
    "publish": _publish,
    "command": run_command,
    "bisect": run_bisect,
}


def _judge(job: Job) -> pipeline.Compared:
    """Collect and compare, paired where this job measured the base too, else with the history; write the files."""
    context, inputs = job.context, job.inputs
    merge = _merge(job)
    commit = merge.commit if merge else _named_commit(job)
    with job.log.fold("perf-culprit: collect and compare"):
        run = _collect(job, commit)
        job.log.say(f"{len(run.benchmarks)} measurements for {commit}")
        accepted = accepted_changes(job, merge.head if merge else commit)
        confirm = _second_run(job, commit)
        if inputs.baseline_files:
            report = pipeline.compare_run_with_files(
                run,
                baseline=inputs.baseline_files,
                tool=inputs.tool,
                config=inputs.config,
                source=BaselineSource.PAIRED,
                accepted=accepted,
                confirm=confirm,
                confirm_baseline=inputs.confirm_baseline_files,
                merge=merge,
            )
            compared = pipeline.Compared(run=run, report=report)
        else:
            compared = pipeline.compare_run_with_history(
                run,
                repository=context.workspace,
                config=inputs.config,
                base=context.base_ref,
                history_url=context.git_url,
                token=inputs.token or None,
                accepted=accepted,
                confirm=confirm,
                merge=merge,
            )
    compared = _diagnosed(job, compared)
    directory = context.workspace / inputs.report_directory
    replace_file(directory / "run.json", encode_run(compared.run))
    replace_file(directory / "report.json", pipeline.report_json(compared.report))
    replace_file(directory / "comment.md", pipeline.report_markdown(compared.report).encode())
    _say(job, compared.report)
    return compared


def _merge(job: Job) -> pipeline.Merge | None:
    """What actions/checkout leaves of a pull request by default: GitHub's merge of the head into the base as it is now.

    Its numbers hold what happened to the base meanwhile, so they are judged against that base.
    """
    context = job.context
    if not context.is_pull_request:
        return None
    revision = job.inputs.ref or "HEAD"
    try:
        merge = pipeline.merge_of(context.workspace, revision=revision, head=context.head_commit)
        checked_out = git.find_commit(context.workspace, revision)
    except InfrastructureError:
        return None  # no checkout: whoever downloads results needs none
    if merge is not None:
        job.log.say(f"measured: {merge.commit}, GitHub's merge of {merge.head} into {merge.base}")
    elif not job.inputs.ref and checked_out not in (None, context.head_commit):
        job.log.tell(
            LogLevel.WARNING,
            f"the checkout holds {checked_out}, neither the pull request's head nor GitHub's merge of it; "
            "the results are taken for those of the head. Name what was measured with the input ref",
        )
    return merge


def _named_commit(job: Job) -> str:
    return git.resolve_commit(job.context.workspace, job.inputs.ref) if job.inputs.ref else job.context.head_commit


def _diagnosed(job: Job, compared: pipeline.Compared) -> pipeline.Compared:
    """With the diagnosis that was named; a verdict does not wait for one that cannot be read."""
    if not job.inputs.diagnosis_file:
        return compared
    try:
        report = pipeline.with_diagnosis(compared.report, str(job.context.workspace / job.inputs.diagnosis_file))
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"no diagnosis: {error}")
        return compared
    return replace(compared, report=report)


def _collect(job: Job, commit: str) -> Run:
    inputs, context = job.inputs, job.context
    if inputs.run_id is not None:
        return pipeline.fetch_run(
            pipeline.connect(job.destination),
            run_id=inputs.run_id,
            sha=context.head_commit,
            artifact=inputs.artifact_name,
            tool=inputs.tool,
            config=inputs.config,
            commit=commit,
        )
    if not inputs.output_files:
        raise UsageError(
            "no result files were named",
            place="input output-file-path",
            next_step="write the path of the file that your benchmark wrote, or run-id to read a run's artifacts",
        )
    paired = bool(inputs.baseline_files)
    return pipeline.collect_run(
        inputs.output_files, config=inputs.config, tool=inputs.tool, commit=commit, paired=paired
    )


def _second_run(job: Job, commit: str) -> Run | None:
    """What was measured a second time of the benchmarks that an earlier step flagged; it is judged, never stored."""
    files = job.inputs.confirm_files
    if not files:
        return None
    paired = bool(job.inputs.baseline_files)
    return pipeline.collect_run(files, config=job.inputs.config, tool=job.inputs.tool, commit=commit, paired=paired)


def _record_run(job: Job, compared: pipeline.Compared) -> None:
    name = pipeline.record_run(
        compared.run,
        report=compared.report,
        config=job.inputs.config,
        history_url=job.context.git_url,
        token=job.inputs.token or None,
        stored_runs=compared.stored_runs,
        warn=lambda text: job.log.tell(LogLevel.WARNING, text),
    )
    job.log.say(f"recorded {name} on branch {job.inputs.config.history.branch}")


@contextmanager
def _check(job: Job, client: "Client", *, sha: str, suite: str | None = None) -> "Iterator[CheckRun | None]":
    """A check run, or None with a warning where the token may not write one: the comment says the same."""
    with ExitStack() as stack:
        try:
            check = stack.enter_context(
                pipeline.open_check(client, job.destination, suite=suite or job.inputs.config.suite, sha=sha)
            )
        except InfrastructureError as error:
            job.log.tell(LogLevel.WARNING, f"no check run: {error}")
            check = None
        yield check


def _comment_on_event(job: Job, client: "Client", report: Report) -> str | None:
    from bot.publish.pull_request import find_pull_request

    found = find_pull_request(client, event_name=job.context.event_name, event=job.context.event).pull_request
    if found is None:
        return None
    return pipeline.comment(client, job.destination, report=report, number=found.number, config=job.inputs.config)


def _stop_outdated(job: Job, client: "Client", *, number: int) -> None:
    """A new head has been measured: nobody waits for a bisection of the old one. Publishing does not depend on it."""
    try:
        stop_outdated(job, client, number=number)
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"older bisections were not looked after: {error}")


def _say(job: Job, report: Report) -> None:
    with job.log.fold(pipeline.headline(report)):
        job.log.say(pipeline.report_text(report, colour=False, width=LOG_WIDTH))


def _finish(job: Job, reports: Sequence[Report], *, comment_url: str | None = None) -> int:
    """Outputs, job summary and exit code; of several suites the loudest one speaks in the outputs."""
    context, inputs = job.context, job.inputs
    loudest = min(reports, key=lambda report: (not report.failed, list(Conclusion).index(report.conclusion)))
    if context.summary_path and inputs.summary:
        for report in reports:
            text = pipeline.report_summary(report, run_url=context.run_url, repository_url=context.repository_url)
            append_summary(text, path=context.summary_path)
    if context.output_path:
        values = {
            **pipeline.report_outputs(loudest),
            "report-path": str(inputs.report_directory / "report.json"),
            "comment-url": comment_url or "",
            "flagged": pipeline.flagged_json(reports),
        }
        write_outputs(values, path=context.output_path)
    job.log.say(pipeline.headline(loudest))
    return EXIT_REGRESSION if inputs.fail_on_alert and any(report.failed for report in reports) else EXIT_FINE
