"""history -> history: between two places, and the tables of a database."""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot.config import Config, with_database
from bot.errors import UsageError
from bot.history import copy_history, open_history, prepare_database

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
