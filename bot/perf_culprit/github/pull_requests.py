"""Pull requests, permissions and files on GitHub, read from the API and the event, never from an artifact."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

from github import GithubException, UnknownObjectException
from github.PullRequest import PullRequest as RemotePullRequest

from perf_culprit.errors import ConfigError, InfrastructureError, UsageError
from perf_culprit.github.client import WAITS_SECONDS, Client, explained, file_bytes, is_rate_limit, message_of
from perf_culprit.github.host import Again, Attempt, PullRequest, PullRequestSearch, PullRequestState, Skip
from perf_culprit.github.posting import post_once
from perf_culprit.github.runner_files import number_at, sha_at, text_at, value_at
from perf_culprit.model.artifact_limits import ARTIFACT_LIMITS
from perf_culprit.model.bisection import CommitFacts
from perf_culprit.model.maintenance import Grant, Permission, protection_step


def find_pull_request(client: Client, *, event_name: str, event: Mapping[str, Any]) -> PullRequestSearch:
    """Find the event's pull request. `event` is the file at GITHUB_EVENT_PATH. The caller must check the workflow."""
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
    """Find it by head branch and commit: `workflow_run.pull_requests` is empty for forks."""
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
        listed = list(islice(client.repository.get_pulls(state="open", head=head), ARTIFACT_LIMITS.pull_requests))
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
                for pull in sorted(pull_requests, key=lambda pull: pull.number)[
                    : ARTIFACT_LIMITS.answered_pull_requests
                ]
            )
        )
    if of_branch:
        return PullRequestSearch(reason=f"stale: the pull request has moved on since {head_sha[:10]}")
    return PullRequestSearch(reason=f"no open pull request has the head {head_sha[:10]}")


def find_skip(
    client: Client, *, number: int, event: Mapping[str, Any], title: str | None, label: str | None
) -> Skip | None:
    """Return who switched the pull request off. Its own event tells the state by which GitHub started the jobs."""
    with explained(f"read pull request #{number}"):
        pull = client.repository.get_pull(number)
        now = event["pull_request"] if value_at(event, "pull_request", "number") == number else pull.raw_data
        newest = islice(client.repository.get_issue(number).get_events().reversed, ARTIFACT_LIMITS.events)
        if label is not None and any(_same(one["name"], label) for one in now["labels"]):
            set_by = (
                event.actor.login for event in newest if event.event == "labeled" and _same(event.label.name, label)
            )
            return Skip(by=f"the label {label}", login=next(set_by, None))
        if title is not None and _has(now["title"], title):
            renamed = (event for event in newest if event.event == "renamed")
            set_by = (
                one.actor.login
                for one in renamed
                if _has(one.rename["to"], title) and not _has(one.rename["from"], title)
            )
            return Skip(by=f"{title} in the title", login=next(set_by, now["user"]["login"]))
        return None


# GitHub's expressions ignore case.
def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()


def _has(text: str, part: str) -> bool:
    return part.casefold() in text.casefold()


def has_judged_head(client: Client, pull_request: PullRequest) -> bool:
    """Return whether the pull request still has the judged head. Call it right before posting, as runs may overtake."""
    with explained(f"read pull request #{pull_request.number}"):
        pull = client.repository.get_pull(pull_request.number).raw_data
        return sha_at(pull, "head", "sha") == pull_request.head_sha


def merged_as(client: Client, *, number: int, head_sha: str) -> str | None:
    """Return the commit that merging this pull request made, if it was merged with exactly this head."""
    with explained(f"read pull request #{number}"):
        try:
            pull = client.repository.get_pull(number)
            merged = pull.merged and pull.head.sha == head_sha
        except UnknownObjectException:
            return None
        return pull.merge_commit_sha if merged else None


def read_commit_facts(client: Client, *, commit: str) -> CommitFacts:
    """Return author, date and size. GitHub lists at most 300 files."""
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


def modified_files(client: Client, *, base: str, head: str) -> tuple[str, ...]:
    """Return the files changed since the common ancestor, except new and deleted ones. GitHub lists at most 300."""
    with explained(f"compare {head[:10]} with its base"):
        files = client.repository.compare(base, head).raw_data.get("files", [])
    return tuple(file["filename"] for file in files if file["status"] not in ("added", "removed"))


def merged_pull_request(client: Client, *, commit: str, branch: str) -> int | None:
    """Return the pull request that brought this commit into the branch; the oldest of several."""
    with explained(f"find the pull request of {commit[:10]}"):
        try:
            listed = list(islice(client.repository.get_commit(commit).get_pulls(), ARTIFACT_LIMITS.pull_requests))
        except UnknownObjectException:
            return None
    return min((pull.number for pull in listed if pull.merged_at is not None and pull.base.ref == branch), default=None)


WRITING: Final = ("admin", "write")


def acknowledge(client: Client, *, comment_id: int) -> None:
    """React with eyes to the comment. GitHub keeps one per account, so sending it again does nothing."""
    repository = client.repository
    url = f"{repository.url}/issues/comments/{comment_id}/reactions"
    with explained("react to the comment"):
        post_once(
            client,
            post=lambda: repository.requester.requestJsonAndCheck("POST", url, input={"content": "eyes"}),
            find=lambda: None,
        )


def may_write(client: Client, *, login: str) -> bool:
    """Return whether the account may write now. GitHub reports `maintain` as write and `triage` as read."""
    with explained("read the author's permission"):
        try:
            return client.repository.get_collaborator_permission(login) in WRITING
        except UnknownObjectException:
            return False


def read_pull_request(client: Client, *, number: int) -> PullRequestState:
    with explained(f"read pull request #{number}"):
        pull = client.repository.get_pull(number).raw_data
        return PullRequestState(
            head_sha=sha_at(pull, "head", "sha"),
            base_branch=text_at(pull, "base", "ref"),
            from_fork=value_at(pull, "head", "repo", "id") != number_at(pull, "base", "repo", "id"),
            is_open=text_at(pull, "state") == "open",
        )


def cancel_run(client: Client, *, run_id: int) -> bool:
    """Cancel a run. Return whether it was under way."""
    url = f"{client.repository.url}/actions/runs/{run_id}/cancel"
    with explained(f"cancel workflow run {run_id}"):
        try:
            client.repository.requester.requestJsonAndCheck("POST", url)
        except GithubException as error:
            if error.status in (404, 409):
                return False
            raise
        return True


def run_again(client: Client, *, workflow: str, head_sha: str) -> Attempt | None:
    """Repeat the failed jobs of the newest run of `workflow` on `head_sha`, or all jobs if none failed.

    None if there is no run. The new attempt has the event, the commit and the rights of the first one.
    """
    repository = client.repository
    with explained(f"find the runs of {workflow}"):
        try:
            listed = repository.get_workflow(workflow).get_runs(event="pull_request", head_sha=head_sha)
            newest = next(iter(islice(listed, ARTIFACT_LIMITS.check_runs)), None)
        except UnknownObjectException:
            raise UsageError(
                f"there is no workflow {workflow}",
                place="input measure-workflow",
                next_step="name the file of the workflow that measures, such as perf.yml",
            ) from None
    if newest is None:
        return None
    if newest.status != "completed":
        return Attempt(url=newest.html_url, repeats=Again.NOTHING)
    if newest.conclusion == "action_required":
        # Allowing a newcomer's code to run is a separate decision, made after viewing the changes.
        raise UsageError(
            f"{workflow} waits for an approval", place="the run", next_step="approve it in the pull request"
        )
    repeats = Again.ALL_JOBS if newest.conclusion == "success" else Again.FAILED_JOBS
    action = "rerun" if repeats is Again.ALL_JOBS else "rerun-failed-jobs"
    url = f"{repository.url}/actions/runs/{newest.id}"

    def post() -> bool:
        repository.requester.requestJsonAndCheck("POST", f"{url}/{action}")
        return True

    def find() -> bool | None:
        _, run = repository.requester.requestJsonAndCheck("GET", url)
        return True if run["run_attempt"] > newest.run_attempt else None

    with explained(f"run {workflow} again"):
        # Repeated without a check, an attempt with a lost answer would be refused as under way.
        post_once(client, post=post, find=find)
    return Attempt(url=newest.html_url, repeats=repeats)


# No commit has this hash, and no branch this name.
NO_COMMIT: Final = "0" * 40
NO_BRANCH: Final = "perf-culprit-doctor/no-such-branch"
# Rules under which a plain push of a new commit to an existing branch is refused.
REFUSING_RULES: Final = frozenset({"update", "pull_request", "required_signatures", "required_status_checks"})


def may(client: Client, permission: Permission, *, number: int | None, workflow: str) -> Grant:
    """Return whether the token has `permission: write`. Nothing is written: each request names what cannot exist.

    `number`: an issue or pull request to try it at. `workflow`: the file of a workflow that can be dispatched.
    """
    repository = client.repository
    with explained(f"ask for the permission {permission}"):
        try:
            if permission is Permission.PULL_REQUESTS and number is None:
                newest: list[RemotePullRequest] = list(repository.get_pulls(state="all")[:1])
                number = newest[0].number if newest else None
                if number is None:
                    return Grant.UNKNOWN
            path, body = _impossible(permission, number=number, workflow=workflow)
            repository.requester.requestJsonAndCheck("POST", f"{repository.url}/{path}", input=body)
        except GithubException as error:
            return _grant(error)
    return Grant.HELD


def _impossible(permission: Permission, *, number: int | None, workflow: str) -> tuple[str, dict[str, str]]:
    """A path and a body that GitHub must refuse."""
    requests: dict[Permission, tuple[str, dict[str, str]]] = {
        Permission.ACTIONS: (f"actions/workflows/{workflow}/dispatches", {"ref": NO_BRANCH}),
        Permission.CHECKS: ("check-runs", {"name": "perf-culprit doctor", "head_sha": NO_COMMIT}),
        Permission.CONTENTS: ("git/refs", {"ref": f"refs/heads/{NO_BRANCH}", "sha": NO_COMMIT}),
        Permission.ISSUES: ("issues", {"title": ""}),
        Permission.PULL_REQUESTS: (f"issues/{number}/comments", {"body": ""}),
    }
    return requests[permission]


def _grant(error: GithubException) -> Grant:
    is_protected = protection_step(message_of(error)) is not None
    if error.status == 422 and not is_protected:
        return Grant.HELD
    # Issues that are switched off, a locked conversation, a missing workflow.
    if error.status in (404, 410) or "locked" in message_of(error):
        return Grant.UNKNOWN
    if error.status == 403 and not is_protected and not is_rate_limit(error):
        return Grant.MISSING
    raise error


def refusing_rules(client: Client, *, branch: str) -> tuple[str, ...]:
    """Return the rules of `branch` that refuse the history's pushes. Empty if the server does not know rules."""
    url = f"{client.repository.url}/rules/branches/{branch}"
    with explained(f"read the rules of {branch}"):
        try:
            _, rules = client.repository.requester.requestJsonAndCheck("GET", url)
        except UnknownObjectException:
            return ()
        return tuple(sorted({rule["type"] for rule in rules} & REFUSING_RULES))


def required_checks(client: Client, *, branch: str) -> frozenset[str]:
    """Return the names of the checks that the branch's rulesets and its protection require."""
    place = quote(branch, safe="")
    with explained(f"read the rules of {branch}"):
        rules = _get(client, f"rules/branches/{place}?per_page={ARTIFACT_LIMITS.rules}")
        if len(rules) >= ARTIFACT_LIMITS.rules:
            raise InfrastructureError(
                f"{branch} has {ARTIFACT_LIMITS.rules} rules or more",
                place="GitHub",
                next_step="join some of its rulesets",
            )
        protection = _get(client, f"branches/{place}")["protection"]
        required = [rule["parameters"] for rule in rules if rule["type"] == "required_status_checks"]
        names = {check["context"] for parameters in required for check in parameters["required_status_checks"]}
        return frozenset(names) | {*protection.get("required_status_checks", {"contexts": ()})["contexts"]}


def read_branch_file(client: Client, *, path: str, branch: str) -> bytes | None:
    """Return the file; None only if the branch has no such file."""
    with explained(f"read {path} of {branch}"):
        try:
            answer = _get_patiently(client, f"contents/{quote(path)}?ref={quote(branch, safe='')}")
        except UnknownObjectException:
            # GitHub answers the same to a token that may not read, but does not show it the branch either.
            if _get_patiently(client, f"git/ref/heads/{quote(branch)}")["ref"] == f"refs/heads/{branch}":
                return None
            raise
        if isinstance(answer, list) or answer["type"] != "file":
            raise ConfigError(
                "is not a file", place=f"{path} of {branch}", next_step="name a file in the input `config`"
            )
        if answer["size"] > ARTIFACT_LIMITS.api_file_bytes:
            raise ConfigError(
                f"has {answer['size']:,} bytes; at most {ARTIFACT_LIMITS.api_file_bytes:,} are read",
                place=f"{path} of {branch}",
                next_step="shorten it",
            )
        if answer["encoding"] != "base64":
            raise ValueError(answer["encoding"])
        return file_bytes(answer)


def _get_patiently(client: Client, path: str) -> Any:
    """Repeat the request after a 401, too: it may pass, as a 429 or 5xx does."""
    for wait_seconds in WAITS_SECONDS:
        try:
            return _get(client, path)
        except GithubException as error:
            if error.status != 401:
                raise
            client.sleep(wait_seconds)
    return _get(client, path)


def _get(client: Client, path: str) -> Any:
    _, answer = client.repository.requester.requestJsonAndCheck("GET", f"{client.repository.url}/{path}")
    return answer
