"""What reading stored runs has in common in every back end: their order, how many at once, and what is unreadable."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from bot.codec.run import decode_run, encode_run
from bot.errors import DataError
from bot.history.layout import RunFile, name_run, suite_slug
from bot.history.protocol import StoredRun, UnreadableRun
from bot.history.retention import Retention, fit_file
from bot.model.run import Run

READ_AHEAD_RUNS: Final = 40  # the default window in one request


class RunReader(ABC):
    """A back end gives the names of a suite's runs, of one snapshot, and their contents."""

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
