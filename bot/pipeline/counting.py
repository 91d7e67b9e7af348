"""Whether a command is counted instead of measured, and what happens where that is not possible here."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bot.measure import Commands, Count

Say = Callable[[str], None]


def count_of(metric: str | None, *, benchmark: str | None = None, tool: str = "auto") -> "Count | None":
    """The count that `--metric` names. With a benchmark or a tool the metric is one of the tool's own."""
    from bot.measure import BENCHMARK, Count

    if metric not in set(Count) or benchmark not in (None, BENCHMARK) or tool != "auto":
        return None
    return Count(metric)


def counting_commands(commands: "Commands", *, metric: str | None, tool: str, say: Say) -> "tuple[Commands, str]":
    """The commands with the count that `metric` names and the format of its results, or as they were."""
    from bot.measure import is_missing

    count = count_of(metric)
    if count is None:
        return commands, tool
    why = is_missing()
    if why is not None:
        say(cannot_count(count, why))
        return commands, tool
    return replace(commands, count=count), "auto"


def cannot_count(count: "Count", why: str) -> str:
    return f"{count} cannot be counted: {why}; times are measured instead"
