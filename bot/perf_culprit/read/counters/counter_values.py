"""Numbers, times and units of strangers, as counters have them."""

import math
from datetime import UTC, datetime
from typing import Final

from perf_culprit.errors import listed
from perf_culprit.model.run import Direction, Metric
from perf_culprit.read.results.content import shown

# A number below each is in that unit: seconds until the year 5138, milliseconds until then, and so on.
_EPOCH_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6))
_NANOSECONDS = 1e9
MAX_TIME_CHARACTERS = 40
LOCAL_NOTE: Final = "its times have no time zone and are taken as UTC"
MISSING: Final = frozenset({"", "na", "n/a", "nan", "-nan", "null", "none", "-", "?"})
MAX_SHOWN_NAMES = 3


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


def number_of(text: str) -> float:
    """As `number_or_none`; a ValueError for any other text."""
    if (number := number_or_none(text)) is None:
        raise ValueError(text)
    return number


def names_shown(names: list[str]) -> str:
    """A few foreign names for a note."""
    return listed([shown(name) for name in names], most=MAX_SHOWN_NAMES)


def epoch_divisor(number: float) -> float:
    """What makes seconds of a number in s, ms, us or ns since 1970. Small ones are seconds since a start."""
    return next((divisor for limit, divisor in _EPOCH_UNITS if abs(number) < limit), _NANOSECONDS)


class Clock:
    """Reads the times of one file. Raises ValueError for text that is no time.

    Its first number tells the unit of all, where `divisor` does not.
    `is_local` after a time without a zone, which is taken as UTC: differences within the file stay right, except where
    summer time begins or ends.
    """

    def __init__(self, *, divisor: float | None = None) -> None:
        self._divisor = divisor
        self.is_local = False

    def __call__(self, text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            return self._date(text)
        if self._divisor is None:
            self._divisor = epoch_divisor(number)
        return number / self._divisor

    def notes(self, place: str) -> tuple[str, ...]:
        return (f"{place}: {LOCAL_NOTE}",) if self.is_local else ()

    def _date(self, text: str) -> float:
        text = text.strip().replace("/", "-")
        if len(text) > MAX_TIME_CHARACTERS:
            raise ValueError(text[:MAX_TIME_CHARACTERS])
        without_zone = text.removesuffix(" UTC")
        time = datetime.fromisoformat(without_zone)
        if time.tzinfo is None:
            self.is_local |= without_zone == text
            time = time.replace(tzinfo=UTC)
        return time.timestamp()
