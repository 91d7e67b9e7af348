"""A history in memory."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bot.history.protocol import StoredRun, UnreadableRun
from bot.model.run import Run


@dataclass(frozen=True)
class FakeHistory:
    """Stored entries, newest first within a commit. `suite` is the only one it knows."""

    entries: Sequence[StoredRun | UnreadableRun]
    suite: str = "default"

    def append(self, run: Run) -> str:
        raise NotImplementedError

    def commits(self, suite: str) -> Mapping[str, int]:
        return Counter(entry.commit for entry in self.entries) if suite == self.suite else {}

    def runs(self, suite: str, commits: Sequence[str]) -> Iterator[StoredRun | UnreadableRun]:
        if suite == self.suite:
            yield from (entry for commit in commits for entry in self.entries if entry.commit == commit)
