"""This machine as a place to measure commits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.collect import Reading, collect
from bot.collect.directions import Directions
from bot.config import Config
from bot.measure import Commands, Log, Workplace, interruptible, open_workplace

Say = Callable[[str], None]


@contextmanager
def this_machine(
    repository: Path,
    commands: Commands,
    *,
    config: Config,
    tool: str,
    log: Path,
    directions: Directions | None = None,
    keep_log: bool = False,
    cache: Path | None = None,
) -> Iterator[Workplace]:
    """A workplace whose results are in the format `tool`; an interrupt leaves it as an end does.

    `directions`: of metrics whose results do not say which way is good, where not `config` says it.
    """
    stated = directions or config.direction_of
    with (
        interruptible(),
        Log(log, keep=keep_log) as opened,
        open_workplace(
            repository,
            commands=commands,
            read=lambda result: collect([str(result)], Reading(tool=tool, suite=config.suite, directions=stated)),
            log=opened,
            cache=cache,
        ) as workplace,
    ):
        yield workplace
