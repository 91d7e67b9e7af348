"""Files written whole or not at all, temporary folders, and files read up to a limit."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import BinaryIO, Final

from perf_culprit.errors import BotError, DataError, unwritable


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically: a reader sees the old file or the new one, never half of one.

    A path that is not a regular file (/dev/null, a pipe) is written in place: replacing it would break its other users.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # Replace the file that a link points to, not the link.
        target = path.resolve()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            # mkstemp makes private files, but the next step reads the results, maybe as another user.
            Path(name).chmod(0o644)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise unwritable(error, path) from None


_FOLDER_PREFIX: Final = "perf-culprit-"
_LOCK_NAME: Final = ".in-use"
# The locks of this process's folders; the system releases them however it ends.
_locks: dict[Path, BinaryIO] = {}


def make_temporary() -> Path:
    """Make a temporary folder for `remove_temporary`. First remove those of killed processes, once in each process."""
    _remove_abandoned()
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_FOLDER_PREFIX))
        lock = (folder / _LOCK_NAME).open("wb")
        with suppress(OSError):  # a file system without locks
            _lock(lock, wait=True)
        if (folder / _LOCK_NAME).exists():
            _locks[folder] = lock
            return folder
        lock.close()  # another process took it for abandoned before it was locked


def remove_temporary(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    _locks.pop(folder).close()


@contextmanager
def temporary_folder() -> Iterator[Path]:
    folder = make_temporary()
    try:
        yield folder
    finally:
        remove_temporary(folder)


@cache
def _remove_abandoned() -> None:
    """Remove our user's folders whose lock nobody holds. A folder without a lock is not one of these."""
    if os.name != "posix":
        return
    for entry in os.scandir(tempfile.gettempdir()):
        if not entry.name.startswith(_FOLDER_PREFIX):
            continue
        try:
            if not entry.is_dir(follow_symlinks=False) or entry.stat(follow_symlinks=False).st_uid != os.getuid():
                continue
            handle = os.open(Path(entry) / _LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW)
            with os.fdopen(handle, "r+b") as lock:
                _lock(lock, wait=False)
                shutil.rmtree(entry, ignore_errors=True)
        except OSError:  # in use, gone, or not one of these
            continue


def _lock(file: BinaryIO, *, wait: bool) -> None:
    if os.name != "posix":  # Windows has no such locks
        raise OSError
    import fcntl

    fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def read_limited(
    path: Path,
    most_bytes: int,
    *,
    next_step: str,
    error: type[BotError] = DataError,
    stream: BinaryIO | None = None,
) -> bytes:
    """Return the bytes of the file or of `stream`. A pipe has no size, so read one byte beyond the limit at most."""
    try:
        if stream is not None:
            data = stream.read(most_bytes + 1)
        else:
            with path.open("rb") as file:
                data = file.read(most_bytes + 1)
    except OSError as fault:
        raise error(f"cannot be read: {fault.strerror}", place=str(path), next_step=next_step) from None
    if len(data) > most_bytes:
        raise error(f"is larger than {most_bytes:,} bytes", place=str(path), next_step=next_step)
    return data
