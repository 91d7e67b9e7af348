"""Ways past the front door: what each lets in, in the words of docs/security.md's table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.adversary import MALLORY_PULL, Scene, open_scene
from tests.support.fake_github.state import BOT


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


def last_answer(scene: Scene) -> str:
    return [comment.body for comment in scene.fake.state.comments.values() if comment.author == BOT][-1]


@pytest.mark.parametrize("named", ["", "{old} "], ids=["no head", "the head that was read"])
def test_wanted_an_acceptance_of_a_head_pushed_after_the_comment_got_refused(scene: Scene, named: str) -> None:
    refs, pushed = scene.refs, "9" * 40
    body = f"/perf-accept {named.format(old=scene.head)}all the new grammar costs this"
    scene.fake.state.pulls[MALLORY_PULL].head_sha = pushed
    result = scene.say(body)
    assert result.exit_code == 0, result.log
    assert "**Command rejected:**" in last_answer(scene)
    assert pushed in last_answer(scene)
    assert scene.refs == refs


def test_an_acceptance_in_a_forks_pull_request_names_its_head(scene: Scene) -> None:
    refs = scene.refs
    scene.say(f"/perf-accept {scene.head} all the new grammar costs this")
    assert f"**Accepted** at `{scene.head[:10]}`: all benchmarks." in last_answer(scene)
    assert scene.refs != refs
