"""What the token may do, asked by requests that can change nothing: GitHub looks at the rights, then at the content."""

from typing import TYPE_CHECKING, Final

from github import GithubException, UnknownObjectException

from bot.model.checkup import Grant, Permission
from bot.publish.github.client import Client
from bot.publish.github.failure import explained, is_rate_limit, message_of

if TYPE_CHECKING:
    from github.PullRequest import PullRequest

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
