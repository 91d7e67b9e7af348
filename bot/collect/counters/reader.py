"""What a reader of counters provides, and how it reads numbers and units of strangers."""

import math
from typing import Final, Protocol

from bot.collect.parser import Parser
from bot.errors import listed
from bot.model.metric import Direction, Metric

# Units of what the readers of load tests give.
RESPONSE_TIME: Final = Metric(name="response_time", unit="ms", direction=Direction.LOWER_IS_BETTER)
ERROR_RATE: Final = Metric(name="error_rate", unit="%", direction=Direction.LOWER_IS_BETTER)
USERS: Final = Metric(name="users", unit="", direction=Direction.UNKNOWN)
THROUGHPUT: Final = "throughput (requests/s)"

MISSING: Final = frozenset({"", "na", "n/a", "nan", "-nan", "null", "none", "-", "?"})
MAX_SHOWN_NAMES = 3


class CounterReader(Parser, Protocol):
    """A parser whose result holds counter tables, benchmarks, or both.

    `matches` and `parse` of a format whose files grow with time use `source.head()` and `source.lines()` only: then
    files that are too large for memory can be read too.
    """


def counter(name: str, unit: str = "", direction: Direction = Direction.UNKNOWN) -> Metric:
    """A counter's metric. A direction is given only where the format's own meaning says it for sure."""
    return Metric(name=name, unit=unit, direction=direction)


def number_or_none(text: str) -> float | None:
    """The number, NaN where the text says that there is none, None for any other text."""
    text = text.strip()
    if text.lower() in MISSING:
        return math.nan
    try:
        return float(text)
    except ValueError:
        return None


def names_shown(names: list[str]) -> str:
    """A few names for a note."""
    return listed(names, most=MAX_SHOWN_NAMES)
