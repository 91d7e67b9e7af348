"""Query commits, and manage worktrees of single commits."""

import re
import shutil
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from perf_culprit.errors import UsageError
from perf_culprit.files import temporary_folder
from perf_culprit.git.command import GitError, run_git
from perf_culprit.git.objects import unnamed_commit

FETCH_ALL: Final = "fetch the whole history (actions/checkout: `fetch-depth: 0`; git fetch --unshallow)"
# Git's exit codes if there is no such revision, and its messages if the cause is the repository.
UNKNOWN_STATUSES: Final = (1, 128)
REPOSITORY_TEXTS = ("not a git repository", "dubious ownership", "cannot change to")
# A line of `git remote --verbose`; in a partial clone the filter follows.
_FETCHED_FROM: Final = re.compile(r"^([^\t\n]+)\t(.*) \(fetch\)(?: \[[^\]\n]*\])?$", re.MULTILINE)
# Hosts with a page REPOSITORY/commit/HASH for each commit.
_HOSTED: Final = re.compile(
    r"(?:https://(?:[^@/]*@)?|ssh://git@|git@)((?:github|gitlab|codeberg)\.[a-z]+)[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?"
)


def find_commit(repository: Path, revision: str) -> str | None:
    """Return the full hash of the commit that `revision` names, or None. A hash counts only if its commit is here."""
    try:
        name = run_git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError as error:
        if error.status not in UNKNOWN_STATUSES or any(text in error.output for text in REPOSITORY_TEXTS):
            raise
        return None  # any other message is about the revision
    return name.decode().strip()


def missing_commits(repository: Path, hashes: Sequence[str]) -> tuple[str, ...]:
    """Return the full hashes for which `find_commit` would return None, found with one process."""
    if not hashes:
        return ()
    names = [f"{commit}^{{commit}}" for commit in hashes]
    lines = run_git(repository, "cat-file", "--batch-check", lines=names).decode(errors="replace").splitlines()
    return tuple(commit for commit, line in zip(hashes, lines, strict=True) if line.split()[1:2] != ["commit"])


def resolve_commit(repository: Path, revision: str) -> str:
    """Find the commit; a UsageError names an unknown revision."""
    if (commit := find_commit(repository, revision)) is None:
        raise UsageError(
            f"git knows no commit {revision!r} here",
            place="" if str(repository) == "." else str(repository),
            next_step=f"check the spelling, or {FETCH_ALL}" if is_shallow(repository) else "check the spelling",
        )
    return commit


def head_commit(repository: Path) -> str:
    return resolve_commit(repository, "HEAD")


def is_shallow(repository: Path) -> bool:
    return run_git(repository, "rev-parse", "--is-shallow-repository").strip() == b"true"


def shallow_commits(repository: Path) -> tuple[str, ...]:
    """Return the commits whose parents a depth limit removed."""
    path = Path(run_git(repository, "rev-parse", "--path-format=absolute", "--git-path", "shallow").decode().strip())
    return tuple(path.read_text(encoding="ascii").split()) if path.exists() else ()


def has_sha1_names(repository: Path) -> bool:
    return run_git(repository, "rev-parse", "--show-object-format").strip() == b"sha1"


def merge_bases(repository: Path, first: str, second: str) -> tuple[str, ...]:
    """Return all best common ancestors, sorted; several after criss-cross merges, none for unrelated histories."""
    try:
        output = run_git(repository, "merge-base", "--all", "--end-of-options", first, second)
    except GitError as error:
        if not error.is_no:
            raise
        return ()
    return tuple(sorted(output.decode().split()))


def is_ancestor(repository: Path, ancestor: str, descendant: str) -> bool:
    """Return whether `descendant` contains `ancestor`; a commit contains itself."""
    try:
        run_git(repository, "merge-base", "--is-ancestor", "--end-of-options", ancestor, descendant)
    except GitError as error:
        if not error.is_no:
            raise
        return False
    return True


def is_on_own_branch(repository: Path, commit: str) -> bool:
    """Return whether HEAD, a local branch or one of the default remote contains it: not only a branch of a stranger."""
    name = _default_of(_remotes(repository))
    places = ["refs/heads", *([f"refs/remotes/{name}"] if name else [])]
    containing = run_git(repository, "for-each-ref", "--count=1", f"--contains={commit}", *places)
    return bool(containing) or is_ancestor(repository, commit, "HEAD")


def ancestors(repository: Path, commits: Sequence[str], *, first_parent: bool = False) -> tuple[str, ...]:
    """These commits and their ancestors, children always before parents (git's topological order)."""
    if not commits:
        return ()
    options = ("--first-parent",) if first_parent else ()
    output = run_git(repository, "rev-list", "--topo-order", *options, "--stdin", lines=commits)
    return tuple(output.decode().split())


def tags(repository: Path) -> dict[str, str]:
    """Return the commits of all tags by tag name, oldest tag first."""
    form = "--format=%(objectname) %(*objectname) %(refname:strip=2)"
    lines = run_git(repository, "for-each-ref", "--sort=creatordate", form, "refs/tags").decode("utf-8", "replace")
    fields = (line.split(" ", 2) for line in lines.splitlines())
    return {name: of_tag or commit for commit, of_tag, name in fields}


def parents(repository: Path, commit: str) -> tuple[str, ...]:
    output = run_git(repository, "rev-list", "--parents", "--max-count=1", "--end-of-options", commit)
    return tuple(output.decode().split()[1:])


def recorded_parents(repository: Path, commit: str) -> tuple[str, ...]:
    """Return the parents in the commit itself, even if a shallow checkout removed them."""
    header = run_git(repository, "cat-file", "commit", commit).partition(b"\n\n")[0]
    return tuple(line.removeprefix(b"parent ").decode() for line in header.split(b"\n") if line.startswith(b"parent "))


def commit_time(repository: Path, commit: str) -> datetime:
    """Return the committer's date. It comes from the committer's clock: use it for display, never for decisions."""
    output = run_git(repository, "show", "--no-patch", "--format=%ct", "--end-of-options", commit)
    return datetime.fromtimestamp(int(output), tz=UTC)


def default_remote_url(repository: Path) -> str | None:
    """Return the URL of `origin`, else of the only remote, else None."""
    remotes = _remotes(repository)
    return None if (name := _default_of(remotes)) is None else remotes[name]


def _remotes(repository: Path) -> dict[str, str]:
    """The fetch URLs by remote name, rewritten by the configuration (`url.….insteadOf`)."""
    output = run_git(repository, "remote", "--verbose").decode(errors="surrogateescape")
    return {match[1]: match[2] for match in _FETCHED_FROM.finditer(output)}


def _default_of(remotes: Collection[str]) -> str | None:
    return "origin" if "origin" in remotes else next(iter(remotes)) if len(remotes) == 1 else None


def web_address(repository: Path) -> str | None:
    """Return the repository's web page, if a known host serves its remote; the address never contains a password."""
    match = _HOSTED.fullmatch(default_remote_url(repository) or "")
    return f"https://{match[1]}/{match[2]}" if match else None


CHECKOUT_TIMEOUT_SECONDS = 600.0
FILTERS: Final = r"^filter\..*\.(clean|smudge|process)$"
# The whole value that `git lfs install` writes, because the value goes through a shell.
GIT_LFS: Final = re.compile(r"git-lfs (clean|smudge|filter-process)( --skip)?( -- %f)?")
OWN_SCOPES: Final = ("local", "worktree")


def add_worktree(repository: Path, path: Path, commit: str, *, checkout: bool = True) -> None:
    """Add a detached worktree. Without `checkout` it has an index and no files."""
    options = () if checkout else ("--no-checkout",)
    run_git(
        repository,
        *("worktree", "add", "--quiet", "--force", "--detach", *options, "--", str(path), commit),
        config=_without_own_filters(repository),
        timeout_seconds=CHECKOUT_TIMEOUT_SECONDS,
    )
    if not checkout:
        run_git(path, "read-tree", "HEAD")


def working_tree(repository: Path) -> str:
    """Create a commit of the files as they are now, on HEAD and on no branch; equal files give the same commit.

    It holds new files that git does not ignore. The index and all references stay as they are.
    """
    head = head_commit(repository)
    place = run_git(repository, "rev-parse", "--path-format=absolute", "--git-path", "index")
    index = Path(place.decode(errors="surrogateescape").removesuffix("\n"))
    with temporary_folder() as folder:
        if index.exists():
            shutil.copy2(index, folder / "index")
        # `write-tree` compares files that are as new as the index once more, and so runs filters as well.
        own, filters = {"GIT_INDEX_FILE": f"{folder}/index"}, _without_own_filters(repository)
        options = ("--all", "--", ":/")
        run_git(repository, "add", *options, environment=own, config=filters, timeout_seconds=CHECKOUT_TIMEOUT_SECONDS)
        tree = run_git(repository, "write-tree", environment=own, config=filters).decode().strip()
    (unchanged,) = tree_names(repository, [head])
    return head if tree == unchanged else unnamed_commit(repository, tree, parent=head, message="uncommitted changes")


def _without_own_filters(repository: Path) -> list[tuple[str, str]]:
    """Settings that disable programs that change files during checkout, except the user's and Git LFS.

    A repository's own configuration is not part of a commit that somebody chose to run.
    """
    try:
        output = run_git(repository, "config", "--null", "--show-scope", "--get-regexp", FILTERS)
    except GitError as error:
        if not error.is_no:
            raise
        return []  # no such setting exists
    fields = output.decode(errors="surrogateescape").split("\0")
    settings = [(scope, *text.partition("\n")[::2]) for scope, text in zip(fields[::2], fields[1::2], strict=False)]
    own = [key for scope, key, value in settings if scope in OWN_SCOPES and not GIT_LFS.fullmatch(value)]
    drivers = dict.fromkeys(key.rpartition(".")[0] for key in own)
    return [*((key, "") for key in own), *((f"{driver}.required", "false") for driver in drivers)]


def remove_worktree(repository: Path, path: Path) -> None:
    """Remove a worktree with everything written into it."""
    # --force twice: once for changes, once for a lock.
    run_git(
        repository,
        *("worktree", "remove", "--force", "--force", "--", str(path)),
        timeout_seconds=CHECKOUT_TIMEOUT_SECONDS,
    )


def prune_worktrees(repository: Path) -> None:
    """Forget worktrees whose folders are gone."""
    run_git(repository, "worktree", "prune")


def worktrees(repository: Path) -> tuple[Path, ...]:
    """Return all worktrees of the repository, the main one first."""
    lines = run_git(repository, "worktree", "list", "--porcelain", "-z").decode(errors="surrogateescape").split("\0")
    return tuple(Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree "))


def half_made_worktrees(repository: Path) -> dict[Path, Path]:
    """Return git's own folder and the worktree of each that a killed git left. With one of them git lists none."""
    half_made: dict[Path, Path] = {}
    for file in (common_folder(repository) / "worktrees").glob("*/gitdir"):
        with suppress(OSError):  # not there yet, or another process has removed it
            if file.with_name("commondir").stat().st_size == 0:
                half_made[file.parent] = Path(file.read_text(errors="surrogateescape").removesuffix("\n")).parent
    return half_made


def common_folder(repository: Path) -> Path:
    """Return the repository's own folder (`.git`), the same for all its worktrees."""
    output = run_git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(output.decode(errors="surrogateescape").removesuffix("\n"))


def tree_names(repository: Path, commits: Sequence[str], path: str = "") -> tuple[str | None, ...]:
    """Return the hash of each commit's content at `path` (default: all of it), or None if the commit has nothing there.

    Equal hashes mean equal content.
    """
    if "\n" in path:
        raise GitError("cat-file", f"{path!r} is not a path that can be asked for")
    names = [f"{commit}:{path}" for commit in commits]
    output = run_git(repository, "cat-file", "--batch-check=%(objectname)", lines=names).decode(errors="replace")
    return tuple(None if line.endswith((" missing", " ambiguous")) else line for line in output.splitlines())
