"""Benchmarks that no change can reach: where these moved, the machine did, and the comment says so."""

import re
from pathlib import Path

import pytest

from tests.support.git_repository import run_git
from tests.support.scenarios import LEVEL, PYTEST, SLOWER, Project

# `render` takes as long as the commit's file says too, but at most 50% longer.
BOTH = PYTEST.replace(": 3000)", ": 3 * (level < 1500 ? level : 1500))")
TOLD = re.compile(r"`render`, which this change cannot reach, is [45]\d[.\d]*% slower as well")


@pytest.fixture(autouse=True)
def moves_both(project: Project, tmp_path: Path) -> None:
    assert project.runner.programs["pytest"] != BOTH
    project.runner.programs = {"pytest": BOTH.replace("COUNTER", str(tmp_path / "counter"))}


def configured(project: Project, text: str) -> None:
    """Put it onto the default branch, where the trusted job reads it."""
    project.configuration = text
    project.main = project.commit(project.main)
    run_git(project.folder, "update-ref", "refs/heads/main", project.main)
    if project.split:
        project.files["perf-report"]["jobs"]["report"]["with"] = {"config": "perf.yml"}
    else:
        project.files["perf"]["jobs"]["report"]["steps"][-1]["with"] |= {"config": "perf.yml"}


def comment_on(project: Project, level: int) -> tuple[str, str | None]:
    pull = project.open_pull(7, base=project.main, level=level, merged_level=level)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    (comment,) = project.comments(7)
    return comment, project.conclusion(pull.head_sha)


def test_without_controls_both_are_slower(project: Project) -> None:
    configured(project, "suite: default\n")
    comment, conclusion = comment_on(project, SLOWER)
    assert "🔴 Both benchmarks got slower" in comment
    assert conclusion == "failure"


def test_what_a_control_shares_is_no_regression(project: Project) -> None:
    configured(project, 'control: ["rend*"]\n')
    comment, conclusion = comment_on(project, SLOWER)
    assert "🟢" in comment
    assert "got slower" not in comment
    assert TOLD.search(comment)
    assert conclusion == "success"


def test_what_is_beyond_the_control_fails(project: Project) -> None:
    """Three times as long is twice as long without the control's 50%."""
    configured(project, 'control: ["rend*"]\n')
    comment, conclusion = comment_on(project, 3 * LEVEL)
    assert "🔴 1 of 2 benchmarks got slower" in comment
    assert TOLD.search(comment)
    assert re.search(r"`parse` takes (9\d|10\d)[.\d]*% longer", comment), comment
    assert conclusion == "failure"


def test_a_pull_request_cannot_name_its_own_controls(project: Project) -> None:
    configured(project, "suite: default\n")
    project.configuration = 'control: ["*"]\n'
    comment, conclusion = comment_on(project, SLOWER)
    assert "🔴 Both benchmarks got slower" in comment
    assert conclusion == "failure"
