"""The job on workflow_run: it judges the measuring run's results again, and writes them where the run belongs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from msgspec import structs

from perf_culprit.action.bisection_thread import UNREADABLE, controller, default_branch, stop_outdated, trusted_config
from perf_culprit.action.default_branch import (
    accepted_of,
    accepted_since,
    check_claims,
    follow_reference,
    follow_release,
    follow_tag,
    look_after,
    sum_up_week,
)
from perf_culprit.action.job import (
    READ_ONLY,
    ActionJob,
    finish,
    further_work,
    open_job_check,
    record_compared,
    say_report,
    summarise,
)
from perf_culprit.action.jobs.stored_results import StoredResult
from perf_culprit.action.requested_run import MOVED_ON, find_requested, refuse_other, request_of, tell
from perf_culprit.errors import EXIT_FINE, BotError, InfrastructureError, UsageError
from perf_culprit.flows.compare import Comparison
from perf_culprit.github.bot_texts import (
    CHECK_START,
    JOINT_CHECK,
    check_name,
    reference_check_name,
    requested_check_name,
)
from perf_culprit.github.host import Host, NoArtifactError, PullRequest, PullRequestSearch, PullRequestState, Skip
from perf_culprit.github.runner_files import (
    LogLevel,
    number_at,
    sha_at,
    text_at,
    text_or_none,
    value_at,
    workflow_files,
)
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.dispatch import RequestedRun
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.reason import Remark, because
from perf_culprit.model.report import Report
from perf_culprit.say.command_answers import asked_body, measured_text, not_measured_text
from perf_culprit.say.unjudged_texts import Lack

# Each suite of a run has an artifact whose name continues this one.
DEFAULT_ARTIFACT: Final = "perf-culprit-report*"
# Runs with these conclusions measured nothing, and nobody waits for them.
_UNFINISHED: Final = ("cancelled", "skipped", "neutral", "stale", "action_required")

UNASKED: Final = "nobody asked for a measurement"
ASK: Final = "write /perf-run in the pull request, or set the label that the workflow names"
ON: Final = "take it away and push; in the split, /perf-run measures at once"

# Without a conclusion it is this very run, whose earlier jobs have left nothing.
_ENDED: Final = {
    "": "failed",
    "failure": "failed",
    "timed_out": "timed out",
    "cancelled": "was cancelled",
    "skipped": "was skipped",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuringRun:
    """The run that measured, as GitHub's event describes it.

    `sha` was measured. `run_sha` is the run's own commit, another one if a comment requested the run. `requested` is
    GitHub's state of the requested pull request.
    """

    id: int
    sha: str
    run_sha: str
    cause: str
    conclusion: str
    url: str
    from_fork: bool
    request: RequestedRun | None = None
    requested: PullRequestState | None = None

    @property
    def ended(self) -> str:
        return f"the measuring run {_ENDED.get(self.conclusion) or f'ended with {self.conclusion!r}'}"


def publish_measuring_run(job: ActionJob) -> int:
    from perf_culprit.github.job_context import connect_host

    if job.context.event_name != "workflow_run":
        if tag := job.context.pushed_tag:
            follow_tag(job, connect_host(job.destination), name=tag, commit=job.context.sha)
            return EXIT_FINE
        return publish_run(job, connect_host(job.destination), run_id=int(job.context.run_id))
    return _published(job, again=False, is_checked=False)


def _published(job: ActionJob, *, again: bool, is_checked: bool) -> int:
    from perf_culprit.say.unjudged_texts import unpublished_text

    try:
        return _publish(job, again=again, is_checked=is_checked)
    except BotError as error:
        summarise(job, unpublished_text(_reason(error), next_step=error.next_step))
        raise


def _reason(error: BotError) -> str:
    return f"{error.place}: {error.message}" if error.place else error.message


def publish_run(job: ActionJob, host: Host, *, run_id: int, again: bool = False) -> int:
    """Publish this very run, or `again` an earlier one, which is recorded already, after it was measured in turn.

    Its workflow needs no check: it is this file, or was checked before.
    """
    event = {**job.context.event, "workflow_run": host.read_run(run_id=run_id)}
    followed = replace(job, context=replace(job.context, event_name="workflow_run", event=event))
    return _published(followed, again=again, is_checked=True)


def _publish(job: ActionJob, *, again: bool, is_checked: bool) -> int:
    from perf_culprit.action.jobs.stored_results import fetch_results
    from perf_culprit.github.job_context import connect_host
    from perf_culprit.say.unjudged_texts import unpublished_text

    context = job.context
    run = _measuring_run(job, host := connect_host(job.destination))
    if not is_checked:
        _check_workflow(job)
    tag = context.pushed_tag
    if tag and follow_tag(job, host, name=tag, commit=run.sha) and run.conclusion == "skipped":
        return EXIT_FINE
    if run.conclusion in _UNFINISHED and not (run.conclusion == "skipped" and run.cause == "pull_request"):
        summarise(job, unpublished_text(run.ended))
        return EXIT_FINE
    search = (
        find_requested(run.requested, run.request)
        if run.request and run.requested
        else host.find_pull_request(event_name=context.event_name, event=context.event)
    )
    try:
        results = fetch_results(
            host,
            run_id=run.id,
            run_sha=run.run_sha,
            sha=run.sha,
            artifact=job.inputs.artifact_name or DEFAULT_ARTIFACT,
            is_pull_request=run.cause == "pull_request",
        )
    except NoArtifactError as error:
        job, pulls = _with_trusted_config(job, host), search.pull_requests
        if off := _switched_off(job, host, run, pulls):
            return _leave_off(job, host, run, pulls, off)
        if run.conclusion == "skipped":
            return _leave_open(job, host, run, pulls, reason=UNASKED, next_step=ASK)
        if run.conclusion == "success":
            raise
        return _tell_failure(job, host, run, pulls, error)
    try:
        job = _with_trusted_config(job, host)
    except BotError as error:
        _tell_unjudged(job, host, run, search.pull_requests, results, error=error)
        raise
    return _publish_results(job, host, run, search, results, again=again)


def _publish_results(
    job: ActionJob,
    host: Host,
    run: MeasuringRun,
    search: PullRequestSearch,
    results: Sequence[StoredResult],
    *,
    again: bool,
) -> int:
    from perf_culprit.flows.publish import complete_check
    from perf_culprit.say.unjudged_texts import unpublished_text

    is_ours = job.context.follows_default_branch_push
    if not is_ours:
        check_claims(job, [result.report for result in results])
    results = _compared_with(job, run, results)
    first = _all_judged(job, host, run, results, search.pull_requests)
    if job.context.is_fork:
        return _summarise_all(job, first)
    current = _current(host, search.pull_requests)
    proves = is_ours or bool(current)
    pairs = zip(results, first, strict=True)
    reports = [_proven(job, host, run, result, report) if proves else report for result, report in pairs]
    destination = replace(job.destination, measured_url=run.url, is_advice=run.from_fork)
    for name, checked in _checks(run, reports):
        with open_job_check(job, host, sha=run.sha, name=name) as check:
            if check is not None:
                complete_check(check, checked, destination)
    for report in reports:
        say_report(job, report)
    url = _comment(job, host, reports, current, run)
    if run.cause == "pull_request" and not current:
        reason = search.reason or "the pull request has moved on meanwhile"
        job.log.tell(LogLevel.NOTICE, f"no comment: {reason}")
        summarise(job, unpublished_text(reason))
    if is_ours and job.inputs.is_recorded:
        _record(job, host, results, first=() if again else first, reports=reports)
        base = None if reports[0].reference else reports[0].base_commit
        follow_release(job, host, commit=run.sha, base=base)
        sum_up_week(job, host, [report.suite for report in reports])
    if run.request is None:
        follow_reference(job, host, reports)
    for pull_request in current:
        # Bisections of an older head, now that a new one was measured.
        with further_work(job, "older bisections"):
            stop_outdated(job, host, number=pull_request.number)
    return finish(job, reports, comment_url=url)


def _all_judged(
    job: ActionJob, host: Host, run: MeasuringRun, results: Sequence[StoredResult], pulls: Sequence[PullRequest]
) -> list[Report]:
    reports = [_judge(job, result, run, pulls) for result in results]
    if run.request is not None:
        refuse_other(reports, run.request)
    return [_with_doubts(job, host, run, pulls, report) for report in reports]


def _summarise_all(job: ActionJob, reports: Sequence[Report]) -> int:
    """Show the reports on the run's page alone, because this job's token may not write."""
    job.log.tell(LogLevel.NOTICE, READ_ONLY)
    for report in reports:
        say_report(job, report)
    return finish(job, reports, fails=False)


def _compared_with(job: ActionJob, run: MeasuringRun, results: Sequence[StoredResult]) -> Sequence[StoredResult]:
    """Set the reference of the comparison: the requested one, or its own for a run of the default branch, else none."""
    reference = None
    if run.request is not None:
        reference = run.request.against
    elif job.context.follows_default_branch:
        return results
    return [replace(each, report=structs.replace(each.report, reference=reference)) for each in results]


def _switched_off(job: ActionJob, host: Host, run: MeasuringRun, pulls: Sequence[PullRequest]) -> list[Skip]:
    """Return who switched off which of the pull requests with this head, and how."""
    if run.cause != "pull_request" or run.request is not None:
        return []
    skip, event = job.inputs.config.skip, job.context.event
    each = (host.find_skip(number=pull.number, event=event, title=skip.title, label=skip.label) for pull in pulls)
    return [one for one in each if one is not None]


def _leave_off(job: ActionJob, host: Host, run: MeasuringRun, pulls: Sequence[PullRequest], off: Sequence[Skip]) -> int:
    from perf_culprit.say.unjudged_texts import unpublished_text

    if len(off) < len(pulls):
        # Anybody can open one more pull request of this commit. It does not decide for the others.
        summarise(job, unpublished_text("another pull request of this commit is to be measured"))
        return EXIT_FINE
    reason = f"switched off by {off[0].login or 'somebody'} with {off[0].by}"
    return _leave_open(job, host, run, pulls, reason=reason, next_step=ON)


def _leave_open(
    job: ActionJob, host: Host, run: MeasuringRun, pulls: Sequence[PullRequest], *, reason: str, next_step: str
) -> int:
    """Let the required checks of what was not to be measured pass with the reason. An existing check stays."""
    from perf_culprit.action.jobs.job_posts import leave_check_open
    from perf_culprit.say.unjudged_texts import Lack, unpublished_text

    summarise(job, unpublished_text(reason, next_step=next_step))
    if job.context.is_fork:
        return EXIT_FINE
    required = {name for name in _required_checks(job, host, pulls) or () if name.startswith(CHECK_START)}
    for name in sorted({check_name(job.inputs.config.suite), *required}):
        if host.has_check(name=name, head_sha=run.sha):
            continue
        with open_job_check(job, host, sha=run.sha, name=name) as check:
            if check is not None:
                leave_check_open(check, reason=reason, next_step=next_step)
        _mark_outdated(job, host, run, pulls, lack=Lack.NOT_MEASURED, reason=reason)
    return EXIT_FINE


def _record(
    job: ActionJob, host: Host, results: Sequence[StoredResult], *, first: Sequence[Report], reports: Sequence[Report]
) -> None:
    """Store each run once, as it was judged `first`, however often this job is repeated."""
    runs = [None if result.results is None else result.results.run for result in results]
    for run, report in zip(runs, first, strict=False):
        if run is not None:
            record_compared(job, Comparison(run=run, report=report))
    for run, report in zip(runs, reports, strict=True):
        if run is not None:
            look_after(job, host, Comparison(run=run, report=report))


def _checks(run: MeasuringRun, reports: Sequence[Report]) -> list[tuple[str, Sequence[Report]]]:
    """The name of each check run and its reports: one suite, or all suites of a fork that has many."""
    if run.from_fork and len(reports) > ARTIFACT_LIMITS.fork_comments:
        return [(JOINT_CHECK, reports)]

    def name(suite: str, *, is_reference: bool) -> str:
        if run.request is not None:
            return check_name(suite) if run.request.is_plain else requested_check_name(suite)
        return reference_check_name(suite) if is_reference else check_name(suite)

    return [(name(report.suite, is_reference=report.reference is not None), [report]) for report in reports]


def _measuring_run(job: ActionJob, host: Host) -> MeasuringRun:
    event, request = job.context.event, request_of(job)
    number, run_sha = number_at(event, "workflow_run", "id"), sha_at(event, "workflow_run", "head_sha")
    requested = host.read_pull_request(number=request.pull_request) if request else None
    from_fork = value_at(event, "workflow_run", "head_repository", "id") != number_at(event, "repository", "id")
    return MeasuringRun(
        id=number,
        sha=request.head if request else run_sha,
        run_sha=run_sha,
        cause="pull_request" if request else text_at(event, "workflow_run", "event"),
        conclusion=text_or_none(event, "workflow_run", "conclusion") or "",
        url=f"{job.context.repository_url}/actions/runs/{number}",
        from_fork=requested.from_fork if requested else from_fork,
        request=request,
        requested=requested,
    )


def _check_workflow(job: ActionJob) -> None:
    """Check the measuring workflow by its file: a pull request can add another workflow of the same name."""
    expected = job.inputs.measure_workflow
    workflows = workflow_files(job.context.event)
    if expected not in workflows:
        raise UsageError(
            f"the run is of {min(workflows)!r}, expected is {expected!r}",
            place="input measure-workflow",
            next_step="name the file of the workflow that measures, if this is it",
        )


def _with_trusted_config(job: ActionJob, host: Host) -> ActionJob:
    """Use the default branch's configuration. The workspace may hold files of an earlier job."""
    return replace(job, inputs=job.inputs.replaced(config=trusted_config(job, host)))


def _judge(job: ActionJob, result: StoredResult, run: MeasuringRun, pulls: Sequence[PullRequest]) -> Report:
    """Judge by the default branch's rules. A report without its runs cannot be judged again and stays as it is."""
    from perf_culprit.action.jobs.job_results import judge_anew

    if result.results is None:
        return result.report
    return judge_anew(
        result.report,
        result.results,
        config=job.inputs.config,
        base=pulls[0].base_branch if pulls else None,
        place=job.history,
        accepted=_acceptances(job, result, run),
    )


def _with_doubts(job: ActionJob, host: Host, run: MeasuringRun, pulls: Sequence[PullRequest], report: Report) -> Report:
    """Add the changed benchmark files, from GitHub's own list. The measuring job's data has no influence on it."""
    from perf_culprit.flows.compare import with_changed_files

    base = run.request.base if run.request else pulls[0].base_branch if pulls else report.base_commit
    try:
        modified = host.modified_files(base=base, head=run.sha) if base else ()
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"which files changed is unknown: {error}")
        return report
    return with_changed_files(report, modified, config=job.inputs.config)


def _acceptances(job: ActionJob, result: StoredResult, run: MeasuringRun) -> tuple[Acceptance, ...]:
    """The acceptances of this very commit, if it was measured next to its base; since a release if that is its base."""
    report = result.report
    if report.reference and report.base_commit:
        return accepted_since(job, report.base_commit, run.sha, suite=report.suite)
    if result.results is None or result.results.baseline is None:
        return ()
    return accepted_of(job, run.sha, suite=report.suite)


def _proven(job: ActionJob, host: Host, run: MeasuringRun, result: StoredResult, report: Report) -> Report:
    """Measure in turn what stored runs suspect: start it here, and add its result once it is finished."""
    from perf_culprit.action.jobs.proof import is_suspected, proven, with_note

    config = job.inputs.config
    if result.results is None or not is_suspected(report):
        return report
    obstacles = {
        Remark.NO_PROOF_IN_FORK: run.from_fork,
        Remark.NO_PROOF_WITHOUT_BUDGET: not config.confirm.budget,
        Remark.NO_PROOF_WITHOUT_COMMAND: config.bisect.run is None,
    }
    if obstacle := next((code for code, is_there in obstacles.items() if is_there), None):
        return with_note(report, because(obstacle))
    # Compare a push with the last measured commit before it, whatever came in between.
    newest = next((choice.commit for choice in report.choices if choice.chosen), None)
    base = newest if run.cause == "push" else report.base_commit
    try:
        with controller(job, host, config) as opened:
            return proven(report, result.results.run, base=base, run_id=run.id, config=config, controller=opened)
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"not measured in turn: {error}")
        return with_note(report, because(Remark.PROOF_FAILED, why=error.message))


def _current(host: Host, pulls: Sequence[PullRequest]) -> tuple[PullRequest, ...]:
    return tuple(pull_request for pull_request in pulls if host.is_current(pull_request))


def _comment(
    job: ActionJob, host: Host, reports: Sequence[Report], current: Sequence[PullRequest], run: MeasuringRun
) -> str | None:
    from perf_culprit.action.jobs.job_posts import asked_report, joint_comment
    from perf_culprit.flows.publish import comment

    config, request = job.inputs.config, run.request
    url: str | None = None
    if request is not None and not current:
        return tell(host, request, not_measured_text(request, why=MOVED_ON, run_url=run.url))
    if request is not None and not request.is_plain:
        destination = replace(job.destination, measured_url=run.url, is_advice=run.from_fork)
        return tell(host, request, asked_body(request, asked_report(reports, destination)))
    for pull_request in current:
        destination = replace(job.destination, measured_url=run.url, is_advice=pull_request.from_fork)
        too_many = pull_request.from_fork and len(reports) * len(current) > ARTIFACT_LIMITS.fork_comments
        if len(reports) > 1 and (too_many or config.comment.suites == "joint"):
            url = joint_comment(host, destination, reports=reports, number=pull_request.number, config=config)
            continue
        for report in reports:
            url = comment(host, destination, report=report, number=pull_request.number, config=config)
    if request is not None:
        tell(host, request, measured_text(request, report_url=url))
    return url


def _tell_failure(job: ActionJob, host: Host, run: MeasuringRun, pulls: Sequence[PullRequest], error: BotError) -> int:
    """Report a failed measurement without results: fail the check, and put a line above the existing comment."""
    from perf_culprit.action.jobs.job_posts import fail_check
    from perf_culprit.say.unjudged_texts import Lack, unmeasured_text

    reason = run.ended
    job.log.tell(LogLevel.WARNING, f"nothing was measured: {reason}; {error.message}")
    if run.request is not None:
        tell(host, run.request, not_measured_text(run.request, why=reason, run_url=run.url))
        return EXIT_FINE
    if not job.context.is_fork:
        with open_job_check(job, host, sha=run.sha) as check:
            if check is not None:
                fail_check(check, reason=reason, run_url=run.url)
        _mark_outdated(job, host, run, pulls, lack=Lack.NOT_MEASURED, reason=reason)
    summarise(job, unmeasured_text(reason, sha=run.sha, run_url=run.url))
    return EXIT_FINE


def _tell_unjudged(
    job: ActionJob,
    host: Host,
    run: MeasuringRun,
    pulls: Sequence[PullRequest],
    results: Sequence[StoredResult],
    *,
    error: BotError,
) -> None:
    """Give no verdict: other rules might give another one than the repository's. The caller has `error`."""
    from perf_culprit.action.jobs.job_posts import refuse_unjudged
    from perf_culprit.say.unjudged_texts import Lack

    why = f"{UNREADABLE}, run again" if isinstance(error, InfrastructureError) else UNREADABLE
    required = _required_checks(job, host, pulls)
    try:
        for name, _ in _checks(run, [result.report for result in results]):
            with open_job_check(job, host, sha=run.sha, name=name) as check:
                if check is not None:
                    refuse_unjudged(
                        check,
                        why=why,
                        reason=_reason(error),
                        next_step=error.next_step,
                        is_required=required is None or name in required,
                    )
        _mark_outdated(job, host, run, pulls, lack=Lack.NOT_JUDGED, reason=UNREADABLE)
    except BotError as second:
        job.log.tell(LogLevel.WARNING, f"the pull request may still show an older result: {second}")


def _required_checks(job: ActionJob, host: Host, pulls: Sequence[PullRequest]) -> frozenset[str] | None:
    """Return the checks required by the branches that the commit may enter; None if that is unknown."""
    branches = {pull.base_branch for pull in pulls}
    if job.context.follows_default_branch:
        branches.add(default_branch(job))
    try:
        names = [host.required_checks(branch=branch) for branch in sorted(branches)]
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"which checks are required is unknown: {error}")
        return None
    return frozenset().union(*names) if names else None


def _mark_outdated(
    job: ActionJob, host: Host, run: MeasuringRun, pulls: Sequence[PullRequest], *, lack: Lack, reason: str
) -> None:
    from perf_culprit.action.jobs.job_posts import mark_outdated

    destination = replace(job.destination, measured_url=run.url)
    for pull in _current(host, pulls):
        mark_outdated(host, destination, lack=lack, number=pull.number, sha=run.sha, reason=reason)
