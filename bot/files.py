"""Files written whole or not at all."""

import os
import tempfile
from pathlib import Path

from bot.errors import UsageError


def replace_file(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically: a reader sees the old file or the new one, never half of one.

    What is no ordinary file (/dev/null, a pipe) is written to: replacing it would take it from everybody else.
    """
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        # The file that a link names is replaced, not the link.
        target = path.resolve()
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            # mkstemp makes private files; results are meant to be read by the next step, maybe as another user.
            Path(name).chmod(0o644)
            Path(name).replace(target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UsageError(
            f"cannot be written: {error.strerror}", place=str(path), next_step="give a path that can be written"
        ) from None
