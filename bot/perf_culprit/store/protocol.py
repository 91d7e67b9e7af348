"""What every store of a history can do, and what reading runs has in common in all of them."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Final, Protocol, TypedDict, TypeVar, Unpack

from perf_culprit.errors import DataError, InfrastructureError, NewerVersionError
from perf_culprit.model.dispatch import Bisection
from perf_culprit.model.finding import Acceptance
from perf_culprit.model.run import Run
from perf_culprit.model.run_file import decode_run, encode_run
from perf_culprit.store.retention import Patience, Retention, fit_file
from perf_culprit.store.run_names import RunFile, name_run, suite_slug

# What every place that stores a history can do. Back ends implement it and pass the same tests.


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredRun:
    """A run and the name under which the history knows it."""

    id: str
    commit: str
    run: Run


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableRun:
    """A stored run that cannot be read; `problem` says why. It is skipped and named, never fatal.

    One of a later version is not among them: it is refused, as a comparison without it would be wrong.
    """

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


# What reading stored runs has in common in every back end: their order, how many at once, and what is unreadable.

T = TypeVar("T")
READ_AHEAD_RUNS: Final = 40  # the default window in one request


class Options(TypedDict, total=False):
    """What every back end can be given. `random` and `sleep` make the pauses between attempts."""

    retention: Retention | None
    patience: Patience
    random: Random
    sleep: Callable[[float], None]


class RunReader(ABC):
    """A back end gives the names of a suite's runs, of one snapshot, and their contents."""

    def __init__(self, **options: Unpack[Options]) -> None:
        self._retention = options.get("retention") or Retention()
        self._patience = options.get("patience", Patience())
        self._random = options.get("random", Random())  # noqa: S311  # spreads retries in time, guards nothing
        self._sleep = options.get("sleep", time.sleep)
        self._lost: dict[str, None] = {}

    @property
    @abstractmethod
    def place(self) -> str:
        """Where it is, for people; without secrets."""

    @property
    def lost(self) -> tuple[str, ...]:
        """Runs that were there and are not, though retention let them stay: somebody removed them."""
        return tuple(self._lost)

    @abstractmethod
    def append_all(self, runs: Sequence[Run]) -> tuple[str, ...]: ...

    def append(self, run: Run) -> str:
        return self.append_all((run,))[0]

    @abstractmethod
    def _is_transient(self, error: InfrastructureError) -> bool:
        """Whether another attempt may do what this one did not."""

    def _patiently(self, action: Callable[[], T], *, failure: str, writes: bool = True) -> T:
        """Retry while other writers or the network are in the way."""
        return self._patience.persist(
            action,
            is_transient=self._is_transient,
            failure=failure,
            place=self.place,
            writes=writes,
            random=self._random,
            sleep=self._sleep,
        )

    @abstractmethod
    def _suite_files(self, suite: str) -> Sequence[RunFile]: ...

    @abstractmethod
    def _read(self, files: Sequence[RunFile]) -> Sequence[bytes]:
        """The contents, empty where there is none."""

    def commits(self, suite: str) -> Mapping[str, int]:
        return Counter(file.commit for file in self._suite_files(suite))

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[StoredRun | UnreadableRun]:
        by_commit: dict[str, list[RunFile]] = {}
        for file in _newest_first(self._suite_files(suite)):
            by_commit.setdefault(file.commit, []).append(file)
        wanted = [file for commit in commits for file in by_commit.get(commit, ())]
        for start in range(0, len(wanted), READ_AHEAD_RUNS):
            part = wanted[start : start + READ_AHEAD_RUNS]
            for file, content in zip(part, self._read(part), strict=True):
                yield _decode(file, content)

    def newest_runs(self, suite: str, count: int) -> tuple[StoredRun | UnreadableRun, ...]:
        """The runs recorded last, of whichever commits."""
        files = _newest_first(self._suite_files(suite))[:count]
        return tuple(self.runs(suite, list(dict.fromkeys(file.commit for file in files))))


def written(run: Run, retention: Retention) -> tuple[RunFile, bytes]:
    """The run's name, recorded now, and what to store for it."""
    original = encode_run(run)
    name = name_run(run, original, now=datetime.now(UTC))
    content, compacted = fit_file(run, original, retention)
    return name.with_content(content, compacted=compacted), content


def decodable(files: Iterable[tuple[str, bytes]], decode: Callable[..., T]) -> Iterator[T]:
    """What `decode(content, place=path)` makes of each path and content, in order; what is broken is left out.

    Raises:
        NewerVersionError: a file is of a later version, which is not broken.
    """
    for path, content in files:
        try:
            yield decode(content, place=path)
        except NewerVersionError:
            raise
        except DataError:
            continue


def _newest_first(files: Sequence[RunFile]) -> list[RunFile]:
    return sorted(files, key=lambda file: file.age_order, reverse=True)


def _decode(file: RunFile, content: bytes) -> StoredRun | UnreadableRun:
    try:
        run = decode_run(content, place=file.path)
    except NewerVersionError:
        raise
    except DataError as error:
        return UnreadableRun(id=file.path, commit=file.commit, problem=error.message)
    if run.commit != file.commit or suite_slug(run.suite) != file.suite_slug:
        return UnreadableRun(id=file.path, commit=file.commit, problem="its content belongs to another commit or suite")
    return StoredRun(id=file.path, commit=file.commit, run=run)
