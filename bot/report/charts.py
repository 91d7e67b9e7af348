"""Charts of block characters, to be shown in a fixed-width font: in a table's cell, or a few lines high."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

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


def strips(sides: Sequence[Sequence[float]], *, width: int = 40) -> list[str]:
    """Where each side's samples lie between the least and the largest of all, as densities of `width` characters.

    Nothing where a side has none or all are equal.
    """
    finite = [[value for value in side if math.isfinite(value)] for side in sides]
    if not all(finite):
        return []
    low, high = min(map(min, finite)), max(map(max, finite))
    if not 0 < high - low < math.inf:
        return []
    counts = [Counter(min(width - 1, int((value - low) / (high - low) * width)) for value in side) for side in finite]
    # The fullest place of either side is full: sides of other numbers of samples are still alike in height.
    tops = [max(count.values()) for count in counts]
    return [
        "".join(_LEVELS[max(0, round(count[i] / top * 8) - 1)] if count[i] else " " for i in range(width))
        for count, top in zip(counts, tops, strict=True)
    ]


def plot(values: Sequence[float], steps: Sequence[tuple[int, float, float]], *, width: int, height: int) -> list[str]:
    """The medians of `width` stretches as points, and the levels between `steps` (index, before, after) as lines."""
    columns = min(width, len(values))
    edges = [i * len(values) // columns for i in range(columns + 1)]
    parts = [[value for value in values[start:end] if math.isfinite(value)] for start, end in pairwise(edges)]
    points = [median(part) if part else math.nan for part in parts]
    starts = [0, *(index for index, _, _ in steps)]
    levels = [steps[0][1], *(after for _, _, after in steps)] if steps else []
    finite = [value for value in (*points, *levels) if math.isfinite(value)]
    low, span = min(finite), max(finite) - min(finite)
    height = height if 0 < span < math.inf else 1

    def place(value: float) -> int:
        return 0 if height == 1 else height - 1 - min(height - 1, int((value - low) / span * height))

    rows = [[" "] * columns for _ in range(height)]
    for column, point in enumerate(points):
        if levels:
            rows[place(levels[bisect_right(starts, edges[column]) - 1])][column] = "─"
        if math.isfinite(point):
            rows[place(point)][column] = "•"
    return ["".join(row) for row in rows]


def bar(fraction: float) -> str:
    """A bar of eight characters in steps of an eighth, filled with spaces."""
    eighths = round(min(1.0, max(0.0, fraction)) * 64)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(8)


def blocks(share: float, below: float = 0.0, *, width: int, empty: str = "·") -> str:
    """A bar of `width` whole characters: `share` of them full, then `below` of them half full."""
    full = round(min(1.0, share) * width)
    return ("█" * full + "░" * min(round(below * width), width - full)).ljust(width, empty)
