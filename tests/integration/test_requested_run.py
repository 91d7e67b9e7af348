"""`/perf-run` and the label: measured on request, reported at the request, and neutral without one."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_github.state import BOT
from tests.support.git_repository import run_git
from tests.support.job import claiming
from tests.support.scenarios import LEVEL, SLOWER, Project, open_project
from tests.support.thread_picture import keep_page
from tests.support.workflows.runner import InThisProcess

# The line of docs/commands.md.
WANTED = (
    "github.event_name != 'pull_request' || (contains(github.event.pull_request.labels.*.name, 'perf') "
    "&& (github.event.action != 'labeled' || github.event.label.name == 'perf'))"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=True) as opened:
        opened.configuration = "suite: default\n"
        opened.main = opened.commit(opened.main)
        run_git(opened.folder, "update-ref", "refs/heads/main", opened.main)
        run_git(opened.folder, "update-ref", "refs/tags/v1", f"{opened.main}~1")
        for name, job in (("perf-command", "command"), ("perf-report", "report")):
            opened.files[name]["jobs"][job]["with"] = {"config": "perf.yml"}
        opened.files["perf"]["jobs"]["measure"]["if"] = WANTED
        yield opened


def checks(project: Project) -> dict[str, str | None]:
    return {check.name: check.conclusion for check in project.fake.state.check_runs.values()}


def labelled(project: Project, *labels: str, action: str = "labeled", label: str = "") -> None:
    """The event of a pull request with these labels."""
    pull = project.fake.state.pulls[7]
    facts = {"labels": [{"name": one} for one in labels]}
    outcome = project.run_pull(pull, facts=facts, action=action, label={"name": label})
    outcome = project.report(outcome)
    assert not outcome.failed, outcome.log


def test_a_run_by_comment_is_told_in_the_report(project: Project) -> None:
    """Before any request, the required check is neutral with the reason."""
    pull = project.open_pull(7, base=project.main, level=SLOWER, merged_level=SLOWER)
    labelled(project, action="synchronize")
    assert checks(project) == {"perf-culprit (default)": "neutral"}
    (check,) = project.fake.state.check_runs.values()
    assert "nobody asked for a measurement" in check.output["summary"]
    assert "/perf-run" in check.output["summary"]
    asked = project.say("/perf-run")
    assert not asked.failed, asked.log
    (answer,) = project.comments(7)
    assert "All benchmarks of" in answer
    outcome = project.dispatched()
    assert not outcome.failed, outcome.log
    answer, report = project.comments(7)
    assert "Measured:" in answer
    assert "🔴 1 of 2 benchmarks got slower" in report
    newest = list(project.fake.state.check_runs.values())[-1]
    assert (newest.name, newest.head_sha, newest.conclusion) == ("perf-culprit (default)", pull.head_sha, "failure")
    labelled(project, action="labeled", label="other")
    assert list(project.fake.state.check_runs.values())[-1] is newest, "what was measured stays"
    keep_page("asked.html", project.fake.state.comments.values())


def test_a_part_against_a_release_is_told_in_the_answer(project: Project) -> None:
    """The part does not cover the rest, so it changes neither the report nor the required check."""
    project.open_pull(7, base=project.main, level=SLOWER, merged_level=SLOWER)
    project.say("/perf-run parse against v1 rounds=7")
    inputs = project.fake.state.dispatches[-1]["inputs"]
    assert (inputs["benchmarks"], inputs["rounds"]) == ("parse", "7")
    assert inputs["base"] == run_git(project.folder, "rev-parse", "v1")
    outcome = project.dispatched()
    assert not outcome.failed, outcome.log
    (answer,) = project.comments(7)
    assert "Against `v1`: 1 benchmark got slower" in answer
    assert "render" not in answer
    assert checks(project) == {"perf-culprit (default) as asked": "failure"}
    assert not project.fake.state.issues
    keep_page("part.html", project.fake.state.comments.values())


def test_a_run_by_label(project: Project) -> None:
    project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL)
    labelled(project, "perf", label="perf")
    (report,) = project.comments(7)
    assert "🟢" in report
    assert checks(project) == {"perf-culprit (default)": "success"}
    keep_page("labelled.html", project.fake.state.comments.values())


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("/perf-run nothing", "has not been measured"),
        ("/perf-run against v9", "`v9` is neither in this pull request nor on a branch"),
    ],
)
def test_what_cannot_be_measured_is_answered(project: Project, body: str, told: str) -> None:
    project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL)
    project.say(body)
    if project.fake.state.dispatches:
        project.dispatched()
        told = "Not measured."
    (answer,) = project.comments(7)
    assert told in answer
    assert not project.fake.state.check_runs


def test_of_a_fork_only_the_named_head_is_measured(project: Project) -> None:
    pull = project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL, fork=True)
    project.say("/perf-run parse")
    assert not project.fake.state.dispatches
    (answer,) = project.comments(7)
    assert f"/perf-run {pull.head_sha}" in answer
    project.fake.state.roles["mallory"] = "read"
    project.say(f"/perf-run {pull.head_sha}", author="mallory")
    assert not project.fake.state.dispatches
    project.say(f"/perf-run {pull.head_sha}")
    assert project.fake.state.dispatches[-1]["inputs"]["head"] == pull.head_sha


def test_a_report_of_another_base_than_asked_is_refused(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.open_pull(7, base=project.main, level=SLOWER, merged_level=SLOWER)
    project.say("/perf-run")
    state = type(project.fake.state)
    add = state.add_artifact

    def forged(self: Any, **facts: Any) -> Any:
        return add(self, **facts | {"zip_bytes": claiming(facts["zip_bytes"], file="baseline.json", commit="f" * 40)})

    monkeypatch.setattr(state, "add_artifact", forged)
    outcome = project.dispatched()
    assert "asked was" in outcome.log
    assert "🔴" not in "".join(project.comments(7))
    assert BOT in {one.author for one in project.fake.state.comments.values()}
