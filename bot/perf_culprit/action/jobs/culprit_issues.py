"""dispatch -> publish: report the result of an automatic search in one issue per cause."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.action.jobs.job_results import environment_changed
from perf_culprit.action.jobs.notices import Notices, suspected_files
from perf_culprit.config.settings import Config
from perf_culprit.dispatch.alarms_of_one_search import Steps, is_real, places_of
from perf_culprit.dispatch.bisection_view import report_of
from perf_culprit.dispatch.recovery import answer_of
from perf_culprit.github.bot_texts import benchmark_key, cause_key, culprit_marker, issue_marker
from perf_culprit.github.host import Host, Opened
from perf_culprit.github.job_context import Destination
from perf_culprit.model.bisection import BisectionReport, Culprit
from perf_culprit.model.dispatch import AlarmedMetric, Bisection, CheckAnswer
from perf_culprit.model.reason import Reason, VerdictReason, because
from perf_culprit.model.run import Cost, MetricKey
from perf_culprit.say.issue_texts import (
    Cause,
    IssueOptions,
    cause_body,
    cause_title,
    checked_line,
    culprit_comment,
    joined_comment,
    no_issue_line,
    over_note,
)
from perf_culprit.search.candidate_graph import reverted_commits
from perf_culprit.search.search_view import executions


def report_search(
    host: Host,
    destination: Destination,
    bisection: Bisection,
    *,
    config: Config,
    repository: Path,
    branch: str,
    say: Callable[[str], None],
    notices: Notices,
) -> bool:
    """Open or join an issue, and comment on the culprit's pull request; or `say` why there is none.

    `branch` is the default branch's full name in `repository`. A repeated call changes nothing. Return whether an issue
    tracks the result.
    """
    report = report_of(bisection)
    # Results that arrived after the decision were executed, too.
    cost = Cost(executions(bisection.search.results), bisection.runner_seconds)
    if bisection.alarm is not None and bisection.alarm.closes:
        tracked = host.tracked_issues(suite=bisection.suite).get(cause_key(*bisection.alarm.closes))
        if tracked is not None and tracked.is_worse:
            answer = answer_of(bisection)
            if answer is CheckAnswer.OVER:
                note = over_note(report, repository_url=destination.repository_url, cost=cost)
                host.close_issue(tracked, suite=bisection.suite, note=note)
            say(checked_line(report, url=tracked.url, answer=answer, cost=cost))
        return False
    if not is_real(report.outcome):
        say(no_issue_line(report, _innocent(bisection), cost=cost))
        return False
    urls: list[str | None] = []
    for cause in causes_of(bisection):
        gone = None if cause.culprit is None else _gone(repository, cause.culprit.commit, branch)
        if gone is not None:
            say(no_issue_line(report, gone, cost=cost))
            continue
        url = _open_culprit_issue(
            host, destination, bisection, cause, report=report, config=config, cost=cost, notices=notices
        )
        if cause.culprit is not None:
            commit = cause.culprit.commit
            number = host.merged_pull_request(commit=commit, branch=branch.removeprefix("refs/heads/"))
            if number is not None:
                body = culprit_comment(cause, issue_url=url, repository_url=destination.repository_url, cost=cost)
                host.upsert_comment(number=number, mark=culprit_marker(commit), body=body)
        say(f"{cause_title(cause)}: {url or 'no issue'}")
        urls.append(url)
    return any(urls)


def causes_of(bisection: Bisection) -> tuple[Cause, ...]:
    """Return the culprits with the metrics each made worse. The largest also gets metrics whose step is not located."""
    outcome, alarm = bisection.search.outcome, bisection.alarm
    if outcome is None or alarm is None:
        raise ValueError("no search that began by itself and has ended")
    places = places_of(bisection)
    worse = sorted(
        (culprit for culprit in outcome.culprits if not culprit.improvement),
        key=lambda culprit: -abs(culprit.relative_change),
    )
    if not worse:
        return (Cause(culprit=None, metrics=alarm.metrics),)
    return tuple(
        Cause(culprit=culprit, metrics=_culprit_metrics(bisection, culprit, places, is_largest=culprit is worse[0]))
        for culprit in worse
    )


def _culprit_metrics(
    bisection: Bisection, culprit: Culprit, places: Mapping[MetricKey, Steps], *, is_largest: bool
) -> tuple[AlarmedMetric, ...]:
    """Return the metrics of a culprit. The searched metric gets the size that the search measured."""
    if bisection.alarm is None:
        return ()
    lead, *others = bisection.alarm.metrics
    after = lead.before * (1 + culprit.relative_change)
    changed_here = (
        entry
        for entry in others
        if (is_largest if (steps := places[entry.key]).is_open else culprit.commit in steps.commits)
    )
    return replace(lead, after=after), *changed_here


def _innocent(bisection: Bisection) -> Reason | None:
    """Return the changed environment as the reason if the good end, measured now, is as slow as the bad one was."""
    alarm = bisection.alarm
    if alarm is None or not alarm.changes:
        return None
    good = bisection.search.commit_range.good
    values = [value for result in bisection.search.results for value in result.values.get(good, ())]
    lead = alarm.metrics[0]
    # The search ran on other machines than the stored runs, so check which of their levels is nearer.
    if not values or abs(median(values) - lead.after) > abs(median(values) - lead.before):
        return None
    return environment_changed(alarm.changes)


def _gone(repository: Path, culprit: str, branch: str) -> Reason | None:
    """Return why the default branch no longer has the culprit: removed or reverted. None if it still has it."""
    tip = git.resolve_commit(repository, branch)
    if git.find_commit(repository, culprit) is None or not git.is_ancestor(repository, culprit, tip):
        return because(VerdictReason.CULPRIT_REMOVED, commit=culprit)
    messages = git.messages(repository, good=culprit, bad=tip)
    for commit, message in messages.items():
        if culprit in reverted_commits(message):
            return because(VerdictReason.CULPRIT_REVERTED, commit=culprit, revert=commit)
    return None


def _open_culprit_issue(
    host: Host,
    destination: Destination,
    bisection: Bisection,
    cause: Cause,
    *,
    report: BisectionReport,
    config: Config,
    cost: Cost,
    notices: Notices,
) -> str | None:
    if not _is_loud(cause.metrics, config):
        return None
    ends = bisection.search.commit_range
    key = cause_key(*((ends.good, ends.bad) if cause.culprit is None else (cause.culprit.commit,)))
    own = {benchmark_key(metric.key.benchmark) for metric in cause.metrics}
    tracked = host.tracked_issues(suite=bisection.suite).get(key)
    before = tracked.benchmarks if tracked is not None and tracked.is_worse else frozenset()
    if tracked is not None and tracked.is_worse and own <= before:
        return tracked.url
    options = IssueOptions(
        marker=issue_marker(bisection.suite, key=key, worse=True, commit=ends.bad, benchmarks=own | before),
        repository_url=destination.repository_url,
        run_url=destination.run_url,
        mentions=notices.mentions(
            config,
            [metric.key for metric in cause.metrics],
            _culprit_files(report, cause),
            before="" if tracked is None else tracked.body,
        ),
    )
    title = cause_title(cause)
    if tracked is not None and before:
        _, _, text = tracked.body.partition("\n")
        note = joined_comment(cause, report, options=options, cost=cost)
        opened = Opened(host.reopen_issue(tracked, body=f"{options.marker}\n{text}", note=note))
    else:
        body = cause_body(cause, report, options=options, cost=cost)
        if tracked is None:
            labels = config.issues.labels
            opened = host.open_issue(suite=bisection.suite, key=key, title=title, body=body, labels=labels)
        else:
            opened = Opened(host.reopen_issue(tracked, body=body, title=title))
    changes = [(metric.key, metric.after / metric.before - 1) for metric in cause.metrics]
    culprit = None if cause.culprit is None else cause.culprit.commit
    notices.add(opened, title, changes, commit=ends.bad, culprit=culprit)
    return opened.url


def _culprit_files(report: BisectionReport, cause: Cause) -> list[str]:
    """The file of the first suspect, else those of the functions that the culprit changed."""
    diagnosis = report.diagnosis
    if diagnosis is None or cause.culprit is None or diagnosis.commit != cause.culprit.commit:
        return []
    return suspected_files(diagnosis.comparison) or [function.path for function in diagnosis.changed]


def _is_loud(metrics: Sequence[AlarmedMetric], config: Config) -> bool:
    if config.issues.when == "fail":
        return any(abs(metric.after / metric.before - 1) >= config.of(metric.key).fail for metric in metrics)
    return config.issues.when == "regression"
