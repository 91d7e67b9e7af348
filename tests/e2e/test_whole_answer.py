"""One comment with the whole answer to a slower pull request, and none to an unchanged one, by `init`'s workflow.

The projects are measured by their real tools. With pytest-benchmark the project has a clock of its own, so that its
rounds depend on no machine. Comments that are kept for pictures are measured by the real clock.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from perf_culprit.cli.entry import main
from tests.support.four_projects import (
    PROJECTS,
    PYTHON,
    SYSTEM_PYTHON,
    TITLE,
    SmallProject,
    has_pytest_benchmark,
    ticking,
)
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


@pytest.fixture(params=PROJECTS)
def small(request: pytest.FixtureRequest, tmp_path: Path) -> SmallProject:
    project = PROJECTS[request.param]
    if project.lacking or (project is PYTHON and not has_pytest_benchmark()):
        pytest.skip(f"not installed here: {', '.join(project.lacking) or 'pytest-benchmark'}")
    return ticking(tmp_path / "counter") if project is PYTHON and not KEPT else project


Answered = Callable[[Mapping[str, str], str], str]


@pytest.fixture
def answered(
    small: SmallProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Answered]:
    """Answer a pull request that commits these files with this title. Nothing is configured by hand."""
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=False) as project:
        project.runner.programs = {"pytest": f'#!/bin/sh\nexec {SYSTEM_PYTHON} -m pytest -p no:cacheprovider "$@"\n'}
        source = init_repository(tmp_path / "source")
        run_git(source, "checkout", "--quiet", "-B", "main")
        committed(source, small.files, "Count words")
        assert main(["init", "--repo", str(source), "--yes"]) == 0
        project.files = {"perf": yaml.safe_load((source / ".github/workflows/perf.yml").read_text())}
        project.main = committed(source, {}, "Measure performance in every pull request")

        def answer(files: Mapping[str, str], title: str) -> str:
            head = committed(source, files, title)
            branches = (f"{project.main}:refs/heads/main", "main:refs/heads/change")
            run_git(source, "push", "--quiet", "--force", str(project.folder), *branches)
            outcome = project.run_pull(project.add_pull(7, head, merged_level=LEVEL))
            assert not outcome.failed, outcome.log
            (comment,) = project.comments(7)
            return comment

        yield answer


def is_blamed(comment: str) -> bool:
    visible = comment.partition("<details")[0]
    return "got slower" in visible or "got worse" in visible


def test_one_comment_has_verdict_commit_function_and_lines(small: SmallProject, answered: Answered) -> None:
    comment = answered(small.changed(), TITLE)
    if KEPT:
        Path(KEPT, f"{small.benchmark}.md").write_text(comment)
    visible = comment.partition("<details")[0]
    assert is_blamed(comment), comment
    assert f"`{TITLE}` by `Ada`" in visible, comment
    first = visible.partition("Look first at `")[2].partition("`")[0]
    assert any(function in first for function in small.functions), comment
    ((file, _),) = small.edits.items()
    row = next(line for line in comment.splitlines() if line.startswith(f"| `{first}`"))
    assert f"`{file}:" in row, comment
    assert small.benchmark in comment
    assert "traced by " in comment


def test_an_unchanged_pull_request_is_neither_traced_nor_blamed(small: SmallProject, answered: Answered) -> None:
    """One in ten is suspected by chance: it may be traced, not blamed. One in a hundred is blamed, but not twice."""
    ((file, _),) = small.edits.items()
    remark = f"{'#' if file.endswith('.py') else '//'} Words are counted as they are written.\n"
    comment = answered({file: small.files[file] + remark}, "Say what is counted")
    if is_blamed(comment):
        comment = answered({file: small.files[file] + 2 * remark}, "Say what is counted, again")
    if KEPT:
        Path(KEPT, f"{small.benchmark}-unchanged.md").write_text(comment)
    visible = comment.partition("<details")[0]
    assert not is_blamed(comment), comment
    if "not proven" not in visible:
        assert "traced by" not in comment, comment
        assert "Look first" not in comment, comment
