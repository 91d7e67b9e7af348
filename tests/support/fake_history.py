"""Histories in memory."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from perf_culprit.model.run import Run
from perf_culprit.store.protocol import NamedRun, UnreadableRun


@dataclass(frozen=True)
class FakeHistory:
    """Stored entries, newest first within a commit. `suite` is the only one it knows."""

    entries: Sequence[NamedRun | UnreadableRun]
    suite: str = "default"

    def append(self, run: Run) -> str:
        raise NotImplementedError

    def commits(self, suite: str) -> Mapping[str, int]:
        return Counter(entry.commit for entry in self.entries) if suite == self.suite else {}

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[NamedRun | UnreadableRun]:
        if suite == self.suite:
            yield from (entry for commit in commits for entry in self.entries if entry.commit == commit)


@dataclass
class MemoryHistory:
    """A history that keeps the appended runs, oldest first, and the same run only once."""

    stored: list[Run] = field(default_factory=list)

    def append(self, run: Run) -> str:
        if run not in self.stored:
            self.stored.append(run)
        return f"run {self.stored.index(run)}"

    def commits(self, suite: str) -> Mapping[str, int]:
        return Counter(run.commit for run in self.stored if run.suite == suite and run.commit)

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[NamedRun | UnreadableRun]:
        for commit in commits:
            for number, run in reversed(list(enumerate(self.stored))):
                if (run.suite, run.commit) == (suite, commit):
                    yield NamedRun(id=f"run {number}", commit=commit, run=run)
