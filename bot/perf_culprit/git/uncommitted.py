"""Differences between a checkout and its commit, found without the programs that the checkout names."""

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from perf_culprit.git.command import GitError, run_git
from perf_culprit.git.objects import list_tree
from perf_culprit.model.file_limits import FILE_LIMITS

if TYPE_CHECKING:
    from git.index.typ import IndexEntry

# Of ordinary files and links, git's index has the size. It is 0 if git is not sure itself.
WITH_SIZE: Final = frozenset({0o100644, 0o100755, 0o120000})
# The flags "assume unchanged" and "extended", which a sparse checkout sets for files that it leaves out.
LEFT_ALONE: Final = 0xC000
SIZE_BITS: Final = 0xFFFFFFFF


def uncommitted_files(repository: Path, commit: str) -> tuple[str, ...]:
    """Name the files of the checkout of `commit` that surely differ from it: staged, removed, or of another size.

    It compares git's index with the commit and with the sizes of files. `git status` would run the filters that a
    checkout configures. A change that leaves the size is not found, nor is anything in an index of version 4.
    """
    # Whatever is odd here (no checkout, another version of the index, a damaged one) is no reason to stop.
    with suppress(GitError, AssertionError, OSError, ValueError, struct.error):
        return tuple(sorted(_differing(repository, commit)))
    return ()


def _differing(repository: Path, commit: str) -> Iterator[str]:
    from git.index.fun import read_cache

    answer = run_git(repository, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-path", "index")
    top, index = (Path(line) for line in answer.decode(errors="surrogateescape").splitlines())
    if index.stat().st_size > FILE_LIMITS.uncommitted_bytes:
        return
    with index.open("rb") as stream:
        entries = read_cache(stream)[1]
    committed = {entry.path: entry.blob for entry in list_tree(repository, commit)}
    for entry in entries.values():
        name = str(entry.path)
        is_file = name and entry.mode in WITH_SIZE and not entry.flags & LEFT_ALONE
        if is_file and (entry.hexsha != committed.get(name) or _has_other_size(top / name, entry)):
            yield name


def _has_other_size(file: Path, entry: "IndexEntry") -> bool:
    try:
        size = os.lstat(file).st_size
    except FileNotFoundError:
        return True
    return bool(entry.size) and size & SIZE_BITS != entry.size
