"""A pull request that changes its benchmark, through the workflows: the headline reports it, no check is green."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.scenarios import LEVEL, SLOWER, Project, open_project
from tests.support.workflows.runner import InThisProcess

FEW = LEVEL + 1  # the benchmark's file differs, its measurement hardly


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=True) as opened:
        yield opened


def with_versions(zip_bytes: bytes) -> bytes:
    """Return the artifact of a fork that claims another version of its benchmark."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(zip_bytes)) as read, zipfile.ZipFile(made, "w") as written:
        for name in read.namelist():
            content = read.read(name)
            version = {"run.json": "2", "baseline.json": "1"}.get(name.rpartition("/")[2])
            if version is not None:
                run = json.loads(content)
                for benchmark in run["benchmarks"]:
                    if benchmark["name"] == "parse":
                        benchmark["version"] = version
                content = json.dumps(run).encode()
            written.writestr(name, content)
    return made.getvalue()


def test_a_fork_hides_no_regression_behind_a_version(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    state = type(project.fake.state)
    add = state.add_artifact

    def forged(self: Any, **facts: Any) -> Any:
        return add(self, **facts | {"zip_bytes": with_versions(facts["zip_bytes"])})

    monkeypatch.setattr(state, "add_artifact", forged)
    pull = project.open_pull(7, base=project.main, level=SLOWER, merged_level=SLOWER, fork=True)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    (comment,) = project.comments(7)
    headline = comment.partition("### ")[2].partition("\n")[0]
    assert headline.startswith("⚠️ 1 of 2 benchmarks is not comparable: it changed")
    assert "**Another benchmark now:** `parse`" in comment
    assert "--harness head" in comment
    assert project.conclusion(pull.head_sha) == "neutral"


def test_the_trusted_job_sees_itself_which_files_changed(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files come from GitHub's list: the measuring job's report omits them here."""
    monkeypatch.setattr("perf_culprit.action.measured_job.with_changed_files", lambda report, *_, **__: report)
    project.configuration = "benchmark-files: [value]\n"
    project.files["perf-report"]["jobs"]["report"]["with"] = {"config": "perf.yml"}
    project.push(LEVEL)
    pull = project.open_pull(7, base=project.main, level=FEW, merged_level=FEW, fork=True)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    (comment,) = project.comments(7)
    assert "**The benchmarks' files changed:** `value`; numbers may differ" in comment
    assert project.conclusion(pull.head_sha) == "neutral"


def test_other_files_leave_the_check_green(project: Project) -> None:
    pull = project.open_pull(7, base=project.main, level=FEW, merged_level=FEW)
    assert not project.report(project.run_pull(pull)).failed
    (comment,) = project.comments(7)
    assert "numbers may differ for" not in comment
    assert project.conclusion(pull.head_sha) == "success"
