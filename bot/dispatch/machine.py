"""This machine as a place to measure commits."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bot.collect import collect
from bot.measure import Commands, Log, Workplace, interruptible, open_workplace

Say = Callable[[str], None]


@contextmanager
def this_machine(
    repository: Path,
    commands: Commands,
    *,
    tool: str,
    suite: str,
    log: Path,
    keep_log: bool = False,
    cache: Path | None = None,
) -> Iterator[Workplace]:
    """A workplace whose results are in the format `tool`; an interrupt leaves it as an end does."""
    with (
        interruptible(),
        Log(log, keep=keep_log) as opened,
        open_workplace(
            repository,
            commands=commands,
            read=lambda result: collect([str(result)], tool=tool, suite=suite),
            log=opened,
            cache=cache,
        ) as workplace,
    ):
        yield workplace
