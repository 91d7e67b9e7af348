"""One comment a week in a chosen issue, by the first run recorded in it: what the last week with runs changed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, timedelta
from pathlib import Path

from perf_culprit.config.settings import Config
from perf_culprit.flows.compare_history import compare_run_with_history
from perf_culprit.flows.compared_commits import ReferenceCommit
from perf_culprit.github.bot_texts import benchmark_key, digest_marker
from perf_culprit.github.host import Host, TrackedIssue
from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Report
from perf_culprit.model.run import NO_COST, MetricKey, Run
from perf_culprit.say.digest_text import OpenIssue, WeeklyDigest, digest_body
from perf_culprit.store.ancestry import line_of
from perf_culprit.store.opening import HistoryPlace, open_history, stored_bisections
from perf_culprit.store.protocol import NamedRun, Store
from perf_culprit.store.run_names import RUN_PATH, suite_slug

_WEEK = timedelta(days=7)


def write_digest(
    host: Host,
    *,
    number: int,
    config: Config,
    place: HistoryPlace,
    commits: AbstractContextManager[Path],
    branch: str,
    repository_url: str,
    today: date,
) -> str | None:
    """Write this week's digest of the configured suite into issue `number`. Return its address, None if it is there.

    Nothing is written while no earlier week has runs. `commits` opens the default branch's history. Two racing jobs may
    both write a digest; the next job leaves one of them.
    """
    year, week, _ = today.isocalendar()
    mark = digest_marker(config.suite, f"{year}-W{week:02}")
    if len(host.results(number=number, start=mark)) == 1:
        return None
    with open_history(config.history, place.repository, url=place.url, token=place.token) as history:
        days = _days_of_commits(history, config.suite, before=today - timedelta(days=today.weekday()))
        if not days:
            return None
        with commits as repository:
            line = line_of(repository, f"refs/heads/{branch}")
            here = replace(place, repository=repository)
            issues = host.tracked_issues(suite=config.suite)
            last = _Week(history=history, config=config, place=here, line=line, days=days, issues=issues)
            digest = last.digest()
    if digest is None:
        return None
    return host.upsert_comment(number=number, mark=mark, body=digest_body(digest, repository_url=repository_url))


def _days_of_commits(history: Store, suite: str, *, before: date) -> dict[str, date]:
    """The last day before that day on which each commit was measured."""
    days: dict[str, date] = {}
    for path in history.paths():
        match = RUN_PATH.fullmatch(path)
        if match and match["suite"] == suite_slug(suite):
            with suppress(ValueError):  # digits that are no date
                day = date.fromisoformat(match["time"][:8])
                if day < before:
                    days[match["commit"]] = max(day, days.get(match["commit"], day))
    return days


@dataclass(frozen=True, kw_only=True, slots=True)
class _Week:
    """The last week with runs. `line` has the default branch's commits, newest first, and `days` their days."""

    history: Store
    config: Config
    place: HistoryPlace
    line: Sequence[str]
    days: Mapping[str, date]
    issues: Mapping[str, TrackedIssue]

    @property
    def monday(self) -> date:
        newest = max(self.days.values())
        return newest - timedelta(days=newest.weekday())

    def _is_within(self, day: date) -> bool:
        return self.monday <= day < self.monday + _WEEK

    def digest(self) -> WeeklyDigest | None:
        """None if its runs are of other branches, or cannot be read."""
        line = [commit for commit in self.line if commit in self.days]
        commits = [commit for commit in line if self._is_within(self.days[commit])]
        entries = self.history.runs(self.config.suite, commits)
        stored = [entry.run for entry in entries if isinstance(entry, NamedRun)]
        runs = [run for run in stored if run.time is None or self._is_within(run.time.astimezone(UTC).date())]
        if not runs:
            return None
        earlier = next(iter(line[line.index(commits[-1]) + 1 :]), None)
        report = None if earlier is None else self._compared(runs[0], earlier)
        searches = [bisection for bisection in stored_bisections(self.history) if bisection.suite == self.config.suite]
        running = [search for search in searches if not search.is_done and search.stopped is None]
        searched = {benchmark_key(search.key.benchmark) for search in running}
        return WeeklyDigest(
            monday=self.monday,
            suite=self.config.suite,
            report=report,
            runs=len(runs),
            commits=len({run.commit for run in runs}),
            unknown=sum(not run.cost for run in runs),
            cost=sum((run.cost for run in runs), NO_COST),
            search_seconds=sum(
                search.runner_seconds for search in searches if self._is_within(search.started_at.date())
            ),
            issues=tuple(self._open_issues(runs)),
            unanswered=tuple(
                (name, commit)
                for name, commit in dict(self._unanswered(runs, report)).items()
                if benchmark_key(name) not in searched
            ),
            searches=tuple((search.key.benchmark, search.started_at.date()) for search in running),
        )

    def _compared(self, run: Run, earlier: str) -> Report:
        reference = ReferenceCommit(name="the week before", commit=earlier)
        compared = compare_run_with_history(run, config=self.config, base=None, place=self.place, reference=reference)
        return compared.report

    def _unanswered(self, runs: Sequence[Run], report: Report | None) -> Iterator[tuple[str, str]]:
        """Yield what got worse, and the first commit that shows it."""
        first_commits: dict[MetricKey, str] = {}
        for run in reversed(runs):
            for key in run.regressions:
                first_commits.setdefault(key, str(run.commit))
        findings = () if report is None else report.findings
        for finding in findings:
            if finding.verdict is Verdict.REGRESSION:
                first_commits.setdefault(finding.key, str(runs[0].commit))
        back = {finding.key for finding in findings if finding.is_decided and finding.verdict is not Verdict.REGRESSION}
        back |= {finding.key for finding in findings if finding.is_set_aside}
        tracked = {key for issue in self._worse() for key in (issue.key, *issue.benchmarks)}
        for key, commit in first_commits.items():
            is_settled = key in back or self.config.is_watched(key.benchmark) or self._is_accepted(key, commit)
            if not is_settled and benchmark_key(key.benchmark) not in tracked:
                yield key.benchmark, commit

    def _is_accepted(self, key: MetricKey, commit: str) -> bool:
        since = set(self.line[: self.line.index(commit) + 1])
        accepted = (entry for entry in self.history.accepted(self.config.suite) if entry.commit in since)
        return any(
            acceptance.benchmark in (key.benchmark, key.full_name)
            or (acceptance.benchmark is None and acceptance.commit == commit)
            for acceptance in accepted
        )

    def _worse(self) -> list[TrackedIssue]:
        worse = (issue for issue in self.issues.values() if issue.is_open and issue.is_worse)
        return sorted(worse, key=lambda issue: issue.number)

    def _open_issues(self, runs: Sequence[Run]) -> Iterator[OpenIssue]:
        names = {benchmark_key(key.benchmark): key.benchmark for run in runs for key in run.keys}
        for issue in self._worse():
            keys = issue.benchmarks or {issue.key}
            benchmarks = tuple(sorted(name for key, name in names.items() if key in keys))
            yield OpenIssue(number=issue.number, url=issue.url, benchmarks=benchmarks)
