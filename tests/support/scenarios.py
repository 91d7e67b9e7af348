"""A repository that uses one of the documented forms as pasted, on a fake GitHub: pushes, pull requests, queues.

The documented command (`pytest bench --benchmark-json=…`) is a script of ours that writes pytest-benchmark's format.
`parse` takes the time in the commit's file `value`, `render` always the same, both with noise.
Named files (`bench/test_NAME.py`) are measured alone.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import BOT, FORK_ID, REPOSITORY_ID, PullRequest, WorkflowRun
from tests.support.git_repository import init_repository, run_git
from tests.support.recipes import ONE_FILE, SPLIT, workflows
from tests.support.webhooks import event
from tests.support.workflows.runner import Event, InThisProcess, JobRun, OwnAction, WorkflowRunner

LEVEL: Final = 1000
SLOWER: Final = 1500  # the planted +50%
CRASH: Final = 0
# 2% between executions and 1% between samples, from a counter: no clock, and no two executions alike.
PYTEST: Final = r"""#!/bin/sh
names=
for argument; do case $argument in
  --benchmark-json=*) out=${argument#*=} ;;
  bench/test_*.py) name=${argument#bench/test_}; names="$names ${name%.py}" ;;
esac; done
names=${names:-"parse render"}
read -r level < value
[ "$level" != 0 ] || [ "${names%parse*}" = "$names" ] || { echo "the benchmark crashed" >&2; exit 1; }
n=0; [ ! -f COUNTER ] || read -r n < COUNTER; echo $((n + 1)) > COUNTER
awk -v level="$level" -v seed="$n" -v all="$names" 'BEGIN {
  srand(seed * 7919 + 17)
  printf "{\"machine_info\": {}, \"benchmarks\": ["
  count = split(all, names, " ")
  for (i = 1; i <= count; i++) {
    base = (names[i] == "parse" ? level : 3000) * 1e-6 * (1 + 0.04 * (rand() - 0.5))
    printf "%s{\"name\": \"%s\", \"fullname\": \"%s\", \"stats\": {\"data\": [", (i > 1 ? "," : ""), names[i], names[i]
    for (j = 1; j <= 5; j++) printf "%s%.9f", (j > 1 ? "," : ""), base * (1 + 0.02 * (rand() - 0.5))
    printf "]}}"
  }
  print "]}"
}' > "$out"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The result of one event: the jobs that ran, with their logs and job summaries."""

    run: WorkflowRun
    payload: Mapping[str, Any]
    jobs: list[JobRun]

    @property
    def log(self) -> str:
        return "\n".join(job.log for job in self.jobs)

    @property
    def failed(self) -> bool:
        return any(job.failed for job in self.jobs)


@dataclass(kw_only=True, slots=True)
class Project:
    """A project; `main` is that branch's commit. `split`: perf-report runs after perf, or when `report` is called.

    All later commits get `configuration` as perf.yml, `manifest` as pyproject.toml, and `bench` files in that folder.
    """

    fake: FakeGitHub
    runner: WorkflowRunner
    folder: Path
    split: bool
    main: str = ""
    files: dict[str, Any] = field(default_factory=dict)
    count: int = 0
    configuration: str = ""
    manifest: str = ""
    bench: tuple[str, ...] = ()

    def commit(self, *parents: str, level: int = LEVEL) -> str:
        self.count += 1
        bare = self.folder
        entries = {"value": f"{level}\n", "number": f"{self.count}\n"}
        named = {"perf.yml": self.configuration, "pyproject.toml": self.manifest}
        entries |= {name: text for name, text in named.items() if text}
        blobs = {name: run_git(bare, "hash-object", "-w", "--stdin", stdin=text) for name, text in entries.items()}
        lines = [f"100644 blob {blob}\t{name}\n" for name, blob in blobs.items()]
        if self.bench:
            of_bench = "".join(f"100644 blob {blobs['value']}\t{name}\n" for name in self.bench)
            lines.append(f"040000 tree {run_git(bare, 'mktree', stdin=of_bench)}\tbench\n")
        tree = run_git(bare, "mktree", stdin="".join(lines))
        options = [word for parent in parents for word in ("-p", parent)]
        return run_git(bare, "commit-tree", tree, *options, "-m", f"commit {self.count}")

    def push(self, *levels: int) -> Outcome:
        """Push commits of these levels onto main at once."""
        before = self.main or "0" * 40
        for level in levels:
            self.main = self.commit(*([self.main] if self.main else []), level=level)
        run_git(self.folder, "update-ref", "refs/heads/main", self.main)
        payload = event("push", head_sha=self.main, base_sha=before, base_branch="main")
        return self.start("push", payload, sha=self.main, ref="refs/heads/main", branch="main")

    def open_pull(
        self, number: int, *, base: str, level: int, merged_level: int, fork: bool = False, base_branch: str = "main"
    ) -> PullRequest:
        """Open a pull request of one commit from `base`; GitHub's merge of it into main has `merged_level`."""
        head = self.commit(base, level=level)
        return self.add_pull(number, head, merged_level=merged_level, fork=fork, base_branch=base_branch)

    def add_pull(
        self, number: int, head: str, *, merged_level: int, fork: bool = False, base_branch: str = "main"
    ) -> PullRequest:
        merge = self.commit(self.main, head, level=merged_level)
        run_git(self.folder, "update-ref", f"refs/pull/{number}/head", head)
        run_git(self.folder, "update-ref", f"refs/pull/{number}/merge", merge)
        pull = PullRequest(
            number=number,
            head_sha=head,
            head_branch="change",
            head_owner="mallory" if fork else "octocat",
            head_repository_id=FORK_ID if fork else REPOSITORY_ID,
            base_sha=self.main,
            base_branch=base_branch,
        )
        self.fake.state.pulls[number] = pull
        return pull

    def run_pull(self, pull: PullRequest, *, facts: Mapping[str, Any] | None = None, **more: Any) -> Outcome:
        """Run the pull request's event. `facts` are extra fields of the pull request, `more` those of the event."""
        ref = f"refs/pull/{pull.number}/merge"
        ends = {"head_sha": pull.head_sha, "head_branch": pull.head_branch, "head_owner": pull.head_owner}
        ends |= {"base_sha": pull.base_sha, "base_branch": pull.base_branch}
        about = {"author": pull.author, "title": pull.title, "labels": pull.labels}
        payload = event("pull_request", number=pull.number, **ends, **about) | more
        payload["pull_request"] |= facts or {}
        sha = run_git(self.folder, "rev-parse", ref)
        return self.start("pull_request", payload, sha=sha, ref=ref, branch=pull.head_branch, pull=pull)

    def queue(self, level: int) -> Outcome:
        """Run the event of a merge queue's entry on top of main."""
        entry = self.commit(self.main, level=level)
        ref = f"refs/heads/gh-readonly-queue/main/pr-7-{self.main}"
        run_git(self.folder, "update-ref", ref, entry)
        payload = event("push", head_sha=entry, base_branch="main")
        group = {"base_sha": self.main, "head_sha": entry, "head_ref": ref, "base_ref": "refs/heads/main"}
        payload = {"action": "checks_requested", "merge_group": group, "repository": payload["repository"]}
        return self.start("merge_group", payload, sha=entry, ref=ref, branch=ref.removeprefix("refs/heads/"))

    def start(
        self,
        name: str,
        payload: dict[str, Any],
        *,
        sha: str,
        ref: str,
        branch: str,
        pull: PullRequest | None = None,
    ) -> Outcome:
        payload["repository"]["default_branch"] = "main"
        run_id = next(self.fake.state.ids)
        is_fork = pull is not None and pull.head_repository_id == FORK_ID
        run = WorkflowRun(
            id=run_id,
            # As on GitHub: a pull request's run has the head, although `sha` is the merge.
            head_sha=pull.head_sha if pull else sha,
            head_branch=branch,
            event=name,
            status="in_progress",
            conclusion=None,
            head_repository_id=FORK_ID if is_fork else REPOSITORY_ID,
            head_owner=pull.head_owner if pull else "",
        )
        self.fake.state.runs[run_id] = run
        base_ref = pull.base_branch if pull else ""
        started = Event(
            name=name, payload=payload, sha=sha, ref=ref, run_id=run_id, from_fork=is_fork, base_ref=base_ref
        )
        jobs = self.runner.run(self.files["perf"], started)
        failed = any(job.failed for job in jobs)
        run.status, run.conclusion = "completed", "failure" if failed else "success" if jobs else "skipped"
        return Outcome(run=run, payload=payload, jobs=jobs)

    def report(self, outcome: Outcome) -> Outcome:
        """Run the following workflow_run; return `outcome` unchanged if one file does it all."""
        if not self.split:
            return outcome
        run = outcome.run
        payload = event(
            "workflow_run",
            run_id=run.id,
            run_event=run.event,
            workflow=run.workflow,
            workflow_name="perf",
            head_sha=run.head_sha,
            head_branch=run.head_branch,
            head_owner="mallory" if run.head_repository_id == FORK_ID else "octocat",
            conclusion=run.conclusion,
        )
        payload["workflow_run"]["display_title"] = run.title
        payload["repository"]["default_branch"] = "main"
        jobs = self.runner.run(self.files["perf-report"], Event(name="workflow_run", payload=payload, sha=self.main))
        return Outcome(run=run, payload=payload, jobs=[*outcome.jobs, *jobs])

    def say(self, body: str, *, number: int = 7, author: str = "octocat") -> Outcome:
        """Write a comment in a pull request, and run the workflow that answers commands."""
        comment = self.fake.state.add_comment(issue=number, author=author, body=body)
        payload = event(
            "issue_comment",
            number=number,
            comment_id=comment.id,
            comment_body=body,
            author=author,
            on_pull_request=True,
        )
        payload["repository"]["default_branch"] = "main"
        workflow = self.files["perf-command" if self.split else "perf"]
        jobs = self.runner.run(workflow, Event(name="issue_comment", payload=payload, sha=self.main))
        return Outcome(run=WorkflowRun(id=comment.id, head_sha=self.main), payload=payload, jobs=jobs)

    def dispatched(self) -> Outcome:
        """Run the newest dispatch of perf, and the report after it."""
        dispatch = self.fake.state.dispatches[-1]
        run = self.fake.state.runs[dispatch["run_id"]]
        payload = event("workflow_dispatch", inputs=dispatch["inputs"], workflow=run.workflow)
        payload["repository"]["default_branch"] = "main"
        started = Event(name="workflow_dispatch", payload=payload, sha=run.head_sha, run_id=run.id)
        jobs = self.runner.run(self.files["perf"], started)
        run.status, run.conclusion = "completed", "failure" if any(job.failed for job in jobs) else "success"
        return self.report(Outcome(run=run, payload=payload, jobs=jobs))

    def comments(self, number: int) -> list[str]:
        """Return the bodies of our visible comments."""
        own = [item for item in self.fake.state.comments.values() if (item.issue, item.author) == (number, BOT)]
        return [item.body for item in own if not item.minimized]

    def conclusion(self, sha: str) -> str | None:
        """Return the conclusion of our newest check run on a commit, or None."""
        checks = [check for check in self.fake.state.check_runs.values() if check.head_sha == sha]
        return checks[-1].conclusion if checks else None

    def recorded(self) -> set[str]:
        """Return the commits that have a run in the history."""
        names = run_git(self.folder, "ls-tree", "-r", "--name-only", "perf-history")
        return {name.split("/")[2] for name in names.splitlines() if name.startswith("runs/")}


@contextmanager
def open_project(folder: Path, own_action: Callable[[FakeGitHub], OwnAction], *, split: bool) -> Iterator[Project]:
    """Open a project with two commits on main. `own_action` makes the runner of our action for a fake GitHub."""
    bare = init_repository(folder / "served.git", bare=True)
    script = PYTEST.replace("COUNTER", str(folder / "counter"))
    with FakeGitHub(git_dir=bare) as fake:
        runner = WorkflowRunner(
            fake=fake, own_action=own_action(fake), temp=folder / "jobs", programs={"pytest": script}
        )
        files = workflows(SPLIT if split else ONE_FILE)
        project = Project(fake=fake, runner=runner, folder=bare, split=split, files=files)
        project.main = project.commit(project.commit())
        run_git(bare, "update-ref", "refs/heads/main", project.main)
        yield project
    assert not fake.bad, fake.bad


@pytest.fixture(params=["one file", "split"])
def form(request: pytest.FixtureRequest) -> str:
    """Both forms of the workflows."""
    return str(request.param)


@pytest.fixture
def project(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Project]:
    """A project in each form, whose action runs in this process."""
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=form == "split") as opened:
        yield opened
