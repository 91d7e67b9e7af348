"""The GitHub operations that commands use, against the fake that checks every request."""

from pathlib import Path

import pytest

from perf_culprit.errors import InfrastructureError, UsageError
from perf_culprit.github.bot_texts import answer_marker
from perf_culprit.github.host import Again, CheckConclusion, CheckResult
from perf_culprit.github.posting import continued_check, upsert_comment
from perf_culprit.github.pull_requests import (
    acknowledge,
    cancel_run,
    may_write,
    read_branch_file,
    read_pull_request,
    run_again,
)
from tests.support.fake_github.clients import connected
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import BOT, FORK_ID, PullRequest, WorkflowRun
from tests.support.git_repository import init_repository, run_git

HEAD = "a" * 40


def test_eyes_are_given_once(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    comment = fake.state.add_comment(issue=7, author="octocat", body="/perf-help")
    for _ in range(2):
        acknowledge(client, comment_id=comment.id)
    assert [reaction[1:] for reaction in comment.reactions] == [(BOT, "eyes")]


@pytest.mark.parametrize(
    ("role", "expected"),
    [("admin", True), ("maintain", True), ("write", True), ("triage", False), ("read", False), ("none", False)],
)
def test_the_permission_of_now_decides(fake: FakeGitHub, role: str, *, expected: bool) -> None:
    client, _ = connected(fake)
    fake.state.roles["someone"] = role
    assert may_write(client, login="someone") is expected


def test_pull_requests_of_forks_are_known(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    fake.state.pulls[7] = PullRequest(number=7, head_sha=HEAD, head_branch="x", head_repository_id=FORK_ID)
    fake.state.pulls[8] = PullRequest(number=8, head_sha=HEAD, head_branch="x", state="closed")
    fork, own = (read_pull_request(client, number=number) for number in (7, 8))
    assert (fork.from_fork, fork.is_open, fork.head_sha) == (True, True, HEAD)
    assert (own.from_fork, own.is_open) == (False, False)


def test_a_file_of_a_branch(tmp_path: Path) -> None:
    bare = init_repository(tmp_path / "bare.git", bare=True)
    work = init_repository(tmp_path / "work")
    (work / "perf.yml").write_text("alpha: 2%\n")
    run_git(work, "add", ".")
    run_git(work, "commit", "--quiet", "--message", "first")
    run_git(work, "push", "--quiet", str(bare), "main")
    with FakeGitHub(git_dir=bare) as fake:
        client, _ = connected(fake)
        assert read_branch_file(client, path="perf.yml", branch="main") == b"alpha: 2%\n"
        assert read_branch_file(client, path="other.yml", branch="main") is None
        with pytest.raises(InfrastructureError, match="not found, or not visible to this token"):
            read_branch_file(client, path="other.yml", branch="gone")
    assert not fake.bad


def test_measuring_again(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    with pytest.raises(UsageError, match=r"no workflow perf\.yml"):
        run_again(client, workflow="perf.yml", head_sha=HEAD)
    workflow = ".github/workflows/perf.yml"
    fake.state.runs[4] = WorkflowRun(id=4, head_sha="b" * 40, workflow=workflow)
    assert run_again(client, workflow="perf.yml", head_sha=HEAD) is None
    fake.state.runs[5] = WorkflowRun(id=5, head_sha=HEAD, workflow=workflow, conclusion="success")
    fake.state.runs[6] = WorkflowRun(id=6, head_sha=HEAD, workflow=workflow, conclusion="failure")
    attempts = [run_again(client, workflow="perf.yml", head_sha=HEAD) for _ in range(2)]
    assert [(attempt.url[-7:], attempt.repeats) for attempt in attempts if attempt] == [
        ("/runs/6", Again.FAILED_JOBS),
        ("/runs/6", Again.NOTHING),
    ]
    del fake.state.runs[6]
    whole = run_again(client, workflow="perf.yml", head_sha=HEAD)
    assert whole is not None
    assert (whole.url[-7:], whole.repeats) == ("/runs/5", Again.ALL_JOBS)


def test_a_command_is_no_approval(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    workflow = ".github/workflows/perf.yml"
    fake.state.runs[5] = WorkflowRun(id=5, head_sha=HEAD, conclusion="action_required", workflow=workflow)
    with pytest.raises(UsageError, match=r"perf\.yml waits for an approval"):
        run_again(client, workflow="perf.yml", head_sha=HEAD)
    assert fake.state.runs[5].attempt == 1


def test_only_what_is_under_way_is_cancelled(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    fake.state.runs[5] = WorkflowRun(id=5, head_sha=HEAD, status="in_progress", conclusion=None)
    assert [cancel_run(client, run_id=number) for number in (5, 5, 6)] == [True, False, False]
    assert fake.state.runs[5].conclusion == "cancelled"


def test_one_answer_per_command(fake: FakeGitHub) -> None:
    client, _ = connected(fake)
    mark = answer_marker(900)
    fake.state.add_comment(issue=7, author="mallory", body=f"{mark}\nbelieve me")
    for body in ("first", "second", "second"):
        upsert_comment(client, number=7, mark=mark, body=body)
    (own,) = (comment for comment in fake.state.comments.values() if comment.author == BOT)
    assert (own.body, own.writes) == (f"{mark}\nsecond", 2)


def test_a_check_run_goes_on_over_jobs(fake: FakeGitHub) -> None:
    checks = []
    for title in ("5 commits left", "2 commits left"):
        client, _ = connected(fake)
        checks.append(continued_check(client, name="bisect", head_sha=HEAD, external_id="bisect-900"))
        checks[-1].update(title=title, summary="s")
    (stored,) = fake.state.check_runs.values()
    assert (stored.status, stored.output["title"]) == ("in_progress", "2 commits left")
    checks[-1].complete(CheckResult(conclusion=CheckConclusion.NEUTRAL, title="found", summary="s"))
    assert (stored.status, stored.conclusion) == ("completed", "neutral")


def test_the_missing_permission_is_named(fake: FakeGitHub) -> None:
    token = fake.add_token("weak", {"metadata": "read"})
    client, _ = connected(fake, token=token)
    comment = fake.state.add_comment(issue=7, author="octocat", body="/perf-help")
    with pytest.raises(InfrastructureError, match="cannot react to the comment") as reaction:
        acknowledge(client, comment_id=comment.id)
    assert "pull-requests: write" in (reaction.value.next_step or "")
    with pytest.raises(InfrastructureError, match="cannot cancel workflow run 5") as cancel:
        cancel_run(client, run_id=5)
    assert "actions: write" in (cancel.value.next_step or "")
