"""One comment with the whole answer to a slower pull request, by the workflow that `init` writes.

The projects are measured by their real tools. Unchanged pull requests, whose noise has to be known, are in
test_scenarios.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from perf_culprit.cli.entry import main
from tests.support.four_projects import PROJECTS, SYSTEM_PYTHON, TITLE, SmallProject, has_pytest_benchmark
from tests.support.git_repository import init_repository, run_git
from tests.support.scenarios import LEVEL, open_project
from tests.support.workflows.runner import InThisProcess

pytestmark = pytest.mark.slow  # each measures a real suite in rounds

# Pictures of the comments are made of these files (docs/evidence/measure.md).
KEPT = os.environ.get("PERF_CULPRIT_KEEP")


def committed(source: Path, files: Mapping[str, str], message: str) -> str:
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    run_git(source, "add", "--all")
    run_git(source, "commit", "--quiet", "--message", message)
    return run_git(source, "rev-parse", "HEAD")


@pytest.mark.parametrize("name", PROJECTS)
def test_one_comment_has_verdict_commit_function_and_lines(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small: SmallProject = PROJECTS[name]
    if small.lacking or (name == "pytest-benchmark" and not has_pytest_benchmark()):
        pytest.skip(f"not installed here: {', '.join(small.lacking) or 'pytest-benchmark'}")
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=False) as project:
        project.runner.programs = {"pytest": f'#!/bin/sh\nexec {SYSTEM_PYTHON} -m pytest -p no:cacheprovider "$@"\n'}
        source = init_repository(tmp_path / "source")
        run_git(source, "checkout", "--quiet", "-B", "main")
        committed(source, small.files, "Count words")
        assert main(["init", "--repo", str(source), "--yes"]) == 0
        project.files = {"perf": yaml.safe_load((source / ".github/workflows/perf.yml").read_text())}
        project.main = committed(source, {}, "Measure performance in every pull request")
        head = committed(source, small.changed(), TITLE)
        run_git(
            source,
            "push",
            "--quiet",
            "--force",
            str(project.folder),
            f"{project.main}:refs/heads/main",
            "main:refs/heads/change",
        )
        outcome = project.run_pull(project.add_pull(7, head, merged_level=LEVEL))
        assert not outcome.failed, outcome.log
        (comment,) = project.comments(7)
    if KEPT:
        Path(KEPT, f"{name.replace(' ', '-')}.md").write_text(comment)
    visible = comment.partition("<details")[0]
    assert "got slower" in visible or "got worse" in visible, comment
    assert f"`{TITLE}` by `Ada`" in visible, comment
    first = visible.partition("Look first at `")[2].partition("`")[0]
    assert any(function in first for function in small.functions), comment
    ((file, _),) = small.edits.items()
    row = next(line for line in comment.splitlines() if line.startswith(f"| `{first}`"))
    assert f"`{file}:" in row, comment
    assert small.benchmark in comment
    assert "traced by " in comment
