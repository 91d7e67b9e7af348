"""Built worktrees kept from one call to the next: complete copies, named by what they were built from."""

import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bot.errors import InfrastructureError

GIT_LINK: Final = ".git"


@dataclass(frozen=True, kw_only=True, slots=True)
class BuildCache:
    """A folder of the user's. Entries are whole or not there; nothing is ever thrown away."""

    folder: Path

    def has(self, key: str) -> bool:
        return (self.folder / key).is_dir()

    def restore(self, key: str, worktree: Path) -> None:
        """Fill a worktree that has no files yet. Times of files are kept, so that `make` has nothing to do."""
        shutil.copytree(self.folder / key, worktree, symlinks=True, dirs_exist_ok=True)

    def store(self, key: str, worktree: Path) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            made = Path(tempfile.mkdtemp(dir=self.folder, prefix=".new-"))
            try:
                shutil.copytree(worktree, made, symlinks=True, dirs_exist_ok=True, ignore=_git_link_of(worktree))
                # Another process may have been faster: its entry is as good.
                if not self.has(key):
                    made.rename(self.folder / key)
            finally:
                shutil.rmtree(made, ignore_errors=True)
        except OSError as error:
            raise InfrastructureError(
                f"the build cannot be kept: {error.strerror or error}",
                place=str(self.folder),
                next_step="give a folder with enough room with --cache, or leave it out",
            ) from None


def build_key(tree: str, command: str) -> str:
    """The same files built by the same command on the same kind of machine give the same."""
    facts = f"{tree}\x00{command}\x00{platform.machine()}\x00{platform.system()}"
    return hashlib.sha256(facts.encode(errors="surrogateescape")).hexdigest()


def _git_link_of(worktree: Path) -> Callable[[str, list[str]], list[str]]:
    """The worktree's own link to its repository stays out; those of submodules' belong to the build."""

    def ignored(folder: str, names: list[str]) -> list[str]:
        return [GIT_LINK] if GIT_LINK in names and os.path.samefile(folder, worktree) else []  # noqa: PTH121 - gets text

    return ignored
