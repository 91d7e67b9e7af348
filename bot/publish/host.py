"""What the bot needs of the host of a repository: pull requests, comments, checks, artifacts, runs, issues, rights.

Whatever decides or words something works with `Host`; `bot.publish.github` is the one host there is.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from bot.errors import DataError
from bot.model.bisection_report import CommitFacts
from bot.model.checkup import Grant, Permission
from bot.model.dispatch import WorkflowRuns
from bot.publish.check import CheckResult


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequest:
    number: int
    head_sha: str
    base_branch: str
    from_fork: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequestSearch:
    """The pull requests with that head, or none and why. Two may share a head: each goes into another branch."""

    pull_requests: tuple[PullRequest, ...] = ()
    reason: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class PullRequestState:
    """A pull request now. `from_fork` also where the fork is gone."""

    head_sha: str
    base_branch: str
    from_fork: bool
    is_open: bool


class NoArtifactError(DataError):
    """The run has left nothing of that name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ArtifactFile:
    name: str
    zip_bytes: bytes


class Again(StrEnum):
    """What a second attempt repeats."""

    FAILED_JOBS = "failed jobs"
    ALL_JOBS = "all jobs"
    NOTHING = "nothing"  # it is still running


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempt:
    url: str
    repeats: Again


@dataclass(frozen=True, kw_only=True, slots=True)
class TrackedIssue:
    """`is_worse`: the bot last said that the regression is there; if it is closed all the same, a person closed it.

    `commit` is where it was found. `benchmarks` are the keys of a joint issue.
    """

    number: int
    url: str
    body: str
    is_open: bool
    commit: str
    key: str
    is_worse: bool
    benchmarks: frozenset[str]


class Check(Protocol):
    """A check run in progress."""

    @property
    def url(self) -> str: ...

    def update(self, *, title: str, summary: str) -> None:
        """How far it is; the check run stays in progress."""

    def complete(self, result: CheckResult) -> None: ...


class Host(Protocol):
    """One repository, seen as the bot's account. Every failure is a BotError that says what to do."""

    def find_pull_request(self, *, event_name: str, event: Mapping[str, Any]) -> PullRequestSearch:
        """Which pull request an event's run speaks about."""

    def read_pull_request(self, *, number: int) -> PullRequestState: ...

    def is_current(self, pull_request: PullRequest) -> bool:
        """Whether the pull request still has this head."""

    def merged_as(self, *, number: int, head_sha: str) -> str | None:
        """The commit that merging this pull request made, if it was merged with exactly this head."""

    def may_write(self, *, login: str) -> bool: ...

    def may(self, permission: Permission, *, number: int | None, workflow: str) -> Grant:
        """Whether the token may write there; asking changes nothing."""

    def refusing_rules(self, *, branch: str) -> tuple[str, ...]:
        """The rules of a branch that refuse a plain push."""

    def read_branch_file(self, *, path: str, branch: str) -> bytes | None:
        """None where the branch has no such file; whatever else keeps it from being read is an error."""

    def acknowledge(self, *, comment_id: int) -> None:
        """A sign under the comment that somebody is at work."""

    def upsert_comment(self, *, number: int, mark: str, body: str, create: bool = True) -> str | None:
        """Edit the bot's comment with that first line, or post it if there is none (and `create`); its address."""

    def prefix_comments(self, *, number: int, start: str, line: str) -> None:
        """`line` below the marker of each of the bot's comments that begin with `start`."""

    def results(self, *, number: int, start: str) -> tuple[str, ...]:
        """The texts of the bot's comments that begin with `start`, answers to commands apart."""

    def answered_commands(self, *, number: int) -> tuple[int, ...]:
        """The comments of a thread that the bot has answered as commands, newest first."""

    def check_run(
        self, *, name: str, head_sha: str, external_id: str, details_url: str | None = None
    ) -> AbstractContextManager[Check]:
        """A new check run, completed whatever happens inside."""

    def continued_check(self, *, name: str, head_sha: str, external_id: str, details_url: str | None = None) -> Check:
        """The check run that an earlier job has started, or a new one."""

    def fetch_artifacts(self, *, run_id: int, head_sha: str, name: str | None = None) -> tuple[ArtifactFile, ...]:
        """What a run left. Raises NoArtifactError where it left nothing of that name."""

    def dispatcher(self, *, workflow: str, ref: str) -> WorkflowRuns: ...

    def run_again(self, *, workflow: str, head_sha: str) -> Attempt | None: ...

    def cancel_run(self, *, run_id: int) -> bool: ...

    def tracked_issues(self, *, suite: str) -> dict[str, TrackedIssue]: ...

    def open_issue(self, *, suite: str, key: str, title: str, body: str, labels: Iterable[str]) -> str: ...

    def reopen_issue(self, tracked: TrackedIssue, *, body: str, title: str | None = None, note: str = ...) -> str:
        """Open, with another text, and with another title where one is given; `note` is a comment that says why."""

    def commit_facts(self, *, commit: str) -> CommitFacts:
        """Who wrote it, and how much it changes."""

    def merged_pull_request(self, *, commit: str, branch: str) -> int | None:
        """The pull request that brought this commit into the branch."""

    def close_issue(self, tracked: TrackedIssue, *, suite: str, note: str) -> str: ...
