"""Pull requests that affect no benchmark: a neutral check with the reason, in seconds, without a build."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.git_repository import run_git
from tests.support.job import claiming
from tests.support.scenarios import LEVEL, Outcome, Project, open_project
from tests.support.thread_picture import keep_page
from tests.support.workflows.runner import InThisProcess

NOT_MEASURED = "Not measured: nothing that changed reaches the benchmarks"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=True) as opened:
        opened.configuration = "suite: default\n"
        opened.main = opened.commit(opened.main)
        run_git(opened.folder, "update-ref", "refs/heads/main", opened.main)
        opened.files["perf-report"]["jobs"]["report"]["with"] = {"config": "perf.yml"}
        inputs = opened.files["perf"]["jobs"]["measure"]["with"]
        inputs["affected"] = "suites"
        yield opened


def changed(project: Project, name: str, text: str, *parents: str) -> str:
    """Make a commit with main's files and this one."""
    blob = run_git(project.folder, "hash-object", "-w", "--stdin", stdin=text)
    listed = run_git(project.folder, "ls-tree", project.main)
    kept = [line for line in listed.splitlines() if not line.endswith(f"\t{name}")]
    tree = run_git(project.folder, "mktree", stdin="\n".join([*kept, f"100644 blob {blob}\t{name}", ""]))
    options = [word for parent in parents for word in ("-p", parent)]
    return run_git(project.folder, "commit-tree", tree, *options, "-m", f"change {name}")


def pulled(project: Project, name: str, *, fork: bool = False) -> Outcome:
    head = changed(project, name, "other\n", project.main)
    pull = project.add_pull(7, head, merged_level=LEVEL, fork=fork)
    merge = changed(project, name, "other\n", project.main, head)
    run_git(project.folder, "update-ref", "refs/pull/7/merge", merge)
    return project.run_pull(pull)


def conclusions(project: Project) -> list[str | None]:
    return [check.conclusion for check in project.fake.state.check_runs.values()]


@pytest.mark.parametrize("fork", [False, True])
def test_documentation_alone_is_not_measured(project: Project, *, fork: bool) -> None:
    """A job that builds anything fails here."""
    project.files["perf"]["jobs"]["measure"]["with"]["build"] = "exit 1"
    outcome = project.report(pulled(project, "README.md", fork=fork))
    assert not outcome.failed, outcome.log
    assert conclusions(project) == ["neutral"]
    (comment,) = project.comments(7)
    assert NOT_MEASURED in comment
    assert "1 file of documentation" in comment
    assert ("advice, not proof" in comment) is fork
    assert not [word for word in ("No change seen", "missing", "First run") if word in comment]
    keep_page("not-affected.html", project.fake.state.comments.values())


def test_what_is_not_understood_is_measured(project: Project) -> None:
    outcome = project.report(pulled(project, "value.txt"))
    assert not outcome.failed, outcome.log
    assert conclusions(project) == ["success"]
    assert "measured, since" in outcome.log


def test_a_push_is_measured_for_the_history(project: Project) -> None:
    project.main = changed(project, "README.md", "more\n", project.main)
    outcome = project.report(project.push(LEVEL))
    assert not outcome.failed, outcome.log
    assert NOT_MEASURED not in outcome.log


def test_a_fork_cannot_call_it_no_change(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    state = type(project.fake.state)
    add = state.add_artifact

    def forged(self: Any, **facts: Any) -> Any:
        return add(self, **facts | {"zip_bytes": claiming(facts["zip_bytes"], conclusion="no_change")})

    monkeypatch.setattr(state, "add_artifact", forged)
    outcome = project.report(pulled(project, "README.md", fork=True))
    assert not outcome.failed, outcome.log
    assert conclusions(project) == ["neutral"]
    (comment,) = project.comments(7)
    assert NOT_MEASURED in comment
    assert "No change seen" not in comment
