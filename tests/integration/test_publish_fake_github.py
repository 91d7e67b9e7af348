"""The fake itself: it must refuse what GitHub refuses, or the other tests prove nothing."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from tests.support.fake_github.clients import connected
from tests.support.fake_github.operations import OPERATIONS
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.fake_github.state import BOT, PullRequest, WorkflowRun

HEAD = "a" * 40


@pytest.fixture
def strict() -> Iterator[FakeGitHub]:
    """Start a fake for requests that are wrong on purpose."""
    with FakeGitHub() as server:
        yield server


def send(fake: FakeGitHub, method: str, path: str, body: object = None, *, token: str = BOT_TOKEN) -> requests.Response:
    url = f"{fake.api_url}/repos/octocat/hello{path}"
    return requests.request(method, url, json=body, headers={"Authorization": f"Bearer {token}"}, timeout=5)


def check_run_body(**output: object) -> dict[str, object]:
    return {"name": "x", "head_sha": HEAD, "output": {"title": "t", "summary": "s"} | output}


NOTE = {"path": "a", "start_line": 1, "end_line": 1, "annotation_level": "notice", "message": "m"}
WRONG = [
    pytest.param("GET", "/issues/7/timeline", None, "no such operation", id="unknown path"),
    pytest.param("PUT", "/issues/7/comments", None, "no such operation", id="unknown method"),
    pytest.param("GET", "/issues/seven/comments", None, "path issue_number='seven'", id="path type"),
    pytest.param("GET", "/issues/7/comments?per_page=many", None, "query per_page='many'", id="query type"),
    pytest.param("GET", "/issues/7/comments?order=asc", None, "unknown query parameter order", id="unknown query"),
    pytest.param("POST", "/issues/7/comments", None, "the body is missing", id="no body"),
    pytest.param("POST", "/issues/7/comments", {"body": 7}, "7 is not of type 'string'", id="body type"),
    pytest.param("POST", "/issues/7/comments", {}, "'body' is a required property", id="missing field"),
    pytest.param("POST", "/issues/7/comments", {"body": "x", "bdy": 1}, "unknown body field bdy", id="unknown field"),
    pytest.param("GET", "/issues/7/comments", {"a": 1}, "without one", id="body where none belongs"),
    pytest.param("POST", "/check-runs", {"name": "x", "head_sha": HEAD, "status": "done"}, "body", id="enum"),
    pytest.param(
        "POST", "/check-runs", {"name": "x", "head_sha": HEAD, "details_url": 1}, "not of type 'string'", id="nested"
    ),
    pytest.param("POST", "/check-runs", check_run_body(annotations=[NOTE] * 51), "annotations", id="annotations"),
    pytest.param("POST", "/check-runs", check_run_body(summary="x" * 65_536), "body output/summary", id="summary"),
]


@pytest.mark.parametrize(("method", "path", "body", "violation"), WRONG)
def test_reports_requests_that_github_does_not_describe(
    strict: FakeGitHub, method: str, path: str, body: object, violation: str
) -> None:
    response = send(strict, method, path, body)
    assert response.status_code in (404, 422)
    assert any(violation in entry for entry in strict.bad), strict.bad


def test_reports_answers_of_its_own_that_are_wrong(strict: FakeGitHub, monkeypatch: pytest.MonkeyPatch) -> None:
    strict.state.add_comment(issue=7, author="octocat", body="x")
    honest = type(strict.shapes).comment
    broken = {"url": "not a url", "created_at": "yesterday"}
    monkeypatch.setattr(type(strict.shapes), "comment", lambda shapes, item: honest(shapes, item) | broken)
    send(strict, "GET", "/issues/7/comments")
    assert any("'not a url' is not a 'uri'" in entry for entry in strict.bad)
    assert any("'yesterday' is not a 'date-time'" in entry for entry in strict.bad)


def test_reports_credentials_sent_to_the_artifact_store(strict: FakeGitHub) -> None:
    artifact = strict.state.add_artifact(name="x", run_id=1, head_sha=HEAD, zip_bytes=b"zip")
    url = f"{strict.store_url}/{artifact.id}/x.zip"
    assert requests.get(url, headers={"Authorization": "Bearer bot-token"}, timeout=5).status_code == 403
    assert strict.bad


@pytest.mark.parametrize(
    ("method", "path", "granted", "accepted"),
    [
        ("POST", "/issues/7/comments", {"issues": "read"}, "issues=write; pull_requests=write"),
        ("POST", "/check-runs", {"checks": "read"}, "checks=write"),
        ("GET", "/commits/main/check-runs", {"contents": "write"}, "checks=read"),
        ("GET", "/actions/runs/5", {}, "actions=read"),
        ("GET", "/pulls", {}, "pull_requests=read"),
        ("POST", "/actions/workflows/x.yml/dispatches", {"actions": "read"}, "actions=write"),
        ("GET", "/contents/README.md", {}, "contents=read"),
    ],
)
def test_refuses_tokens_that_lack_a_permission(
    fake: FakeGitHub, method: str, path: str, granted: dict[str, str], *, accepted: str
) -> None:
    bodies = {"comments": {"body": "x"}, "check-runs": {"name": "x", "head_sha": HEAD}, "dispatches": {"ref": "main"}}
    fake.add_token("weak", granted)
    body = bodies.get(path.rsplit("/", 1)[-1]) if method == "POST" else None
    response = send(fake, method, path, body, token="weak")
    assert response.status_code == 403
    assert response.json()["message"] == "Resource not accessible by integration"
    assert response.headers["x-accepted-github-permissions"] == accepted


def test_pages_link_to_each_other(fake: FakeGitHub) -> None:
    for index in range(5):
        fake.state.add_comment(issue=7, author="octocat", body=str(index))
    response = send(fake, "GET", "/issues/7/comments?per_page=2&page=2")
    assert [comment["body"] for comment in response.json()] == ["2", "3"]
    assert {name: link["url"].partition("page=2&")[2] for name, link in response.links.items()} == {
        "next": "page=3",
        "last": "page=3",
        "first": "page=1",
        "prev": "page=1",
    }


def test_limits_the_length_of_comments(fake: FakeGitHub) -> None:
    refused = send(fake, "POST", "/issues/7/comments", {"body": "x" * 65_537})
    assert refused.status_code == 422
    assert "Body is too long (maximum is 65536 characters)" in refused.text


def test_a_dispatch_answers_with_or_without_details(fake: FakeGitHub) -> None:
    path = "/actions/workflows/bisect.yml/dispatches"
    assert send(fake, "POST", path, {"ref": "main", "inputs": {"sha": HEAD}}).status_code == 204
    detailed = send(fake, "POST", path, {"ref": "main", "return_run_details": True})
    assert detailed.status_code == 200
    assert [dispatch["run_id"] for dispatch in fake.state.dispatches][-1] == detailed.json()["workflow_run_id"]


def test_runs_are_listed_cancelled_and_run_again(fake: FakeGitHub) -> None:
    fake.state.runs[5] = WorkflowRun(id=5, head_sha=HEAD, conclusion="failure", workflow=".github/workflows/perf.yml")
    fake.state.runs[6] = WorkflowRun(id=6, head_sha=HEAD, workflow=".github/workflows/perf.yml")
    listed = send(fake, "GET", f"/actions/workflows/perf.yml/runs?head_sha={HEAD}").json()["workflow_runs"]
    assert [(run["id"], run["status"]) for run in listed] == [(6, "completed"), (5, "completed")]
    assert send(fake, "GET", "/actions/workflows/other.yml/runs").status_code == 404
    assert send(fake, "POST", "/actions/runs/6/rerun-failed-jobs").status_code == 403
    assert send(fake, "POST", "/actions/runs/5/rerun-failed-jobs").status_code == 201
    assert send(fake, "POST", "/actions/runs/5/rerun").status_code == 403
    assert (fake.state.runs[5].status, fake.state.runs[5].attempt) == ("queued", 2)
    assert send(fake, "POST", "/actions/runs/5/cancel").status_code == 202
    assert send(fake, "POST", "/actions/runs/5/cancel").status_code == 409
    assert send(fake, "POST", "/actions/runs/5/rerun").status_code == 201


def test_a_real_client_uses_every_kind_of_object(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    repository = client.repository
    fake.state.roles["maintainer"] = "maintain"
    fake.state.runs[5] = WorkflowRun(id=5, head_sha=HEAD)
    fake.state.pulls[7] = PullRequest(number=7, head_sha=HEAD, head_branch="x")
    comment = repository.get_issue(7).create_comment("x")
    comment.create_reaction("eyes")
    assert [reaction.content for reaction in comment.get_reactions()] == ["eyes"]
    comment.minimize("OUTDATED")
    assert fake.state.comments[comment.id].minimized
    assert repository.get_collaborator_permission("maintainer") == "write"
    assert repository.get_workflow_run(5).event == "pull_request"
    assert [pull.number for pull in repository.get_commit(HEAD).get_pulls()] == [7]
    issue = repository.create_issue("Slower", body="b", labels=["performance"])
    issue.edit(state="closed")
    assert [entry.number for entry in repository.get_issues(state="closed")] == [issue.number]
    repository.get_commit(HEAD).create_status("success", context="performance")
    assert fake.state.statuses[0]["context"] == "performance"
    assert repository.default_branch == "main"


def test_every_described_operation_is_there(fake: FakeGitHub) -> None:
    assert {operation.id for operation in fake.description.operations} == set(OPERATIONS)


# --- git over HTTP


@pytest.fixture
def with_git(tmp_path: Path) -> Iterator[FakeGitHub]:
    bare, work = tmp_path / "bare.git", tmp_path / "work"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(bare))
    git(tmp_path, "init", "-q", "-b", "main", str(work))
    (work / "README.md").write_text("hello\n", encoding="utf-8")
    git(work, "add", ".")
    git(work, "commit", "-q", "-m", "first")
    git(work, "push", "-q", str(bare), "main")
    git(work, "commit", "-q", "--allow-empty", "-m", "second")
    git(work, "push", "-q", str(bare), "HEAD:refs/heads/topic")
    with FakeGitHub(git_dir=bare) as server:
        yield server
    assert not server.bad


def git(directory: Path, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    identity = ["-c", "user.name=Octocat", "-c", "user.email=octocat@example.com", "-c", "credential.helper="]
    command = ["git", *identity, *arguments]
    environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "GIT_TERMINAL_PROMPT": "0", "HOME": str(directory)}
    return subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, check=check)


def test_serves_clones_and_pushes_to_tokens_that_may(with_git: FakeGitHub, tmp_path: Path) -> None:
    with_git.add_token("reader", {"contents": "read"})
    address = with_git.url.removeprefix("http://")
    writer, reader = (f"http://x-access-token:{token}@{address}/octocat/hello.git" for token in ("bot-token", "reader"))
    git(tmp_path, "clone", "-q", writer, "clone")
    clone = tmp_path / "clone"
    git(clone, "push", "-q", "origin", "HEAD:refs/heads/perf-history")
    assert "perf-history" in git(clone, "ls-remote", reader).stdout
    refused = git(clone, "push", "-q", reader, "HEAD:refs/heads/other", check=False)
    assert refused.returncode != 0
    stranger = git(clone, "ls-remote", f"http://x-access-token:nobody@{address}/octocat/hello.git", check=False)
    assert stranger.returncode != 0


def test_serves_git_data(with_git: FakeGitHub) -> None:
    client, _ = connected(with_git)
    repository = client.repository
    topic = repository.get_git_ref("heads/topic").object.sha
    assert repository.get_contents("README.md", ref="main").decoded_content == b"hello\n"  # type: ignore[union-attr]  # one file, no list
    comparison = repository.compare("main", "topic")
    assert (comparison.status, comparison.ahead_by, comparison.behind_by) == ("ahead", 1, 0)
    repository.create_git_ref("refs/heads/new", topic)
    assert repository.get_git_ref("heads/new").object.sha == topic


def test_only_the_author_may_edit(fake: FakeGitHub) -> None:
    comment = fake.state.add_comment(issue=7, author="octocat", body="x")
    assert send(fake, "PATCH", f"/issues/comments/{comment.id}", {"body": "y"}).status_code == 403
    own = fake.state.add_comment(issue=7, author=BOT, body="x")
    assert send(fake, "DELETE", f"/issues/comments/{own.id}").status_code == 204
