"""The default branch against a release: a slow drift that no single run shows gets one issue, which follows it."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from perf_culprit import git
from perf_culprit.cli.entry import main
from perf_culprit.errors import EXIT_FINE, EXIT_REGRESSION, EXIT_USAGE
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.run_file import encode_run
from perf_culprit.store.opening import open_git_branch
from tests.support.fake_github.state import Issue
from tests.support.git_repository import chain, import_commits, init_repository, run_git
from tests.support.job import claiming
from tests.support.measurements import measured
from tests.support.scenarios import LEVEL, Outcome, Project, open_project
from tests.support.webhooks import event
from tests.support.workflows.runner import InThisProcess

CALM = {f"steady-{number}": 0.004 for number in range(20)}
DRIFT = (1040, 1080, 1120, 1170)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=True) as opened:
        opened.files["perf"]["jobs"]["measure"]["with"] |= {"reference": "latest-release"}
        opened.files["perf-report"]["jobs"]["report"]["with"] = {"config": "perf.yml"}
        opened.configuration = "issues: {when: regression}\n"
        drift(opened, LEVEL)
        tag(opened, "v1")
        yield opened


def tag(project: Project, name: str) -> None:
    run_git(project.folder, "update-ref", f"refs/tags/{name}", project.main)


def drift(project: Project, *levels: int) -> None:
    for level in levels:
        project.main = project.commit(project.main, level=level)
    run_git(project.folder, "update-ref", "refs/heads/main", project.main)


def scheduled(project: Project) -> Outcome:
    payload = {"schedule": "23 3 1 * *", "repository": event("push")["repository"], "workflow": "perf"}
    ref = "refs/heads/main"
    outcome = project.report(project.start("schedule", payload, sha=project.main, ref=ref, branch="main"))
    assert not outcome.failed, outcome.log
    return outcome


def issue(project: Project) -> Issue:
    (only,) = project.fake.state.issues.values()
    return only


def notes(project: Project) -> list[str]:
    return [comment.body for comment in project.fake.state.comments.values()]


def test_a_drift_since_a_release_gets_one_issue_that_follows_it(project: Project) -> None:
    drift(project, *DRIFT)
    outcome = scheduled(project)
    assert "Against v1: 1 of 2 benchmarks got slower" in outcome.log
    assert issue(project).title == "Slower or larger than v1: 1 benchmark"
    assert "1 benchmark is worse at [`" in (issue(project).body or "")
    release = run_git(project.folder, "rev-parse", "v1")
    assert f'/perf-bisect good={release} bad={project.main} benchmark="parse"' in (issue(project).body or "")
    assert [check.name for check in project.fake.state.check_runs.values()] == [
        "perf-culprit (default) against a release"
    ]
    scheduled(project)
    assert (issue(project).state, notes(project)) == ("open", []), "nothing has changed"
    tag(project, "v2")
    drift(project, 1330)
    assert "Against v2" in scheduled(project).log
    assert issue(project).title == "Slower or larger than v2: 1 benchmark"
    assert len(notes(project)) == 1
    drift(project, 1170)
    scheduled(project)
    assert issue(project).state == "closed"
    assert not project.fake.state.issues.keys() & project.fake.state.pulls.keys()


def test_what_was_accepted_since_opens_nothing(project: Project) -> None:
    drift(project, 1500)
    acceptance = Acceptance(
        suite="default",
        benchmark="parse",
        commit=project.main,
        reason="the new grammar",
        author="octocat",
        time=datetime(2026, 11, 1, tzinfo=UTC),
    )
    with open_git_branch(git.Remote(url=str(project.folder))) as history:
        history.accept((acceptance,))
    drift(project, 1500)
    assert "the new grammar" in scheduled(project).log
    assert not project.fake.state.issues


def test_a_pull_request_cannot_name_a_reference(project: Project) -> None:
    """Its own code writes the report that it leaves."""
    outcome = project.run_pull(project.open_pull(7, base=project.main, level=1500, merged_level=1500))
    (artifact,) = project.fake.state.artifacts.values()
    artifact.zip_bytes = claiming(artifact.zip_bytes, reference="v1")
    project.report(outcome)
    (comment,) = project.comments(7)
    assert "🔴 1 of 2 benchmarks got slower" in comment
    assert "Against" not in comment
    assert not project.fake.state.issues


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four commits, the second one tagged; `parse` takes three times as long from the third on."""
    folder = init_repository(tmp_path / "repository")
    commits = import_commits(folder, chain("main", 4))
    run_git(folder, "checkout", "--quiet", commits["main4"])
    run_git(folder, "tag", "v1", commits["main2"])
    with open_git_branch(git.Remote(url=str(folder))) as history:
        for number in range(24):
            level = 0.004 if number < 12 else 0.012
            commit = commits["main2" if number < 12 else "main3"]
            history.append(measured({**CALM, "parse": level}, seed=number, commit=commit))
    target = measured({**CALM, "parse": 0.012}, seed=90, commit=commits["main4"])
    (folder / "target.json").write_bytes(encode_run(target))
    monkeypatch.chdir(folder)
    return folder


def compared(*options: str) -> int:
    return main(["compare", "--target", "target.json", "--repo", ".", "--history", ".", *options])


def test_compare_takes_the_runs_of_a_reference(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compared() == EXIT_FINE, "the level has lasted"
    assert "Against" not in capsys.readouterr().out
    for name in ("v1", "latest-release"):
        assert compared("--reference", name) == EXIT_REGRESSION
        out = capsys.readouterr().out
        assert "Against v1: 1 of 21 benchmarks got slower" in out
        assert f"base {run_git(repository, 'rev-parse', '--short=7', 'v1')}" in out.replace("`", "")


@pytest.mark.usefixtures("repository")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("compare", "--target", "target.json", "--repo", ".", "--reference", "v9"), "git knows no commit 'v9'"),
        (("compare", "--target", "target.json", "--reference", "v1", "--base", "main"), "both say what to judge"),
        (("compare", "--baseline", "target.json", "--target", "target.json", "--reference", "v1"), "the baseline was"),
        (
            ("measure", "--commits", "v1", "HEAD", "--reference", "v1", "--run", "true", "--output", "o"),
            "names a baseline already",
        ),
    ],
)
def test_a_wrong_reference_is_refused(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    assert main([*arguments]) == EXIT_USAGE
    err = capsys.readouterr().err
    assert message in err
    assert "Next: " in err


def test_without_a_tag_there_is_no_latest_release(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_git(repository, "tag", "--delete", "v1")
    assert compared("--reference", "latest-release") == EXIT_USAGE
    assert "no tag is among the commits before the target" in capsys.readouterr().err
