"""What reading stored runs has in common in every back end: their order, how many at once, and what is unreadable."""

import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from random import Random
from typing import Final, TypedDict, TypeVar, Unpack

from bot.codec.run import decode_run, encode_run
from bot.errors import DataError, InfrastructureError
from bot.history.layout import RunFile, name_run, suite_slug
from bot.history.patience import Patience
from bot.history.protocol import StoredRun, UnreadableRun
from bot.history.retention import Retention, fit_file
from bot.model.run import Run

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
    """What `decode(content, place=path)` makes of each path and content, in order; what it refuses is left out."""
    for path, content in files:
        with suppress(DataError):
            yield decode(content, place=path)


def _newest_first(files: Sequence[RunFile]) -> list[RunFile]:
    return sorted(files, key=lambda file: file.age_order, reverse=True)


def _decode(file: RunFile, content: bytes) -> StoredRun | UnreadableRun:
    try:
        run = decode_run(content, place=file.path)
    except DataError as error:
        return UnreadableRun(id=file.path, commit=file.commit, problem=error.message)
    if run.commit != file.commit or suite_slug(run.suite) != file.suite_slug:
        return UnreadableRun(id=file.path, commit=file.commit, problem="its content belongs to another commit or suite")
    return StoredRun(id=file.path, commit=file.commit, run=run)
