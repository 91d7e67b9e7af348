"""Files are replaced as a whole. Pipes are written to."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from perf_culprit.errors import UsageError
from perf_culprit.files import replace_file


def test_a_file_is_replaced_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "new" / "report.json"
    replace_file(path, b"one")
    replace_file(path, b"two")
    assert path.read_bytes() == b"two"
    assert [*path.parent.iterdir()] == [path]


def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()))
    reader.start()
    replace_file(path, b"report")
    reader.join(timeout=10)
    assert read == [b"report"]
    assert path.is_fifo()


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        replace_file(tmp_path, b"report")


def test_the_file_that_a_link_names_is_replaced(tmp_path: Path) -> None:
    path, link = tmp_path / "report.json", tmp_path / "latest.json"
    path.write_bytes(b"old")
    link.symlink_to(path.name)
    replace_file(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"


FOLDERS = """
import os, signal, sys
from perf_culprit.files import make_temporary
print(make_temporary(), flush=True)
sys.stdin.read()
if "killed" in sys.argv:
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_folders_of_killed_processes_are_removed_by_the_next(tmp_path: Path) -> None:
    def started(*arguments: str) -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", FOLDERS, *arguments],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        return process, Path(process.stdout.readline().strip())

    others = [tmp_path / "perf-culprit-without-lock", tmp_path / "elsewhere" / "perf-culprit-x"]
    for other in others:
        other.mkdir(parents=True)
    (others[1] / ".in-use").touch()
    link = tmp_path / "perf-culprit-link"
    link.symlink_to(others[1])
    (killed, abandoned), (living, used) = started("killed"), started()
    killed.communicate("")
    assert abandoned.is_dir()
    (next_one, own) = started()
    assert not abandoned.exists()
    assert all(folder.is_dir() for folder in (used, own, link, *others))
    for process in (living, next_one):
        process.communicate("")
