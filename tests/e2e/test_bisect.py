"""The conversation of a bisection with our action in its container: a command, a dispatch, and its result."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.container.own_action import InContainer
from tests.support.conversation import Conversation, open_conversation


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
