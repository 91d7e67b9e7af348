"""What every place that stores a history can do. Back ends implement it and pass the same tests."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.model.dispatch import Bisection
from bot.model.finding import Acceptance
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


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedBisection:
    """`version` names exactly this content; it is what `store` must find when it replaces it."""

    bisection: Bisection
    version: str


class History(Protocol):
    """One snapshot is read: `commits` and `runs` of one object agree with each other, whoever writes meanwhile."""

    def append(self, run: Run) -> str:
        """Store the run, whole or not at all, and give its id. Storing the very same run again changes nothing."""

    def commits(self, suite: str) -> Mapping[str, int]:
        """Every commit with stored runs of the suite, and how many."""

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[StoredRun | UnreadableRun]:
        """The runs of these commits, in the commits' order and, within one commit, newest first; read as asked for."""


class BisectionStore(Protocol):
    """Where bisections are kept. A `store` is whole or did not happen."""

    def load(self, bisection_id: str) -> LoadedBisection | None: ...

    def store(self, bisection: Bisection, *, expected: str | None) -> str:
        """Replace version `expected` (None: there must be none yet); the new version. BisectionConflictError else."""


class Store(History, BisectionStore, Protocol):
    """All of a history: runs, accepted changes and bisections, each under the path that the branch has for it."""

    @property
    def place(self) -> str:
        """Where it is, for people; without secrets."""

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of the runs that were seen by now, for `expect` of a later job step."""

    @property
    def lost(self) -> tuple[str, ...]:
        """Runs that were seen and are gone, though this program did not remove them."""

    def expect(self, names: Iterable[str]) -> None:
        """These runs were there a while ago; after the next append `lost` names those that are not."""

    def suites(self) -> frozenset[str]:
        """The stored suites, by the names of their folders."""

    def append_all(self, runs: Sequence[Run]) -> tuple[str, ...]:
        """All or none: the ids of those that retention lets stay, the last run's at the end."""

    def newest_runs(self, suite: str, count: int) -> tuple[StoredRun | UnreadableRun, ...]:
        """The runs recorded last, of whichever commits."""

    def accepted(self, suite: str) -> tuple[Acceptance, ...]:
        """Oldest first. What cannot be read accepts nothing."""

    def accept(self, acceptances: Sequence[Acceptance]) -> bool:
        """Store all or none of them; False where every one of them was stored already."""

    def paths(self) -> tuple[str, ...]:
        """Of everything that is stored."""

    def contents(self, paths: Sequence[str]) -> Sequence[bytes]:
        """What is stored under these paths, empty where it is gone."""

    def adopt(self, entries: Sequence[tuple[str, bytes]]) -> None:
        """Store what another back end holds, as it is; what is there already stays."""
