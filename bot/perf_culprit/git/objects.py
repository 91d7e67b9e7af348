"""Fetch, push and create objects without a checkout, in private repositories."""

import atexit
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from perf_culprit.files import make_temporary, remove_temporary, temporary_folder
from perf_culprit.git.command import REMOTE_NAME, GitError, Remote, run_git
from perf_culprit.git.diffs import LINK_MODE, FileChange
from perf_culprit.model.work_limits import WORK_LIMITS

_idle: list[tuple[str, Path]] = []


@contextmanager
def open_kept_folder(purpose: str) -> Iterator[Path]:
    """Open a folder for one user at a time, with the content that an earlier one for the same `purpose` left.

    It is removed at once after an exception; otherwise, all are removed when the process ends.
    """
    if (folder := next((path for name, path in reversed(_idle) if name == purpose), None)) is None:
        folder = make_temporary()
    else:
        _idle.remove((purpose, folder))
    try:
        yield folder
    except BaseException:
        remove_temporary(folder)
        raise
    _idle.append((purpose, folder))
    while len(_idle) > WORK_LIMITS.kept_folders:
        remove_temporary(_idle.pop(0)[1])


@atexit.register
def remove_kept() -> None:
    while _idle:
        remove_temporary(_idle.pop()[1])


# Answers of a remote if another writer was faster; the exact one depends on timing.
RACE_TEXTS = (
    "fetch first",
    "non-fast-forward",
    "stale info",
    "cannot lock ref",
    "failed to update ref",
    "incorrect old value",
    "reference already exists",
    # The commit below ours is gone: the branch was rewritten between the query and the push.
    "shallow update not allowed",
)

# The objects already fetched or written, by private repository; they need no request. Git fetches other missing objects
# by itself.
_fetched: defaultdict[Path, set[str]] = defaultdict(set)

# A reference in the private repository: git keeps a commit only under a name.
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
    """One file of a commit: its path and the name of its content, empty if it is no file (a submodule)."""

    path: str
    blob: str
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class TreeChange:
    """The change of one path: its new content, or None to remove it."""

    path: str
    blob: str | None


def init_private(folder: Path) -> Path:
    """Create a bare repository of our own, or keep an existing one: the result of `git init`, without its process.

    It contains no templates, and so no hooks, nor a user's default format of objects and references.
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
    """Fetch; False if the remote has no such ref. `object_filter` such as `blob:none` omits objects.

    Git writes a filter to the repository's configuration: use it only in private repositories.
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
    """Return the commit of the remote's branch, which may be missing here, or None if there is no such branch."""
    reference = f"refs/heads/{branch}"
    output = run_git(repository, "ls-remote", REMOTE_NAME, reference, remote=remote).decode()
    commits = (line.split("\t") for line in output.splitlines())
    return next((commit for commit, name in commits if name == reference), None)


def remote_tags(repository: Path, remote: Remote) -> dict[str, str]:
    """Return the commits of the remote's tags by tag name, which may be missing here."""
    output = run_git(repository, "ls-remote", REMOTE_NAME, "refs/tags/*", remote=remote).decode("utf-8", "replace")
    # An annotated tag has a second line, with its commit: NAME^{}.
    lines = (line.split("\t", 1) for line in output.splitlines())
    return {name.removeprefix("refs/tags/").removesuffix("^{}"): commit for commit, name in lines}


def push(repository: Path, remote: Remote, *, commit: str, branch: str, expected: str | None) -> None:
    """Move `branch` from `expected` (None: it must not exist yet) to `commit`.

    Raises a PushRejectedError if another writer moved it in the meantime.
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
    """Return all files of a commit, in path order."""
    output = run_git(repository, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
    entries = []
    for line in output.decode(errors="surrogateescape").split("\0"):
        if line:
            head, path = line.split("\t", 1)
            mode, kind, name = head.split(" ")
            entries.append(TreeEntry(path, name if kind == "blob" else "", is_link=mode == LINK_MODE))
    return tuple(entries)


def read_commit(repository: Path, revision: str) -> Commit:
    """Return the commit that `revision` names; it must exist here."""
    output = run_git(repository, "cat-file", "--batch", lines=[revision])
    head, _, content = output.decode(errors="replace").partition("\n")
    header, _, message = content.removesuffix("\n").partition("\n\n")
    return Commit(name=head.split()[0], tree=header.split()[1], message=message)


def read_blobs(repository: Path, blobs: Sequence[str], *, remote: Remote | None = None) -> tuple[bytes, ...]:
    """Return the contents in the requested order. With `remote`, fetch blobs that a filter omitted in one request."""
    if not blobs:
        return ()
    if remote is not None and (missing := set(blobs) - _fetched[repository]):
        # Without this algorithm git lists the commits here, and the remote assumes that their files are here, too.
        config = [("fetch.negotiationAlgorithm", "noop")]
        options = (*FETCH_OPTIONS, "--filter=blob:none", "--stdin", REMOTE_NAME)
        run_git(repository, "fetch", *options, lines=sorted(missing), config=config, remote=remote)
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


def blob_name(content: bytes) -> str:
    """Git's name of this content in a repository of `init_private`."""
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
    """Write a commit with the files of `tree` (None: none) and these changes, including the blobs `contents`.

    One process writes everything; if it ends early, no reference names any of it.
    """
    contents = tuple(contents)
    stream = [b"feature done\n", *(b"blob\ndata %d\n%b\n" % (len(content), content) for content in contents)]
    text = message.encode()
    stream.append(f"commit {WRITTEN_REF}\nmark :1\ncommitter {identity.name} <{identity.email}> now\n".encode())
    stream.append(b"data %d\n%b\n" % (len(text), text))
    stream += [f"from {parent}\n".encode()] if parent else []
    stream += [f'M 040000 {tree} ""\n'.encode()] if tree else []
    stream += [
        f"M 100644 {change.blob} {_quote(change.path)}\n".encode()
        if change.blob
        else f"D {_quote(change.path)}\n".encode()
        for change in changes
    ]
    stream.append(b'ls ""\nget-mark :1\ndone\n')
    # Keep the objects as a pack, which the push sends unchanged; unpacking them would take another process.
    config = (("fastimport.unpackLimit", "0"),)
    options = ("--quiet", "--force", "--date-format=now")
    output = run_git(repository, "fast-import", *options, stdin=b"".join(stream), config=config)
    _fetched[repository].update(map(blob_name, contents))
    listed, _, name = output.decode().partition("\t\n")
    return Commit(name=name.strip(), tree=listed.split()[-1], message=message)


def edited(repository: Path, commit: str, files: Mapping[str, bytes], *, message: str) -> str:
    """Create a commit on `commit` with these contents, as `grafted` does."""
    changes = []
    for path, content in files.items():
        blob = run_git(repository, "hash-object", "-w", "--stdin", stdin=content).decode().strip()
        changes.append(FileChange(status="M", path=path, old_path=path, blob=blob, old_blob=None, mode="100644"))
    return grafted(repository, commit, changes, message=message)


def grafted(repository: Path, commit: str, changes: Sequence[FileChange], *, message: str = "other benchmarks") -> str:
    """Create a commit on `commit` with these changes, on no branch; equal arguments give the same commit."""
    gone = [f"0 {'0' * len(commit)}\t{change.old_path}" for change in changes if change.status == "R"]
    put = [
        f"{change.mode if change.blob else 0} {change.blob or '0' * len(commit)}\t{change.path}" for change in changes
    ]
    listed = "".join(f"{line}\0" for line in (*gone, *put)).encode(errors="surrogateescape")
    with temporary_folder() as folder:
        own = {"GIT_INDEX_FILE": f"{folder}/index"}
        run_git(repository, "read-tree", commit, environment=own)
        run_git(repository, "update-index", "-z", "--index-info", stdin=listed, environment=own)
        tree = run_git(repository, "write-tree", environment=own).decode().strip()
    return unnamed_commit(repository, tree, parent=commit, message=message)


def unnamed_commit(repository: Path, tree: str, *, parent: str, message: str) -> str:
    """Create a commit on no branch; equal arguments give the same commit."""
    people = {f"GIT_{who}_{what}": "perf-culprit" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    dates = dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2000-01-01T00:00:00Z")
    made = run_git(repository, "commit-tree", tree, "-p", parent, "-m", message, environment={**people, **dates})
    return made.decode().strip()


def _quote(path: str) -> str:
    """Quote the path as a C string; for printable characters, JSON has the same rules."""
    return json.dumps(path, ensure_ascii=False)
