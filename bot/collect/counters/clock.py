"""Times of strangers as seconds since 1970: ISO 8601, or a number in the unit that its size tells."""

from datetime import UTC, datetime

# A number below each is in that unit: seconds until the year 5138, milliseconds until then, and so on.
_EPOCH_UNITS = ((1e11, 1.0), (1e14, 1e3), (1e17, 1e6))
_NANOSECONDS = 1e9
MAX_TIME_CHARACTERS = 40
LOCAL_NOTE = "its times have no time zone and are taken as UTC"


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
