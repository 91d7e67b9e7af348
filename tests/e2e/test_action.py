"""The action in its container: two pushes to the default branch, against the fake GitHub with real git."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.container.runner import RUNNER_UID, Step, StepResult, run_action
from tests.support.fake_github.server import BOT_TOKEN, FakeGitHub
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.measurements import measured_json
from tests.support.webhooks import event

ACTION_FILE = Path(__file__).parents[2] / "action.yml"
LEVELS = {"parse": 0.004, "render": 0.02}
# A name that would be two outputs, a command to the runner and a mention if it were copied as it is.
HOSTILE = "x\n::set-output name=failed::true\n##[error]@octocat"


@pytest.fixture
def served(tmp_path: Path) -> tuple[Path, dict[str, str]]:
    folder = init_repository(tmp_path / "served.git", bare=True)
    commits = import_commits(folder, chain("main", 2))
    run_git(folder, "update-ref", "refs/heads/main", commits["main2"])
    return folder, commits


@pytest.fixture
def github(served: tuple[Path, dict[str, str]]) -> Iterator[FakeGitHub]:
    with FakeGitHub(git_dir=served[0]) as server:
        yield server
    assert not server.bad


@pytest.fixture
def checkout(served: tuple[Path, dict[str, str]], github: FakeGitHub, workspace: Path) -> Path:
    """The workspace as actions/checkout leaves it: a clone whose origin is GitHub, without credentials."""
    run_git(workspace, "clone", "--quiet", "--no-hardlinks", str(served[0]), ".")
    run_git(workspace, "remote", "set-url", "origin", f"{github.url}/{github.repository}.git")
    return workspace


def push(github: FakeGitHub, *, sha: str, **inputs: str) -> Step:
    payload: dict[str, Any] = event("push", head_sha=sha, base_branch="main")
    payload["repository"]["default_branch"] = "main"
    return Step(
        event_name="push",
        event=payload,
        api_url=github.api_url,
        token=BOT_TOKEN,
        inputs={"output-file-path": "bench.json"} | inputs,
        repository=github.repository,
        sha=sha,
        network="host",
    )


def test_pushes_are_recorded_and_judged_as_the_owner(
    action_image: str, served: tuple[Path, dict[str, str]], github: FakeGitHub, checkout: Path
) -> None:
    folder, commits = served
    results: list[StepResult] = []
    for seed, commit in enumerate((commits["main1"], commits["main2"])):
        (checkout / "bench.json").write_bytes(measured_json(LEVELS | {HOSTILE: 0.001}, seed=seed))
        step = push(github, sha=commit)
        results.append(run_action(action_image, action_file=ACTION_FILE, workspace=checkout, step=step))
    first, second = results
    assert (first.exit_code, second.exit_code) == (0, 0), first.stdout + second.stdout + second.stderr
    assert first.outputs["conclusion"] == "first_run"
    assert second.outputs["compared"] == "3"
    assert second.summary
    assert second.exported == {}
    assert json.loads((checkout / second.outputs["report-path"]).read_text())["target_commit"] == commits["main2"]
    assert "perf-history" in run_git(folder, "branch", "--list", "perf-history")
    owners = {os.lstat(path).st_uid for path in checkout.rglob("*")}
    assert owners == {RUNNER_UID}


def test_a_database_in_the_environment_holds_the_runs(
    action_image: str, served: tuple[Path, dict[str, str]], github: FakeGitHub, checkout: Path
) -> None:
    folder, commits = served
    compared = []
    for seed, commit in enumerate((commits["main1"], commits["main2"])):
        (checkout / "bench.json").write_bytes(measured_json(LEVELS, seed=seed))
        step = replace(push(github, sha=commit), environment={"PERF_CULPRIT_HISTORY_URL": "sqlite:///history.db"})
        result = run_action(action_image, action_file=ACTION_FILE, workspace=checkout, step=step)
        assert result.exit_code == 0, result.stdout + result.stderr
        compared.append(result.outputs["compared"])
    assert compared == ["0", "2"]
    assert (checkout / "history.db").stat().st_uid == RUNNER_UID
    with closing(sqlite3.connect(checkout / "history.db")) as database:
        stored = database.execute('SELECT "commit" FROM perf_culprit_runs').fetchall()
    assert {commit for (commit,) in stored} == set(commits.values())
    assert not run_git(folder, "branch", "--list", "perf-history")


def test_names_are_no_commands_to_the_runner(
    action_image: str, served: tuple[Path, dict[str, str]], github: FakeGitHub, checkout: Path
) -> None:
    (checkout / "bench.json").write_bytes(measured_json({HOSTILE: 0.001}, seed=1))
    step = push(github, sha=served[1]["main1"])
    result = run_action(action_image, action_file=ACTION_FILE, workspace=checkout, step=step)
    errors = (result.stdout + result.stderr).splitlines()
    assert result.exit_code == 0, errors
    assert not [line for line in errors if line.lstrip().startswith("::set-output") or "##[" in line]
    assert result.outputs["failed"] == "false"


def test_missing_results_fail_with_their_own_code(
    action_image: str, served: tuple[Path, dict[str, str]], github: FakeGitHub, workspace: Path
) -> None:
    step = push(github, sha=served[1]["main1"])
    result = run_action(action_image, action_file=ACTION_FILE, workspace=workspace, step=step)
    assert result.exit_code == 3, result.stdout + result.stderr
    assert "::error" in result.stdout
    assert "Traceback" not in result.stdout + result.stderr
