"""Charts that fit in a table cell: block characters, to be shown in a fixed-width font."""

import math
from collections.abc import Sequence

_LEVELS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
MOST_POINTS = 16
FEWEST_POINTS = 3


def sparkline(series: Sequence[float]) -> str:
    """The newest points on eight levels from their smallest to their largest value; "" where there is no trend."""
    points = [value for value in series[-MOST_POINTS:] if math.isfinite(value)]
    if len(points) < FEWEST_POINTS:
        return ""
    # Halved, so that the span of two huge values of opposite sign stays a number.
    low, span = min(points) / 2, max(points) / 2 - min(points) / 2
    if span == 0:
        return _LEVELS[0] * len(points)
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[min(top, round((value / 2 - low) / span * top))] for value in points)


def bar(fraction: float, *, width: int = 8) -> str:
    """A bar of `width` characters in steps of an eighth, filled with spaces."""
    eighths = round(min(1.0, max(0.0, fraction)) * width * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(width)


def blocks(share: float, below: float = 0.0, *, width: int, empty: str = "·") -> str:
    """A bar of `width` whole characters: `share` of them full, then `below` of them half full."""
    full = round(min(1.0, share) * width)
    return ("█" * full + "░" * min(round(below * width), width - full)).ljust(width, empty)
