"""Fetching, pushing and making objects without a checkout, in private repositories."""

import atexit
import hashlib
import json
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from perf_culprit.git.command import REMOTE_NAME, GitError, Remote, run_git
from perf_culprit.git.diffs import LINK_MODE

# Folders for private repositories that a process keeps: what it fetched once it need not fetch again.

# Of the history, and of the code's commits without files, with room for a second remote.
MOST_KEPT: Final = 4

_idle: list[tuple[str, Path]] = []


@contextmanager
def kept_folder(purpose: str) -> Iterator[Path]:
    """A folder for one user at a time, with what an earlier one for the same `purpose` left in it.

    After trouble it is removed at once, as all are when the process ends.
    """
    if (folder := next((path for name, path in reversed(_idle) if name == purpose), None)) is None:
        folder = Path(tempfile.mkdtemp(prefix="perf-culprit-"))
    else:
        _idle.remove((purpose, folder))
    try:
        yield folder
    except BaseException:
        _remove(folder)
        raise
    _idle.append((purpose, folder))
    while len(_idle) > MOST_KEPT:
        _remove(_idle.pop(0)[1])


@atexit.register
def remove_kept() -> None:
    while _idle:
        _remove(_idle.pop()[1])


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


# Fetching, pushing and making objects without a checkout: plumbing for a private repository.

# What a remote answers when another writer was faster; which of them depends on the moment the two met.
RACE_TEXTS = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
    # The commit below ours is not there any more: the branch was rewritten between the question and the push.
    "shallow update not allowed",
)

# By private repository what was fetched or written, so that it is not asked for. Any other that is not here git fetches
# by itself.
_fetched: defaultdict[Path, set[str]] = defaultdict(set)

# Of the private repository: git keeps a commit only under a name.
WRITTEN_REF = "refs/perf-culprit/written"
FETCH_OPTIONS = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")


class PushRejectedError(GitError):
    """Another writer moved the branch first: fetch again and retry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """The author and the committer of a commit."""

    name: str
    email: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """`name` and `tree` are full hashes."""

    name: str
    tree: str
    message: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a commit: its path and the name of its content, empty where it is no file (a submodule)."""

    path: str
    blob: str
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class TreeChange:
    """What to do with one path: put this content there, or remove it (None)."""

    path: str
    blob: str | None


def init_private(folder: Path) -> Path:
    """A bare repository of our own, as it is where it exists: what `git init` makes, without its process.

    Neither templates, and with them hooks, nor a person's default format of objects and references get into it.
    """
    if not (folder / "HEAD").is_file():
        for name in ("objects", "refs"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        (folder / "HEAD").write_text("ref: refs/heads/main\n")
    return folder


def fetch(
    repository: Path,
    remote: Remote,
    refspecs: Sequence[str],
    *,
    depth: int | None = None,
    unshallow: bool = False,
    object_filter: str | None = None,
) -> bool:
    """Fetch; False where the remote has no such ref. `object_filter` such as `blob:none` leaves objects out.

    A filter is written to the repository's configuration by git: use it in private repositories only.
    """
    options = [*FETCH_OPTIONS]
    options += [f"--depth={depth}"] if depth else []
    options += ["--unshallow"] if unshallow else []
    options += [f"--filter={object_filter}"] if object_filter else []
    try:
        run_git(repository, "fetch", *options, "--stdin", REMOTE_NAME, lines=refspecs, remote=remote)
    except GitError as error:
        if "couldn't find remote ref" in error.output:
            return False
        raise
    return True


def remote_branch(repository: Path, remote: Remote, branch: str) -> str | None:
    """The commit that the remote's branch is at, which need not be here; None where there is no such branch."""
    reference = f"refs/heads/{branch}"
    output = run_git(repository, "ls-remote", REMOTE_NAME, reference, remote=remote).decode()
    commits = (line.split("\t") for line in output.splitlines())
    return next((commit for commit, name in commits if name == reference), None)


def push(repository: Path, remote: Remote, *, commit: str, branch: str, expected: str | None) -> None:
    """Move `branch` from `expected` (None: it must not exist yet) to `commit`.

    PushRejectedError where another writer moved it meanwhile.
    """
    reference = f"refs/heads/{branch}"
    lease = f"--force-with-lease={reference}:{expected or ''}"
    try:
        run_git(repository, "push", "--porcelain", lease, REMOTE_NAME, f"{commit}:{reference}", remote=remote)
    except GitError as error:
        if "hook declined" not in error.output and any(text in error.output for text in RACE_TEXTS):
            raise PushRejectedError("push", error.output) from None
        raise


def list_tree(repository: Path, commit: str) -> tuple[TreeEntry, ...]:
    """All files of a commit, in path order."""
    output = run_git(repository, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
    entries = []
    for line in output.decode(errors="surrogateescape").split("\0"):
        if line:
            head, path = line.split("\t", 1)
            mode, kind, name = head.split(" ")
            entries.append(TreeEntry(path, name if kind == "blob" else "", is_link=mode == LINK_MODE))
    return tuple(entries)


def read_commit(repository: Path, revision: str) -> Commit:
    """The commit that `revision` names, which must be there."""
    output = run_git(repository, "cat-file", "--batch", lines=[revision])
    head, _, content = output.decode(errors="replace").partition("\n")
    header, _, message = content.removesuffix("\n").partition("\n\n")
    return Commit(name=head.split()[0], tree=header.split()[1], message=message)


def read_blobs(repository: Path, blobs: Sequence[str], *, remote: Remote | None = None) -> tuple[bytes, ...]:
    """The contents in the order asked for. With `remote`, blobs that a filter left out are fetched in one request."""
    if not blobs:
        return ()
    if remote is not None and (missing := set(blobs) - _fetched[repository]):
        _fetch_objects(repository, remote, sorted(missing))
        _fetched[repository] |= missing
    output = run_git(repository, "cat-file", "--batch=%(objecttype) %(objectsize)", lines=blobs, remote=remote)
    contents, position = [], 0
    for blob in blobs:
        end = output.index(b"\n", position)
        kind, _, size = output[position:end].rpartition(b" ")
        if kind != b"blob":
            raise GitError("cat-file", f"{blob} is not a file that is here")
        contents.append(output[end + 1 : end + 1 + int(size)])
        position = end + 1 + int(size) + 1
    return tuple(contents)


def _fetch_objects(repository: Path, remote: Remote, objects: Sequence[str]) -> None:
    # Without this algorithm git tells the remote which commits are here, and the remote takes their files for granted.
    config = [("fetch.negotiationAlgorithm", "noop")]
    options = (*FETCH_OPTIONS, "--filter=blob:none")
    run_git(repository, "fetch", *options, "--stdin", REMOTE_NAME, lines=objects, config=config, remote=remote)


def blob_name(content: bytes) -> str:
    """What git calls this content in a repository of `init_private`."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def write_commit(
    repository: Path,
    changes: Iterable[TreeChange],
    *,
    contents: Iterable[bytes],
    tree: str | None,
    parent: str | None,
    message: str,
    identity: Identity,
) -> Commit:
    """A commit whose files are those of `tree` (None: none) with these changes; `contents` are written along.

    One process writes all of it, or, should it end too early, nothing that a reference names.
    """
    contents = tuple(contents)
    stream = [b"feature done\n", *(b"blob\ndata %d\n%b\n" % (len(content), content) for content in contents)]
    text = message.encode()
    stream.append(f"commit {WRITTEN_REF}\nmark :1\ncommitter {identity.name} <{identity.email}> now\n".encode())
    stream.append(b"data %d\n%b\n" % (len(text), text))
    stream += [f"from {parent}\n".encode()] if parent else []
    stream += [f'M 040000 {tree} ""\n'.encode()] if tree else []
    stream += [
        f"M 100644 {change.blob} {_quoted(change.path)}\n".encode()
        if change.blob
        else f"D {_quoted(change.path)}\n".encode()
        for change in changes
    ]
    stream.append(b'ls ""\nget-mark :1\ndone\n')
    # Kept as a pack, which the push sends as it is; few objects would be unpacked by one more process.
    config = (("fastimport.unpackLimit", "0"),)
    options = ("--quiet", "--force", "--date-format=now")
    output = run_git(repository, "fast-import", *options, stdin=b"".join(stream), config=config)
    _fetched[repository].update(map(blob_name, contents))
    listed, _, name = output.decode().partition("\t\n")
    return Commit(name=name.strip(), tree=listed.split()[-1], message=message)


def _quoted(path: str) -> str:
    """As C and, of printable characters, JSON have it."""
    return json.dumps(path, ensure_ascii=False)
