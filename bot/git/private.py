"""Folders for private repositories that a process keeps: what it fetched once it need not fetch again."""

import atexit
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

# Of the history, and of the code's commits without files, with room for a second remote.
MOST_KEPT: Final = 4

_idle: list[tuple[str, Path]] = []


@contextmanager
def kept_folder(purpose: str) -> Iterator[Path]:
    """A folder for one user at a time, with what an earlier one for the same `purpose` left in it.

    After trouble it is removed at once, as all are when the process ends.
    """
    if (folder := next((path for name, path in reversed(_idle) if name == purpose), None)) is None:
        folder = Path(tempfile.mkdtemp(prefix="perf-culprit-"))
    else:
        _idle.remove((purpose, folder))
    try:
        yield folder
    except BaseException:
        _remove(folder)
        raise
    _idle.append((purpose, folder))
    while len(_idle) > MOST_KEPT:
        _remove(_idle.pop(0)[1])


@atexit.register
def remove_kept() -> None:
    while _idle:
        _remove(_idle.pop()[1])


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
