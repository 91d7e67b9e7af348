"""What every place that stores runs can do. Back ends implement it and pass the same tests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.model.run import Run


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """A run and the name under which the history knows it."""

    id: str
    commit: str
    run: Run


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableRun:
    """A stored run that cannot be read; `problem` says why. It is skipped and named, never fatal."""

    id: str
    commit: str
    problem: str


class History(Protocol):
    """One snapshot is read: `commits` and `runs` of one object agree with each other, whoever writes meanwhile."""

    def append(self, run: Run) -> str:
        """Store the run, whole or not at all, and give its id. Storing the very same run again changes nothing."""
        ...

    def commits(self, suite: str) -> Mapping[str, int]:
        """Every commit with stored runs of the suite, and how many."""
        ...

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[StoredRun | UnreadableRun]:
        """The runs of these commits, in the commits' order and, within one commit, newest first; read as asked for."""
        ...
