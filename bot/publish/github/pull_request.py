"""Which pull request a run speaks about: from GitHub's event and API, never from an artifact."""

from collections.abc import Mapping
from itertools import islice
from typing import Any

from github import UnknownObjectException
from github.PullRequest import PullRequest as RemotePullRequest

from bot.model.bisection_report import CommitFacts
from bot.publish.event import number_at, sha_at, text_at, value_at
from bot.publish.github.client import Client
from bot.publish.github.failure import explained
from bot.publish.host import PullRequest, PullRequestSearch

# GitHub ignores a `head` that it does not understand and lists every open pull request.
MAXIMUM_LISTED = 300
# Anybody who can read can open pull requests of one head into every branch; so many are answered.
MAXIMUM_ANSWERED = 3


def find_pull_request(client: Client, *, event_name: str, event: Mapping[str, Any]) -> PullRequestSearch:
    """`event` is the file at GITHUB_EVENT_PATH; whether its run is of the workflow that measures, the caller checks."""
    if event_name in ("pull_request", "pull_request_target"):
        return PullRequestSearch(pull_requests=(from_pull_request_event(event),))
    if event_name == "workflow_run":
        return from_workflow_run_event(client, event=event)
    return PullRequestSearch(reason=f"the event {event_name!r} belongs to no pull request")


def from_pull_request_event(event: Mapping[str, Any]) -> PullRequest:
    repository_id = number_at(event, "repository", "id")
    head_repository = value_at(event, "pull_request", "head", "repo")
    head_repository_id = head_repository.get("id") if isinstance(head_repository, Mapping) else None
    return PullRequest(
        number=number_at(event, "pull_request", "number"),
        head_sha=sha_at(event, "pull_request", "head", "sha"),
        base_branch=text_at(event, "pull_request", "base", "ref"),
        from_fork=head_repository_id != repository_id,
    )


def from_workflow_run_event(client: Client, *, event: Mapping[str, Any]) -> PullRequestSearch:
    """By head branch and commit: `workflow_run.pull_requests` is empty for forks."""
    cause = text_at(event, "workflow_run", "event")
    if cause != "pull_request":
        return PullRequestSearch(reason=f"the benchmarks ran on {cause!r}, not on a pull request")
    repository_id = number_at(event, "repository", "id")
    head_sha = sha_at(event, "workflow_run", "head_sha")
    head_branch = text_at(event, "workflow_run", "head_branch")
    head_repository = value_at(event, "workflow_run", "head_repository")
    if not isinstance(head_repository, Mapping):
        return PullRequestSearch(reason="the repository that the run came from is gone")
    head_repository_id = number_at(event, "workflow_run", "head_repository", "id")
    head = f"{text_at(event, 'workflow_run', 'head_repository', 'owner', 'login')}:{head_branch}"
    with explained("find the pull request of the run"):
        listed = list(islice(client.repository.get_pulls(state="open", head=head), MAXIMUM_LISTED))
    of_branch = [
        pull
        for pull in listed
        if pull.base.repo.id == repository_id
        and pull.head.ref == head_branch
        # A fork may be gone: then its `repo` is null.
        and getattr(pull.head.repo, "id", None) == head_repository_id
    ]
    return matching([pull for pull in of_branch if pull.head.sha == head_sha], of_branch=of_branch, head_sha=head_sha)


def matching(
    pull_requests: list[RemotePullRequest], *, of_branch: list[RemotePullRequest], head_sha: str
) -> PullRequestSearch:
    if pull_requests:
        return PullRequestSearch(
            pull_requests=tuple(
                PullRequest(
                    number=pull.number,
                    head_sha=pull.head.sha,
                    base_branch=pull.base.ref,
                    from_fork=pull.head.repo.id != pull.base.repo.id,
                )
                for pull in sorted(pull_requests, key=lambda pull: pull.number)[:MAXIMUM_ANSWERED]
            )
        )
    if of_branch:
        return PullRequestSearch(reason=f"stale: the pull request has moved on since {head_sha[:10]}")
    return PullRequestSearch(reason=f"no open pull request has the head {head_sha[:10]}")


def is_current(client: Client, pull_request: PullRequest) -> bool:
    """Whether the pull request still has the judged head; asked right before posting, as runs may overtake."""
    with explained(f"read pull request #{pull_request.number}"):
        pull = client.repository.get_pull(pull_request.number).raw_data
        return sha_at(pull, "head", "sha") == pull_request.head_sha


def merged_as(client: Client, *, number: int, head_sha: str) -> str | None:
    """The commit that merging this pull request made, if it was merged with exactly this head."""
    with explained(f"read pull request #{number}"):
        try:
            pull = client.repository.get_pull(number)
            merged = pull.merged and pull.head.sha == head_sha
        except UnknownObjectException:
            return None
        return pull.merge_commit_sha if merged else None


def commit_facts(client: Client, *, commit: str) -> CommitFacts:
    """Of more than 300 files GitHub lists 300."""
    with explained(f"read commit {commit[:10]}"):
        read = client.repository.get_commit(commit).raw_data
    author, stats = read["commit"]["author"], read["stats"]
    return CommitFacts(
        author=author["name"],
        date=author["date"],
        files=len(read["files"]),
        insertions=stats["additions"],
        deletions=stats["deletions"],
    )


def merged_pull_request(client: Client, *, commit: str, branch: str) -> int | None:
    """The pull request that brought this commit into the branch; the oldest of several."""
    with explained(f"find the pull request of {commit[:10]}"):
        try:
            listed = list(islice(client.repository.get_commit(commit).get_pulls(), MAXIMUM_LISTED))
        except UnknownObjectException:
            return None
    return min((pull.number for pull in listed if pull.merged_at is not None and pull.base.ref == branch), default=None)
