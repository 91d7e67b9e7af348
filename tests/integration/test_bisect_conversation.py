"""A whole `/perf-bisect`: from the comment to the answer, through the workflow files that users paste.

GitHub is the fake, the repository is real, the machines are this one, and the benchmark's numbers are counted.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import BOT, FORK_ID, Comment, PullRequest, WorkflowRun
from tests.support.git_repository import init_repository, run_git
from tests.support.job import JobResult, Runner
from tests.support.measured_repository import COUNTER, RUN, Commit, line, measured_repository
from tests.support.webhooks import event
from tests.support.workflows.runner import PROJECT, Event, JobRun, WorkflowRunner

BLOCK = re.compile(r"^`\.github/workflows/([\w-]+)\.yml`\n\n```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
CONFIGURATION = {
    "bisect": {
        "run": RUN,
        "benchmark": "result",
        "metric": "value",
        "jobs-per-round": 2,
        "rounds-per-job": 4,
        "runner": "ubuntu-24.04",
    }
}
COUNT = 6
STEP = 4
MOST_DISPATCHES = 30


def callers() -> dict[str, Any]:
    """The workflow files of the documentation's short form."""
    short = (PROJECT / "docs" / "workflows.md").read_text(encoding="utf-8").partition("## Long form")[0]
    return {name: yaml.safe_load(text) for name, text in BLOCK.findall(short)}


@dataclass(kw_only=True, slots=True)
class Conversation:
    """Pull request #7 in a repository that uses our four workflows."""

    fake: FakeGitHub
    workflows: WorkflowRunner
    commits: dict[str, str]
    files: dict[str, Any] = field(default_factory=callers)
    dispatched: int = 0

    @property
    def main(self) -> str:
        return self.commits["c0"]

    def say(self, body: str, *, author: str = "octocat") -> Comment:
        comment = self.fake.state.add_comment(issue=7, author=author, body=body)
        self.deliver(comment)
        return comment

    def deliver(self, comment: Comment) -> list[JobRun]:
        payload = event(
            "issue_comment",
            number=7,
            comment_id=comment.id,
            comment_body=comment.body,
            author=comment.author,
        )
        return self.start("perf-command", "issue_comment", payload)

    def push(self, head: str) -> list[JobRun]:
        """A new head: the measuring workflow runs on it, and the report workflow after it."""
        pull = self.fake.state.pulls[7]
        pull.head_sha = head
        run_id = next(self.fake.state.ids)
        self.fake.state.runs[run_id] = run = WorkflowRun(
            id=run_id, head_sha=head, head_branch=pull.head_branch, workflow=".github/workflows/perf.yml"
        )
        facts = {"head_sha": head, "head_owner": pull.head_owner, "head_branch": pull.head_branch}
        payload = event("pull_request", number=7, base_sha=self.main, **facts)
        self.start("perf", "pull_request", payload, run_id=run_id, ref="refs/pull/7/merge", base_ref="main")
        done = event("workflow_run", run_id=run_id, workflow=run.workflow, workflow_name="perf", **facts)
        return self.start("perf-report", "workflow_run", done)

    def measure(self) -> bool:
        """The next dispatch that waits: the bisect workflow runs, its last job reports."""
        if self.dispatched == len(self.fake.state.dispatches):
            return False
        dispatch = self.fake.state.dispatches[self.dispatched]
        self.dispatched += 1
        run = self.fake.state.runs[dispatch["run_id"]]
        run.status = "in_progress"
        payload = event("workflow_dispatch", inputs=dispatch["inputs"], workflow=run.workflow)
        self.start("perf-bisect", "workflow_dispatch", payload, run_id=run.id)
        run.status, run.conclusion = "completed", "success"
        return True

    def complete(self, run_id: int) -> list[JobRun]:
        """Where GitHub sends a workflow_run for the dispatched run as well, and somebody listens to it."""
        run = self.fake.state.runs[run_id]
        payload = event(
            "workflow_run",
            run_id=run.id,
            run_event=run.event,
            workflow=run.workflow,
            workflow_name="perf-bisect",
            head_sha=run.head_sha,
            head_branch="main",
            conclusion=run.conclusion,
        )
        payload["workflow_run"]["display_title"] = run.title
        return self.start("perf-report", "workflow_run", payload)

    def start(
        self,
        name: str,
        event_name: str,
        payload: dict[str, Any],
        *,
        run_id: int = 55,
        ref: str = "refs/heads/main",
        base_ref: str = "",
    ) -> list[JobRun]:
        payload["repository"]["default_branch"] = "main"
        started = Event(name=event_name, payload=payload, sha=self.main, run_id=run_id, ref=ref, base_ref=base_ref)
        jobs = self.workflows.run(self.files[name], started)
        assert not any(job.failed for job in jobs), "\n".join(job.log for job in jobs)
        return jobs

    def answer(self, comment: Comment) -> str:
        mark = f"<!-- perf-culprit:v1:answer:{comment.id} -->\n"
        (body,) = (
            answer.body.removeprefix(mark)
            for answer in self.fake.state.comments.values()
            if answer.author == BOT and answer.body.startswith(mark)
        )
        return body


@pytest.fixture
def conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Conversation]:
    configured = {".perf-culprit.yml": yaml.safe_dump(CONFIGURATION)}
    history = {**line(COUNT, step_at=STEP), "c0": Commit(level=1000, files=configured)}
    commits = measured_repository(tmp_path / "source", history)
    bare = init_repository(tmp_path / "served.git", bare=True)
    source = tmp_path / "source"
    run_git(source, "push", "--quiet", str(bare), f"{commits['c0']}:refs/heads/main")
    head = commits[f"c{COUNT - 1}"]
    # Of a fork's pull request GitHub serves the commits, but no branch.
    run_git(source, "push", "--quiet", str(bare), f"{head}:refs/pull/7/head")
    run_git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    run_git(bare, "config", "uploadpack.allowFilter", "true")
    with FakeGitHub(git_dir=bare) as fake:
        fake.state.pulls[7] = PullRequest(
            number=7, head_sha=head, head_branch="faster", head_owner="mallory", head_repository_id=FORK_ID
        )
        action = Runner(
            fake=fake, workspace=tmp_path, temp=tmp_path / "action", monkeypatch=monkeypatch, capture=capsys
        )
        workflows = WorkflowRunner(
            fake=fake, action=action, temp=tmp_path / "jobs", variables={COUNTER: str(tmp_path / "counter")}
        )
        talk = Conversation(fake=fake, workflows=workflows, commits=commits)
        for name, job in (("perf-command", "command"), ("perf-report", "report"), ("perf-bisect", "report")):
            talk.files[name]["jobs"][job]["with"] = {"config": ".perf-culprit.yml"}
        # Nothing is installed for the tests, and the benchmark is ours.
        del talk.files["perf-bisect"]["jobs"]["bisect"]["with"]["setup"]
        talk.files["perf"]["jobs"]["measure"]["with"] = {"run": RUN, "setup": "test -d .git"}
        yield talk
    assert not fake.bad


@pytest.mark.slow  # real processes measure real worktrees, some dozen times
def test_from_the_comment_to_the_culprit(conversation: Conversation) -> None:
    head = conversation.commits[f"c{COUNT - 1}"]
    asked = conversation.say("/perf-bisect")
    assert f"/perf-bisect {head}" in conversation.answer(asked)
    assert not conversation.fake.state.dispatches

    asked = conversation.say(f"/perf-bisect {head}\n\nplease")
    assert [content for _, _, content in asked.reactions] == ["eyes"]
    assert "Bisecting `result`" in conversation.answer(asked)
    (check,) = conversation.fake.state.check_runs.values()
    assert (check.status, check.head_sha, check.external_id) == ("in_progress", head, f"bisect-{asked.id}")

    # GitHub delivers the comment twice: the same answer, no second dispatch.
    conversation.deliver(asked)
    assert len(conversation.fake.state.dispatches) == 1

    titles: list[str] = []
    while conversation.measure() and len(titles) < MOST_DISPATCHES:
        titles.append(check.output["title"])
    answer = conversation.answer(asked)
    assert "### One commit brought the change" in answer, answer
    assert f"`{conversation.commits[f'c{STEP}'][:7]}`" in answer.partition("Measured")[0]
    assert (check.status, check.conclusion) == ("completed", "neutral")
    assert check.output["title"] == "One commit brought the change"
    assert len(conversation.fake.state.check_runs) == 1
    assert len({dispatch["inputs"]["dispatch"] for dispatch in conversation.fake.state.dispatches}) == len(titles)

    # A re-run of the report workflow of an old run changes nothing.
    before = len(conversation.fake.state.dispatches)
    conversation.complete(conversation.fake.state.dispatches[0]["run_id"])
    assert len(conversation.fake.state.dispatches) == before
    assert conversation.answer(asked) == answer


@pytest.mark.slow  # the same machinery for one dispatch
def test_a_push_ends_the_bisection(conversation: Conversation) -> None:
    head = conversation.commits[f"c{COUNT - 1}"]
    asked = conversation.say(f"/perf-bisect {head} jobs=1")
    conversation.fake.state.pulls[7].head_sha = conversation.commits["c2"]
    assert conversation.measure()
    assert not conversation.measure()
    answer = conversation.answer(asked)
    assert answer.startswith(f"**Stopped:** the head of the pull request has moved on from {head[:10]}.")
    (check,) = conversation.fake.state.check_runs.values()
    assert check.conclusion == "cancelled"


@pytest.mark.slow  # a few dispatches, until the small budget is spent
def test_a_spent_budget_gives_the_answer_so_far(conversation: Conversation) -> None:
    head = conversation.commits[f"c{COUNT - 1}"]
    asked = conversation.say(f"/perf-bisect {head} jobs=1 budget=12")
    dispatches = 0
    while conversation.measure():
        dispatches += 1
        assert dispatches < MOST_DISPATCHES
    answer = conversation.answer(asked)
    assert "The budget was spent before the answer was sure" in answer, answer
    assert "Measured, against the good commit of the same rounds" in answer
    (check,) = conversation.fake.state.check_runs.values()
    assert (check.status, check.conclusion) == ("completed", "neutral")


@pytest.mark.slow  # two measurements, and a bisection that is begun
def test_from_the_push_to_the_ready_command_and_away_again(conversation: Conversation) -> None:
    head = conversation.commits[f"c{COUNT - 1}"]
    conversation.push(head)
    (report,) = conversation.fake.state.comments.values()
    assert "1 benchmark got worse" in report.body
    (ready,) = re.findall(r"^/perf-bisect .*$", report.body, re.MULTILINE)
    assert ready == f'/perf-bisect {head} benchmark="result"'

    asked = conversation.say(f"/perf-bisect {head} jobs=1")
    (dispatch,) = conversation.fake.state.dispatches
    bisecting = conversation.fake.state.runs[dispatch["run_id"]]
    bisecting.status = "in_progress"
    conversation.push(conversation.commits["c2"])
    # The pull request moved on while machines were measuring: they are stopped, and nothing more is sent.
    assert (bisecting.status, bisecting.conclusion) == ("completed", "cancelled")
    assert conversation.answer(asked).startswith("**Stopped:** the head of the pull request has moved on")
    conversation.complete(bisecting.id)
    assert len(conversation.fake.state.dispatches) == 1
    assert "got worse" not in report.body


@pytest.mark.slow  # one dispatch that is lost and one that is measured
def test_retry_goes_on_after_a_lost_run(conversation: Conversation) -> None:
    head = conversation.commits[f"c{COUNT - 1}"]
    asked = conversation.say(f"/perf-bisect {head} jobs=1")
    (lost,) = conversation.fake.state.dispatches
    # The runner died and nobody told us: the run is over without a result.
    run = conversation.fake.state.runs[lost["run_id"]]
    run.status, run.conclusion = "completed", "failure"
    conversation.dispatched = 1
    retry = conversation.say("/perf-retry")
    assert "goes on" in conversation.answer(retry)
    first, second = conversation.fake.state.dispatches
    assert first["inputs"]["dispatch"] != second["inputs"]["dispatch"]
    assert "lost and will be measured again" in conversation.answer(asked)
    assert conversation.measure()
    assert " 0 executions" not in conversation.answer(asked)


RIGHTS = {"actions": "write", "checks": "write", "contents": "write", "pull-requests": "write"}


@pytest.mark.parametrize(
    ("missing", "left", "named"),
    [
        ("actions", "read", "actions: write"),
        ("contents", "read", "contents: write"),
        ("contents", "none", "contents: read"),
        ("pull-requests", "read", "pull-requests: write"),
    ],
)
def test_a_missing_permission_is_named(conversation: Conversation, missing: str, left: str, named: str) -> None:
    """One right less than the workflow file gives; where the thread can be answered, it is told there too."""
    head = conversation.commits[f"c{COUNT - 1}"]
    comment = conversation.fake.state.add_comment(issue=7, author="octocat", body=f"/perf-bisect {head}")
    result = command_with(conversation, comment, RIGHTS | {missing: left})
    assert result.exit_code == 4, result.log
    assert named in result.log
    assert "weak-token" not in result.log
    assert not conversation.fake.state.dispatches
    if missing != "pull-requests":
        assert named in conversation.answer(comment)


def test_without_checks_the_thread_tells_the_progress(conversation: Conversation) -> None:
    head = conversation.commits[f"c{COUNT - 1}"]
    comment = conversation.fake.state.add_comment(issue=7, author="octocat", body=f"/perf-bisect {head}")
    result = command_with(conversation, comment, RIGHTS | {"checks": "none"})
    assert result.exit_code == 0, result.log
    assert "checks: write" in result.log or "checks: read" in result.log
    assert "Bisecting `result`" in conversation.answer(comment)
    assert len(conversation.fake.state.dispatches) == 1


def command_with(conversation: Conversation, comment: Comment, granted: dict[str, str]) -> JobResult:
    """The command job with a token of these rights."""
    action = conversation.workflows.action
    action.token = conversation.fake.add_token("weak-token", granted)
    payload = event("issue_comment", number=7, comment_id=comment.id, comment_body=comment.body, author=comment.author)
    payload["repository"]["default_branch"] = "main"
    return action.run("issue_comment", payload, mode="command", config=".perf-culprit.yml")
