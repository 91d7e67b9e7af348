"""history -> history: what the branch weighs, and its compaction."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.config import Config
from bot.errors import UsageError
from bot.history.compaction import GitBranchCompaction
from bot.history.opening import open_history
from bot.model.history_size import Compacted, HistorySize


def history_size(repository: Path, *, config: Config, history_url: str | None = None) -> HistorySize:
    with _branch(repository, config, history_url) as branch:
        return branch.size()


def compact_history(repository: Path, *, config: Config, history_url: str | None = None) -> Compacted:
    """One commit in the place of all, on the condition that nobody else writes between; whole or not at all."""
    with _branch(repository, config, history_url) as branch:
        return branch.compact()


@contextmanager
def _branch(repository: Path, config: Config, history_url: str | None) -> Iterator[GitBranchCompaction]:
    with open_history(config.history, repository, url=history_url) as store:
        if not isinstance(store, GitBranchCompaction):
            raise UsageError(
                "only a history on a git branch has a past that weighs",
                place=store.place,
                next_step="leave it as it is",
            )
        yield store
