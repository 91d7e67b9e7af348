"""The bot's interface to a repository's host: pull requests, comments, checks, artifacts, runs, issues, rights.

All code that decides or phrases something uses `Host`; `perf_culprit.github` is its only implementation.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from perf_culprit.errors import DataError
from perf_culprit.model.bisection import CommitFacts
from perf_culprit.model.dispatch import WorkflowRuns
from perf_culprit.model.maintenance import Grant, Permission
from perf_culprit.model.reason import Remark
from perf_culprit.model.report import Conclusion, Report


class CheckConclusion(StrEnum):
    SUCCESS = "success"
    NEUTRAL = "neutral"  # passes where the check is required
    FAILURE = "failure"
    CANCELLED = "cancelled"


_CHECK_CONCLUSIONS: dict[Conclusion, CheckConclusion] = {
    Conclusion.REGRESSION: CheckConclusion.NEUTRAL,
    Conclusion.OTHER_HARDWARE: CheckConclusion.NEUTRAL,
    Conclusion.SUSPECTED: CheckConclusion.NEUTRAL,
    Conclusion.NOT_COMPARABLE: CheckConclusion.NEUTRAL,
    Conclusion.INCONCLUSIVE: CheckConclusion.NEUTRAL,
    Conclusion.FIRST_RUN: CheckConclusion.NEUTRAL,
    Conclusion.NOT_AFFECTED: CheckConclusion.NEUTRAL,
    Conclusion.IMPROVEMENT: CheckConclusion.SUCCESS,
    Conclusion.NO_CHANGE: CheckConclusion.SUCCESS,
}


def check_conclusion(reports: Sequence[Report]) -> CheckConclusion:
    """Fail the check only for a regression over the fail threshold. The worst of several reports counts."""
    each = {CheckConclusion.FAILURE if report.failed else _CHECK_CONCLUSIONS[report.conclusion] for report in reports}
    # Something was not measured, or the benchmarks' own files may have changed it: not a success.
    doubtful = {Remark.PARTLY_AFFECTED, Remark.PART_MISSING, Remark.HARNESS_CHANGED}
    if any(note.code in doubtful for report in reports for note in report.notes):
        each.add(CheckConclusion.NEUTRAL)
    worst = (CheckConclusion.FAILURE, CheckConclusion.NEUTRAL, CheckConclusion.SUCCESS)
    return next(conclusion for conclusion in worst if conclusion in each)


@dataclass(frozen=True, kw_only=True, slots=True)
class Annotation:
    """A remark on a line of the changed files. `level`: notice, warning or failure."""

    path: str
    line: int
    level: str
    message: str
    title: str


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """`summary` and `text` are Markdown; a text above the host's limit is cut at a line."""

    conclusion: CheckConclusion
    title: str
    summary: str
    text: str = ""
    annotations: tuple[Annotation, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequest:
    number: int
    head_sha: str
    base_branch: str
    from_fork: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequestSearch:
    """The pull requests with that head, or none and the reason. Two may share a head: each has another base branch."""

    pull_requests: tuple[PullRequest, ...] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequestState:
    """The current state of a pull request. `from_fork` is True also if the fork is gone."""

    head_sha: str
    base_branch: str
    from_fork: bool
    is_open: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Skip:
    """How a pull request was switched off, and who did it; None if GitHub's list of events does not tell."""

    by: str
    login: str | None


class NoArtifactError(DataError):
    """The run left no artifact of that name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtifactFile:
    name: str
    zip_bytes: bytes


class Again(StrEnum):
    """The jobs that a second attempt repeats."""

    FAILED_JOBS = "failed jobs"
    ALL_JOBS = "all jobs"
    NOTHING = "nothing"  # it is still running


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    url: str
    repeats: Again


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedIssue:
    """`is_worse`: the bot last wrote that the regression is there. If it is closed nevertheless, a person closed it.

    `commit` is where the regression was found. `benchmarks` are the keys of a joint issue.
    """

    number: int
    url: str
    body: str
    is_open: bool
    commit: str
    key: str
    is_worse: bool
    benchmarks: frozenset[str]


@dataclass(frozen=True, slots=True)
class Opened:
    """An open issue. Not `is_ours`: another job opened one for the same key at the same time."""

    url: str
    is_ours: bool = True


class Check(Protocol):
    """A check run in progress."""

    @property
    def url(self) -> str: ...

    def update(self, *, title: str, summary: str) -> None:
        """Show the progress; the check run stays in progress."""

    def complete(self, result: CheckResult) -> None: ...


class Host(Protocol):
    """One repository, seen from the bot's account. Every failure is a BotError that states what to do."""

    def find_pull_request(self, *, event_name: str, event: Mapping[str, Any]) -> PullRequestSearch:
        """Find the pull request that an event's run belongs to."""

    def read_pull_request(self, *, number: int) -> PullRequestState: ...

    def find_skip(self, *, number: int, event: Mapping[str, Any], title: str | None, label: str | None) -> Skip | None:
        """Return who switched a pull request off, by a text in its title or a label. An event has the state before."""

    def is_current(self, pull_request: PullRequest) -> bool:
        """Return whether the pull request still has this head."""

    def merged_as(self, *, number: int, head_sha: str) -> str | None:
        """Return the commit that merging this pull request made, if it was merged with exactly this head."""

    def may_write(self, *, login: str) -> bool: ...

    def may(self, permission: Permission, *, number: int | None, workflow: str) -> Grant:
        """Return whether the token may write there; the query changes nothing."""

    def refusing_rules(self, *, branch: str) -> tuple[str, ...]:
        """Return the rules of a branch that refuse a plain push."""

    def required_checks(self, *, branch: str) -> frozenset[str]:
        """Return the checks that a commit needs to enter the branch; an error if they are not known for sure."""

    def read_branch_file(self, *, path: str, branch: str) -> bytes | None:
        """Return the file; None if the branch has no such file. Any other obstacle is an error."""

    def acknowledge(self, *, comment_id: int) -> None:
        """Put a sign under the comment that its command was received."""

    def upsert_comment(
        self, *, number: int, mark: str, body: str, create: bool = True, findings: str = ""
    ) -> str | None:
        """Edit the bot's comment with that first line, or post it if there is none (and `create`). Return its address.

        A comment with other `findings` is replaced: a new one notifies people, and the old one is hidden as outdated.
        """

    def prefix_comments(self, *, number: int, start: str, line: str) -> None:
        """Put `line` below the marker of each of the bot's comments that begin with `start`."""

    def results(self, *, number: int, start: str) -> tuple[str, ...]:
        """Return the texts of the bot's comments that begin with `start`, except answers to commands."""

    def answered_commands(self, *, number: int) -> tuple[int, ...]:
        """Return the ids of a thread's comments that the bot has answered as commands, newest first."""

    def check_run(
        self, *, name: str, head_sha: str, external_id: str, details_url: str | None = None
    ) -> AbstractContextManager[Check]:
        """Create a check run and complete it whatever happens inside."""

    def has_check(self, *, name: str, head_sha: str) -> bool:
        """Return whether the commit has a check run of that name."""

    def continued_check(self, *, name: str, head_sha: str, external_id: str, details_url: str | None = None) -> Check:
        """Return the check run that an earlier job has started, or a new one."""

    def fetch_artifacts(self, *, run_id: int, head_sha: str, name: str | None = None) -> tuple[ArtifactFile, ...]:
        """Return the artifacts of a run. Raise NoArtifactError if none has that name."""

    def dispatcher(self, *, workflow: str, ref: str) -> WorkflowRuns: ...

    def read_run(self, *, run_id: int) -> Mapping[str, Any]:
        """Return a workflow run in the form in which an event describes it."""

    def run_again(self, *, workflow: str, head_sha: str) -> Attempt | None: ...

    def cancel_run(self, *, run_id: int) -> bool: ...

    def tracked_issues(self, *, suite: str) -> dict[str, TrackedIssue]: ...

    def open_issue(self, *, suite: str, key: str, title: str, body: str, labels: Iterable[str]) -> Opened: ...

    def reopen_issue(self, tracked: TrackedIssue, *, body: str, title: str | None = None, note: str = ...) -> str:
        """Open the issue with another text and, if given, another title; `note` is a comment with the reason."""

    def commit_facts(self, *, commit: str) -> CommitFacts:
        """Return the author of a commit, and how much it changes."""

    def modified_files(self, *, base: str, head: str) -> tuple[str, ...]:
        """Return the files that `head` changed and that `base`, a commit or a branch, has as well."""

    def merged_pull_request(self, *, commit: str, branch: str) -> int | None:
        """Return the pull request that brought this commit into the branch."""

    def close_issue(self, tracked: TrackedIssue, *, suite: str, note: str) -> str: ...
