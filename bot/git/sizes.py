"""What objects weigh in a repository's packs."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.git.command import NETWORK_TIMEOUT_SECONDS, run_git
from bot.git.diffs import NO_PROGRAMS


@dataclass(frozen=True, slots=True)
class PackedObject:
    """`path` is one under which it was reached: a file's, a folder's, or empty (a commit). `size` in bytes, on disk."""

    name: str
    path: str
    size: int


def packed_objects(repository: Path, commit: str) -> tuple[PackedObject, ...]:
    """All that `commit` and its past hold, with what each takes on disk; a delta without what it is a delta of."""
    listed = run_git(repository, "rev-list", "--objects", "--end-of-options", commit)
    lines = [line.partition(" ") for line in listed.decode(errors="surrogateescape").splitlines()]
    names = [name for name, _, _ in lines]
    sizes = run_git(repository, "cat-file", "--batch-check=%(objectsize:disk)", "--buffer", lines=names).split()
    return tuple(PackedObject(name, path, int(size)) for (name, _, path), size in zip(lines, sizes, strict=True))


def packed_size(repository: Path, commit: str, *, folder: Path) -> int:
    """Bytes of a pack of all that `commit` holds; it is written to `folder`, for a moment."""
    prefix = folder / "measured"
    arguments = ("--revs", "-q", str(prefix))
    run_git(repository, "pack-objects", *arguments, stdin=commit.encode(), timeout_seconds=NETWORK_TIMEOUT_SECONDS)
    packs = list(folder.glob(f"{prefix.name}-*"))
    size = sum(path.stat().st_size for path in packs if path.suffix == ".pack")
    for path in packs:
        path.unlink()
    return size


def parents_text(repository: Path, commits: Sequence[str]) -> str:
    """`<commit> <parent>…` per line for these commits and all that they contain, children before parents."""
    return run_git(repository, "rev-list", "--topo-order", "--parents", "--stdin", lines=commits).decode()


def messages(repository: Path, *, good: str, bad: str) -> dict[str, str]:
    """Messages of the commits that `bad` contains and `good` does not."""
    # A user's settings must neither add signatures nor change the encoding.
    options = ("-z", "--no-show-signature", "--encoding=UTF-8", "--format=%H%n%B")
    output = run_git(repository, "log", *options, "--end-of-options", f"^{good}", bad, "--")
    entries = (entry.partition("\n") for entry in output.decode(errors="replace").split("\0") if entry)
    return {commit.strip(): message for commit, _, message in entries}


def headlines(repository: Path, commits: Sequence[str]) -> dict[str, tuple[int, str]]:
    """When each commit was made, in seconds since 1970 by its committer's clock, and the first line of its message."""
    if not commits:
        return {}
    options = ("--no-walk=unsorted", "-z", "--no-show-signature", "--encoding=UTF-8", "--format=%H %ct %s", "--stdin")
    output = run_git(repository, "log", *options, lines=commits)
    entries = (entry.split(" ", 2) for entry in output.decode(errors="replace").split("\0") if entry)
    return {commit: (int(seconds), subject) for commit, seconds, subject in entries}


def authorship(repository: Path, commit: str) -> tuple[str, str, tuple[int, int, int]]:
    """Author, the author's date (ISO 8601), and files, insertions and deletions against the first parent."""
    options = ("--no-show-signature", "--encoding=UTF-8", "--format=%an%n%aI", "--shortstat", "--first-parent", "-m")
    output = run_git(repository, "show", *options, *NO_PROGRAMS, "--end-of-options", commit).decode(errors="replace")
    author, date, *rest = output.split("\n")
    counts = (re.search(rf"(\d+) {what}", rest[-2] if len(rest) > 1 else "") for what in ("file", "insert", "delet"))
    files, insertions, deletions = (int(match[1]) if match else 0 for match in counts)
    return author, date, (files, insertions, deletions)
