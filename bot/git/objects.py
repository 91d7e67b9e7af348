"""Fetching, pushing and making objects without a checkout: plumbing for a private repository."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.git.command import REMOTE_NAME, GitError, Remote, run_git

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

# By private repository, so that none is asked for twice. Any other that is not here git fetches by itself.
_fetched: defaultdict[Path, set[str]] = defaultdict(set)

FETCH_OPTIONS = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance")


class PushRejectedError(GitError):
    """Another writer moved the branch first: fetch again and retry."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Identity:
    """Whom a commit names as its author and committer."""

    name: str
    email: str


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One file of a commit: its path and the name of its content, empty where it is no file (a submodule)."""

    path: str
    blob: str


@dataclass(frozen=True, slots=True)
class TreeChange:
    """What to do with one path: put this content there, or remove it (None)."""

    path: str
    blob: str | None


def init_private(folder: Path) -> Path:
    """A bare repository of our own, as it is where it exists; templates, and with them anyone's hooks, stay out."""
    if not (folder / "HEAD").is_file():
        folder.mkdir(parents=True, exist_ok=True)
        run_git(folder, "init", "--quiet", "--bare", "--template=", ".")
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
            _, kind, name = head.split(" ")
            entries.append(TreeEntry(path, name if kind == "blob" else ""))
    return tuple(entries)


def commit_with_message(repository: Path, revision: str) -> tuple[str, str]:
    """The full hash of the commit that `revision` names, which must be there, and its message."""
    output = run_git(repository, "cat-file", "--batch", lines=[revision])
    head, _, content = output.partition(b"\n")
    return head.split()[0].decode(), content.partition(b"\n\n")[2].decode(errors="replace")


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


def write_blob(repository: Path, content: bytes) -> str:
    return run_git(repository, "hash-object", "-w", "--stdin", stdin=content).decode().strip()


def write_tree(repository: Path, *, base: str | None, changes: Iterable[TreeChange], index: Path) -> str:
    """The tree of commit `base` (None: empty) with these changes. `index` is a scratch file of the caller's."""
    environment = {"GIT_INDEX_FILE": str(index)}
    run_git(repository, "read-tree", *([base] if base else ["--empty"]), environment=environment)
    # Mode 0 removes a path. Contents that a filter left out are on the remote: `--missing-ok`.
    lines = [
        f"100644 {change.blob}\t{change.path}\0" if change.blob else f"0 {'0' * 40}\t{change.path}\0"
        for change in changes
    ]
    run_git(repository, "update-index", "-z", "--index-info", stdin="".join(lines).encode(), environment=environment)
    return run_git(repository, "write-tree", "--missing-ok", environment=environment).decode().strip()


def commit_tree(repository: Path, tree: str, *, parent: str | None, message: str, identity: Identity) -> str:
    environment = {
        f"GIT_{role}_{part}": value
        for role in ("AUTHOR", "COMMITTER")
        for part, value in (("NAME", identity.name), ("EMAIL", identity.email))
    }
    options = ["-p", parent] if parent else []
    output = run_git(
        repository,
        "commit-tree",
        *options,
        "--no-gpg-sign",
        "-F",
        "-",
        tree,
        stdin=message.encode(),
        environment=environment,
    )
    return output.decode().strip()
