"""Files are replaced as a whole. Pipes are written to."""

import os
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
