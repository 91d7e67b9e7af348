"""The documented perf-backfill.yml as pasted: the stored runs, the resumption, and the jobs that get a token."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from perf_culprit.git.command import Remote
from perf_culprit.store.opening import open_git_branch
from perf_culprit.store.protocol import NamedRun
from tests.support.fake_github.state import WorkflowRun
from tests.support.git_repository import run_git
from tests.support.recipes import BACKFILL, workflows
from tests.support.scenarios import CRASH, Project, open_project
from tests.support.workflows.runner import PROGRAM, Event, InThisProcess, JobRun

# It replaces the installed program by one that is killed as soon as a commit is measured.
KILLED = f"""
mkdir "$RUNNER_TEMP/path"
echo "$RUNNER_TEMP/path" >> "$GITHUB_PATH"
cat > "$RUNNER_TEMP/path/perf-culprit" <<'END'
#!/bin/sh
[ "$1" = backfill ] || exec "{PROGRAM}" "$@"
"{PROGRAM}" "$@" &
while [ -z "$(ls "$RUNNER_TEMP/runs" 2> /dev/null)" ]; do sleep 0.05; done
kill -9 $!
wait $!
END
chmod +x "$RUNNER_TEMP/path/perf-culprit"
"""
pytestmark = pytest.mark.slow  # jobs with real worktrees


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    """Main has six commits, of which the fourth gives no result."""
    folder = tmp_path / "runner"
    folder.mkdir()

    with open_project(tmp_path, InThisProcess.with_files_in(folder, monkeypatch, capsys), split=False) as opened:
        for level in (1000, CRASH, 1500, 1500):
            opened.main = opened.commit(opened.main, level=level)
        run_git(opened.folder, "update-ref", "refs/heads/main", opened.main)
        yield opened


def night(project: Project, *, since: str, **inputs: object) -> list[JobRun]:
    run = WorkflowRun(id=next(project.fake.state.ids), head_sha=project.main, event="schedule")
    project.fake.state.runs[run.id] = run
    workflow = workflows(BACKFILL)["perf-backfill"]
    workflow["jobs"]["backfill"]["with"] |= {"since": since, "executions": 2, **inputs}
    payload = {"repository": {"default_branch": "main"}, "schedule": "17 2 * * *"}
    return project.runner.run(workflow, Event(name="schedule", payload=payload, sha=project.main, run_id=run.id))


def test_a_night_stores_what_it_measured_and_the_next_one_resumes(project: Project) -> None:
    line = run_git(project.folder, "rev-list", "--reverse", "main").split()
    # The time suffices for one commit only.
    jobs = night(project, since=line[0], minutes=0.0001)
    assert not any(job.failed for job in jobs), jobs[0].log
    assert "recorded 1, 0 gave no result, 5 are left" in jobs[0].log
    assert project.recorded() == {line[-1]}
    jobs = night(project, since=line[0])
    assert "6 commits since" in jobs[0].log
    assert "1 stored before\nrecorded 4, 1 gave no result, 0 are left" in jobs[0].log
    assert project.recorded() == set(line) - {line[3]}
    # Only what gives no result is left: no failure, and nothing to store.
    jobs = night(project, since=line[0])
    assert not any(job.failed for job in jobs), jobs[0].log
    with open_git_branch(Remote(url=str(project.folder))) as history:
        (stored,) = (entry for entry in history.runs("default", [line[4]]) if isinstance(entry, NamedRun))
    assert any("by backfill" in note for note in stored.run.notes)
    assert {entry.name: len(entry.group_sizes) for entry in stored.run.benchmarks} == {"parse": 2, "render": 2}


def test_what_was_measured_before_a_job_failed_is_stored(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.workflows.runner.INSTALL", KILLED)
    line = run_git(project.folder, "rev-list", "--reverse", "main").split()
    measuring, storing = night(project, since=line[0])
    assert measuring.failed
    assert not storing.failed, storing.log
    assert line[-1] in project.recorded()
    assert len(project.recorded()) < 5


def test_the_measured_code_meets_no_token(project: Project, tmp_path: Path) -> None:
    seen = tmp_path / "seen"
    run = f'env >> {seen}; git config --list >> {seen}; pytest --benchmark-json="$PERF_CULPRIT_OUTPUT"'
    jobs = night(project, since="HEAD", run=run)
    assert not any(job.failed for job in jobs), jobs[0].log
    assert project.recorded() == {project.main}
    assert "PERF_CULPRIT_OUTPUT" in seen.read_text()
    assert "token" not in seen.read_text().lower()
