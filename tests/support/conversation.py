"""A pull request in a repository that uses our four workflows, on a fake GitHub and on this machine."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import BOT, FORK_ID, Comment, PullRequest, WorkflowRun
from tests.support.git_repository import init_repository
from tests.support.measured_repository import COUNTER, RUN, Commit, line, measured_repository
from tests.support.recipes import SPLIT, workflows
from tests.support.webhooks import event
from tests.support.workflows.runner import Event, JobRun, OwnAction, WorkflowRunner

BISECT = {
    "benchmark": "result",
    "metric": "value",
    "jobs-per-round": 2,
    "rounds-per-job": 4,
    "runner": "ubuntu-24.04",
}
# Collapsed stacks in which one method takes what is measured.
PROFILE = "echo main\\;parse 1000; echo main\\;work $(cat value)"
COUNT = 6
STEP = 4
MOST_DISPATCHES = 30


@dataclass(kw_only=True, slots=True)
class Conversation:
    """Pull request #7 in a repository that uses our four workflows."""

    fake: FakeGitHub
    workflows: WorkflowRunner
    commits: dict[str, str]
    files: dict[str, Any] = field(default_factory=lambda: workflows(SPLIT))
    dispatched: int = 0

    @property
    def main(self) -> str:
        return self.commits["c0"]

    @property
    def head(self) -> str:
        return self.commits[f"c{COUNT - 1}"]

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
        """Push a new head: run the measuring workflow on it, and then the report workflow."""
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
        """Run the bisect workflow of the next waiting dispatch, whose last job reports; False if none waits."""
        if self.dispatched == len(self.fake.state.dispatches):
            return False
        dispatch = self.fake.state.dispatches[self.dispatched]
        self.dispatched += 1
        # GitHub refuses inputs that the workflow does not declare, and dispatches without required ones.
        assert set(dispatch["inputs"]) == set(self.files["perf-bisect"][True]["workflow_dispatch"]["inputs"])
        run = self.fake.state.runs[dispatch["run_id"]]
        run.status = "in_progress"
        payload = event("workflow_dispatch", inputs=dispatch["inputs"], workflow=run.workflow)
        self.start("perf-bisect", "workflow_dispatch", payload, run_id=run.id)
        run.status, run.conclusion = "completed", "success"
        return True

    def complete(self, run_id: int) -> list[JobRun]:
        """Send the workflow_run event of a dispatched run to perf-report, for repositories that listen to it."""
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


@contextmanager
def open_conversation(folder: Path, own_action: Callable[[FakeGitHub], OwnAction]) -> Iterator[Conversation]:
    """Open a conversation about a pull request from a fork whose last commits are slower."""
    # On a runner a command does not see a variable that the workflow does not name.
    run = RUN.replace(f"${COUNTER}", str(folder / "counter"))
    configuration = {"bisect": {**BISECT, "run": run, "profile": PROFILE}}
    configured = {".perf-culprit.yml": yaml.safe_dump(configuration)}
    history = {**line(COUNT, step_at=STEP), "c0": Commit(level=1000, files=configured)}
    commits = measured_repository(folder / "source", history)
    bare = init_repository(folder / "served.git", bare=True)
    source = folder / "source"
    shutil.copytree(source / ".git/objects", bare / "objects", dirs_exist_ok=True)
    head = commits[f"c{COUNT - 1}"]
    # GitHub serves a fork's pull request as commits, without a branch.
    for name, commit in {"heads/main": commits["c0"], "pull/7/head": head}.items():
        file = bare / "refs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{commit}\n")
    with (bare / "config").open("a") as config:
        config.write("[uploadpack]\n\tallowAnySHA1InWant = true\n\tallowFilter = true\n")
    with FakeGitHub(git_dir=bare) as fake:
        fake.state.pulls[7] = PullRequest(
            number=7, head_sha=head, head_branch="faster", head_owner="mallory", head_repository_id=FORK_ID
        )
        runner = WorkflowRunner(
            fake=fake,
            own_action=own_action(fake),
            temp=folder / "jobs",
        )
        talk = Conversation(fake=fake, workflows=runner, commits=commits)
        for name, job in (("perf-command", "command"), ("perf-report", "report"), ("perf-bisect", "report")):
            talk.files[name]["jobs"][job]["with"] = {"config": ".perf-culprit.yml"}
        # Nothing is installed for the tests, and the benchmark is ours.
        del talk.files["perf-bisect"]["jobs"]["bisect"]["with"]["setup"]
        talk.files["perf"]["jobs"]["measure"]["with"] = {"run": run, "setup": "test -d .git"}
        yield talk
    assert not fake.bad
