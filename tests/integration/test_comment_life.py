"""A pull request over several pushes: a new comment if findings were added, removed or proven, otherwise an edit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fake_github.state import BOT, PullRequest
from tests.support.git_repository import run_git
from tests.support.scenarios import LEVEL, SLOWER, Project, open_project
from tests.support.thread_picture import keep_page
from tests.support.workflows.runner import InThisProcess


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Project]:
    action = InThisProcess.with_files_in(tmp_path / "action", monkeypatch, capsys)
    with open_project(tmp_path, action, split=True) as opened:
        opened.configuration = "groups: [{name: all}]\n"
        opened.files["perf-report"]["jobs"]["report"]["with"] = {"config": "perf.yml"}
        opened.main = opened.commit(opened.main)
        run_git(opened.folder, "update-ref", "refs/heads/main", opened.main)
        yield opened


def pushed(project: Project, pull: PullRequest | None, level: int) -> PullRequest:
    if pull is None:
        pull = project.open_pull(7, base=project.main, level=level, merged_level=level)
    else:
        pull = project.add_pull(7, project.commit(pull.head_sha, level=level), merged_level=level)
    outcome = project.report(project.run_pull(pull))
    assert not outcome.failed, outcome.log
    return pull


def test_a_comment_is_replaced_when_findings_change_and_else_edited(project: Project) -> None:
    def own() -> list[tuple[str, bool, int]]:
        comments = [one for one in project.fake.state.comments.values() if one.author == BOT]
        return [(one.body.split("### ")[1][:2], one.minimized, one.writes) for one in comments]

    pull = pushed(project, None, LEVEL)
    pull = pushed(project, pull, SLOWER)
    (green, green_hidden, _), (red, red_hidden, _) = own()
    assert (green[0], green_hidden, red[0], red_hidden) == ("🟢", True, "🔴", False)
    pull = pushed(project, pull, SLOWER)
    assert [(hidden, writes) for _, hidden, writes in own()][1] == (False, 2), "edited in place"
    assert len(own()) == 2
    pushed(project, pull, LEVEL)
    assert [hidden for _, hidden, _ in own()] == [True, True, False]
    comments = [one for one in project.fake.state.comments.values() if one.author == BOT]
    assert "all` · time" in comments[1].body
    keep_page("replaced.html", comments)
