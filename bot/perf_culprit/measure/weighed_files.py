"""The sizes of files in a built checkout."""

import os
import shutil
import stat
import subprocess
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from perf_culprit.measure.quantities_of_commands import not_installed
from perf_culprit.model.file_limits import FILE_LIMITS

# Of `size:PATTERN:NAME`, at the levels with which files are compressed once and sent often; each file by itself.
COMPRESSORS: Final[Mapping[str, tuple[str, ...]]] = {
    "gzip": ("gzip", "-9", "-n", "-c"),
    "brotli": ("brotli", "-c"),
    "zstd": ("zstd", "-19", "-q", "-c"),
}


class WeighingError(Exception):
    """There is nothing to weigh, or there are too many files; the message states which."""


def weigh(tree: Path, pattern: str) -> int:
    """Sum the bytes of the files that the shell pattern matches, and of files in folders that it matches.

    A pattern that ends with `:gzip`, `:brotli` or `:zstd` sums what these compress each file to. `**` is any number of
    folders. Links are not followed: neither they nor their targets count, so nothing outside `tree` does. Two names of
    one file count once.
    """
    pattern, compressor = _compressor(pattern)
    parts = PurePosixPath(pattern).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise WeighingError(f"{pattern} is not in the checkout")
    if compressor and shutil.which(compressor[0]) is None:
        raise WeighingError(not_installed(compressor[0]))
    weights: dict[tuple[int, int], int] = {}
    count = 0
    for folder, names, files in os.walk(_literal(tree, parts)):
        count += len(names) + len(files)
        if count > FILE_LIMITS.weighed_files:
            raise WeighingError(
                f"there are more than {FILE_LIMITS.weighed_files:,} files where {pattern} looks: name a folder in it"
            )
        above = Path(folder).relative_to(tree).parts
        for name in files:
            if _matches((*above, name), parts):
                status = os.lstat(f"{folder}/{name}")
                if stat.S_ISREG(status.st_mode):
                    size = _compressed_bytes(Path(folder, name), compressor) if compressor else status.st_size
                    weights[status.st_dev, status.st_ino] = size
    if not weights:
        raise WeighingError(f"no file is called {pattern} after the build and the run")
    return sum(weights.values())


def _compressor(pattern: str) -> tuple[str, tuple[str, ...]]:
    """The pattern of files, and the command that compresses them; an empty one for none."""
    files, _, name = pattern.rpartition(":")
    return (files, COMPRESSORS[name]) if files and name in COMPRESSORS else (pattern, ())


def _compressed_bytes(file: Path, command: tuple[str, ...]) -> int:
    """The bytes that the command makes of the file. A link that replaced the file meanwhile is not followed."""
    size = 0
    with (
        open(os.open(file, os.O_RDONLY | os.O_NOFOLLOW), "rb") as content,  # noqa: PTH123 - a descriptor
        subprocess.Popen(command, stdin=content, stdout=subprocess.PIPE) as process,
    ):
        for chunk in iter(lambda: process.stdout.read(1 << 16) if process.stdout else b"", b""):
            size += len(chunk)
    if process.returncode:
        raise WeighingError(f"{command[0]} cannot compress {file.name}")
    return size


def _literal(tree: Path, parts: Sequence[str]) -> Path:
    """The folder that contains all matches."""
    folder = tree
    for part in parts:
        if any(character in part for character in "*?[") or not (folder / part).is_dir():
            break
        folder /= part
        if folder.is_symlink():
            raise WeighingError(f"{folder.relative_to(tree)} is a link, which is not followed")
    return folder


def _matches(path: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the pattern matches the file, or a folder that contains it."""
    if not parts:
        return True
    if parts[0] == "**":
        return any(_matches(path[skipped:], parts[1:]) for skipped in range(len(path)))
    return bool(path) and fnmatchcase(path[0], parts[0]) and _matches(path[1:], parts[1:])
