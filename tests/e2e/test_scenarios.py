"""The documented workflows as pasted, in typical scenarios of a repository: no false blame, and +50% is named.

Each scenario runs once without a change and once with a planted +50%, in both forms, with our action in this process.
The container adds the same to all of them, so only one pull request per form is judged there.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from perf_culprit.cli.entry import main
from tests.support.container.own_action import InContainer
from tests.support.git_repository import run_git
from tests.support.scenarios import CRASH, LEVEL, SLOWER, Outcome, Project, open_project
from tests.support.workflows.expressions import fill
from tests.support.workflows.runner import InThisProcess

pytestmark = pytest.mark.slow  # each runs benchmarks in rounds

BOTH = [("one file", LEVEL), ("one file", SLOWER), ("split", SLOWER)]
planted = pytest.mark.parametrize(("form", "level"), BOTH, ids=["one file, 0%", "one file, +50%", "split, +50%"])
# Scenarios in which each form could blame a wrong commit in its own way.
planted_in_each = pytest.mark.parametrize("level", [LEVEL, SLOWER], ids=["0%", "+50%"])


def assert_told(project: Project, text: str, sha: str, *, level: int, base: int = LEVEL) -> None:
    """Check that the benchmark is named if it got slower, and that otherwise no change is blamed."""
    if level > base:
        assert "🔴 1 of 2 benchmarks got slower" in text, text
        assert "`parse`** takes" in text or "`parse` takes" in text, text
        assert project.conclusion(sha) == "failure"
    else:
        assert "slower" not in text.partition("<details>")[0], text
        assert "🟢" in text
        assert project.conclusion(sha) == "success"


def told(outcome: Outcome) -> str:
    """Return the job summary, which follows the log."""
    return outcome.log[outcome.log.rindex("\n### ") :]


@planted
def test_a_push_of_several_commits(project: Project, level: int) -> None:
    """The first commit contains the change, so the baseline is the state before the push, not the last parent."""
    outcome = project.report(project.push(level, level, level))
    assert not outcome.failed, outcome.log
    sha = project.main
    if level == LEVEL:
        assert project.conclusion(sha) == "success"
    else:
        assert project.conclusion(sha) == "failure"
        assert "parse takes" in outcome.log
    assert project.recorded() == {sha}


def test_pushes_while_a_report_is_pending(project: Project) -> None:
    outcomes = []
    commits = []
    for _ in range(3):
        outcomes.append(project.push(LEVEL))
        commits.append(project.main)
    groups = [concurrency(project, outcome, "perf") for outcome in outcomes]
    assert len({group["group"] for group in groups}) == 3, "a run of main would wait, and be dropped for the next one"
    for outcome in outcomes:
        assert not project.report(outcome).failed
    assert project.recorded() == set(commits)


def concurrency(project: Project, outcome: Outcome, workflow: str) -> Any:
    github = {"event": outcome.payload, "run_id": outcome.run.id, "event_name": outcome.run.event}
    return fill(project.files[workflow]["concurrency"], {"github": github})


@planted_in_each
def test_a_pull_request_of_the_repository(project: Project, level: int) -> None:
    pull = project.open_pull(7, base=project.main, level=level, merged_level=level)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    (comment,) = project.comments(7)
    assert_told(project, comment, pull.head_sha, level=level)
    # What did not get slower is never traced. The stand-in is a shell script, which no tracer follows.
    assert ("tracing 1 benchmark" in outcome.log) == (level == SLOWER)
    assert ("**The function is not known:** " in comment) == (level == SLOWER)
    groups = {concurrency(project, outcome, "perf")["group"] for outcome in (project.run_pull(pull), outcome)}
    assert len(groups) == 1 or project.split


def test_two_suites_that_init_found(project: Project, tmp_path: Path) -> None:
    """Each suite has its own job, comment and check, and after a push a run in the history."""
    steps = "on: [push]\njobs: {bench: {runs-on: ubuntu-latest, steps: [{run: pytest NAME --benchmark-json=o.json}]}}\n"
    for name in ("parser", "server"):
        path = tmp_path / "read" / ".github/workflows" / f"{name}.yml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(steps.replace("NAME", name))
    options = ["--split"] if project.split else []
    assert main(["init", "--repo", str(tmp_path / "read"), "--yes", *options]) == 0
    written = (tmp_path / "read/.github/workflows/perf.yml").read_text()
    project.files["perf"] = yaml.safe_load(written)
    pull = project.open_pull(7, base=project.main, level=SLOWER, merged_level=SLOWER)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    comments = project.comments(7)
    assert len(comments) == 2
    for name, comment in zip(("parser", "server"), sorted(comments), strict=True):
        assert name in comment
        assert_told(project, comment, pull.head_sha, level=SLOWER)
    names = {check.name for check in project.fake.state.check_runs.values()}
    assert len(names) == 2
    assert not project.report(project.push(LEVEL)).failed
    stored = run_git(project.folder, "ls-tree", "-r", "--name-only", "perf-history")
    assert {line.split("/")[1] for line in stored.splitlines() if line.startswith("runs/")} == {"parser", "server"}


@pytest.mark.parametrize("form", ["split"], indirect=True)
def test_an_existing_job_s_services_that_init_found(project: Project, tmp_path: Path) -> None:
    """The split's measuring job stands in the file; a fork's results are judged again and told as by the called one."""
    job = "{runs-on: ubuntu-latest, services: {db: {image: x}}, steps: [{run: pytest b --benchmark-json=o.json}]}"
    path = tmp_path / "read" / ".github/workflows/bench.yml"
    path.parent.mkdir(parents=True)
    path.write_text(f"on: [push]\njobs: {{bench: {job}}}\n")
    assert main(["init", "--repo", str(tmp_path / "read"), "--yes", "--split"]) == 0
    project.files["perf"] = yaml.safe_load((tmp_path / "read/.github/workflows/perf.yml").read_text())
    assert "uses" not in project.files["perf"]["jobs"]["measure"]
    pull = project.open_pull(7, base=project.main, level=SLOWER, merged_level=SLOWER, fork=True)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    (comment,) = project.comments(7)
    assert_told(project, comment, pull.head_sha, level=SLOWER)
    assert "advice, not proof" in comment
    assert not project.report(project.push(LEVEL)).failed
    assert project.recorded() == {project.main}


def test_a_pull_request_with_the_action_in_its_container(form: str, tmp_path: Path, action_image: str) -> None:
    with open_project(
        tmp_path, lambda fake: InContainer(image=action_image, fake=fake), split=form == "split"
    ) as project:
        test_a_pull_request_of_the_repository(project, SLOWER)


def test_a_regression_that_is_accepted_by_a_comment(project: Project) -> None:
    pull = project.open_pull(7, base=project.main, level=SLOWER, merged_level=SLOWER)
    project.report(project.run_pull(pull))
    assert project.conclusion(pull.head_sha) == "failure"
    assert not project.say("What about /perf-accept?").log
    answered = project.say("/perf-accept all it checks more now")
    assert not answered.failed, answered.log
    assert any("accepted" in comment.lower() for comment in project.comments(7))
    project.report(project.run_pull(pull))
    assert project.conclusion(pull.head_sha) == "success"


@planted
def test_a_pull_request_of_a_fork(project: Project, level: int) -> None:
    pull = project.open_pull(7, base=project.main, level=level, merged_level=level, fork=True)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    if project.split:
        (comment,) = project.comments(7)
        assert_told(project, comment, pull.head_sha, level=level)
        assert "advice, not proof" in comment
    else:
        assert not project.comments(7)
        assert ("🔴" if level == SLOWER else "🟢") in told(outcome)
        assert "the token of a fork's pull request may not write" in outcome.log


@planted_in_each
def test_main_got_slower_meanwhile(project: Project, level: int) -> None:
    """GitHub's merge includes main's +50% too; only the additional change is the pull request's."""
    before = project.main
    project.main = project.commit(project.main, level=SLOWER)
    merged = SLOWER * level // LEVEL
    pull = project.open_pull(7, base=before, level=level, merged_level=merged)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    (comment,) = project.comments(7)
    assert_told(project, comment, pull.head_sha, level=level)


@planted
def test_an_entry_of_a_merge_queue(project: Project, level: int) -> None:
    outcome = project.report(project.queue(level))
    assert not outcome.failed, outcome.log
    assert_told(project, told(outcome), outcome.run.head_sha, level=level)


def test_a_benchmark_that_crashes(project: Project) -> None:
    pull = project.open_pull(7, base=project.main, level=LEVEL, merged_level=LEVEL)
    project.report(project.run_pull(pull))
    head = project.commit(pull.head_sha, level=CRASH)
    again = project.add_pull(7, head, merged_level=CRASH)
    project.report(project.run_pull(again))
    assert project.conclusion(head) == "failure"
    comment = project.comments(7)[-1]
    assert "### 🔴 The target failed; " in comment
    assert "**Not tested:** the target's command ended with exit code 1: the benchmark crashed" in comment


@planted
def test_fail_on_alert(project: Project, level: int) -> None:
    """The split form's check run fails with or without the option, and its uploading job never fails."""
    if not project.split:
        project.files["perf"]["jobs"]["report"]["steps"][-1]["with"]["fail-on-alert"] = "true"
    pull = project.open_pull(7, base=project.main, level=level, merged_level=level)
    outcome = project.report(project.run_pull(pull))
    assert outcome.failed == (level == SLOWER and not project.split)
    (comment,) = project.comments(7)
    assert_told(project, comment, pull.head_sha, level=level)


@planted
def test_two_pull_requests_of_one_head(project: Project, level: int) -> None:
    first = project.open_pull(7, base=project.main, level=level, merged_level=level)
    second = project.add_pull(8, first.head_sha, merged_level=level, base_branch="stable")
    for pull in (first, second):
        outcome = project.report(project.run_pull(pull))
        assert not outcome.failed, outcome.log
    for number in (7, 8):
        (comment,) = project.comments(number)
        assert_told(project, comment, first.head_sha, level=level)


@pytest.mark.parametrize("level", [LEVEL, SLOWER], ids=["0%", "+50%"])
def test_a_screened_head_is_measured_in_turn_only_where_the_stored_runs_suspect_it(
    level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=True) as project:
        project.files["perf"]["jobs"]["measure"]["with"]["screen"] = True
        for _ in range(6):
            assert not project.report(project.push(LEVEL)).failed
        pull = project.open_pull(7, base=project.main, level=level, merged_level=level, fork=True)
        outcome = project.run_pull(pull)
        assert ("nothing is suspected, so nothing is measured" in outcome.log) == (level == LEVEL), outcome.log
        assert not project.report(outcome).failed
        (comment,) = project.comments(7)
        assert_told(project, comment, pull.head_sha, level=level)
        assert ("1 flagged benchmark; 1 proven, 0 refuted" in comment) == (level == SLOWER)
