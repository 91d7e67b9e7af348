"""Worktrees of single commits, beside the user's own checkout, which is not touched; and trees as names of content."""

from collections.abc import Sequence
from pathlib import Path

from bot.git.command import GitError, run_git

CHECKOUT_TIMEOUT_SECONDS = 600.0


def add_worktree(repository: Path, path: Path, commit: str, *, checkout: bool = True) -> None:
    """A detached worktree. Without `checkout` it has an index and no files."""
    options = () if checkout else ("--no-checkout",)
    run_git(
        repository,
        *("worktree", "add", "--quiet", "--force", "--detach", *options, "--", str(path), commit),
        timeout_seconds=CHECKOUT_TIMEOUT_SECONDS,
    )
    if not checkout:
        run_git(path, "read-tree", "HEAD")


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
        raise GitError("cat-file", f"{path!r} is no path that can be asked for")
    names = [f"{commit}:{path}" for commit in commits]
    output = run_git(repository, "cat-file", "--batch-check=%(objectname)", lines=names).decode(errors="replace")
    return tuple(None if line.endswith((" missing", " ambiguous")) else line for line in output.splitlines())
