"""The interface of every history store, and the reading of runs that all of them share."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedRun:
    """A run and its name in the history."""

    id: str
    commit: str
    run: Run


@dataclass(frozen=True, kw_only=True, slots=True)
class UnreadableRun:
    """A stored run that cannot be read, with the `problem`. It is skipped and reported, never fatal.

    A run of a later version raises an error instead: a comparison without it would be wrong.
    """

    id: str
    commit: str
    problem: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LoadedBisection:
    """`version` identifies exactly this content. `store` replaces the bisection only while it has that version."""

    bisection: Bisection
    version: str


class History(Protocol):
    """Read access to one snapshot: `commits` and `runs` of one object agree, even if others write meanwhile."""

    def append(self, run: Run) -> str:
        """Store the run, whole or not at all, and return its id. Storing the same run again changes nothing."""

    def commits(self, suite: str) -> Mapping[str, int]:
        """Return every commit with stored runs of the suite, and their number."""

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[NamedRun | UnreadableRun]:
        """Yield the runs of these commits lazily, in the commits' order and newest first within a commit."""


class BisectionStore(Protocol):
    """A store of bisections. A `store` is whole or did not happen."""

    def load(self, bisection_id: str) -> LoadedBisection | None: ...

    def store(self, bisection: Bisection, *, expected: str | None) -> str:
        """Replace version `expected` (None: none yet). Return the new one, or raise a BisectionConflictError."""


class Store(History, BisectionStore, Protocol):
    """A whole history: runs, accepted changes and bisections, each under its path on the branch."""

    @property
    def place(self) -> str:
        """The history's place, for people to read. It contains no secrets."""

    @property
    def names(self) -> tuple[str, ...]:
        """The ids of the runs seen so far, for `expect` in a later job step."""

    @property
    def lost(self) -> tuple[str, ...]:
        """Runs that were seen earlier and are gone, though this program did not remove them."""

    def expect(self, names: Iterable[str]) -> None:
        """Note runs that were there earlier. After the next append `lost` names those that are gone."""

    def suites(self) -> frozenset[str]:
        """Return the stored suites, by the names of their folders."""

    def append_all(self, runs: Sequence[Run]) -> tuple[str, ...]:
        """Store all runs or none. Return the ids of those that retention keeps, the last run's at the end."""

    def newest_runs(self, suite: str, count: int) -> tuple[NamedRun | UnreadableRun, ...]:
        """Return the runs recorded last, from any commits."""

    def accepted(self, suite: str) -> tuple[Acceptance, ...]:
        """Return the suite's accepted changes, oldest first. Unreadable ones are skipped."""

    def accept(self, acceptances: Sequence[Acceptance]) -> bool:
        """Store all or none of them. False if all of them were stored already."""

    def paths(self) -> tuple[str, ...]:
        """Return the paths of everything that is stored."""

    def contents(self, paths: Sequence[str]) -> Sequence[bytes]:
        """Return the contents stored under these paths; empty if one is gone."""

    def adopt(self, entries: Sequence[tuple[str, bytes]]) -> None:
        """Store what another back end holds, unchanged. Existing entries stay."""


_T = TypeVar("_T")
READ_AHEAD_RUNS: Final = 40  # the default window in one request


class Options(TypedDict, total=False):
    """The options of every back end. `random` and `sleep` control the pauses between attempts."""

    retention: Retention | None
    patience: Patience
    random: Random
    sleep: Callable[[float], None]


class RunReader(ABC):
    """The common part of the back ends, which provide one snapshot of a suite's run names, and their contents."""

    def __init__(self, **options: Unpack[Options]) -> None:
        self._retention = options.get("retention") or Retention()
        self._patience = options.get("patience", Patience())
        self._random = options.get("random", Random())  # noqa: S311  # spreads retries in time, guards nothing
        self._sleep = options.get("sleep", time.sleep)
        self._lost: dict[str, None] = {}

    @property
    @abstractmethod
    def place(self) -> str:
        """The history's place, for people to read. It contains no secrets."""

    @property
    def lost(self) -> tuple[str, ...]:
        """Runs that are gone although retention kept them: someone else removed them."""
        return tuple(self._lost)

    @abstractmethod
    def append_all(self, runs: Sequence[Run]) -> tuple[str, ...]: ...

    def append(self, run: Run) -> str:
        return self.append_all((run,))[0]

    @abstractmethod
    def _is_transient(self, error: InfrastructureError) -> bool:
        """Whether another attempt may succeed after this error."""

    def _patiently(self, action: Callable[[], _T], *, failure: str, writes: bool = True) -> _T:
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
        """Return the files' contents; empty for a missing one."""

    def commits(self, suite: str) -> Mapping[str, int]:
        return Counter(file.commit for file in self._suite_files(suite))

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[NamedRun | UnreadableRun]:
        by_commit: dict[str, list[RunFile]] = {}
        for file in _newest_first(self._suite_files(suite)):
            by_commit.setdefault(file.commit, []).append(file)
        wanted = [file for commit in commits for file in by_commit.get(commit, ())]
        for start in range(0, len(wanted), READ_AHEAD_RUNS):
            part = wanted[start : start + READ_AHEAD_RUNS]
            for file, content in zip(part, self._read(part), strict=True):
                yield _decode(file, content)

    def newest_runs(self, suite: str, count: int) -> tuple[NamedRun | UnreadableRun, ...]:
        """Return the runs recorded last, from any commits."""
        files = _newest_first(self._suite_files(suite))[:count]
        return tuple(self.runs(suite, list(dict.fromkeys(file.commit for file in files))))


def new_run_file(run: Run, retention: Retention) -> tuple[RunFile, bytes]:
    """Return the run's name, recorded now, and the content to store for it."""
    original = encode_run(run)
    name = name_run(run, original, now=datetime.now(UTC))
    content, compacted = fit_file(run, original, retention)
    return name.with_content(content, compacted=compacted), content


def decodable(files: Iterable[tuple[str, bytes]], decode: Callable[..., _T]) -> Iterator[_T]:
    """Yield `decode(content, place=path)` for each path and content, in order. Broken content is left out.

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


def _decode(file: RunFile, content: bytes) -> NamedRun | UnreadableRun:
    try:
        run = decode_run(content, place=file.path)
    except NewerVersionError:
        raise
    except DataError as error:
        return UnreadableRun(id=file.path, commit=file.commit, problem=error.message)
    if run.commit != file.commit or suite_slug(run.suite) != file.suite_slug:
        return UnreadableRun(id=file.path, commit=file.commit, problem="its content belongs to another commit or suite")
    return NamedRun(id=file.path, commit=file.commit, run=run)
