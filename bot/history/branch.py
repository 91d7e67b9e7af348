"""The history's branch with all that it holds."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from bot import git
from bot.history.accepted import GitBranchAcceptances
from bot.history.bisections import GitBranchBisections
from bot.history.compaction import GitBranchCompaction
from bot.history.git_branch import DEFAULT_BRANCH
from bot.history.layout import RUN_PATH, read_names, stored_key
from bot.history.retention import Retention


class GitBranch(GitBranchAcceptances, GitBranchBisections, GitBranchCompaction):
    """Runs, accepted changes and bisections, with their past."""

    def paths(self) -> tuple[str, ...]:
        return tuple(entry.path for entry in self._entries() if entry.blob and stored_key(entry.path))

    def contents(self, paths: Sequence[str]) -> tuple[bytes, ...]:
        blobs = {entry.path: entry.blob for entry in self._entries()}
        wanted = [blob for path in paths if (blob := blobs.get(path))]
        read = dict(zip(wanted, git.read_blobs(self._repository, wanted, remote=self._remote), strict=True))
        return tuple(read.get(blobs.get(path, ""), b"") for path in paths)

    def adopt(self, entries: Sequence[tuple[str, bytes]]) -> None:
        blobs = {path: git.write_blob(self._repository, content) for path, content in entries}
        runs = read_names(git.TreeEntry(path=path, blob=blob) for path, blob in blobs.items())
        if runs:
            self._patiently(lambda: self._try_append(runs), failure="the runs were not stored")
        others = {path: blob for path, blob in blobs.items() if not RUN_PATH.fullmatch(path)}
        if others:
            message = f"Copy {len(others)} accepted changes and bisections\n"
            self._patiently(lambda: self._try_add(others, message), failure="the changes were not stored")


@contextmanager
def open_git_branch(
    remote: git.Remote, *, branch: str = DEFAULT_BRANCH, retention: Retention | None = None
) -> Iterator[GitBranch]:
    """The branch as it is now, in a private repository."""
    with git.kept_folder(f"history {branch} of {remote.url}") as folder:
        yield GitBranch(remote, folder, branch=branch, retention=retention)
