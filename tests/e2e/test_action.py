"""The real image as GitHub's runner starts it: pull request in, comment, check, outputs and summary out."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot import pipeline
from bot.config import Config
from tests.support.container.runner import RUNNER_UID, Step, StepResult, run_action
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.measurements import measured, measured_json
from tests.support.webhooks import event

pytestmark = [pytest.mark.container, pytest.mark.slow]  # builds the image and starts containers

PROJECT = Path(__file__).parents[2]
LEVELS = {"parse": 0.004, "render": 0.02, "load": 0.001}
MAIN = 5


@pytest.fixture
def served(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    folder = init_repository(tmp_path / "served.git", bare=True)
    commits = import_commits(folder, {**chain("main", MAIN), **chain("branch", 1, start=[f"main{MAIN}"])})
    run_git(folder, "update-ref", "refs/heads/main", commits[f"main{MAIN}"])
    for number in range(1, MAIN + 1):
        commit = commits[f"main{number}"]
        run = measured(LEVELS, seed=number, commit=commit)
        compared = pipeline.compare_run_with_history(
            run, repository=folder, config=Config(), base=None, history_url=str(folder), token=None
        )
        pipeline.record_run(run, report=compared.report, config=Config(), history_url=str(folder))
    return folder, commits


@pytest.fixture
def fake_with_git(served: tuple[Path, dict[str, str]]) -> Iterator[FakeGitHub]:
    with FakeGitHub(git_dir=served[0]) as server:
        yield server
    assert not server.bad


def run_pull_request(
    image: str, *, fake: FakeGitHub, served: tuple[Path, dict[str, str]], tmp_path: Path, parse_s: float
) -> tuple[StepResult, Path]:
    folder, commits = served
    workspace = tmp_path / "workspace"
    run_git(tmp_path, "clone", "--quiet", str(folder), str(workspace))
    (workspace / "bench.json").write_bytes(measured_json({**LEVELS, "parse": parse_s}, seed=77))
    payload = event("pull_request", number=7, head_sha=commits["branch1"], base_sha=commits[f"main{MAIN}"])
    step = Step(
        event_name="pull_request",
        event=payload,
        api_url=fake.api_url,
        token=BOT_TOKEN,
        inputs={"output-file-path": "bench.json", "fail-on-alert": "true"},
        sha="e" * 40,
        ref="refs/pull/7/merge",
        network="host",
    )
    result = run_action(image, action_file=PROJECT / "action.yml", workspace=workspace, step=step)
    return result, workspace


def test_regression_ends_in_comment_check_outputs_and_exit_code(
    action_image: str, fake_with_git: FakeGitHub, served: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    result, workspace = run_pull_request(
        action_image, fake=fake_with_git, served=served, tmp_path=tmp_path, parse_s=0.006
    )
    assert result.exit_code == 1, result.stdout + result.stderr
    (comment,) = fake_with_git.state.comments.values()
    assert "1 of 3 benchmarks got slower" in comment.body
    (check,) = fake_with_git.state.check_runs.values()
    assert (check.status, check.conclusion) == ("completed", "failure")
    assert result.outputs["conclusion"] == "regression"
    assert result.outputs["worst-benchmark"] == "parse"
    assert "1 of 3 benchmarks got slower" in result.summary
    assert not result.exported
    assert not result.state
    written = list((workspace / "perf-culprit").iterdir())
    assert {path.name for path in written} == {"comment.md", "report.json", "run.json"}
    assert {path.stat().st_uid for path in written} == {RUNNER_UID}
    assert BOT_TOKEN not in result.stdout + result.stderr + result.summary


def test_no_change_is_exit_code_0(
    action_image: str, fake_with_git: FakeGitHub, served: tuple[Path, dict[str, str]], tmp_path: Path
) -> None:
    result, _ = run_pull_request(action_image, fake=fake_with_git, served=served, tmp_path=tmp_path, parse_s=0.004)
    assert result.exit_code == 0, result.stdout + result.stderr
    assert result.outputs["conclusion"] == "no_change"
    (check,) = fake_with_git.state.check_runs.values()
    assert check.conclusion == "success"
