"""history -> history: between two places, the tables of a database, a branch's weight and its compaction."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from bot.config import Config, with_database
from bot.errors import UsageError
from bot.history import copy_history, open_history, prepare_database
from bot.history.compaction import GitBranchCompaction
from bot.model.history_size import Compacted, HistorySize

ORIGIN: Final = "origin"


def copy_between(
    source: str, target: str, *, repository: Path, config: Config, environ: Mapping[str, str]
) -> tuple[Mapping[str, int], int]:
    """What was copied, by kind, and how much was there before. Each place is `origin`, a repository or a database."""
    opened = []
    for name in (source, target):
        place = with_database(config, environ=environ, option=name).history
        opened.append(open_history(place, repository, url=None if name == ORIGIN else name))
    with opened[0] as read, opened[1] as written:
        return copy_history(read, written)


def migrate_database(config: Config) -> tuple[str, bool]:
    """Where the configured database is, and False where its tables were there."""
    url = config.history.url
    if url is None:
        raise UsageError(
            "the history is not in a database, so there are no tables",
            next_step="name the database: --history postgresql://USER@HOST/NAME",
        )
    return url.shown, prepare_database(url)


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
                "stats and compact are for a history on a git branch: a database keeps no past",
                place=store.place,
                next_step="leave it as it is",
            )
        yield store
