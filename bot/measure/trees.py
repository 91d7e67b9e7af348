"""Commits as folders with built code: git worktrees that are removed in any case, and built once per content."""

import os
import shutil
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bot import git
from bot.errors import InfrastructureError
from bot.measure.cache import BuildCache, build_key
from bot.measure.failure import ExecutionError

# Of large projects a built worktree is gigabytes: beyond this many the one that was not used for longest goes.
KEPT_WORKTREES: Final = 16

Build = Callable[[Path, str], None]


class Trees:
    """The worktrees of one session. `build(folder, commit)` is called once for each content; it may raise.

    Without a build `command` the files are as they are in git, and nothing is put into the `cache`.
    """

    def __init__(
        self,
        repository: Path,
        folder: Path,
        *,
        build: Build,
        command: str | None,
        cache: BuildCache | None = None,
        kept: int = KEPT_WORKTREES,
    ) -> None:
        self._repository = repository
        self._folder = folder
        self._build = build
        self._command = command
        self._cache = None if command is None else cache
        self._kept = kept
        self._paths: OrderedDict[str, Path] = OrderedDict()
        self._failed: dict[str, ExecutionError] = {}
        self._names: dict[str, str] = {}
        self._made = 0

    def of(self, commit: str) -> Path:
        """The built worktree of this commit, or of another with the same files."""
        tree = self._tree(commit)
        if tree in self._failed:
            raise self._failed[tree]
        if tree in self._paths:
            self._paths.move_to_end(tree)
            return self._paths[tree]
        while len(self._paths) >= self._kept:
            self._remove(next(iter(self._paths)))
        return self._add(tree, commit)

    def build_seconds(self, commit: str) -> float:
        """What a build takes in a folder of its own, which is gone afterwards."""
        path = self._folder / f"build-{commit[:12]}"
        try:
            git.add_worktree(self._repository, path, commit)
            started = time.monotonic()
            self._build(path, commit)
            return time.monotonic() - started
        finally:
            self._remove_folder(path)

    def close(self) -> None:
        for tree in tuple(self._paths):
            self._remove(tree)

    def _tree(self, commit: str) -> str:
        if commit not in self._names:
            (name,) = git.tree_names(self._repository, [commit])
            if name is None:
                raise InfrastructureError(
                    f"the files of commit {commit} are not here",
                    place=str(self._repository),
                    next_step="fetch the whole history (actions/checkout: `fetch-depth: 0`)",
                )
            self._names[commit] = name
        return self._names[commit]

    def _add(self, tree: str, commit: str) -> Path:
        self._made += 1
        path = self._folder / f"{self._made:03d}-{commit[:12]}"
        key = build_key(tree, self._command or "")
        # Known before it is there, so that what an interrupt leaves half made is removed as well.
        self._paths[tree] = path
        try:
            if self._cache is not None and self._cache.has(key):
                git.add_worktree(self._repository, path, commit, checkout=False)
                self._cache.restore(key, path)
            else:
                git.add_worktree(self._repository, path, commit)
                if self._command is not None:
                    self._build(path, commit)
                if self._cache is not None:
                    self._cache.store(key, path)
        except ExecutionError as error:
            self._failed[tree] = error
            self._remove(tree)
            raise
        return path

    def _remove(self, tree: str) -> None:
        self._remove_folder(self._paths.pop(tree))

    def _remove_folder(self, path: Path) -> None:
        try:
            git.remove_worktree(self._repository, path)
        except git.GitError:
            # Not a worktree yet, or files that git may not delete (a Go module cache is read-only).
            remove_folder(path)
            git.prune_worktrees(self._repository)


def remove_folder(path: Path) -> None:
    """Delete a folder of ours, also where a build took away the right to write."""
    for folder, names, _ in os.walk(path):
        for name in names:
            inner = Path(folder, name)
            if not inner.is_symlink():
                inner.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)
