"""Differences between commits, and sizes of objects."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perf_culprit.git.command import NETWORK_TIMEOUT_SECONDS, GitError, run_git
from perf_culprit.model.file_limits import FILE_LIMITS

# Neither a repository's attributes nor any settings may run a program to show a difference.
NO_PROGRAMS: Final = ("--no-ext-diff", "--no-textconv")
SUBMODULE_MODE: Final = "160000"
LINK_MODE: Final = "120000"
_HUNK: Final = re.compile(rb"^@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)


@dataclass(frozen=True, kw_only=True, slots=True)
class FileChange:
    """A file that differs. `old_path` is another path if it was renamed or copied (`status` R or C).

    `blob` and `old_blob` are None if the file is missing there. `mode` is the head's, else the base's.
    """

    status: str
    path: str
    old_path: str
    blob: str | None
    old_blob: str | None
    mode: str


def file_changes(repository: Path, base: str | None, head: str) -> tuple[FileChange, ...]:
    """Return the files that differ, with detected renames and copies; all of `head`'s if `base` is None."""
    start = base or run_git(repository, "hash-object", "-t", "tree", "--stdin").decode().strip()
    options = ("-r", "-z", "--raw", "--no-abbrev", "-M", "-C", f"-l{FILE_LIMITS.renamed_files}", *NO_PROGRAMS)
    output = run_git(repository, "diff-tree", *options, "--end-of-options", start, head, "--")
    fields = iter(output.decode(errors="surrogateescape").split("\0"))
    return tuple(_raw_change(field, fields) for field in fields if field)


def _raw_change(field: str, following: Iterator[str]) -> FileChange:
    """Parse one entry of `--raw -z`; its one or two paths are the following fields."""
    old_mode, mode, old_blob, blob, status = field.removeprefix(":").split(" ")
    old_path = next(following)
    return FileChange(
        status=status[:1],
        path=next(following) if status[:1] in "RC" else old_path,
        old_path=old_path,
        blob=_present(blob),
        old_blob=_present(old_blob),
        mode=mode if _present(blob) else old_mode,
    )


def _present(blob: str) -> str | None:
    return blob if blob.strip("0") else None


def blob_sizes(repository: Path, blobs: Sequence[str]) -> tuple[int, ...]:
    """Return the sizes in bytes, in the requested order."""
    output = run_git(repository, "cat-file", "--batch-check=%(objectsize)", lines=blobs).decode()
    sizes = output.split("\n")[:-1]
    if not all(size.isdecimal() for size in sizes):
        raise GitError("cat-file", "a file of a commit is not here")
    return tuple(int(size) for size in sizes)


def changed_lines(repository: Path, old_blob: str, blob: str) -> tuple[tuple[int, int], ...]:
    """First and last line of each changed range of `blob`; last = first - 1 if lines were only removed."""
    options = ("--unified=0", "--no-color", *NO_PROGRAMS)
    output = run_git(repository, "diff", *options, "--end-of-options", old_blob, blob, "--")
    ranges = []
    for hunk in _HUNK.finditer(output):
        first, count = int(hunk[1]), int(hunk[2] or 1)
        ranges.append((first, first + count - 1) if count else (first + 1, first))
    return tuple(ranges)


def files_with_words(repository: Path, commit: str, words: Sequence[str], *, pattern: str) -> tuple[str, ...]:
    """Paths of text files at `commit` that match the glob `pattern` and contain at least one of `words` as a word."""
    if not words:
        return ()
    options = ("-z", "-l", "-I", "-w", "-F", "--no-color", "--full-name", "--no-recurse-submodules", "--no-textconv")
    try:
        output = run_git(repository, "grep", *options, "-f", "-", commit, "--", f":(top,glob){pattern}", lines=words)
    except GitError as error:
        if not error.is_no:
            raise
        return ()  # git grep ends with 1 if it finds nothing
    prefix = f"{commit}:"
    names = output.decode(errors="surrogateescape").split("\0")
    return tuple(name.removeprefix(prefix) for name in names if name)


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedChange:
    """A file that a commit changed, and its number of added and deleted lines (0 for a binary file)."""

    change: FileChange
    lines: int


def commit_changes(
    repository: Path, commits: Sequence[str], *, first_parent: bool = False
) -> dict[str, tuple[CountedChange, ...]]:
    """Return the changes of each commit relative to its only parent, by one call; merges are omitted.

    `first_parent`: include merges, relative to their first parent. Objects missing in a partial clone are not fetched.
    """
    merges = ("-m", "--first-parent") if first_parent else ("--no-merges",)
    what = (
        "-r",
        "-z",
        "--raw",
        "--numstat",
        "--no-abbrev",
        "-M",
        f"-l{FILE_LIMITS.renamed_files}",
        "--root",
        *NO_PROGRAMS,
    )
    output = _log(repository, commits, *merges, *what)
    by_commit: dict[str, tuple[CountedChange, ...]] = dict.fromkeys(commits, ())
    fields = iter(output.decode(errors="surrogateescape").split("\0"))
    commit, changes, counts = "", dict[str, FileChange](), dict[str, int]()
    for field in fields:
        text = field.lstrip("\n")
        if text.startswith(":"):
            change = _raw_change(text, fields)
            changes[change.path] = change
        elif "\t" in text:
            added, deleted, path = text.split("\t", 2)
            if not path:
                _, path = next(fields), next(fields)
            counts[path] = sum(int(count) for count in (added, deleted) if count.isdecimal())
        elif text in by_commit:
            commit, changes, counts = text, {}, {}
        if commit and changes:
            by_commit[commit] = tuple(
                CountedChange(change=one, lines=counts.get(path, 0)) for path, one in changes.items()
            )
    return by_commit


def merge_resolutions(repository: Path, commits: Sequence[str]) -> dict[str, int]:
    """Return the number of lines of each merge among `commits` that differ from every parent.

    0: its sides merged without a conflict, or one side's lines were taken unchanged.
    """
    output = _log(repository, commits, "--merges", "--cc", "-p", "--unified=0", "--no-color", *NO_PROGRAMS)
    wanted, resolutions, commit = frozenset(commits), dict[str, int](), ""
    for line in output.split(b"\n"):
        name = line.lstrip(b"\0").decode(errors="replace")
        if name in wanted:
            commit = name
            resolutions[commit] = 0
        elif commit and re.match(rb"[ +-]*[+-]", line[:64]) and not line.startswith((b"+++ ", b"--- ")):
            resolutions[commit] += 1
    return resolutions


def _log(repository: Path, commits: Sequence[str], *options: str) -> bytes:
    if not commits:
        return b""
    return run_git(
        repository,
        *("log", "--no-walk=unsorted", "--format=%H", "--no-show-signature", *options, "--stdin"),
        lines=commits,
        environment={"GIT_NO_LAZY_FETCH": "1"},
        config=[("log.showRoot", "true"), ("diff.renames", "true"), ("log.diffMerges", "separate")],
    )


@dataclass(frozen=True, slots=True)
class PackedObject:
    """`path` is one path to the object: a file's, a folder's, or empty (a commit). `size` in bytes, on disk."""

    name: str
    path: str
    size: int


def packed_objects(repository: Path, commit: str) -> tuple[PackedObject, ...]:
    """Return all objects of `commit` and its history, with their size on disk; a delta counts without its base."""
    listed = run_git(repository, "rev-list", "--objects", "--end-of-options", commit)
    lines = [line.partition(" ") for line in listed.decode(errors="surrogateescape").splitlines()]
    names = [name for name, _, _ in lines]
    sizes = run_git(repository, "cat-file", "--batch-check=%(objectsize:disk)", "--buffer", lines=names).split()
    return tuple(PackedObject(name, path, int(size)) for (name, _, path), size in zip(lines, sizes, strict=True))


def packed_size(repository: Path, commit: str, *, folder: Path) -> int:
    """Return the size in bytes of a pack of all objects of `commit`, which is written to `folder` and deleted."""
    prefix = folder / "measured"
    arguments = ("--revs", "-q", str(prefix))
    run_git(repository, "pack-objects", *arguments, stdin=commit.encode(), timeout_seconds=NETWORK_TIMEOUT_SECONDS)
    packs = list(folder.glob(f"{prefix.name}-*"))
    size = sum(path.stat().st_size for path in packs if path.suffix == ".pack")
    for path in packs:
        path.unlink()
    return size


def parents_text(repository: Path, commits: Sequence[str]) -> str:
    """`<commit> <parent>…` per line for these commits and their ancestors, children before parents."""
    return run_git(repository, "rev-list", "--topo-order", "--parents", "--stdin", lines=commits).decode()


def messages(repository: Path, *, good: str, bad: str) -> dict[str, str]:
    """Messages of the commits in `bad` that are not in `good`."""
    # User settings must neither add signatures nor change the encoding.
    options = ("-z", "--no-show-signature", "--encoding=UTF-8", "--format=%H%n%B")
    output = run_git(repository, "log", *options, "--end-of-options", f"^{good}", bad, "--")
    entries = (part.partition("\n") for part in output.decode(errors="replace").split("\0") if part)
    return {commit.strip(): message for commit, _, message in entries}


def headlines(repository: Path, commits: Sequence[str]) -> dict[str, tuple[int, str]]:
    """Return each commit's time by its committer's clock, in seconds since 1970, and the first line of its message."""
    if not commits:
        return {}
    options = ("--no-walk=unsorted", "-z", "--no-show-signature", "--encoding=UTF-8", "--format=%H %ct %s", "--stdin")
    output = run_git(repository, "log", *options, lines=commits)
    entries = (part.split(" ", 2) for part in output.decode(errors="replace").split("\0") if part)
    return {commit: (int(seconds), subject) for commit, seconds, subject in entries}


def authorship(repository: Path, commit: str) -> tuple[str, str, tuple[int, int, int]]:
    """Author, author's date (ISO 8601), and numbers of files, insertions and deletions relative to the first parent."""
    options = ("--no-show-signature", "--encoding=UTF-8", "--format=%an%n%aI", "--shortstat", "--first-parent", "-m")
    output = run_git(repository, "show", *options, *NO_PROGRAMS, "--end-of-options", commit).decode(errors="replace")
    author, date, *rest = output.split("\n")
    counts = (re.search(rf"(\d+) {what}", rest[-2] if len(rest) > 1 else "") for what in ("file", "insert", "delet"))
    files, insertions, deletions = (int(match[1]) if match else 0 for match in counts)
    return author, date, (files, insertions, deletions)
