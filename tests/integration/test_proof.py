"""What stored runs suspect is measured in turn by itself: publishing, a dispatch, scripted machines, one comment."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_github.state import PullRequest, WorkflowRun
from tests.support.git_repository import run_git
from tests.support.job import JobResult, zipped
from tests.support.mainline import Mainline, Recorded, open_mainline, recorded_mainline
from tests.support.measurements import measured
from tests.support.rounds import in_rounds
from tests.support.webhooks import event

CONFIG: Mapping[str, Any] = {"bisect": {"run": "./bench", "profile-seconds": 0}}
BRANCH = "faster"
SLOW = 0.0096


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    return recorded_mainline(tmp_path_factory.mktemp("recorded"), config=CONFIG)


@pytest.fixture
def mainline(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Mainline]:
    with open_mainline(recorded, tmp_path, monkeypatch, capsys) as opened:
        yield opened


def serve(mainline: Mainline, name: str, commit: str) -> None:
    run_git(mainline.bare, "update-ref", f"refs/{name}", commit)
    run_git(mainline.runner.workspace, "fetch", "--quiet", "origin", f"refs/{name}", "main:refs/remotes/origin/main")


def published(
    mainline: Mainline, head: str, *, cause: str, owner: str = "octocat", more: Mapping[str, bytes] | None = None
) -> JobResult:
    """The measuring job's results, and what the trusted job makes of them. `more`: beside them in the artifact."""
    runner, fake = mainline.runner, mainline.fake
    runner.checkout(head)
    (runner.workspace / "bench.json").write_bytes(measured_once(mainline, head))
    facts = {"head_sha": head, "base_sha": mainline.commits[-1], "head_owner": owner, "head_branch": BRANCH}
    where = {"sha": head, "ref": "refs/heads/main" if cause == "push" else "refs/pull/7/merge"}
    payload = with_main(event(cause, **({"head_sha": head, "base_branch": "main"} if cause == "push" else facts)))
    left = runner.run(cause, payload, **where, mode="compare", output_file_path="bench.json", config=".perf-culprit.yml")
    assert left.exit_code == 0, left.log
    files = {path.name: path.read_bytes() for path in (runner.workspace / "perf-culprit").iterdir()}
    run_id = next(fake.state.ids)
    branch = "main" if cause == "push" else BRANCH
    run = WorkflowRun(id=run_id, head_sha=head, head_branch=branch, event=cause, workflow=".github/workflows/perf.yml")
    run.status, run.conclusion = "completed", "success"
    fake.state.runs[run_id] = run
    fake.state.add_artifact(
        name="perf-culprit-report", run_id=run_id, head_sha=head, zip_bytes=zipped({**files, **(more or {})})
    )
    facts = {"head_sha": head, "head_owner": owner, "head_branch": branch, "run_event": cause}
    return runner.run(
        "workflow_run", with_main(event("workflow_run", run_id=run_id, **facts)), config=".perf-culprit.yml"
    )


def measured_once(mainline: Mainline, head: str) -> bytes:
    from perf_culprit.model.run_file import encode_run

    return encode_run(mainline.run(head))


def with_main(payload: dict[str, Any]) -> dict[str, Any]:
    payload["repository"]["default_branch"] = "main"
    return payload


def pull_request(mainline: Mainline, *, owner: str = "octocat", **levels: float) -> str:
    """The head of #7, one commit on top of the default branch."""
    before, tip = dict(mainline.now), mainline.commits[-1]
    head = mainline.commit("Fold accents", **levels)
    mainline.commits.pop()
    mainline.now = before
    assert mainline.commits[-1] == tip
    serve(mainline, "pull/7/head", head)
    from tests.support.fake_github.state import FORK_ID, REPOSITORY_ID

    mainline.fake.state.pulls[7] = PullRequest(
        number=7,
        head_sha=head,
        head_branch=BRANCH,
        head_owner=owner,
        head_repository_id=REPOSITORY_ID if owner == "octocat" else FORK_ID,
    )
    return head


def comment(mainline: Mainline) -> str:
    (only,) = mainline.fake.state.comments.values()
    return only.body


def test_a_suspicion_in_a_pull_request_is_proven_in_its_one_comment(mainline: Mainline) -> None:
    head = pull_request(mainline, parse=SLOW)
    first = published(mainline, head, cause="pull_request")
    assert first.outputs["conclusion"] == "suspected", first.log
    assert "Both commits are measured in turn now; the answer will stand here." in comment(mainline)
    (dispatch,) = mainline.fake.state.dispatches
    assert '"minutes":10' in dispatch["inputs"]["request"]
    print(comment(mainline))
    answer = mainline.measure()
    assert answer is not None
    assert answer.exit_code == 0, answer.log
    print(comment(mainline))
    assert "1 of 2 benchmarks got slower" in comment(mainline)
    assert "This fails the check." in comment(mainline)
    assert list(mainline.fake.state.check_runs.values())[-1].conclusion == "failure"
