"""The repository that a server was started in: which files, commits and commands of it the tools may use."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import anyio

from bot import git
from bot.config.reader import DEFAULT_PATH
from bot.errors import UsageError, did_you_mean

MOST_AT_ONCE: Final = 4


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """`scratch` holds what the tools write, as long as the server lives.

    `settings` are options that pin the commands which may run; none: none may.
    """

    root: Path
    scratch: Path
    settings: tuple[str, ...] = ()
    turns: anyio.Semaphore = field(default_factory=lambda: anyio.Semaphore(MOST_AT_ONCE))

    @property
    def config_file(self) -> Path | None:
        path = self.root / DEFAULT_PATH
        return path if path.is_file() else None

    def files(self, names: list[str]) -> list[str]:
        return [str(self.file(name)) for name in names]

    def file(self, name: str) -> Path:
        """One that lies in the repository, wherever its links lead, and not in git's own folder."""
        if "\0" in name:
            raise UsageError("a path has no zero byte", place="path", next_step="give the path of a file")
        path = (self.root / name).resolve()
        inside = path.is_relative_to(self.root) and ".git" not in path.parts
        if not inside and not path.is_relative_to(self.scratch):
            step = f"copy it into {self.root}, or start the server there"
            raise UsageError("lies outside the repository", place=name, next_step=step)
        if not path.is_file():
            near = [one.name for one in path.parent.iterdir() if one.is_file()] if path.parent.is_dir() else []
            hint = did_you_mean(path.name, near, otherwise="check the path")
            raise UsageError("is no file", place=name, next_step=hint)
        return path

    def commit(self, revision: str) -> str:
        return git.resolve_commit(self.root, revision)

    def own_commit(self, revision: str) -> str:
        """One whose code may run: of a branch of ours, not what a stranger's pull request brought."""
        commit = self.commit(revision)
        if not git.is_on_own_branch(self.root, commit):
            raise UsageError(
                "is on no local branch and on none of the default remote: its code is not run",
                place=revision,
                next_step="have a person check it out as a local branch",
            )
        return commit
