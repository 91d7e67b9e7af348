"""What a command needs of GitHub beside comments: a quick sign, its author's rights, the pull request, a file."""

from typing import Final

from github import GithubException, UnknownObjectException

from bot.publish.github.client import Client
from bot.publish.github.failure import explained
from bot.publish.github.posting import post_once
from bot.publish.host import PullRequestState

WRITING: Final = ("admin", "write")
MAXIMUM_FILE_BYTES: Final = 256 * 1024


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
        pull = client.repository.get_pull(number)
        return PullRequestState(
            number=number,
            head_sha=pull.head.sha,
            head_branch=pull.head.ref,
            base_branch=pull.base.ref,
            from_fork=getattr(pull.head.repo, "id", None) != pull.base.repo.id,
            is_open=pull.state == "open",
        )


def read_default_branch_file(client: Client, *, path: str) -> bytes | None:
    """A file of the default branch; None where it has none, or one that is too large to be ours."""
    with explained(f"read {path} of the default branch"):
        try:
            content = client.repository.get_contents(path)
        except UnknownObjectException:
            return None
        if isinstance(content, list) or content.type != "file" or content.size > MAXIMUM_FILE_BYTES:
            return None
        return content.decoded_content


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
