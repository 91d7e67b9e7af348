"""A command in the container: the time until its author sees the first reaction."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.container.runner import Step, run_action
from tests.support.fake_github.call import Answer
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub, Request
from tests.support.fake_github.state import BOT, PullRequest
from tests.support.webhooks import event

ACTION_FILE = Path(__file__).parents[2] / "action.yml"


class ClockedGitHub(FakeGitHub):
    """A fake that records the time of the first request."""

    first_request: float | None = None

    def answer(self, request: Request) -> Answer | None:
        self.first_request = self.first_request or time.monotonic()
        return super().answer(request)


@pytest.fixture
def github() -> Iterator[ClockedGitHub]:
    with ClockedGitHub() as server:
        server.state.pulls[7] = PullRequest(number=7, head_sha="a" * 40, head_branch="faster")
        yield server
    assert not server.bad


def test_the_first_request_is_the_reaction_and_soon(
    action_image: str, github: ClockedGitHub, workspace: Path, record_property: Callable[[str, object], None]
) -> None:
    comment = github.state.add_comment(issue=7, author="octocat", body="/perf-help")
    payload: dict[str, Any] = event(
        "issue_comment", number=7, comment_id=comment.id, comment_body=comment.body, author="octocat"
    )
    step = Step(
        event_name="issue_comment",
        event=payload,
        api_url=github.api_url,
        token=BOT_TOKEN,
        repository=github.repository,
        network="host",
    )
    started = time.monotonic()
    result = run_action(action_image, action_file=ACTION_FILE, workspace=workspace, step=step)
    assert result.exit_code == 0, result.stdout + result.stderr
    assert github.log[0].request.path.endswith(f"/issues/comments/{comment.id}/reactions")
    assert [reaction[1:] for reaction in comment.reactions] == [(BOT, "eyes")]
    assert any(answer.author == BOT for answer in github.state.comments.values())
    assert github.first_request is not None
    record_property("seconds to the reaction", github.first_request - started)
