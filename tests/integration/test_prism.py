"""A second check of our traffic: Prism, between us and the fake, validates it against GitHub's description.

The fake has its own validator; Prism is an independent implementation that reads the same description. CI installs it,
and it answers with an error (`--errors`) if a request or an answer differs from the description.
"""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import requests
from msgspec.structs import replace

from perf_culprit.github import workflow_runs
from perf_culprit.model.finding import Verdict
from perf_culprit.model.report import Conclusion, encode_report
from tests.support import reports
from tests.support.adversary import MALLORY_PULL, SECRET, Scene, open_scene
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.shapes import Shapes
from tests.support.fake_github.state import BOT
from tests.support.fake_github.subset import DESCRIPTION_FILE

PRISM = shutil.which("prism")
START_SECONDS = 60

pytestmark = [
    pytest.mark.slow,  # Prism takes some seconds to start
    pytest.mark.skipif(PRISM is None, reason="prism is not installed (npm install @stoplight/prism-cli)"),
]


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Scene]:
    with open_scene(tmp_path, monkeypatch, capsys) as opened:
        yield opened


@pytest.fixture
def judged(scene: Scene, tmp_path: Path) -> Iterator[Path]:
    """Put Prism in front of the scene's fake; yield Prism's log."""
    port = free_port()
    log = tmp_path / "prism.log"
    upstream = scene.fake.url
    command = [PRISM or "prism", "proxy", "--errors", "--host", "127.0.0.1", "--port", str(port)]
    with log.open("wb") as output:
        prism = subprocess.Popen([*command, str(DESCRIPTION_FILE), upstream], stdout=output, stderr=output)
        try:
            wait_for(f"http://127.0.0.1:{port}")
            speak_through(scene.fake, f"http://127.0.0.1:{port}")
            yield log
        finally:
            prism.terminate()
            prism.wait(10)


@pytest.fixture
def within_prism(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Avoid two things that Prism cannot do: slashes in `{path}`, and forwarding a redirect without following it."""
    monkeypatch.setenv("INPUT_CONFIG", scene.configure())
    monkeypatch.setattr(
        workflow_runs, "redirect", lambda _, artifact: f"{scene.fake.store_url}/{artifact.id}/archive.zip"
    )


def free_port() -> int:
    with closing(socket.socket()) as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


def wait_for(url: str) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        try:
            requests.get(url, timeout=5)
        except requests.ConnectionError:
            time.sleep(0.2)
        else:
            return
    pytest.fail("prism does not start")


def speak_through(fake: FakeGitHub, url: str) -> None:
    """Make links in answers lead to Prism, as they would lead to GitHub's only address."""
    fake.log.clear()
    fake.api_url = url
    fake.shapes = Shapes(description=fake.description, api_url=url, repository=fake.repository)


def test_a_stray_request_is_refused_by_prism_itself(scene: Scene, judged: Path) -> None:
    """This control shows that the other test can fail."""
    url = f"{scene.fake.api_url}/repos/octocat/hello/issues/7/comments"
    answer = requests.post(url, json={"text": "no body"}, headers={"authorization": f"Bearer {SECRET}"}, timeout=10)
    assert answer.status_code == 422
    assert scene.fake.log == []
    assert "error" in judged.read_text().lower()


@pytest.mark.usefixtures("within_prism")
def test_publishing_and_commands_are_as_github_describes_them(scene: Scene, judged: Path) -> None:
    slower = reports.finding("parse", 100, 150, verdict=Verdict.REGRESSION, rate=1e-6)
    report = replace(reports.report(Conclusion.REGRESSION, slower), target_commit=scene.head)
    results = [
        scene.publish({"report.json": encode_report(report)}),
        scene.publish({"report.json": encode_report(replace(report, findings=(), conclusion=Conclusion.NO_CHANGE))}),
        scene.say("/perf-help"),
        scene.say(f"/perf-accept {scene.head} parse wanted"),
        scene.say("/perf-retry"),
        scene.say(f"/perf-bisect {scene.head}"),
        scene.say("/perf-retry", author="mallory"),
        scene.say("/perf-bisect good=main bad=main"),
    ]
    text = judged.read_text()
    assert [result.exit_code for result in results] == [0] * len(results), "\n".join(r.log for r in results) + text
    assert "violation" not in text.lower(), text
    assert len(scene.fake.state.dispatches) == 1
    assert len(scene.fake.log) > 40
    bodies = [comment.body for comment in scene.fake.state.comments.values() if comment.author == BOT]
    # The report has two bodies: the finding of the first is gone, so the second replaces it.
    assert len(bodies) == 8
    assert scene.fake.state.runs[55].attempt == 2
    assert {comment.issue for comment in scene.fake.state.comments.values()} == {MALLORY_PULL}
    scene.assert_no_secret(*results)
