"""What files of a built checkout weigh."""

import os
import stat
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

MOST_ENTRIES: Final = 1_000_000  # of files and folders; a `node_modules` has a tenth


class WeighingError(Exception):
    """Nothing to weigh, or too much to look at; the message says which."""


def weigh(tree: Path, pattern: str) -> int:
    """Bytes of the files that the shell pattern matches, and of those in folders that it matches.

    `**` is any number of folders. Links are not followed: neither they nor what they lead to counts, so nothing outside
    `tree` does. Two names of one file count once.
    """
    parts = PurePosixPath(pattern).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise WeighingError(f"{pattern} is not in the checkout")
    weights: dict[tuple[int, int], int] = {}
    seen = 0
    for folder, names, files in os.walk(_literal(tree, parts)):
        seen += len(names) + len(files)
        if seen > MOST_ENTRIES:
            raise WeighingError(
                f"there are more than {MOST_ENTRIES:,} files where {pattern} looks: name a folder in it"
            )
        above = Path(folder).relative_to(tree).parts
        for name in files:
            if _matches((*above, name), parts):
                status = os.lstat(f"{folder}/{name}")
                if stat.S_ISREG(status.st_mode):
                    weights[status.st_dev, status.st_ino] = status.st_size
    if not weights:
        raise WeighingError(f"no file is called {pattern} after the build and the run")
    return sum(weights.values())


def _literal(tree: Path, parts: Sequence[str]) -> Path:
    """The folder in which all matches are."""
    folder = tree
    for part in parts:
        if any(character in part for character in "*?[") or not (folder / part).is_dir():
            break
        folder /= part
        if folder.is_symlink():
            raise WeighingError(f"{folder.relative_to(tree)} is a link, which is not followed")
    return folder


def _matches(path: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the file, or a folder that it is in, is called so."""
    if not parts:
        return True
    if parts[0] == "**":
        return any(_matches(path[skipped:], parts[1:]) for skipped in range(len(path)))
    return bool(path) and fnmatchcase(path[0], parts[0]) and _matches(path[1:], parts[1:])
