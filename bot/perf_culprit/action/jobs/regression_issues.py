"""report -> publish: issues that track the regressions of the default branch."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from msgspec import structs
from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.action.jobs.notices import Notices, suspected_files
from perf_culprit.config.settings import Config
from perf_culprit.github.bot_texts import JOINT, benchmark_key, issue_marker, reference_key
from perf_culprit.github.host import Host, Opened, TrackedIssue
from perf_culprit.github.job_context import Destination
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.finding import Acceptance, Accepted, BaselineSource, Finding, Level, Verdict, traded
from perf_culprit.model.minimum_effect import reaches
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.model.run import MetricKey
from perf_culprit.say.issue_texts import (
    IssueOptions,
    SuspectRange,
    accepted_note,
    issue_body,
    issue_title,
    joint_body,
    joint_title,
    recovered_note,
    reference_body,
    reference_title,
)
from perf_culprit.store.opening import HistoryPlace, open_history

# These show nothing about the code, so no issue is opened or closed by them.
SILENT = (Conclusion.OTHER_HARDWARE, Conclusion.FIRST_RUN, Conclusion.NOT_AFFECTED)

UPDATED = "Other benchmarks, or another release: the text above has the new numbers.\n"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Board:
    """A run of the default branch and the existing issues. `accepted` are the acceptances in the history.

    `against_history` is None if the report itself compares with the history.
    """

    host: Host
    destination: Destination
    report: Report
    config: Config
    commits: SuspectRange
    accepted: Sequence[Acceptance]
    issues: Mapping[str, TrackedIssue]
    against_history: Callable[[], Report] | None
    notices: Notices

    def options(
        self,
        key: str,
        groups: Iterable[Sequence[Finding]],
        benchmarks: Sequence[str] = (),
        *,
        before: TrackedIssue | None = None,
    ) -> IssueOptions:
        return IssueOptions(
            marker=issue_marker(self.report.suite, key=key, worse=True, commit=self.commits.bad, benchmarks=benchmarks),
            repository_url=self.destination.repository_url,
            run_url=self.destination.run_url,
            mentions=_mentions(self.notices, self.config, self.report, groups, before),
        )

    def notify(self, opened: Opened, title: str, groups: Iterable[Sequence[Finding]]) -> None:
        self.notices.add(opened, title, _changes(groups), commit=self.commits.bad)


def track_regressions(
    host: Host,
    destination: Destination,
    *,
    report: Report,
    config: Config,
    repository: Path,
    against_history: Callable[[], Report],
    accepted: Sequence[Acceptance] = (),
    notices: Notices,
) -> tuple[str, ...]:
    """Open, reopen and close issues after a run of the default branch. Return what was done, as text.

    `against_history` gives the same run's report against the stored history. It is called only if `report` compares
    with the commit before, which may be as slow: such a report cannot show a recovery.
    """
    if config.issues.when == "never" or report.target_commit is None or report.conclusion in SILENT:
        return ()
    board = _Board(
        host=host,
        destination=destination,
        report=report,
        config=config,
        commits=_commits(report, repository),
        accepted=accepted,
        # A comparison with the commit before does not concern the issue about a release.
        issues={key: issue for key, issue in host.tracked_issues(suite=report.suite).items() if key != reference_key()},
        against_history=against_history if report.baseline_source is BaselineSource.PAIRED else None,
        notices=notices,
    )
    worse = {benchmark_key(group[0].key.benchmark): group for group in _regressions(report, config)}
    return (*_close_issues(board, worse), *_open_issues(board, worse))


def track_reference(
    host: Host, destination: Destination, *, report: Report, config: Config, repository: Path, notices: Notices
) -> tuple[str, ...]:
    """Keep one issue about everything that is worse than at a release. Return what was done, as text.

    It is updated if other benchmarks are worse, or if the release is another one. Otherwise it is left alone, even if a
    person closed it.
    """
    reference = report.reference
    if config.issues.when == "never" or not reference or report.target_commit is None or report.conclusion in SILENT:
        return ()
    key, suite = reference_key(), report.suite
    issue = host.tracked_issues(suite=suite).get(key)
    worse = _regressions(report, config)
    names = frozenset(benchmark_key(group[0].key.benchmark) for group in worse)
    if not worse:
        fine = {
            *_fine(report),
            *(benchmark_key(finding.benchmark) for finding in report.findings if finding.accepted is not None),
        }
        if issue is None or not issue.is_worse or not issue.benchmarks <= fine:
            return ()
        note = recovered_note(None, at=report.target_commit, repository_url=destination.repository_url)
        return (f"closed {host.close_issue(issue, suite=suite, note=note)}",)
    commits = _commits(report, repository)
    marker = issue_marker(suite, key=key, worse=True, commit=commits.bad, benchmarks=names)
    options = IssueOptions(
        marker=marker,
        repository_url=destination.repository_url,
        run_url=destination.run_url,
        mentions=_mentions(notices, config, report, worse, issue),
    )
    title = reference_title(len(worse), reference)
    body = reference_body(worse, reference, commits=commits, options=options)
    if issue is None:
        opened = host.open_issue(suite=suite, key=key, title=title, body=body, labels=config.issues.labels)
    elif issue.is_worse and issue.benchmarks == names and f" than at `{reference}`." in issue.body:
        return ()
    else:
        opened = Opened(host.reopen_issue(issue, body=body, title=title, note=UPDATED))
    if not (issue is not None and issue.is_worse and names <= issue.benchmarks):
        notices.add(opened, title, _changes(worse), commit=commits.bad)
    return (f"{'opened' if issue is None else 'updated'} {opened.url}",)


def _mentions(
    notices: Notices, config: Config, report: Report, groups: Iterable[Sequence[Finding]], before: TrackedIssue | None
) -> tuple[str, ...]:
    keys = [finding.key for group in groups for finding in group]
    return notices.mentions(
        config, keys, suspected_files(report.diagnosis), before="" if before is None else before.body
    )


def _changes(groups: Iterable[Sequence[Finding]]) -> list[tuple[MetricKey, float | None]]:
    return [(finding.key, finding.relative_change) for group in groups for finding in group]


def stored_acceptances(*, config: Config, place: HistoryPlace) -> tuple[Acceptance, ...]:
    """Return the acceptances of the configured suite, oldest first."""
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        return history.accepted(config.suite)


def carried_acceptances(host: Host, accepted: Sequence[Acceptance]) -> tuple[Acceptance, ...]:
    """Return acceptances of pull requests that are merged by now, with the commit that the merge made.

    The accepted commit must be the head that was merged: nobody has accepted what was pushed afterwards.
    """
    newest = [acceptance for acceptance in accepted if acceptance.pull_request is not None][
        -ARTIFACT_LIMITS.waiting_acceptances :
    ]
    commits = {
        (number, head): host.merged_as(number=number, head_sha=head)
        for number, head in {(event.pull_request, event.commit) for event in newest}
        if number is not None
    }
    return tuple(
        replace(event, commit=commit)
        for event in newest
        if event.pull_request is not None and (commit := commits[event.pull_request, event.commit]) is not None
    )


def settle_acceptances(report: Report, *, config: Config, place: HistoryPlace) -> tuple[str, ...]:
    """Store what this run of the default branch shows as accepted, by name and at its commit. Return the names."""
    commit = report.target_commit
    if commit is None:
        return ()
    named = {
        finding.benchmark: Acceptance(
            suite=report.suite,
            benchmark=finding.benchmark,
            changes=traded(report.findings, benchmark=finding.benchmark),
            **structs.asdict(finding.accepted) | {"commit": commit},
        )
        for finding in report.findings
        if finding.accepted is not None
    }
    if not named:
        return ()
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        history.accept(tuple(named.values()))
    return tuple(named)


def _regressions(report: Report, config: Config) -> list[tuple[Finding, ...]]:
    """Group the regressions that deserve an issue by benchmark, in the report's order."""
    groups: dict[str, list[Finding]] = {}
    for finding in report.findings:
        loud = finding.level is Level.FAIL or config.issues.when == "regression"
        if finding.verdict is Verdict.REGRESSION and loud:
            groups.setdefault(finding.key.benchmark, []).append(finding)
    return [tuple(group) for group in groups.values()]


def _open_issues(board: _Board, worse: Mapping[str, tuple[Finding, ...]]) -> list[str]:
    lines, new = [], {}
    joint = board.issues.get(JOINT)
    covered = frozenset(key for issue in board.issues.values() if issue.is_worse for key in issue.benchmarks)
    if board.config.bisect.automatic and board.config.issues.when_found:
        # The automatic search opens the issue. It may also find a false alarm.
        covered |= worse.keys()
    for key, group in worse.items():
        issue = board.issues.get(key)
        if issue is None:
            if key not in covered:
                new[key] = group
        elif not issue.is_worse:
            title, options = issue_title(group), board.options(key, [group], before=issue)
            body = issue_body(group, commits=board.commits, options=options)
            url = board.host.reopen_issue(issue, body=body, title=title)
            board.notify(Opened(url), title, [group])
            lines.append(f"reopened {url}")
    suite, labels = board.report.suite, board.config.issues.labels
    if len(new) <= board.config.issues.limit:
        for key, group in new.items():
            title, options = issue_title(group), board.options(key, [group])
            body = issue_body(group, commits=board.commits, options=options)
            opened = board.host.open_issue(suite=suite, key=key, title=title, body=body, labels=labels)
            board.notify(opened, title, [group])
            lines.append(f"opened {opened.url}")
        return lines
    keys = sorted({*new, *(joint.benchmarks if joint is not None and joint.is_worse else ())})
    title, options = joint_title(len(new)), board.options(JOINT, new.values(), keys, before=joint)
    body = joint_body(list(new.values()), commits=board.commits, options=options)
    if joint is not None:
        opened = Opened(board.host.reopen_issue(joint, body=body, title=title))
        line = f"reopened {opened.url}"
    else:
        opened = board.host.open_issue(suite=suite, key=JOINT, title=title, body=body, labels=labels)
        line = f"opened {opened.url} for {len(new)} benchmarks"
    board.notify(opened, title, new.values())
    return [*lines, line]


def _close_issues(board: _Board, worse: Mapping[str, tuple[Finding, ...]]) -> list[str]:
    """Close issues whose benchmarks are no longer worse. An undecided or missing benchmark closes nothing.

    If the cause was searched, runs alone do not tell a fixed commit from a faster machine. A separate check does
    (`dispatch.recovery`), or somebody accepts it.
    """
    fine = _fine(board.report)
    recovered = cache(lambda: _recovered_keys(board, fine))
    lines = []
    for key, tracked in board.issues.items():
        keys = tracked.benchmarks or frozenset({key})
        is_searched = board.config.bisect.automatic and bool(tracked.benchmarks) and key != JOINT
        if not tracked.is_worse or not keys <= fine.keys() or not keys.isdisjoint(worse):
            continue
        is_accepted = keys <= _accepted_keys(board, tracked)
        if is_accepted or (not is_searched and keys <= recovered()):
            name = None if tracked.benchmarks and not is_accepted else fine[min(keys)]
            note = _note(board, name, is_accepted=is_accepted)
            url = board.host.close_issue(tracked, suite=board.report.suite, note=note)
            lines.append(f"closed {url}")
    return lines


def _accepted_keys(board: _Board, tracked: TrackedIssue) -> set[str]:
    """The accepted benchmarks, by key. An acceptance at another commit does not apply to this issue's commit."""
    return {
        benchmark_key(acceptance.benchmark)
        for acceptance in board.accepted
        if acceptance.benchmark is not None and (board.against_history is None or acceptance.commit == tracked.commit)
    }


def _recovered_keys(board: _Board, fine: Mapping[str, str]) -> frozenset[str]:
    """The benchmarks, by key, that the history shows back at their level.

    One that improved on the commit before only needs to look so: few stored runs prove nothing.
    """
    if board.against_history is None:
        return frozenset(fine)
    stored = board.against_history()
    better = {finding.key for finding in board.report.findings if finding.verdict is Verdict.IMPROVEMENT}
    back: dict[str, bool] = {}
    for finding in stored.findings:
        key, change = finding.key, finding.relative_change
        worsening = None if change is None else change * finding.metric.direction.worse_sign
        is_small = worsening is not None and not reaches(worsening, stored.settings.minimum_effect, upwards=True)
        looks_so = key in better and is_small
        is_back = finding.verdict is not Verdict.REGRESSION and (finding.is_decided or looks_so)
        back[key.benchmark] = back.get(key.benchmark, True) and is_back
    return frozenset(benchmark_key(name) for name, is_back in back.items() if is_back)


def _fine(report: Report) -> dict[str, str]:
    """The benchmarks, by key, that exclude a worsening in every metric: an undecided metric may hide one."""
    fine: dict[str, bool] = {}
    for finding in report.findings:
        name = finding.key.benchmark
        fine[name] = fine.get(name, True) and finding.is_decided and finding.verdict is not Verdict.REGRESSION
    return {benchmark_key(name): name for name, is_fine in fine.items() if is_fine}


def _note(board: _Board, name: str | None, *, is_accepted: bool) -> str:
    url = board.destination.repository_url
    marked: list[Accepted | Acceptance] = [
        finding.accepted
        for finding in board.report.findings
        if finding.accepted is not None and finding.key.benchmark == name
    ]
    since = [
        acceptance
        for acceptance in board.accepted
        if is_accepted and acceptance.benchmark is not None and acceptance.benchmark == name
    ]
    acceptance = next(iter((*marked, *reversed(since))), None)
    if acceptance is not None:
        return accepted_note(acceptance, repository_url=url)
    return recovered_note(name, at=board.commits.bad, repository_url=url)


def _commits(report: Report, repository: Path) -> SuspectRange:
    """The commits from the newest baseline run to the target; without subjects if the checkout is too shallow."""
    bad = str(report.target_commit)
    good = next((choice.commit for choice in report.choices if choice.chosen and choice.commit), None)
    if good is None or not git.FULL_HASH.fullmatch(good):
        good = report.base_commit
    if good is None:
        return SuspectRange(good=None, bad=bad)
    try:
        messages = git.messages(repository, good=good, bad=bad)
    except git.GitError:
        return SuspectRange(good=good, bad=bad)
    subjects = tuple((commit, message.strip().partition("\n")[0] or "(empty)") for commit, message in messages.items())
    return SuspectRange(good=good, bad=bad, subjects=subjects)
