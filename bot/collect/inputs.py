"""From what the user names (files, patterns, directories, archives, `-`) to sources."""

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from bot.collect.archive import is_archive, read_archive
from bot.collect.content import shown
from bot.collect.source import STDIN_NAME, Source, open_file, open_stream
from bot.errors import DataError

MAX_FILES = 20_000
MAX_TOTAL_BYTES = 512 << 20


@dataclass(frozen=True, kw_only=True, slots=True)
class Input:
    """What one name led to. `is_search` where files were found, not named: those of no known format are passed over.

    `is_tree` where the files lie together in a directory or an archive, not just match one pattern.
    """

    sources: tuple[Source, ...]
    is_search: bool
    is_tree: bool


def read_inputs(paths: Sequence[str], *, stdin: BinaryIO | None = None) -> tuple[Input, ...]:
    """One input per path; the same file reached twice counts once, or its samples would count double."""
    inputs: list[Input] = []
    seen: set[str] = set()
    budget = MAX_TOTAL_BYTES
    for path in paths:
        if path == STDIN_NAME:
            files, is_search = [STDIN_NAME], False
        else:
            files, is_search = _files(path)
        sources: list[Source] = []
        for file in files:
            identity = file if file == STDIN_NAME else os.path.realpath(file)
            if identity in seen:
                continue
            seen.add(identity)
            source = open_stream(file, stdin or sys.stdin.buffer) if file == STDIN_NAME else open_file(file)
            budget -= len(source.data)
            if budget < 0 or len(seen) > MAX_FILES:
                raise DataError(
                    f"is more than {MAX_FILES:,} files or {MAX_TOTAL_BYTES:,} bytes together with the inputs before it",
                    place=shown(path),
                    next_step="name the result files only",
                )
            sources.append(source)
        is_tree = is_search and Path(path).is_dir()
        inputs.extend(_opened(sources, is_search=is_search, is_tree=is_tree))
    return tuple(inputs)


def _opened(sources: list[Source], *, is_search: bool, is_tree: bool) -> Iterator[Input]:
    """Archives become inputs of their own: each is a tree."""
    if plain := tuple(source for source in sources if not is_archive(source.data)):
        yield Input(sources=plain, is_search=is_search, is_tree=is_tree)
    for source in sources:
        if is_archive(source.data):
            yield Input(sources=read_archive(source.content(), name=source.name), is_search=True, is_tree=True)


def _files(path: str) -> tuple[list[str], bool]:
    """The files that `path` names, and whether they had to be looked for."""
    if os.path.isdir(path):  # noqa: PTH112 - a Path cannot be made of every string that a user gives
        return list(_walk(path)), True
    # A file may have a bracket in its name, as parametrised benchmarks do.
    if glob.has_magic(path) and not os.path.lexists(path):
        matches = sorted(name for name in glob.iglob(path, recursive=True) if Path(name).is_file())  # noqa: PTH207 - same
        if not matches:
            raise DataError(
                "matches no file", place=shown(path), next_step="check the pattern and the working directory"
            )
        return matches, True
    return [path], False


def _walk(path: str) -> Iterator[str]:
    count = 0
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            file = Path(folder) / name
            # A link in a stranger's tree may lead anywhere.
            if file.is_symlink() or not file.is_file():
                continue
            count += 1
            yield str(file)
    if not count:
        raise DataError("holds no file", place=shown(path), next_step="check that the benchmark step wrote its results")
