"""Messages to a webhook: one per new issue of the default branch, never from a fork's job, and never the address."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.action.jobs import notices
from tests.support.fake_github.faults import Fault
from tests.support.scenarios import SLOWER, Outcome, Project, open_project
from tests.support.workflows.runner import InThisProcess

SECRET = "/services/T0/hunter2"


@dataclass(kw_only=True)
class Webhook:
    """The service that takes the messages. `status` is its answer, `location` where it redirects to."""

    url: str = ""
    status: int = 200
    location: str = ""
    paths: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)


@pytest.fixture
def webhook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Webhook]:
    took = Webhook()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            took.paths.append(self.path)
            took.bodies.append(json.loads(body))
            self.send_response(took.status)
            if took.location:
                self.send_header("Location", took.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        # It has no certificate; what else is refused has its own test.
        monkeypatch.setattr(notices, "_is_https", lambda url: url == took.url)
        took.url = f"http://127.0.0.1:{server.server_port}{SECRET}"
        yield took
        server.shutdown()


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], webhook: Webhook
) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=True) as opened:
        opened.runner.secrets = {"PERF_NOTIFY_URL": webhook.url}
        report = opened.files["perf-report"]["jobs"]["report"]
        report["with"] = {"config": "perf.yml"}
        report["secrets"] = {"notify-url": "${{ secrets.PERF_NOTIFY_URL }}"}
        opened.configuration = "issues: {when: regression}\nnotify: slack\n"
        opened.push(1000)
        yield opened


def shown(project: Project, *outcomes: Outcome) -> str:
    """Everything that a reader sees, without the command by which the runner learns to hide the address."""
    log = "\n".join(line for each in outcomes for line in each.log.splitlines() if not line.startswith("::add-mask::"))
    state = project.fake.state
    issues = [f"{issue.title}\n{issue.body}" for issue in state.issues.values()]
    return "\n".join([log, *issues, *map(str, state.comments.values()), *map(str, state.check_runs.values())])


def test_a_new_issue_is_told_once_and_a_retry_tells_nothing(project: Project, webhook: Webhook) -> None:
    pushed = project.push(SLOWER)
    first = project.report(pushed)
    (issue,) = project.fake.state.issues.values()
    (body,) = webhook.bodies
    assert webhook.paths == [SECRET]
    assert body["text"].splitlines()[0] == "octocat/hello: 1 performance issue opened"
    assert f"|{issue.title}>" in body["text"]
    again = project.report(pushed)
    assert len(webhook.bodies) == 1
    assert "::add-mask::" in first.log
    assert "hunter2" not in shown(project, first, again)


def test_a_lost_answer_of_github_makes_no_second_message(project: Project, webhook: Webhook) -> None:
    """GitHub made the issue, and its answer got lost: the issue is found, and told once."""
    project.fake.faults.append(Fault(request=r"POST /repos/octocat/hello/issues", status=502, applied=True))
    project.report(project.push(SLOWER))
    assert len(project.fake.state.issues) == len(webhook.bodies) == 1


def test_the_fork_has_a_regression_and_no_message(project: Project, webhook: Webhook) -> None:
    """The trusted job of a fork's pull request may read the secret; it opens no issue, so it has nothing to tell."""
    outcomes = []
    for number, is_fork in ((7, True), (8, False)):
        pull = project.open_pull(number, base=project.main, level=SLOWER, merged_level=SLOWER, fork=is_fork)
        outcomes.append(project.report(project.run_pull(pull)))
    assert all("got slower" in outcome.log for outcome in outcomes)
    assert webhook.bodies == []
    assert "hunter2" not in shown(project, *outcomes)


@pytest.mark.parametrize(
    ("status", "location", "message"),
    [(404, "", "it answered 404"), (302, "http://127.0.0.1:1/other", "it answered 302")],
)
def test_a_webhook_that_fails_is_a_warning(
    project: Project, webhook: Webhook, status: int, location: str, message: str
) -> None:
    webhook.status, webhook.location = status, location
    outcome = project.report(project.push(SLOWER))
    assert not outcome.failed
    assert f"the webhook did not take the message: {message}" in outcome.log
    assert len(webhook.bodies) == 1, "no redirect is followed, and nothing is sent again"
    assert "hunter2" not in shown(project, outcome)


def test_a_repository_without_notify_sends_nothing(project: Project, webhook: Webhook) -> None:
    project.configuration = "issues: {when: regression}\n"
    project.push(1000)
    project.report(project.push(SLOWER))
    assert len(project.fake.state.issues) == 1
    assert webhook.bodies == []
