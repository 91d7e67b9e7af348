"""The conversation of a bisection with our action in its container: a command, a dispatch, and what it brought."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.container.runner import Step, run_action
from tests.support.conversation import Conversation, open_conversation
from tests.support.fake_github.server import FakeGitHub
from tests.support.workflows.runner import Place

pytestmark = pytest.mark.container

ACTION_FILE = Path(__file__).parents[2] / "action.yml"


@dataclass(frozen=True, kw_only=True, slots=True)
class InContainer:
    image: str
    fake: FakeGitHub

    def __call__(self, place: Place, inputs: Mapping[str, str]) -> tuple[bool, str]:
        step = Step(
            event_name=place.event.name,
            event=place.event.payload,
            api_url=self.fake.api_url,
            token=place.token,
            inputs=inputs,
            environment={"GITHUB_RUN_ID": str(place.event.run_id)},
            repository=self.fake.repository,
            sha=place.event.sha,
            ref=place.event.ref,
            network="host",
        )
        result = run_action(self.image, action_file=ACTION_FILE, workspace=place.workspace, step=step)
        return result.exit_code == 0, result.stdout + result.stderr


@pytest.fixture
def conversation(tmp_path: Path, action_image: str) -> Iterator[Conversation]:
    with open_conversation(tmp_path, lambda fake: InContainer(image=action_image, fake=fake)) as opened:
        yield opened


@pytest.mark.slow  # three containers and a job of real measurements
def test_a_command_and_its_first_round(conversation: Conversation) -> None:
    asked = conversation.say(f"/perf-bisect {conversation.head} jobs=1")
    assert "Bisecting `result`" in conversation.answer(asked)
    assert " 0 executions" in conversation.answer(asked)
    assert conversation.measure()
    assert " 0 executions" not in conversation.answer(asked)
    first, second = conversation.fake.state.dispatches
    assert first["inputs"]["bisection"] == second["inputs"]["bisection"] == str(asked.id)
