"""Questions about commits, and worktrees of single commits."""

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from perf_culprit.errors import UsageError
from perf_culprit.git.command import GitError, run_git

# Questions about commits. `revision` is a user's text; `commit` is a full hash that this module gave out.

# What git says when the repository, not the revision, is the trouble.
REPOSITORY_TEXTS = ("not a git repository", "dubious ownership", "cannot change to", "no answer within")
# Of a partial clone the filter follows.
_FETCHED_FROM: Final = re.compile(r"^([^\t\n]+)\t(.*) \(fetch\)(?: \[[^\]\n]*\])?$", re.MULTILINE)
# Hosts whose pages of a commit are REPOSITORY/commit/HASH.
_HOSTED: Final = re.compile(
    r"(?:https://(?:[^@/]*@)?|ssh://git@|git@)((?:github|gitlab|codeberg)\.[a-z]+)[:/]([\w.-]+/[\w.-]+?)(?:\.git)?/?"
)


def find_commit(repository: Path, revision: str) -> str | None:
    """The full hash of the commit that `revision` names here, or None. A hash counts only if the commit is here."""
    try:
        name = run_git(repository, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except GitError as error:
        if any(text in error.output for text in REPOSITORY_TEXTS):
            raise
        return None  # whatever else git says here, it says of the revision
    return name.decode().strip()


def missing_commits(repository: Path, hashes: Sequence[str]) -> tuple[str, ...]:
    """Those of the full hashes for which `find_commit` would give None, by one process."""
    if not hashes:
        return ()
    asked = [f"{commit}^{{commit}}" for commit in hashes]
    lines = run_git(repository, "cat-file", "--batch-check", lines=asked).decode(errors="replace").splitlines()
    return tuple(commit for commit, line in zip(hashes, lines, strict=True) if line.split()[1:2] != ["commit"])


def resolve_commit(repository: Path, revision: str) -> str:
    """As `find_commit`, with a UsageError that names an unknown revision."""
    if (commit := find_commit(repository, revision)) is None:
        raise UsageError(
            f"git knows no commit {revision!r} here",
            place=str(repository),
            next_step="check the spelling; in a shallow checkout set `fetch-depth: 0`",
        )
    return commit


def head_commit(repository: Path) -> str:
    return resolve_commit(repository, "HEAD")


def is_shallow(repository: Path) -> bool:
    return run_git(repository, "rev-parse", "--is-shallow-repository").strip() == b"true"


def shallow_commits(repository: Path) -> tuple[str, ...]:
    """Commits whose parents were cut off by a depth."""
    path = Path(run_git(repository, "rev-parse", "--path-format=absolute", "--git-path", "shallow").decode().strip())
    return tuple(path.read_text(encoding="ascii").split()) if path.exists() else ()


def merge_bases(repository: Path, first: str, second: str) -> tuple[str, ...]:
    """All best common ancestors, sorted; several after criss-cross merges, none for unrelated histories."""
    try:
        output = run_git(repository, "merge-base", "--all", "--end-of-options", first, second)
    except GitError as error:
        if error.output.strip():
            raise
        return ()
    return tuple(sorted(output.decode().split()))


def is_ancestor(repository: Path, ancestor: str, descendant: str) -> bool:
    """Whether `descendant` contains `ancestor`; a commit contains itself."""
    try:
        run_git(repository, "merge-base", "--is-ancestor", "--end-of-options", ancestor, descendant)
    except GitError as error:
        if error.output.strip():
            raise
        return False
    return True


def is_on_own_branch(repository: Path, commit: str) -> bool:
    """Whether HEAD, a local branch or a branch of the default remote contains it: not one that a stranger pushed."""
    name = _default_of(_remotes(repository))
    places = ["refs/heads", *([f"refs/remotes/{name}"] if name else [])]
    containing = run_git(repository, "for-each-ref", "--count=1", f"--contains={commit}", *places)
    return bool(containing) or is_ancestor(repository, commit, "HEAD")


def ancestors(repository: Path, commits: Sequence[str], *, first_parent: bool = False) -> tuple[str, ...]:
    """These commits and all that they contain, children always before parents (git's topological order)."""
    if not commits:
        return ()
    options = ("--first-parent",) if first_parent else ()
    output = run_git(repository, "rev-list", "--topo-order", *options, "--stdin", lines=commits)
    return tuple(output.decode().split())


def tags(repository: Path) -> dict[str, str]:
    """The commits of all tags by the tags' names, the oldest tag first."""
    form = "--format=%(objectname) %(*objectname) %(refname:strip=2)"
    lines = run_git(repository, "for-each-ref", "--sort=creatordate", form, "refs/tags").decode("utf-8", "replace")
    fields = (line.split(" ", 2) for line in lines.splitlines())
    return {name: of_tag or commit for commit, of_tag, name in fields}


def parents(repository: Path, commit: str) -> tuple[str, ...]:
    output = run_git(repository, "rev-list", "--parents", "--max-count=1", "--end-of-options", commit)
    return tuple(output.decode().split()[1:])


def recorded_parents(repository: Path, commit: str) -> tuple[str, ...]:
    """As the commit itself names them, also where a shallow checkout has cut them off."""
    header = run_git(repository, "cat-file", "commit", commit).partition(b"\n\n")[0]
    return tuple(line.removeprefix(b"parent ").decode() for line in header.split(b"\n") if line.startswith(b"parent "))


def commit_time(repository: Path, commit: str) -> datetime:
    """The committer's date. It is what the committer's machine said: for display, never for decisions."""
    output = run_git(repository, "show", "--no-patch", "--format=%ct", "--end-of-options", commit)
    return datetime.fromtimestamp(int(output), tz=UTC)


def default_remote_url(repository: Path) -> str | None:
    """The URL of `origin`, else of the only remote, else None."""
    remotes = _remotes(repository)
    return None if (name := _default_of(remotes)) is None else remotes[name]


def _remotes(repository: Path) -> dict[str, str]:
    """The URLs to fetch from by the remotes' names, rewritten as the configuration says (`url.….insteadOf`)."""
    output = run_git(repository, "remote", "--verbose").decode(errors="surrogateescape")
    return {match[1]: match[2] for match in _FETCHED_FROM.finditer(output)}


def _default_of(remotes: Collection[str]) -> str | None:
    return "origin" if "origin" in remotes else next(iter(remotes)) if len(remotes) == 1 else None


def web_address(repository: Path) -> str | None:
    """The repository's web page, where a known host serves its remote; no address may hold a password."""
    match = _HOSTED.fullmatch(default_remote_url(repository) or "")
    return f"https://{match[1]}/{match[2]}" if match else None


# Worktrees of single commits, next to the user's own checkout, which is not touched; and trees as names of content.

CHECKOUT_TIMEOUT_SECONDS = 600.0
FILTERS: Final = r"^filter\..*\.(clean|smudge|process)$"
# Whole, as `git lfs install` writes it: the value goes through a shell.
GIT_LFS: Final = re.compile(r"git-lfs (clean|smudge|filter-process)( --skip)?( -- %f)?")
OWN_SCOPES: Final = ("local", "worktree")


def add_worktree(repository: Path, path: Path, commit: str, *, checkout: bool = True) -> None:
    """A detached worktree. Without `checkout` it has an index and no files."""
    options = () if checkout else ("--no-checkout",)
    run_git(
        repository,
        *("worktree", "add", "--quiet", "--force", "--detach", *options, "--", str(path), commit),
        config=_without_own_filters(repository),
        timeout_seconds=CHECKOUT_TIMEOUT_SECONDS,
    )
    if not checkout:
        run_git(path, "read-tree", "HEAD")


def _without_own_filters(repository: Path) -> list[tuple[str, str]]:
    """Of the programs that change files while they are checked out those of a person, and Git LFS.

    What a repository's own configuration names is not in a commit that somebody has chosen to run.
    """
    try:
        output = run_git(repository, "config", "--null", "--show-scope", "--get-regexp", FILTERS)
    except GitError:  # there are none
        return []
    fields = output.decode(errors="surrogateescape").split("\0")
    settings = [(scope, *text.partition("\n")[::2]) for scope, text in zip(fields[::2], fields[1::2], strict=False)]
    own = [key for scope, key, value in settings if scope in OWN_SCOPES and not GIT_LFS.fullmatch(value)]
    drivers = dict.fromkeys(key.rpartition(".")[0] for key in own)
    return [*((key, "") for key in own), *((f"{driver}.required", "false") for driver in drivers)]


def remove_worktree(repository: Path, path: Path) -> None:
    """Remove a worktree with all that was written into it."""
    # Twice: once for changes, once for a lock.
    run_git(
        repository,
        *("worktree", "remove", "--force", "--force", "--", str(path)),
        timeout_seconds=CHECKOUT_TIMEOUT_SECONDS,
    )


def prune_worktrees(repository: Path) -> None:
    """Forget worktrees whose folders are gone."""
    run_git(repository, "worktree", "prune")


def worktrees(repository: Path) -> tuple[Path, ...]:
    """All that the repository knows, the main one first."""
    lines = run_git(repository, "worktree", "list", "--porcelain", "-z").decode(errors="surrogateescape").split("\0")
    return tuple(Path(line.removeprefix("worktree ")) for line in lines if line.startswith("worktree "))


def common_folder(repository: Path) -> Path:
    """The repository's own folder (`.git`), the same for all its worktrees."""
    output = run_git(repository, "rev-parse", "--path-format=absolute", "--git-common-dir")
    return Path(output.decode(errors="surrogateescape").removesuffix("\n"))


def tree_names(repository: Path, commits: Sequence[str], path: str = "") -> tuple[str | None, ...]:
    """For each commit the name of its content at `path` (default: all of it); None where it has nothing there.

    The name is the content's hash: the same name, the same content.
    """
    if "\n" in path:
        raise GitError("cat-file", f"{path!r} is not a path that can be asked for")
    names = [f"{commit}:{path}" for commit in commits]
    output = run_git(repository, "cat-file", "--batch-check=%(objectname)", lines=names).decode(errors="replace")
    return tuple(None if line.endswith((" missing", " ambiguous")) else line for line in output.splitlines())
