"""The state of the fake. Tests read and write it directly."""

import hashlib
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

REPOSITORY_ID = 4242
FORK_ID = 5151
BOT = "github-actions[bot]"
TIME = "2026-01-02T03:04:05Z"


@dataclass(kw_only=True, slots=True)
class Comment:
    id: int
    issue: int
    author: str
    body: str
    writes: int = 1
    hidden_listings: int = 0  # a new comment may be missing from the next listings
    minimized: bool = False
    reactions: list[tuple[int, str, str]] = field(default_factory=list)  # id, author, content


@dataclass(kw_only=True, slots=True)
class CheckRun:
    id: int
    name: str
    head_sha: str
    status: str = "queued"
    conclusion: str | None = None
    external_id: str | None = None
    details_url: str | None = None
    output: dict[str, Any] = field(default_factory=dict)
    annotations: list[dict[str, Any]] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class Artifact:
    id: int
    name: str
    run_id: int
    head_sha: str
    zip_bytes: bytes
    created_at: str = TIME
    expired: bool = False
    digest: str | None = None
    with_digest: bool = True
    redirect: str | None = None  # instead of the fake's own store
    store_status: int = 200
    store_headers: dict[str, str] = field(default_factory=dict)

    @property
    def shown_digest(self) -> str | None:
        if not self.with_digest:
            return None
        return self.digest or f"sha256:{hashlib.sha256(self.zip_bytes).hexdigest()}"


@dataclass(frozen=True, kw_only=True, slots=True)
class IssueEvent:
    """A label that was set (`labeled`), or the title's change (`renamed`)."""

    id: int
    actor: str
    kind: str
    label: str = ""
    before: str = ""
    after: str = ""


@dataclass(kw_only=True, slots=True)
class PullRequest:
    number: int
    head_sha: str
    head_branch: str
    head_owner: str = "octocat"
    head_repository_id: int = REPOSITORY_ID
    base_branch: str = "main"
    base_sha: str = "b" * 40
    base_repository_id: int = REPOSITORY_ID
    state: str = "open"
    author: str = "octocat"
    merge_commit_sha: str | None = None  # set: it was merged
    title: str = "Fold accents"
    labels: list[str] = field(default_factory=list)
    events: list[IssueEvent] = field(default_factory=list)

    def set_label(self, name: str, *, actor: str) -> None:
        self.labels.append(name)
        self.events.append(IssueEvent(id=len(self.events) + 1, actor=actor, kind="labeled", label=name))

    def rename(self, title: str, *, actor: str) -> None:
        event = IssueEvent(id=len(self.events) + 1, actor=actor, kind="renamed", before=self.title, after=title)
        self.events.append(event)
        self.title = title


@dataclass(kw_only=True, slots=True)
class WorkflowRun:
    id: int
    head_sha: str
    head_branch: str = "main"
    event: str = "pull_request"
    conclusion: str | None = "success"
    workflow: str = ".github/workflows/perf.yml"
    status: str = "completed"
    attempt: int = 1
    head_repository_id: int = REPOSITORY_ID
    head_owner: str = ""  # empty: the repository's own
    title: str = "Benchmarks"  # the workflow's `run-name`, else the commit's first line


@dataclass(kw_only=True, slots=True)
class Issue:
    number: int
    title: str
    body: str | None = None
    state: str = "open"
    author: str = BOT
    labels: list[str] = field(default_factory=list)
    hidden_listings: int = 0


@dataclass(kw_only=True, slots=True)
class State:
    comments: dict[int, Comment] = field(default_factory=dict)
    check_runs: dict[int, CheckRun] = field(default_factory=dict)
    artifacts: dict[int, Artifact] = field(default_factory=dict)
    pulls: dict[int, PullRequest] = field(default_factory=dict)
    issues: dict[int, Issue] = field(default_factory=dict)
    runs: dict[int, WorkflowRun] = field(default_factory=dict)
    dispatches: list[dict[str, Any]] = field(default_factory=list)
    statuses: list[dict[str, Any]] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=lambda: {"octocat": "admin"})
    rules: dict[str, list[str]] = field(default_factory=dict)  # branch -> types
    required_checks: dict[str, list[str]] = field(default_factory=dict)  # branch -> names, by a ruleset
    protected_checks: dict[str, list[str]] = field(default_factory=dict)  # branch -> names, by branch protection
    locked_issues: set[int] = field(default_factory=set)
    ignores_head: bool = False  # GitHub lists every pull request where it does not understand `head`
    listing_lag: int = 0  # how many listings a new comment stays hidden from
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1000))

    def add_comment(self, *, issue: int, author: str, body: str) -> Comment:
        comment = Comment(id=next(self.ids), issue=issue, author=author, body=body, hidden_listings=self.listing_lag)
        self.comments[comment.id] = comment
        return comment

    def add_artifact(self, *, name: str, run_id: int, head_sha: str, zip_bytes: bytes, **more: Any) -> Artifact:
        artifact = Artifact(id=next(self.ids), name=name, run_id=run_id, head_sha=head_sha, zip_bytes=zip_bytes, **more)
        self.artifacts[artifact.id] = artifact
        return artifact
