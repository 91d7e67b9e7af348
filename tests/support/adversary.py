"""A repository under attack: all that was written anywhere, and whether the job's token leaked anywhere."""

import base64
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest

from perf_culprit.github import client
from tests.support.fake_github.server import FakeGitHub
from tests.support.fake_github.state import FORK_ID, REPOSITORY_ID, PullRequest, WorkflowRun
from tests.support.git_repository import chain, import_commits, init_repository, lasting_folder, run_git
from tests.support.job import JobResult, Runner, zipped
from tests.support.webhooks import event

SECRET: Final = "ghs_theTokenOfThisJobThatNobodyMaySee"
# As git and requests send it.
SHAPES: Final = (SECRET, base64.b64encode(f"x-access-token:{SECRET}".encode()).decode())
# What docs/workflows.md gives the jobs that write.
RIGHTS: Final = {
    "actions": "write",
    "checks": "write",
    "contents": "write",
    "issues": "write",
    "pull-requests": "write",
}
WORKFLOW: Final = ".github/workflows/perf.yml"
CONFIGURATION: Final = "perf-culprit.yml"
BRANCH: Final = "faster"
MALLORY_PULL: Final = 7
INNOCENT_PULL: Final = 8


@dataclass(kw_only=True, slots=True)
class Scene:
    """Pull request #7 is mallory's, from a fork; #8 is someone else's. `folder` holds all that a job can write to.

    `database` reads the history that is not on a branch.
    """

    runner: Runner
    folder: Path
    commits: Mapping[str, str]
    database: Callable[[], Mapping[str, bytes]] | None = None

    @property
    def fake(self) -> FakeGitHub:
        return self.runner.fake

    @property
    def head(self) -> str:
        return self.commits["mallory2"]

    @property
    def writes(self) -> list[str]:
        """Everything that was sent to change something, refused or not."""
        return [str(exchange) for exchange in self.fake.log if exchange.request.method != "GET"]

    @property
    def applied(self) -> list[str]:
        """Return the method and path (below the repository) of each write that GitHub accepted."""
        prefix = f"/repos/{self.fake.repository}/"
        return [
            f"{exchange.request.method} {exchange.request.path.removeprefix(prefix)}"
            for exchange in self.fake.log
            if exchange.request.method != "GET" and exchange.status is not None and exchange.status < 400
        ]

    @property
    def refs(self) -> str:
        """Branches and tags of the served repository, with their commits."""
        assert self.fake.git_dir is not None
        folder = self.fake.git_dir / "refs"
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return "".join(f"{path.read_text().strip()}\trefs/{path.relative_to(folder)}\n" for path in files)

    def configure(self, text: str = "bisect: {run: 'true', benchmark: parse, metric: time}") -> str:
        """Commit a configuration on top of main and return its path. The default text enables bisections."""
        assert self.fake.git_dir is not None
        configure(self.fake.git_dir, text)
        return CONFIGURATION

    def publish(
        self,
        artifact: Mapping[str, bytes] | bytes,
        *,
        name: str = "perf-culprit-report",
        inputs: Mapping[str, str] | None = None,
    ) -> JobResult:
        """Upload an artifact of the fork's run and run the trusted job after it."""
        content = artifact if isinstance(artifact, bytes) else zipped(artifact)
        self.fake.state.add_artifact(name=name, run_id=55, head_sha=self.head, zip_bytes=content)
        return self.follow(inputs)

    def follow(self, inputs: Mapping[str, str] | None = None, **facts: Any) -> JobResult:
        own = {"head_sha": self.head, "head_owner": "mallory", "head_branch": BRANCH, "run_id": 55}
        payload = event("workflow_run", **{"workflow": WORKFLOW, **own, **facts})
        payload["repository"]["default_branch"] = "main"
        return self.runner.run("workflow_run", payload, **(inputs or {}))

    def say(self, body: str, *, author: str = "octocat", number: int = MALLORY_PULL, **facts: Any) -> JobResult:
        comment = self.fake.state.add_comment(issue=number, author=author, body=body)
        payload = event(
            "issue_comment", number=number, comment_id=comment.id, comment_body=body, author=author, **facts
        )
        payload["repository"]["default_branch"] = "main"
        return self.runner.run("issue_comment", payload)

    def assert_no_secret(self, *results: JobResult) -> None:
        texts = [text for result in results for text in (result.log, result.summary, *result.outputs.values())]
        texts += [comment.body for comment in self.fake.state.comments.values()]
        texts += [repr(check) for check in self.fake.state.check_runs.values()]
        texts += [repr(dispatch) for dispatch in self.fake.state.dispatches]
        texts += [str(exchange.request.body) for exchange in self.fake.log]
        texts += [path.read_bytes().decode("latin-1") for path in self.folder.rglob("*") if path.is_file()]
        for shape in SHAPES:
            assert not any(shape in text for text in texts), shape


def configure(bare: Path, text: str) -> None:
    blob = run_git(bare, "hash-object", "-w", "--stdin", stdin=text)
    tree = run_git(bare, "mktree", stdin=f"100644 blob {blob}\t{CONFIGURATION}\n")
    run_git(bare, "update-ref", "refs/heads/main", run_git(bare, "commit-tree", "-p", "main", "-m", "x", tree))


@cache
def _served(configuration: str | None) -> tuple[Path, Mapping[str, str]]:
    """Make a repository to copy, with main and mallory's pull request; return it and its commits by name."""
    bare = init_repository(lasting_folder(), bare=True)
    commits = import_commits(bare, {**chain("main", 2), **chain("mallory", 2, start=["main2"])})
    shutil.rmtree(bare / "refs/heads")
    for name, commit in {"heads/main": "main2", f"pull/{MALLORY_PULL}/head": "mallory2"}.items():
        file = bare / "refs" / name
        file.parent.mkdir(parents=True)
        file.write_text(f"{commits[commit]}\n")
    if configuration is not None:
        configure(bare, configuration)
    return bare, commits


@contextmanager
def open_scene(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capture: pytest.CaptureFixture[str],
    *,
    configuration: str | None = None,
) -> Iterator[Scene]:
    """Open a scene without real waits; at its end, check that every request matches GitHub's description.

    `configuration`: commit it on top of main, as `configure` does. It is made once for all scenes.
    """
    assert client.create_client.__kwdefaults__ is not None
    monkeypatch.setitem(client.create_client.__kwdefaults__, "sleep", lambda _: None)
    served, commits = _served(configuration)
    bare = Path(shutil.copytree(served, folder / "served.git"))
    workspace = folder / "workspace"
    workspace.mkdir()
    with FakeGitHub(git_dir=bare) as fake:
        fake.add_token(SECRET, RIGHTS)
        fake.state.roles["mallory"] = "read"
        fake.state.pulls = {
            MALLORY_PULL: PullRequest(
                number=MALLORY_PULL,
                head_sha=commits["mallory2"],
                head_branch=BRANCH,
                head_owner="mallory",
                head_repository_id=FORK_ID,
            ),
            INNOCENT_PULL: PullRequest(
                number=INNOCENT_PULL, head_sha="8" * 40, head_branch="innocent", head_repository_id=REPOSITORY_ID
            ),
        }
        fake.state.runs[55] = WorkflowRun(
            id=55, head_sha=commits["mallory2"], head_branch=BRANCH, workflow=WORKFLOW, head_repository_id=FORK_ID
        )
        runner = Runner(
            fake=fake,
            workspace=workspace,
            temp=folder / "temp",
            monkeypatch=monkeypatch,
            capture=capture,
            token=SECRET,
        )
        yield Scene(runner=runner, folder=folder, commits=commits)
    assert not fake.bad
