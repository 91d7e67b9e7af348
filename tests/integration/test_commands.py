"""Commands from webhook to answer, without a bisection: permissions, ignored comments, and one answer each."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from perf_culprit.github.bot_texts import benchmark_key, issue_marker
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import BOT, FORK_ID, Comment, PullRequest, WorkflowRun
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.job import JobResult, Runner
from tests.support.webhooks import event

HEAD = "a" * 40


@pytest.fixture
def github(tmp_path: Path) -> Iterator[FakeGitHub]:
    bare = init_repository(tmp_path / "served.git", bare=True)
    commits = import_commits(bare, chain("main", 1))
    run_git(bare, "update-ref", "refs/heads/main", commits["main1"])
    with FakeGitHub(git_dir=bare) as server:
        yield server
    assert not server.bad


@pytest.fixture
def runner(
    tmp_path: Path, github: FakeGitHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Runner:
    workspace, fake = tmp_path / "workspace", github
    workspace.mkdir()
    fake.state.pulls[7] = PullRequest(number=7, head_sha=HEAD, head_branch="faster")
    return Runner(fake=fake, workspace=workspace, temp=tmp_path / "temp", monkeypatch=monkeypatch, capture=capsys)


def say(runner: Runner, body: str, *, author: str = "octocat", action: str = "created", **facts: Any) -> JobResult:
    """A comment on #7 and the command job that GitHub starts for it."""
    comment = runner.fake.state.add_comment(issue=7, author=author, body=body)
    return deliver(runner, comment, action=action, **facts)


def deliver(runner: Runner, comment: Comment, *, action: str = "created", **facts: Any) -> JobResult:
    payload = event(
        "issue_comment" if action == "created" else f"issue_comment_{action}",
        number=comment.issue,
        comment_id=comment.id,
        comment_body=comment.body,
        author=comment.author,
        **facts,
    )
    payload["repository"]["default_branch"] = "main"
    return runner.run("issue_comment", payload)


def answers(runner: Runner) -> list[str]:
    return [comment.body for comment in runner.fake.state.comments.values() if comment.author == BOT]


def writes(runner: Runner) -> list[str]:
    return [str(exchange) for exchange in runner.fake.log if exchange.request.method != "GET"]


def test_help_is_answered_once_and_seen_at_once(runner: Runner) -> None:
    result = say(runner, "/perf-help")
    assert result.exit_code == 0, result.log
    (answer,) = answers(runner)
    (asked,) = (comment for comment in runner.fake.state.comments.values() if comment.author == "octocat")
    assert answer.startswith(f"<!-- perf-culprit:v1:answer:{asked.id} -->\n")
    assert "/perf-bisect" in answer
    assert str(runner.fake.log[0]).startswith(f"POST /repos/octocat/hello/issues/comments/{asked.id}/reactions")
    assert [reaction[1:] for reaction in asked.reactions] == [(BOT, "eyes")]
    before = len(writes(runner))
    again = deliver(runner, asked)
    assert "answered before" in again.log
    assert [entry.rpartition("/")[2] for entry in writes(runner)[before:]] == ["reactions -> 200"]


def test_help_for_somebody_without_rights_is_a_reaction_only(runner: Runner) -> None:
    result = say(runner, "/perf-help", author="stranger")
    assert result.exit_code == 0, result.log
    assert answers(runner) == []
    (asked,) = (comment for comment in runner.fake.state.comments.values() if comment.author == "stranger")
    assert [reaction[1:] for reaction in asked.reactions] == [(BOT, "eyes")]


@pytest.mark.parametrize(
    ("body", "author", "action"),
    [
        ("/perf-help", "octocat", "edited"),
        ("/perf-help", "octocat", "deleted"),
        ("/perf-bisect", "dependabot[bot]", "created"),
        ("/perf-bisect", BOT, "created"),
        ("what does /perf-bisect do?", "octocat", "created"),
        (" /perf-bisect", "octocat", "created"),
        ("> /perf-bisect\n\nyes", "octocat", "created"),
    ],
)
def test_what_is_no_command_sends_nothing(runner: Runner, body: str, author: str, action: str) -> None:
    result = say(runner, body, author=author, action=action)
    assert result.exit_code == 0, result.log
    assert "nothing to do" in result.log
    assert runner.fake.log == []


@pytest.mark.parametrize("role", ["triage", "read", "none"])
@pytest.mark.parametrize("body", ["/perf-bisect", "/perf-bisct", "/perf-retry", "/perf-accept all fine"])
def test_commands_need_write_permission(runner: Runner, role: str, body: str) -> None:
    runner.fake.state.roles["mallory"] = role
    # The payload's claims about the author do not count.
    result = say(runner, body, author="mallory", author_association="MEMBER")
    assert result.exit_code == 0, result.log
    (answer,) = answers(runner)
    assert "`mallory` does not have write access to this repository." in answer
    assert not runner.fake.state.dispatches


@pytest.mark.parametrize("role", ["write", "maintain", "admin"])
def test_who_may_write_may_command(runner: Runner, role: str) -> None:
    runner.fake.state.roles["maintainer"] = role
    say(runner, "/perf-bisct", author="maintainer")
    (answer,) = answers(runner)
    assert "`/perf-bisct` isn't a command" in answer
    assert "`/perf-retry,`" in answer or "/perf-retry" in answer


def test_a_fork_needs_the_commit_by_name(runner: Runner) -> None:
    runner.fake.state.pulls[7].head_repository_id = FORK_ID
    runner.fake.state.pulls[7].head_owner = "mallory"
    say(runner, "/perf-bisect")
    say(runner, f"/perf-bisect {'b' * 40}")
    bare, other = answers(runner)
    assert f"```text\n/perf-bisect {HEAD}\n```" in bare
    assert "Read what has changed since" in other
    assert not runner.fake.state.dispatches


def test_a_closed_pull_request_is_left_alone(runner: Runner) -> None:
    runner.fake.state.pulls[7].state = "closed"
    say(runner, "/perf-bisect")
    assert "closed" in answers(runner)[0]


def test_retry_measures_again(runner: Runner) -> None:
    workflow = ".github/workflows/perf.yml"
    runner.fake.state.runs[5] = WorkflowRun(id=5, head_sha=HEAD, conclusion="failure", workflow=workflow)
    say(runner, "/perf-retry")
    assert runner.fake.state.runs[5].attempt == 2
    assert "Measuring again (failed jobs)" in answers(runner)[0]
    say(runner, "/perf-retry")
    assert "still under way" in answers(runner)[1]


def test_accepting_in_a_pull_request_is_stored_with_author_and_reason(runner: Runner) -> None:
    result = say(runner, '/perf-accept "sort large" the new grammar is worth it')
    assert result.exit_code == 0, result.log
    (answer,) = answers(runner)
    assert f"**Accepted** at `{HEAD[:10]}`: `sort large`." in answer
    assert "Reason: the new grammar is worth it (`octocat`)" in answer
    assert answer.endswith("No stored run could confirm that name: compare it with the report.\n")
    assert runner.fake.git_dir is not None
    listed = run_git(runner.fake.git_dir, "ls-tree", "-r", "--name-only", "perf-history").splitlines()
    (stored,) = [name for name in listed if name.startswith("accepted")]
    text = run_git(runner.fake.git_dir, "show", f"perf-history:{stored}")
    for part in (HEAD, "octocat", "sort large", "the new grammar is worth it"):
        assert part in text


def test_accepting_in_an_issue_takes_the_commit_of_our_own_issue_only(runner: Runner) -> None:
    commit = "c" * 40
    marker = issue_marker("default", key=benchmark_key("parse"), worse=True, commit=commit)
    issue: dict[str, Any] = {"on_pull_request": False, "issue_body": f"{marker}\nslow"}
    say(runner, "/perf-accept parse wanted", issue_author="mallory", **issue)
    say(runner, "/perf-accept parse wanted", issue_author=BOT, **issue)
    foreign, own = answers(runner)
    assert "nothing says which commit is meant" in foreign
    assert f"**Accepted** at `{commit[:10]}`: `parse`." in own


def test_an_issue_has_no_head_and_needs_both_ends(runner: Runner) -> None:
    say(runner, f"/perf-bisect {HEAD}", on_pull_request=False)
    say(runner, "/perf-bisect", on_pull_request=False)
    say(runner, "/perf-retry", on_pull_request=False)
    head, bare, retry = answers(runner)
    assert "an issue has no head" in head
    assert "in an issue both ends are needed" in bare
    assert "no bisection of this issue is unfinished" in retry


def test_commits_of_nowhere_are_not_measured(runner: Runner) -> None:
    """GitHub serves the commits of every fork under our address: commits outside trusted branches are refused."""
    assert runner.fake.git_dir is not None
    strange = import_commits(runner.fake.git_dir, chain("strange", 1))["strange1"]
    run_git(runner.fake.git_dir, "update-ref", "refs/perf-culprit/strange", strange)
    run_git(runner.fake.git_dir, "update-ref", "-d", "refs/heads/strange1")
    main = run_git(runner.fake.git_dir, "rev-parse", "main")
    for bad in (strange, "-x", "no-such-branch"):
        say(runner, f"/perf-bisect good={main} bad={bad}", on_pull_request=False)
    unreachable, option, unknown = answers(runner)
    assert "is neither in this pull request nor on a branch that is searched" in unreachable
    assert "isn't a commit" in option
    assert "is neither in this pull request nor on a branch that is searched" in unknown
    assert not runner.fake.state.dispatches


@pytest.mark.parametrize(
    ("granted", "named"),
    [
        ({"metadata": "read"}, "pull-requests: write"),
        ({"pull-requests": "write", "contents": "read"}, "actions: read"),
        ({"pull-requests": "write", "contents": "read", "actions": "read"}, "actions: write"),
    ],
)
def test_the_missing_permission_is_named(runner: Runner, granted: dict[str, str], named: str) -> None:
    workflow = ".github/workflows/perf.yml"
    runner.fake.state.runs[5] = WorkflowRun(id=5, head_sha=HEAD, conclusion="failure", workflow=workflow)
    runner.token = runner.fake.add_token("weak", granted)
    result = say(runner, "/perf-retry")
    assert result.exit_code == 4
    assert named in result.log
    assert "weak" not in result.log
    if "pull-requests" in granted:
        assert named in answers(runner)[0]


def test_mode_command_fits_no_other_event(runner: Runner) -> None:
    result = runner.run("push", event("push", head_sha=HEAD), mode="command")
    assert result.exit_code == 2
    assert "issue_comment" in result.log
    result = runner.run("push", event("push", head_sha=HEAD), mode="bisect")
    assert result.exit_code == 2
    assert "workflow_dispatch" in result.log
