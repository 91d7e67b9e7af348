"""Repositories whose commits have a known level, and a benchmark command that reads it with small known noise.

No clock is involved: the command prints the level in the commit's file `value`, up to 1% off according to a counter.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from perf_culprit.git.objects import remove_kept
from tests.support.git_repository import init_repository, lasting_folder, run_git

COUNTER = "MEASURED_COUNTER"
RUN = (
    f'n=0; test ! -e "${COUNTER}" || read -r n < "${COUNTER}"; echo $((n + 1)) > "${COUNTER}"; read -r v < value; '
    "echo $((v * (1000 + (n * 37 + n * n * 11) % 21 - 10)))"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """`level` of the benchmark; further `files`; `parents` by name, by default the previous commit."""

    level: int = 1000
    files: Mapping[str, str] | None = None
    parents: Sequence[str] | None = None


def measured_repository(folder: Path, commits: Mapping[str, Commit]) -> dict[str, str]:
    """Make a repository with these commits, the last checked out; return name -> hash. Merges do not merge files.

    One fast-import makes them all: a commit's files are those of its first parent and its own.
    """
    marks = {name: mark for mark, name in enumerate(commits, start=1)}
    stream: list[str] = []
    for name, commit in commits.items():
        before = [other for other, mark in marks.items() if mark == marks[name] - 1]
        parents = commit.parents if commit.parents is not None else before
        stream += ["commit refs/heads/main", f"mark :{marks[name]}"]
        stream += [f"committer Ada <ada@example.org> {1_700_000_000 + marks[name]} +0000", *_data(f"commit {name}\n")]
        stream += [f"{'merge' if place else 'from'} :{marks[parent]}" for place, parent in enumerate(parents)]
        files = {"value": f"{commit.level}\n", "number": f"{name}\n"} | dict(commit.files or {})
        for path, text in files.items():
            stream += [f"M 100644 inline {path}", *_data(text)]
        # Without it fast-import takes a commit that names no parent for the branch's next.
        stream += ["", *(["reset refs/heads/main", ""] if name != list(commits)[-1] else [])]
    imported = _imported("\n".join(stream) + "\n")
    shutil.copytree(imported, folder)
    run_git(folder, "checkout", "--quiet", "--force", "--detach", "main")
    made = dict(line.split(" ") for line in (folder / ".git" / "marks").read_text().splitlines())
    return {name: made[f":{mark}"] for name, mark in marks.items()}


@cache
def _imported(stream: str) -> Path:
    """Make a repository without a work tree, to copy: many tests have the same commits."""
    folder = init_repository(lasting_folder())
    run_git(
        folder,
        *("-c", "fastimport.unpackLimit=0", "fast-import", "--quiet", "--force", "--export-marks=.git/marks"),
        stdin=stream,
    )
    return folder


def _data(text: str) -> list[str]:
    return [f"data {len(text.encode())}", text]


@contextmanager
def temporary_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The parent of all temporary folders of a test, empty when a process ends; the counter is next to it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setenv(COUNTER, str(tmp_path / "counter"))
    # The noise follows the order of executions, which would differ each time.
    monkeypatch.setattr("perf_culprit.flows.measurement.draw_seed", lambda: 1)
    yield folder
    remove_kept()
    assert list(folder.iterdir()) == []


def line(count: int, *, step_at: int, low: int = 1000, high: int = 1600) -> dict[str, Commit]:
    """c0 … c<count - 1>, from c<step_at> on at the high level."""
    return {f"c{number}": Commit(level=high if number >= step_at else low) for number in range(count)}
