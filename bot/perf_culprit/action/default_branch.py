"""The action's further work on the default branch: accepted changes, tracking issues, automatic searches."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from perf_culprit import git
from perf_culprit.action.bisection_thread import controller, default_branch, remote, trusted_config
from perf_culprit.action.job import ActionJob, further_work, open_job_check, say_report, summarise, summarise_report
from perf_culprit.action.jobs.notices import Notices, notices
from perf_culprit.config.settings import Config
from perf_culprit.errors import BotError, DataError
from perf_culprit.flows.compare import Comparison
from perf_culprit.github.bot_texts import reference_check_name
from perf_culprit.github.host import Host
from perf_culprit.github.runner_files import LogLevel
from perf_culprit.model.dispatch import Bisection
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.report import Report

if TYPE_CHECKING:
    from perf_culprit.action.jobs.releases import Release, Releases

_RELEASES: Final = "comparison with the release before"


def notified(job: ActionJob, host: Host, config: Config) -> AbstractContextManager[Notices]:
    """Collect the issues that this job of the default branch opens, and send them to the configured webhook."""
    return notices(
        job.destination,
        form=config.notify,
        url=job.inputs.notify_url,
        warn=lambda text: job.log.tell(LogLevel.WARNING, text),
        read_file=lambda path: host.read_branch_file(path=path, branch=default_branch(job)),
    )


def tend(job: ActionJob, host: Host, config: Config) -> None:
    """Advance the automatic searches. A failure is only a warning: this job's own work is done by now."""
    from perf_culprit.dispatch.automatic import tend_searches
    from perf_culprit.dispatch.bisection_ends import default_branch_commits

    if not config.bisect.automatic:
        return
    branch = default_branch(job)
    reference = f"refs/heads/{branch}"
    with (
        further_work(job, "automatic bisection"),
        default_branch_commits(remote(job), branch) as repository,
        controller(job, host, config) as opened,
        notified(job, host, config) as new,
    ):

        def say(text: str) -> None:
            job.log.say(text)
            summarise(job, f"{text}\n")

        def report(bisection: Bisection) -> bool:
            from perf_culprit.action.jobs.culprit_issues import report_search

            return report_search(
                host,
                job.destination,
                bisection,
                config=config,
                repository=repository,
                branch=reference,
                say=say,
                notices=new,
            )

        tend_searches(
            repository,
            branch=reference,
            controller=opened,
            config=config,
            remote=remote(job),
            report=report,
            say=job.log.say,
        )


def merged_acceptances(job: ActionJob, commit: str) -> tuple[Acceptance, ...]:
    """Return acceptances of this very commit, or on the default branch those of the pull request that it merges.

    If they cannot be read, nothing was accepted: a check that fails too often gets noticed, one that passes does not.
    """
    on_default_branch = job.context.is_default_branch_push
    if not (on_default_branch or job.inputs.baseline_files):
        return ()
    try:
        stored = _stored_acceptances(job)
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"accepted changes are unknown: {error}")
        return ()
    here = (
        tuple(acceptance for acceptance in stored if acceptance.commit == commit) if job.inputs.baseline_files else ()
    )
    return here + (_merged_acceptances(job, stored, commit) if on_default_branch else ())


def accepted_of(job: ActionJob, commit: str, *, suite: str) -> tuple[Acceptance, ...]:
    """Return the acceptances of this very commit."""
    return tuple(entry for entry in _stored_acceptances(job, suite=suite) if entry.commit == commit)


def accepted_since(job: ActionJob, base: str, commit: str, *, suite: str) -> tuple[Acceptance, ...]:
    """Return the acceptances of the default branch's commits between these."""
    from perf_culprit.dispatch.bisection_ends import default_branch_commits
    from perf_culprit.flows.compared_commits import commits_between

    if not (stored := _stored_acceptances(job, suite=suite)):
        return ()
    with default_branch_commits(remote(job), default_branch(job)) as repository:
        if git.find_commit(repository, base) is None:  # a release of a branch that was never merged
            return ()
        head = git.find_commit(repository, commit) or git.resolve_commit(repository, default_branch(job))
        since = {*commits_between(repository, base=base, head=head), commit}
    return tuple(acceptance for acceptance in stored if acceptance.commit in since)


def follow_reference(job: ActionJob, host: Host, reports: Sequence[Report]) -> None:
    """Update the issue about what got worse since a release. A failure is only a warning: the report is published."""
    from perf_culprit.action.jobs.regression_issues import track_reference

    if not (job.context.follows_default_branch or job.context.is_default_branch):
        return
    config, repository = job.inputs.config, job.context.workspace
    with further_work(job, "tracking issues"), notified(job, host, config) as new:
        for report in reports:
            for line in track_reference(
                host, job.destination, report=report, config=config, repository=repository, notices=new
            ):
                job.log.say(line)


def follow_release(job: ActionJob, host: Host, *, commit: str, base: str | None) -> None:
    """Compare a release with the one before it, after its run was recorded: a check, the summary, the issue."""
    from perf_culprit.action.jobs.releases import open_releases

    with further_work(job, _RELEASES), open_releases(remote(job)) as releases:
        if (release := releases.of_push(host, commit=commit, base=base)) is not None:
            follow_reference(job, host, _against_release_before(job, host, releases, release, commit))


def follow_tag(job: ActionJob, host: Host, *, name: str, commit: str) -> bool:
    """Compare the commit of a pushed tag with the release before, if it was measured. False if it is no tag's name."""
    from perf_culprit.action.jobs.releases import Release, open_releases

    is_tag = False
    with further_work(job, _RELEASES), open_releases(remote(job)) as releases:
        if is_tag := releases.tags.get(name) == commit:
            job = replace(job, inputs=job.inputs.replaced(config=trusted_config(job, host)))
            _against_release_before(job, host, releases, Release(name=name), commit)
    return is_tag


def _against_release_before(
    job: ActionJob, host: Host, releases: "Releases", release: "Release", commit: str
) -> tuple[Report, ...]:
    from perf_culprit.action.jobs.releases import unasked
    from perf_culprit.flows.publish import complete_check
    from perf_culprit.say.issue_texts import uncompared_line

    reports = releases.compared(release, commit=commit, config=job.inputs.config, place=job.history)
    if not reports:
        job.log.say(line := uncompared_line(release.name))
        summarise(job, f"{line}\n")
    for report in (unasked(report, job.inputs.config) for report in reports):
        with open_job_check(job, host, sha=commit, name=reference_check_name(report.suite)) as check:
            if check is not None:
                complete_check(check, [report], job.destination)
        say_report(job, report)
        summarise_report(job, report)
    return reports


def sum_up_week(job: ActionJob, host: Host, suites: Iterable[str]) -> None:
    """Write the weekly digest of each suite, if this is the first run of a week and an issue for it is configured."""
    from perf_culprit.action.jobs.weekly_digest import write_digest
    from perf_culprit.dispatch.bisection_ends import default_branch_commits

    config = job.inputs.config
    if config.issues.digest is None:
        return
    branch = default_branch(job)
    for suite in suites:
        with further_work(job, "weekly digest"):
            url = write_digest(
                host,
                number=config.issues.digest,
                config=config.model_copy(update={"suite": suite}),
                place=job.history,
                commits=default_branch_commits(remote(job), branch),
                branch=branch,
                repository_url=job.context.repository_url,
                today=datetime.now(UTC).date(),
            )
            if url is not None:
                job.log.say(f"digest of the week: {url}")


def _merged_acceptances(job: ActionJob, stored: Sequence[Acceptance], commit: str) -> tuple[Acceptance, ...]:
    """Acceptances of merged pull requests: for paired numbers those of this commit, against stored runs all of them."""
    from perf_culprit.action.jobs.regression_issues import carried_acceptances
    from perf_culprit.github.job_context import connect_host

    if all(acceptance.pull_request is None for acceptance in stored):
        return ()
    try:
        carried = carried_acceptances(connect_host(job.destination), stored)
    except BotError as error:
        job.log.tell(LogLevel.WARNING, f"what was accepted in pull requests is unknown: {error}")
        return ()
    return tuple(acceptance for acceptance in carried if acceptance.commit == commit or not job.inputs.baseline_files)


def follow_up(job: ActionJob, host: Host, compared: Comparison) -> None:
    """Settle acceptances and issues after a run was recorded and reported. A failure is only a warning."""
    from perf_culprit.action.jobs.regression_issues import settle_acceptances, track_regressions
    from perf_culprit.flows.compare_history import compare_run_with_history

    report, config = compared.report, job.inputs.config
    with further_work(job, "tracking issues"):
        settled = settle_acceptances(report, config=config, place=job.history)
        if settled:
            job.log.say(f"accepted from here on: {len(settled)} benchmarks")
        if config.issues.when == "never":
            return
        with notified(job, host, config) as new:
            lines = track_regressions(
                host,
                job.destination,
                report=report,
                config=config,
                repository=job.context.workspace,
                against_history=lambda: (
                    compare_run_with_history(compared.run, config=config, base=None, place=job.history).report
                ),
                accepted=_stored_acceptances(job, suite=report.suite),
                notices=new,
            )
        for line in lines:
            job.log.say(line)


def look_after(job: ActionJob, host: Host, compared: Comparison) -> None:
    """Follow up a recorded run of the default branch: accepted changes, issues, automatic searches."""
    follow_up(job, host, compared)
    tend(job, host, job.inputs.config)


def check_claims(job: ActionJob, reports: Sequence[Report]) -> None:
    """Raise a DataError, so that nothing is published, if an untrusted job claims an acceptance not in the history."""
    for report in reports:
        claimed = [(finding.benchmark, finding.accepted) for finding in report.findings if finding.accepted is not None]
        if not claimed:
            continue
        on_branch = {
            (entry.author, entry.reason, entry.benchmark)
            for entry in _stored_acceptances(job, suite=report.suite)
            if entry.commit == report.target_commit
        }
        for benchmark, claim in claimed:
            if on_branch.isdisjoint({(claim.author, claim.reason, name) for name in (benchmark, None)}):
                raise DataError(
                    "says that a change was accepted, and the history does not know of it",
                    place="report.json of the measuring job",
                    next_step="nothing is published; run the benchmarks again if this is not an attack",
                )


def _stored_acceptances(job: ActionJob, *, suite: str | None = None) -> tuple[Acceptance, ...]:
    from perf_culprit.action.jobs.regression_issues import stored_acceptances

    config = job.inputs.config
    return stored_acceptances(
        config=config if suite is None else config.model_copy(update={"suite": suite}), place=job.history
    )
