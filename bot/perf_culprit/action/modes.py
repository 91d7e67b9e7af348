"""What the action does on each event: judge and hand over, record, publish."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from perf_culprit import git
from perf_culprit.action.bisection_thread import UNREADABLE, stop_outdated, trusted_config
from perf_culprit.action.comment_command import run_bisect, run_command
from perf_culprit.action.default_branch import accepted_changes, accepted_of, check_claims, look_after
from perf_culprit.action.job import Job, Mode, finish, open_check, record_run, say_report, summarise
from perf_culprit.errors import EXIT_FINE, BotError, InfrastructureError, UsageError
from perf_culprit.files import replace_file
from perf_culprit.flows.compare import Compared
from perf_culprit.flows.job_context import Context
from perf_culprit.flows.job_event import Merge
from perf_culprit.flows.publish import StoredResult
from perf_culprit.github.host import Host, NoArtifactError, PullRequest, PullRequestSearch
from perf_culprit.github.runner_files import (
    LogLevel,
    number_at,
    sha_at,
    text_at,
    text_or_none,
    value_at,
    workflow_files,
)
from perf_culprit.model.reason import Remark, because
from perf_culprit.model.report import Report
from perf_culprit.model.run import Run
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.wording import Lack

# What this job measured, judged: collected, compared with the right thing, and left as files.


def judge(job: Job) -> Compared:
    """Collect and compare, paired where this job measured the base too, else with the history; write the files."""
    from perf_culprit.flows.job_results import JobResults, compare_results, result_files

    context, inputs = job.context, job.inputs
    merge = _merge(job)
    commit = merge.commit if merge else _named_commit(job)
    with job.log.fold("perf-culprit: collect and compare"):
        run = _collect(job, commit)
        job.log.say(f"{len(run.benchmarks)} measurements for {commit}")
        results = JobResults(
            run=run,
            baseline=_baseline(job, inputs.baseline_files),
            confirm=_second_run(job, commit),
            confirm_baseline=_baseline(job, inputs.confirm_baseline_files),
        )
        compared = compare_results(
            results,
            config=inputs.config,
            base=context.base_ref,
            merge=merge,
            place=replace(job.history, repository=context.workspace),
            accepted=accepted_changes(job, merge.head if merge else commit),
        )
    if merge is None:
        compared = _doubted(job, compared)
    compared = _predicted(job, _diagnosed(job, compared))
    directory = context.workspace / inputs.report_directory
    for name, data in result_files(compared, results).items():
        replace_file(directory / name, data)
    say_report(job, compared.report)
    return compared


def _merge(job: Job) -> Merge | None:
    """What actions/checkout leaves of a pull request by default: GitHub's merge of the head into the base as it is now.

    Its numbers hold what happened to the base meanwhile, so they are judged against that base.
    """
    from perf_culprit.flows.job_event import merge_of

    context = job.context
    if not context.is_pull_request:
        return None
    try:
        merge = merge_of(context.workspace, revision=job.inputs.ref or "HEAD", head=context.head_commit)
    except InfrastructureError:
        return None  # no checkout: whoever downloads results needs none
    if merge is not None:
        job.log.say(f"measured: {merge.commit}, GitHub's merge of {merge.head} into {merge.base}")
    return merge


def _doubted(job: Job, compared: Compared) -> Compared:
    """Where something else than the pull request is checked out, the report says that its numbers may be another's."""
    context = job.context
    if not context.is_pull_request or job.inputs.ref:
        return compared
    try:
        checked_out = git.find_commit(context.workspace, "HEAD")
    except InfrastructureError:
        return compared
    if checked_out in (None, context.head_commit):
        return compared
    doubt = because(Remark.OTHER_COMMIT, commit=str(checked_out)[:10])
    job.log.tell(LogLevel.WARNING, sentence(doubt))
    return replace(compared, report=structs.replace(compared.report, notes=(*compared.report.notes, doubt)))


def _named_commit(job: Job) -> str:
    return git.resolve_commit(job.context.workspace, job.inputs.ref) if job.inputs.ref else job.context.head_commit


def _collect(job: Job, commit: str) -> Run:
    from perf_culprit.flows.compare import collect_run
    from perf_culprit.flows.publish import connect, fetch_run

    inputs, context = job.inputs, job.context
    if inputs.run_id is not None:
        return fetch_run(
            connect(job.destination),
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
    return collect_run(inputs.output_files, config=inputs.config, tool=inputs.tool, commit=commit, paired=paired)


def _baseline(job: Job, files: tuple[str, ...]) -> Run | None:
    """Executions of the base, measured in this job."""
    from perf_culprit.flows.job_results import collect_baseline

    return collect_baseline(files, config=job.inputs.config, tool=job.inputs.tool) if files else None


def _second_run(job: Job, commit: str) -> Run | None:
    """What was measured a second time of the benchmarks that an earlier step flagged; it is judged, never stored."""
    from perf_culprit.flows.compare import collect_run

    files = job.inputs.confirm_files
    if not files:
        return None
    paired = bool(job.inputs.baseline_files)
    return collect_run(files, config=job.inputs.config, tool=job.inputs.tool, commit=commit, paired=paired)


def _diagnosed(job: Job, compared: Compared) -> Compared:
    """With the diagnosis that was named; a verdict does not wait for one that cannot be read."""
    from perf_culprit.flows.diagnose import with_diagnosis

    report = compared.report
    for name in filter(None, map(str.strip, job.inputs.diagnosis_file.splitlines())):
        try:
            report = with_diagnosis(report, str(job.context.workspace / name))
        except BotError as error:
            job.log.tell(LogLevel.WARNING, f"no diagnosis: {error}")
    return replace(compared, report=report)


def _predicted(job: Job, compared: Compared) -> Compared:
    """With what the model files that a pull request changes say; a verdict does not wait for them."""
    from perf_culprit.flows.simulations import predict

    report, config = compared.report, job.inputs.config
    head = report.merge_commit or report.target_commit
    if not (job.context.is_pull_request and config.simulate and report.base_commit and head):
        return compared
    with job.log.fold("perf-culprit: simulate changed models"):
        try:
            predictions = predict(
                job.context.workspace, base=report.base_commit, head=head, config=config, tell=job.log.say
            )
        except BotError as error:
            job.log.tell(LogLevel.WARNING, f"no prediction: {error}")
            return compared
    return replace(compared, report=structs.replace(report, predictions=predictions))


# On workflow_run: what the measuring run left is judged again and written where GitHub says it belongs.

DEFAULT_ARTIFACT: Final = "perf-culprit-report"
# A run of a fork makes at most so many comments; of more suites there is one for all.
MOST_FORK_COMMENTS: Final = 3
# Of these nothing was measured, and nobody waits for it.
UNFINISHED: Final = ("cancelled", "skipped", "neutral", "stale", "action_required")

_ENDED: Final = {"failure": "failed", "timed_out": "timed out", "cancelled": "was cancelled", "skipped": "was skipped"}


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuringRun:
    """The run that measured, as GitHub's event describes it."""

    id: int
    sha: str
    cause: str
    conclusion: str
    url: str
    from_fork: bool

    @property
    def ended(self) -> str:
        return f"the measuring run {_ENDED.get(self.conclusion) or f'ended with {self.conclusion!r}'}"


def publish(job: Job) -> int:
    from perf_culprit.say.wording import unpublished_text

    if job.context.event_name != "workflow_run":
        raise UsageError(
            f"mode publish works on the event workflow_run, this is {job.context.event_name!r}",
            place="input mode",
            next_step="use mode auto, or trigger the workflow on workflow_run",
        )
    try:
        return _publish(job)
    except BotError as error:
        summarise(job, unpublished_text(_reason(error), next_step=error.next_step))
        raise


def _reason(error: BotError) -> str:
    return f"{error.place}: {error.message}" if error.place else error.message


def _publish(job: Job) -> int:
    from perf_culprit.flows.publish import connect, fetch_results
    from perf_culprit.say.wording import unpublished_text

    context = job.context
    run = _measuring_run(job)
    _check_workflow(job)
    if run.conclusion in UNFINISHED:
        summarise(job, unpublished_text(run.ended))
        return EXIT_FINE
    host = connect(job.destination)
    search = host.find_pull_request(event_name=context.event_name, event=context.event)
    try:
        results = fetch_results(host, run_id=run.id, sha=run.sha, artifact=job.inputs.artifact_name or DEFAULT_ARTIFACT)
    except NoArtifactError as error:
        if run.conclusion == "success":
            raise
        return _tell_failure(_configured(job, host), host, run, search.pull_requests, error)
    try:
        job = _configured(job, host)
    except BotError as error:
        _tell_unjudged(job, host, run, search.pull_requests, results, error=error)
        raise
    return _publish_results(job, host, run, search, results)


def _publish_results(
    job: Job, host: Host, run: MeasuringRun, search: PullRequestSearch, results: Sequence[StoredResult]
) -> int:
    from perf_culprit.flows.compare import Compared
    from perf_culprit.flows.publish import complete_check
    from perf_culprit.say.wording import unpublished_text

    is_ours = job.context.follows_default_branch_push
    if not is_ours:
        check_claims(job, [result.report for result in results])
    reports = [_judged(job, result, run, search.pull_requests) for result in results]
    current = _current(host, search.pull_requests)
    measured = replace(job.destination, measured_url=run.url, is_advice=run.from_fork)
    for report in reports:
        with open_check(job, host, sha=run.sha, suite=report.suite) as check:
            if check is not None:
                complete_check(check, report, measured)
        say_report(job, report)
    url = _comment(job, host, reports, current, run)
    if run.cause == "pull_request" and not current:
        reason = search.reason or "the pull request has moved on meanwhile"
        job.log.tell(LogLevel.NOTICE, f"no comment: {reason}")
        summarise(job, unpublished_text(reason))
    if is_ours and job.inputs.auto_push:
        for result, report in zip(results, reports, strict=True):
            if result.results is not None:
                compared = Compared(run=result.results.run, report=report)
                record_run(job, compared)
                look_after(job, host, compared)
    for pull_request in current:
        _stop_outdated(job, host, number=pull_request.number)
    return finish(job, reports, comment_url=url)


def _measuring_run(job: Job) -> MeasuringRun:
    event = job.context.event
    number = number_at(event, "workflow_run", "id")
    return MeasuringRun(
        id=number,
        sha=sha_at(event, "workflow_run", "head_sha"),
        cause=text_at(event, "workflow_run", "event"),
        conclusion=text_or_none(event, "workflow_run", "conclusion") or "",
        url=f"{job.context.repository_url}/actions/runs/{number}",
        from_fork=value_at(event, "workflow_run", "head_repository", "id") != number_at(event, "repository", "id"),
    )


def _check_workflow(job: Job) -> None:
    """By its file: a pull request can bring another workflow of the same name."""
    expected = job.inputs.measure_workflow
    workflows = workflow_files(job.context.event)
    if expected not in workflows:
        raise UsageError(
            f"the run is of {min(workflows)!r}, expected is {expected!r}",
            place="input measure-workflow",
            next_step="name the file of the workflow that measures, if this is it",
        )


def _configured(job: Job, host: Host) -> Job:
    """With the default branch's configuration. What lies in the workspace is an earlier job's."""
    return replace(job, inputs=replace(job.inputs, config=trusted_config(job, host)))


def _judged(job: Job, result: StoredResult, run: MeasuringRun, pulls: Sequence[PullRequest]) -> Report:
    """By the default branch's rules. A report without its runs cannot be judged again: it is shown as it came."""
    from perf_culprit.flows.job_results import judge_anew

    if result.results is None:
        return result.report
    return judge_anew(
        result.report,
        result.results,
        config=job.inputs.config,
        base=pulls[0].base_branch if pulls else None,
        place=job.history,
        accepted=accepted_of(job, run.sha, suite=result.report.suite) if result.results.baseline else (),
    )


def _current(host: Host, pulls: Sequence[PullRequest]) -> tuple[PullRequest, ...]:
    return tuple(pull_request for pull_request in pulls if host.is_current(pull_request))


def _comment(
    job: Job, host: Host, reports: Sequence[Report], current: Sequence[PullRequest], run: MeasuringRun
) -> str | None:
    from perf_culprit.flows.publish import comment, joint_comment

    config = job.inputs.config
    url: str | None = None
    for pull_request in current:
        destination = replace(job.destination, measured_url=run.url, is_advice=pull_request.from_fork)
        too_many = pull_request.from_fork and len(reports) * len(current) > MOST_FORK_COMMENTS
        if len(reports) > 1 and (too_many or config.comment.suites == "joint"):
            url = joint_comment(host, destination, reports=reports, number=pull_request.number, config=config)
            continue
        for report in reports:
            url = comment(host, destination, report=report, number=pull_request.number, config=config)
    return url


def _tell_failure(job: Job, host: Host, run: MeasuringRun, pulls: Sequence[PullRequest], error: BotError) -> int:
    """The measurement failed and left nothing: a failing check, and a line above the comment that stands there."""
    from perf_culprit.flows.publish import fail_check
    from perf_culprit.say.wording import Lack, unmeasured_text

    reason = run.ended
    job.log.tell(LogLevel.WARNING, f"nothing was measured: {reason}; {error.message}")
    with open_check(job, host, sha=run.sha) as check:
        if check is not None:
            fail_check(check, reason=reason, run_url=run.url)
    _mark_outdated(job, host, run, pulls, lack=Lack.NOT_MEASURED, reason=reason)
    summarise(job, unmeasured_text(reason, sha=run.sha, run_url=run.url))
    return EXIT_FINE


def _tell_unjudged(
    job: Job,
    host: Host,
    run: MeasuringRun,
    pulls: Sequence[PullRequest],
    results: Sequence[StoredResult],
    *,
    error: BotError,
) -> None:
    """By whatever rules, a verdict here might be another one than the repository's. `error` is on its way up."""
    from perf_culprit.flows.publish import leave_check_open
    from perf_culprit.say.wording import Lack

    try:
        for suite in dict.fromkeys(result.report.suite for result in results):
            with open_check(job, host, sha=run.sha, suite=suite) as check:
                if check is not None:
                    leave_check_open(check, reason=_reason(error), next_step=error.next_step)
        _mark_outdated(job, host, run, pulls, lack=Lack.NOT_JUDGED, reason=UNREADABLE)
    except BotError as second:
        job.log.tell(LogLevel.WARNING, f"the pull request may still show an older result: {second}")


def _mark_outdated(
    job: Job, host: Host, run: MeasuringRun, pulls: Sequence[PullRequest], *, lack: Lack, reason: str
) -> None:
    from perf_culprit.flows.publish import mark_outdated

    destination = replace(job.destination, measured_url=run.url)
    for pull in _current(host, pulls):
        mark_outdated(host, destination, lack=lack, number=pull.number, sha=run.sha, reason=reason)


def _stop_outdated(job: Job, host: Host, *, number: int) -> None:
    """A new head has been measured: nobody waits for a bisection of the old one. Publishing does not depend on it."""
    try:
        stop_outdated(job, host, number=number)
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"older bisections were not looked after: {error}")


# What the action does on each event: judge and hand over, record, publish.


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
    from perf_culprit.flows.publish import complete_check, connect

    context = job.context
    if context.is_fork:
        job.log.tell(
            LogLevel.NOTICE,
            "pull request from a fork: its token may not write, so the report is in the job summary; where the "
            "workflow perf-report is set up (docs/workflows.md), it writes the comment",
        )
        return _compare(job)
    host = connect(job.destination)
    with open_check(job, host, sha=context.head_commit) as check:
        try:
            compared = judge(job)
        except BotError as error:
            _say_unmeasured(job, host, error)
            raise
        if check is not None:
            complete_check(check, compared.report, job.destination)
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
    from perf_culprit.flows.publish import comment

    pulls = host.find_pull_request(event_name=job.context.event_name, event=job.context.event).pull_requests
    if not pulls:
        return None
    return comment(host, job.destination, report=report, number=pulls[0].number, config=job.inputs.config)


def _say_unmeasured(job: Job, host: Host, error: BotError) -> None:
    """Where an earlier comment stands: that it is no longer about this head. The error itself is on its way up."""
    from perf_culprit.flows.publish import mark_outdated
    from perf_culprit.say.wording import Lack, unmeasured_text

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
