"""`perf-culprit history`: the branch's size as git counts it, and one commit that replaces all."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from perf_culprit import git
from perf_culprit.cli.entry import main
from perf_culprit.errors import InfrastructureError, NewerVersionError
from perf_culprit.model.run_file import encode_run
from perf_culprit.say.maintenance_text import history_size_text
from perf_culprit.store.compaction import GitBranchCompaction
from perf_culprit.store.git_branch import COMMIT_BYTES, PAST_LINE, STARTED_OVER, GitBranchHistory
from perf_culprit.store.opening import open_git_branch
from perf_culprit.store.protocol import NamedRun
from perf_culprit.store.retention import Patience, Retention, compact
from perf_culprit.store.run_names import name_run
from tests.support.git_repository import init_repository, run_git
from tests.support.runner_pool import new_bisection
from tests.support.stored_runs import START, make_run

BRANCH = "refs/heads/perf-history"
COMMITS = [f"{number:040x}" for number in range(1, 9)]


@pytest.fixture
def served(tmp_path: Path) -> Path:
    """Store eight runs of 200 samples each, none compacted, in three commits."""
    served = init_repository(tmp_path / "served.git", bare=True)
    with open_git_branch(git.Remote(url=str(served))) as history:
        history.append_all([make_run(number, samples=200) for number in range(1, 7)])
        for number in (7, 8):
            history.append(make_run(number, samples=200))
    return served


def files(served: Path) -> list[str]:
    return run_git(served, "ls-tree", "-r", "--name-only", BRANCH).splitlines()


def packed(served: Path) -> int:
    """Return the size that git reports for the branch alone, in bytes."""
    listed = run_git(served, "rev-list", "--disk-usage", "--objects", BRANCH)
    return int(listed)


def test_stats_are_git_s_own_and_foretell_what_compact_does(
    served: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "config.yml"
    config.write_text("history: {raw-runs: 2}")
    options = ["--history", str(served), "--config", str(config)]
    run_git(served, "repack", "-adq")
    with open_git_branch(git.Remote(url=str(served)), retention=Retention(raw_runs=2)) as history:
        before = history.size()
    assert before.packed_bytes == pytest.approx(packed(served), rel=0.05)
    assert (before.commits, before.to_compact, before.to_drop, before.is_cut) == (3, 6, 0, False)
    assert [(suite.name, suite.runs, suite.uncompacted) for suite in before.suites] == [("default", 8, 8)]
    assert [(month.month, month.runs) for month in before.months] == [("202601", 8)]

    assert main(["history", "stats", *options]) == 0
    assert "3 commits since" in capsys.readouterr().out
    assert main(["history", "compact", *options]) == 0
    assert "one commit with 8 runs, 6 reduced to a summary, 0 removed" in capsys.readouterr().out
    assert run_git(served, "rev-list", "--count", BRANCH) == "1"
    run_git(served, "repack", "-adq")
    assert packed(served) == pytest.approx(before.compacted_bytes, rel=0.1)
    assert packed(served) < before.packed_bytes * 2 / 3
    with open_git_branch(git.Remote(url=str(served))) as history:
        runs = [entry.run for entry in history.runs("default", COMMITS) if isinstance(entry, NamedRun)]
    expected = [make_run(number, samples=200) for number in range(1, 9)]
    assert runs == [*map(compact, expected[:6]), *expected[6:]]
    assert main(["history", "compact", *options]) == 0
    assert capsys.readouterr().out.startswith("nothing to compact: 8 runs in one commit")


def test_a_run_that_is_recorded_meanwhile_is_compacted_along(served: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another job records a run between read and push: the push is refused, and everything is repeated."""
    push = git.push
    others = [9, 10]

    def late(*arguments: object, **options: object) -> None:
        monkeypatch.setattr(git, "push", push)
        with open_git_branch(git.Remote(url=str(served))) as history:
            history.append(make_run(others.pop()))
        monkeypatch.setattr(git, "push", late if others else push)
        push(*arguments, **options)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(git, "push", late)
    with open_git_branch(git.Remote(url=str(served)), retention=Retention(raw_runs=1)) as history:
        compacted = history.compact()
    assert (compacted.runs, compacted.compacted) == (10, 9)
    assert run_git(served, "rev-list", "--count", BRANCH) == "1"
    assert len(files(served)) == 11


def test_where_no_branch_may_be_replaced_runs_are_recorded_and_compact_says_why_not(
    served: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_git(served, "config", "receive.denyNonFastForwards", "true")
    before = run_git(served, "rev-parse", BRANCH)
    assert main(["history", "compact", "--history", str(served)]) == 4
    assert "a rule forbids it" in capsys.readouterr().err
    assert run_git(served, "rev-parse", BRANCH) == before
    retention = Retention(branch_bytes=4 * COMMIT_BYTES)
    name = GitBranchHistory(git.Remote(url=str(served)), tmp_path / "private", retention=retention).append(make_run(9))
    assert name in files(served)
    assert run_git(served, "rev-list", "--count", BRANCH) == "4"
    assert int(PAST_LINE.search(run_git(served, "log", "-1", "--format=%B", BRANCH))[1]) > COMMIT_BYTES  # type: ignore[index]  # asserted


def test_the_past_is_kept_where_that_is_asked_for(served: Path, tmp_path: Path) -> None:
    for keeps_past, count in ((True, "4"), (False, "1")):
        retention = Retention(branch_bytes=4 * COMMIT_BYTES, keeps_past=keeps_past)
        folder = tmp_path / f"private{count}"
        GitBranchHistory(git.Remote(url=str(served)), folder, retention=retention).append(make_run(10 + int(count)))
        assert run_git(served, "rev-list", "--count", BRANCH) == count
        assert (STARTED_OVER in run_git(served, "log", "-1", "--format=%B", BRANCH)) is not keeps_past


def test_a_shallow_clone_weighs_what_it_has_and_says_so(served: Path, tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    run_git(tmp_path, "clone", "-q", "--bare", "--depth=2", "--branch=perf-history", f"file://{served}", str(shallow))
    with open_git_branch(git.Remote(url=str(shallow))) as history:
        size = history.size()
    assert (size.commits, size.is_cut) == (2, True)
    assert size.suites[0].runs == 8


def test_compact_passes_on_what_git_says_of_a_left_lock(served: Path, tmp_path: Path) -> None:
    lock = served / f"{BRANCH}.lock"
    lock.touch()
    patience = Patience(attempts=2, first_pause_seconds=0.0)
    remote, retention = git.Remote(url=str(served)), Retention(raw_runs=1)
    history = GitBranchCompaction(remote, tmp_path / "private", retention=retention, patience=patience)
    with pytest.raises(InfrastructureError, match="remove the file manually"):
        history.compact()
    lock.unlink()
    assert history.compact().done


def test_a_compacted_run_of_a_newer_version_survives_compaction_and_is_refused(served: Path) -> None:
    content = encode_run(compact(make_run(30))).replace(b'"version":1', b'"version":2')
    name = name_run(make_run(30), content, now=START).with_content(content, compacted=True)
    blob = run_git(served, "hash-object", "-w", "--stdin", stdin=content.decode())
    run_git(served, "read-tree", BRANCH)
    run_git(served, "update-index", "--add", "--cacheinfo", f"100644,{blob},{name.path}")
    tree = run_git(served, "write-tree")
    run_git(served, "update-ref", BRANCH, run_git(served, "commit-tree", "-m", "newer", "-p", BRANCH, tree))
    with open_git_branch(git.Remote(url=str(served)), retention=Retention(raw_runs=2)) as history:
        assert history.compact().runs == 9
    with open_git_branch(git.Remote(url=str(served))) as history:
        assert name.path in history.paths()
        with pytest.raises(NewerVersionError, match="run version 2"):
            list(history.runs("default", [f"{30:040x}"]))


def test_a_month_says_what_its_searches_took(served: Path) -> None:
    bisection = new_bisection(size=8)
    with open_git_branch(git.Remote(url=str(served))) as history:
        for number, seconds in ((1, 90.0), (2, 200.0)):
            history.store(replace(bisection, id=f"{number}", runner_seconds=seconds), expected=None)
    with open_git_branch(git.Remote(url=str(served))) as history:
        months = history.size().months
        text = history_size_text(history.size())
    month = f"{bisection.started_at:%Y%m}"
    assert [(entry.searches, entry.runner_seconds) for entry in months if entry.month == month] == [(2, 290.0)]
    assert re.search(rf"{month[:4]}-{month[4:]} .* 2  .* 5$", text, re.MULTILINE)


def test_nothing_stored_is_no_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    served = init_repository(tmp_path / "empty.git", bare=True)
    for action in ("stats", "compact"):
        assert main(["history", action, "--history", str(served)]) == 3
        assert re.search(r"there is no history yet.*\n.*record", capsys.readouterr().err)
