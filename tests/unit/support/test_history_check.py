"""The independent checker of a history finds each planted fault."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.git_repository import init_repository, run_git
from tests.support.history_check import BRANCH, Written, faults, forgetful_pushes

COMMITS = ("a" * 40, "b" * 40)
WRITTEN = [Written(commit=commit, samples={"parse": (1.0, 2.0, 4.0)}) for commit in COMMITS]
SUMMARY = {
    "value": 7 / 3,
    "count": 3,
    "median": 2.0,
    "minimum": 1.0,
    "maximum": 4.0,
    "standard_deviation": (7 / 3) ** 0.5,
}


def stored(commit: str, benchmark: dict[str, object], *, name_of: bytes | None = None) -> dict[str, bytes]:
    content = json.dumps({"commit": commit, "benchmarks": [{"name": "parse", **benchmark}]}).encode()
    digest = hashlib.sha256(name_of or content).hexdigest()[:16]
    end = ".summary.json" if name_of else ".json"
    return {f"runs/default/{commit}/20260101T000000Z-{digest}-{len(content)}{end}": content}


def history() -> dict[str, bytes]:
    return {
        **stored(COMMITS[0], {"samples": [1.0, 2.0, 4.0]}),
        **stored(COMMITS[1], {"summary": SUMMARY}, name_of=b"with its samples"),
    }


def cut(files: dict[str, bytes], *, at: int) -> None:
    del files[sorted(files)[at]]


def rewrite(files: dict[str, bytes], *, at: int, old: bytes, new: bytes) -> None:
    path = sorted(files)[at]
    assert old in files[path]
    files[path] = files[path].replace(old, new)


def test_nothing_is_wrong_with_a_run_and_a_compacted_one() -> None:
    assert list(faults(history(), WRITTEN)) == []


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        pytest.param(lambda files: cut(files, at=0), "lost or changed", id="lost"),
        pytest.param(lambda files: cut(files, at=1), "lost or changed", id="lost when compacted"),
        pytest.param(lambda files: rewrite(files, at=0, old=b"2.0", new=b"2.5"), "was changed", id="a sample"),
        pytest.param(lambda files: rewrite(files, at=1, old=b"2.0", new=b"2.5"), "lost or changed", id="a summary"),
        pytest.param(lambda files: rewrite(files, at=0, old=b"}]", new=b"} ]"), "has ", id="a size"),
        pytest.param(lambda files: rewrite(files, at=0, old=b"aaaa", new=b"aaab"), "of another commit", id="a commit"),
        pytest.param(
            lambda files: files.update(stored(COMMITS[0], {"samples": [1.0, 2.0, 4.0], "unit": "s"})),
            "stored 2 times",
            id="doubled",
        ),
        pytest.param(
            lambda files: files.update(stored(COMMITS[1], {"samples": [9.0]}, name_of=b"with its samples")),
            "is there 2 times",
            id="compacted and whole",
        ),
        pytest.param(lambda files: files.update(stored("c" * 40, {"samples": [1.0]})), "nobody wrote", id="foreign"),
        pytest.param(
            lambda files: files.update({"runs/default/x": b'{"benchmarks": []}'}), "no name of a run", id="a name"
        ),
    ],
)
def test_a_planted_fault_is_found(harm: Callable[[dict[str, bytes]], object], words: str) -> None:
    files = history()
    harm(files)
    assert any(words in fault for fault in faults(files, WRITTEN))


def test_a_run_whose_writer_died_may_be_missing_but_not_doubled() -> None:
    files = history()
    cut(files, at=0)
    maybe = [Written(commit=COMMITS[0], samples=WRITTEN[0].samples, is_certain=False), WRITTEN[1]]
    assert list(faults(files, maybe)) == []


def test_a_push_that_removes_a_run_is_found_and_one_that_compacts_is_not(tmp_path: Path) -> None:
    bare = init_repository(tmp_path / "project.git", bare=True)
    run_git(bare, "config", "core.logAllRefUpdates", "always")
    names = [f"runs/default/{'a' * 40}/20260101T000000Z-{digit * 16}-1" for digit in "123"]
    whole = [f"{name}.json" for name in names]
    commits: list[str] = []
    for state in (whole[:1], whole[:2], [f"{names[0]}.summary.json", whole[1]], whole[1:]):
        blob = run_git(bare, "hash-object", "-w", "--stdin", stdin="1")
        run_git(bare, "read-tree", "--empty")
        run_git(bare, "update-index", "--index-info", stdin="".join(f"100644 {blob}\t{path}\n" for path in state))
        commits.append(run_git(bare, "commit-tree", "-m", "x", run_git(bare, "write-tree")))
        run_git(bare, "update-ref", BRANCH, commits[-1])
    assert list(forgetful_pushes(bare, set())) == [f"{commits[3]} removed default/{'a' * 40}/{'1' * 16}"]
    assert list(forgetful_pushes(bare, {commits[3]})) == []
