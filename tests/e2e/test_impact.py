"""The default branch is traced now and then, and a pull request says how many benchmarks run the slower function."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest
import yaml

from perf_culprit.cli.entry import main
from tests.support.four_projects import SYSTEM_PYTHON, TITLE, has_pytest_benchmark, ticking
from tests.support.git_repository import init_repository, run_git
from tests.support.scenarios import LEVEL, Project, open_project
from tests.support.webhooks import event
from tests.support.workflows.runner import InThisProcess

pytestmark = pytest.mark.slow  # measures a suite in rounds

KEPT = os.environ.get("PERF_CULPRIT_KEEP")
# Of three benchmarks, two run `tokenize`. The pull request does not measure one of these.
MORE: Final = {
    "bench/test_more.py": """\
import textkit

TEXT = "the quick brown fox jumps over the lazy dog " * 60


def test_tokenize(benchmark):
    benchmark.pedantic(textkit.tokenize, (TEXT,), rounds=20, iterations=10)


def test_sum(benchmark):
    benchmark.pedantic(sum, (range(10_000),), rounds=20, iterations=10)
""",
}


def committed(source: Path, files: Mapping[str, str], message: str) -> str:
    for name, text in files.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    run_git(source, "add", "--all")
    run_git(source, "commit", "--quiet", "--allow-empty", "--message", message)
    return run_git(source, "rev-parse", "HEAD")


def pushed(project: Project, source: Path, *, before: str) -> str:
    """Push the source's main, run its event, and return what the measuring job printed."""
    project.main = run_git(source, "rev-parse", "HEAD")
    run_git(source, "push", "--quiet", "--force", str(project.folder), "HEAD:refs/heads/main")
    payload = event("push", head_sha=project.main, base_sha=before, base_branch="main")
    outcome = project.start("push", payload, sha=project.main, ref="refs/heads/main", branch="main")
    assert not outcome.failed, outcome.log
    return outcome.log


def test_pull_request_says_how_many_benchmarks_run_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if not has_pytest_benchmark():
        pytest.skip("not installed here: pytest-benchmark")
    small = ticking(tmp_path / "counter")
    small = replace(small, files={**small.files, **MORE})
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=False) as project:
        project.runner.programs = {"pytest": f'#!/bin/sh\nexec {SYSTEM_PYTHON} -m pytest -p no:cacheprovider "$@"\n'}
        source = init_repository(tmp_path / "source")
        run_git(source, "checkout", "--quiet", "-B", "main")
        first = committed(source, small.files, "Count words")
        assert main(["init", "--repo", str(source), "--yes"]) == 0
        workflow = (source / ".github/workflows/perf.yml").read_text()
        # A fixed number of rounds makes the test short; which methods a benchmark runs is seen in one.
        project.files = {"perf": yaml.safe_load(workflow.replace("--until-decided", "--rounds 1"))}
        second = committed(source, {}, "Measure performance in every pull request")
        log = pushed(project, source, before=first)
        assert "methods of 3 benchmarks stored" in log, log
        committed(source, {"README.md": "text\n"}, "Describe it")
        assert "which methods" not in pushed(project, source, before=second)  # the index is new
        removed = "bench/test_more.py"
        edits = {**small.changed(), removed: small.files[removed].replace("def test_tokenize", "def test_tokens")}
        head = committed(source, edits, TITLE)
        run_git(source, "push", "--quiet", "--force", str(project.folder), "main:refs/heads/change")
        project.files = {"perf": yaml.safe_load(workflow.replace("--until-decided", "--rounds 4"))}
        outcome = project.run_pull(project.add_pull(7, head, merged_level=LEVEL))
        assert not outcome.failed, outcome.log
        comment = project.comments(7)[-1]
    if KEPT:
        Path(KEPT, "impact.md").write_text(comment)
    (line,) = (line for line in comment.splitlines() if "3 benchmarks run" in line)
    assert line.endswith(
        "2 of 3 benchmarks run `textkit.tokenize`; 1 of these not measured here. This fails the check."
    )
