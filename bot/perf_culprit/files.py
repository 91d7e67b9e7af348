"""Files written whole or not at all, and files read up to a limit."""

import os
import tempfile
from pathlib import Path
from typing import BinaryIO

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
