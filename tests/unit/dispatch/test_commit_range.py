"""Candidates, their subjects and the commits that cannot be the culprit, from git's output."""

from pathlib import Path

from perf_culprit.dispatch.commit_range import find_candidates
from tests.support.git_repository import run_git
from tests.support.measured_repository import Commit, line, measured_repository


def test_candidates_come_parents_first_with_their_subjects(tmp_path: Path) -> None:
    hashes = measured_repository(tmp_path / "r", line(4, step_at=9))
    candidates = find_candidates(tmp_path / "r", good=hashes["c0"][:12], bad="HEAD")
    assert candidates.commit_range.commits == (hashes["c1"], hashes["c2"], hashes["c3"])
    assert candidates.commit_range.good == hashes["c0"]
    assert candidates.subjects == {hashes[name]: f"commit {name}" for name in ("c0", "c1", "c2", "c3")}


def test_first_parent_leaves_branches_out(tmp_path: Path) -> None:
    commits = {
        "base": Commit(),
        "main": Commit(),
        "side": Commit(parents=["base"]),
        "merge": Commit(parents=["main", "side"]),
    }
    hashes = measured_repository(tmp_path / "r", commits)
    good, bad = hashes["base"], hashes["merge"]
    assert set(find_candidates(tmp_path / "r", good=good, bad=bad).commit_range.commits) == {
        hashes[name] for name in ("main", "side", "merge")
    }
    mainline = find_candidates(tmp_path / "r", good=good, bad=bad, first_parent=True).commit_range
    assert mainline.commits == (hashes["main"], hashes["merge"])


def test_commits_without_a_change_under_the_paths_cannot_be_it(tmp_path: Path) -> None:
    commits = {f"c{i}": Commit(level=1000 + i // 2, files={"docs": str(i)}) for i in range(5)}
    hashes = measured_repository(tmp_path / "r", commits)
    good, bad = hashes["c0"], hashes["c4"]
    assert find_candidates(tmp_path / "r", good=good, bad=bad).commit_range.unchanged == ()
    assert find_candidates(tmp_path / "r", good=good, bad=bad, paths=("value",)).commit_range.unchanged == (0, 2)
    assert find_candidates(tmp_path / "r", good=good, bad=bad, paths=("value", "docs/")).commit_range.unchanged == ()


def test_an_empty_commit_and_a_revert_are_known(tmp_path: Path) -> None:
    repository = tmp_path / "r"
    hashes = measured_repository(repository, line(3, step_at=2))
    identity = ("-c", "user.name=Ada", "-c", "user.email=a@b.c")
    run_git(repository, *identity, "commit", "--quiet", "--allow-empty", "-m", "empty")
    run_git(repository, *identity, "revert", "--no-edit", hashes["c2"])
    candidates = find_candidates(repository, good=hashes["c0"], bad="HEAD").commit_range
    assert candidates.unchanged == (2,)
    assert candidates.reverts == ((3, 1),)


def test_messages_with_any_bytes(tmp_path: Path) -> None:
    repository = tmp_path / "r"
    hashes = measured_repository(repository, line(2, step_at=9))
    tree = run_git(repository, "rev-parse", "HEAD^{tree}")
    odd = run_git(repository, "commit-tree", tree, "-p", hashes["c1"], stdin="\n\n  größer\n\nbody\n" + hashes["c0"])
    candidates = find_candidates(repository, good=hashes["c0"], bad=odd)
    assert candidates.subjects[odd] == "größer"
