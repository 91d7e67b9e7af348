"""What commands and `doctor` need of GitHub beside comments: rights, the pull request, a run once more."""

from itertools import islice
from typing import TYPE_CHECKING, Final

from github import GithubException, UnknownObjectException

from bot.errors import UsageError
from bot.model.checkup import Grant, Permission
from bot.publish.event import number_at, sha_at, text_at, value_at
from bot.publish.github.client import Client
from bot.publish.github.failure import explained, is_rate_limit, message_of
from bot.publish.github.posting import post_once
from bot.publish.host import Again, Attempt, PullRequestState

if TYPE_CHECKING:
    from github.PullRequest import PullRequest


WRITING: Final = ("admin", "write")


def acknowledge(client: Client, *, comment_id: int) -> None:
    """Eyes under the comment. GitHub keeps one per account, so sending it again does nothing."""
    repository = client.repository
    url = f"{repository.url}/issues/comments/{comment_id}/reactions"
    with explained("react to the comment"):
        post_once(
            client,
            post=lambda: repository.requester.requestJsonAndCheck("POST", url, input={"content": "eyes"}),
            find=lambda: None,
        )


def may_write(client: Client, *, login: str) -> bool:
    """By the permission that the account has now; GitHub reports `maintain` as write and `triage` as read."""
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
    """Whether a run was under way and is cancelled now."""
    url = f"{client.repository.url}/actions/runs/{run_id}/cancel"
    with explained(f"cancel workflow run {run_id}"):
        try:
            client.repository.requester.requestJsonAndCheck("POST", url)
        except GithubException as error:
            if error.status in (404, 409):
                return False
            raise
        return True


MAXIMUM_LISTED = 100


def run_again(client: Client, *, workflow: str, head_sha: str) -> Attempt | None:
    """Repeats the failed jobs of the newest run of `workflow` on `head_sha`, or all jobs where none failed.

    None where there is no run. What is repeated has the event, the commit and the rights of its first attempt.
    """
    repository = client.repository
    with explained(f"find the runs of {workflow}"):
        try:
            listed = repository.get_workflow(workflow).get_runs(event="pull_request", head_sha=head_sha)
            newest = next(iter(islice(listed, MAXIMUM_LISTED)), None)
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
        # Letting a newcomer's code run is a decision of its own, with his changes in view.
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
        # Repeated without a look, an attempt whose answer was lost would be refused as under way.
        post_once(client, post=post, find=find)
    return Attempt(url=newest.html_url, repeats=repeats)


# No commit has this hash, and no branch this name.
NO_COMMIT: Final = "0" * 40
NO_BRANCH: Final = "perf-culprit-doctor/no-such-branch"
# Rules under which a plain push of a new commit to an existing branch is refused.
REFUSING_RULES: Final = frozenset({"update", "pull_request", "required_signatures", "required_status_checks"})


def may(client: Client, permission: Permission, *, number: int | None, workflow: str) -> Grant:
    """Whether the token has `permission: write`. Nothing is written: each request names what cannot exist.

    `number` is an issue or pull request to ask at, `workflow` the file of a workflow that can be dispatched.
    """
    repository = client.repository
    with explained(f"ask for the permission {permission}"):
        try:
            if permission is Permission.PULL_REQUESTS and number is None:
                newest: list[PullRequest] = list(repository.get_pulls(state="all")[:1])
                number = newest[0].number if newest else None
                if number is None:
                    return Grant.UNKNOWN
            path, body = _impossible(permission, number=number, workflow=workflow)
            repository.requester.requestJsonAndCheck("POST", f"{repository.url}/{path}", input=body)
        except GithubException as error:
            return _grant(error)
    return Grant.HELD


def _impossible(permission: Permission, *, number: int | None, workflow: str) -> tuple[str, dict[str, str]]:
    """A path and a content that GitHub cannot take."""
    requests: dict[Permission, tuple[str, dict[str, str]]] = {
        Permission.ACTIONS: (f"actions/workflows/{workflow}/dispatches", {"ref": NO_BRANCH}),
        Permission.CHECKS: ("check-runs", {"name": "perf-culprit doctor", "head_sha": NO_COMMIT}),
        Permission.CONTENTS: ("git/refs", {"ref": f"refs/heads/{NO_BRANCH}", "sha": NO_COMMIT}),
        Permission.ISSUES: ("issues", {"title": ""}),
        Permission.PULL_REQUESTS: (f"issues/{number}/comments", {"body": ""}),
    }
    return requests[permission]


def _grant(error: GithubException) -> Grant:
    if error.status == 422:
        return Grant.HELD
    # Issues that are switched off, a locked conversation, a workflow that is not there.
    if error.status in (404, 410) or "locked" in message_of(error):
        return Grant.UNKNOWN
    if error.status == 403 and not is_rate_limit(error):
        return Grant.MISSING
    raise error


def refusing_rules(client: Client, *, branch: str) -> tuple[str, ...]:
    """The rules of `branch` that refuse what the history pushes. Servers that know no rules have none."""
    url = f"{client.repository.url}/rules/branches/{branch}"
    with explained(f"read the rules of {branch}"):
        try:
            _, rules = client.repository.requester.requestJsonAndCheck("GET", url)
        except UnknownObjectException:
            return ()
        return tuple(sorted({rule["type"] for rule in rules} & REFUSING_RULES))
