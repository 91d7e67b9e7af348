"""Where a verb's output goes, and how wide and coloured it is."""

import os
import sys
from pathlib import Path
from typing import TextIO


def write(path: Path | None, data: bytes) -> None:
    if path is None or path == Path("-"):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    from bot.files import replace_file

    replace_file(path, data)


def colour(stream: TextIO) -> bool:
    return stream.isatty() and "NO_COLOR" not in os.environ


def width() -> int:
    import shutil

    return shutil.get_terminal_size((120, 40)).columns
