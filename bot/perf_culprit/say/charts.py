"""Charts: block characters for fixed-width fonts, and lines as SVG."""

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, Final, TypeAlias

from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.inert import clean
from perf_culprit.say.numbers import amount_text, percent, quantities

if TYPE_CHECKING:
    from perf_culprit.model.accuracy import Audit

_LEVELS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉█"
FEWEST_POINTS = 3
FEWEST_CUT: Final = 20  # of fewer samples, one is more than 5%
_PLOT_WIDTH: Final = 56
PLOT_HEIGHT: Final = 6


def sparkline(series: Sequence[float]) -> str:
    """Draw the newest points on eight levels from their smallest to their largest value. "" without a trend."""
    points = [value for value in series[-TEXT_LIMITS.sparkline_points :] if math.isfinite(value)]
    if len(points) < FEWEST_POINTS:
        return ""
    # Halved, so that the span of two huge values of opposite sign stays finite.
    low, span = min(points) / 2, max(points) / 2 - min(points) / 2
    if span == 0:
        return _LEVELS[0] * len(points)
    top = len(_LEVELS) - 1
    return "".join(_LEVELS[min(top, round((value / 2 - low) / span * top))] for value in points)


def strips(sides: Sequence[Sequence[float]], *, width: int = 40) -> list[str]:
    """Draw each side's samples between the overall minimum and maximum, as densities of `width` characters.

    Empty if a side has no samples or all are equal.
    """
    finite = [[value for value in side if math.isfinite(value)] for side in sides]
    if not all(finite):
        return []
    low, high = min(map(min, finite)), max(map(max, finite))
    if not 0 < high - low < math.inf:
        return []
    counts = [Counter(min(width - 1, int((value - low) / (high - low) * width)) for value in side) for side in finite]
    # Each side's fullest place is full, so sides with different numbers of samples have the same height.
    tops = [max(count.values()) for count in counts]
    return [
        "".join(_LEVELS[max(0, round(count[i] / top * 8) - 1)] if count[i] else " " for i in range(width))
        for count, top in zip(counts, tops, strict=True)
    ]


def without_extremes(sides: Sequence[Sequence[float]]) -> Sequence[Sequence[float]]:
    """Leave out what is beyond the 1st and 99th percentile of its side, if the rest then has twice the room.

    Sides are sorted. Short ones are kept whole.
    """
    inner = [
        side[math.ceil(0.01 * (len(side) - 1)) : math.floor(0.99 * (len(side) - 1)) + 1]
        if len(side) >= FEWEST_CUT
        else side
        for side in sides
    ]
    return inner if 2 * _span(inner) < _span(sides) else sides


def _span(sides: Sequence[Sequence[float]]) -> float:
    return max(side[-1] for side in sides) - min(side[0] for side in sides)


def plot_series(
    values: Sequence[float], steps: Sequence[tuple[int, float, float]], *, width: int, height: int
) -> list[str]:
    """Draw medians of `width` stretches as points, and the levels between `steps` (index, before, after) as lines."""
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


def labelled_plot(values: Sequence[float], steps: Sequence[tuple[int, float, float]], unit: str) -> list[str]:
    """Draw a plot with its largest and smallest values next to it."""
    rows = plot_series(values, steps, width=_PLOT_WIDTH, height=PLOT_HEIGHT)
    finite = [value for value in values if math.isfinite(value)]
    ends = [amount_text(quantity) for quantity in quantities((max(finite), min(finite)), unit)]
    labels = [ends[0], *[""] * (len(rows) - 2), ends[1]][: len(rows)]
    wide = max(map(len, ends))
    return [f"  {label:>{wide}} ┤{row.rstrip()}".rstrip() for label, row in zip(labels, rows, strict=True)]


def bar(fraction: float) -> str:
    """Draw a bar of eight characters in steps of an eighth, padded with spaces."""
    eighths = round(min(1.0, max(0.0, fraction)) * 64)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(8)


def chart_blocks(share: float, below: float = 0.0, *, width: int, empty: str = "·") -> str:
    """Draw a bar of `width` whole characters: `share` of them full, then `below` of them half full."""
    full = round(min(1.0, share) * width)
    return ("█" * full + "░" * min(round(below * width), width - full)).ljust(width, empty)


NAMESPACE = "http://www.w3.org/2000/svg"
# Okabe & Ito's colours, distinguishable with any kind of colour vision. The dashes work without colours.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "12 4")


def render_audit_svg(audit: "Audit") -> str:
    """Draw the share of injected slowdowns that each detector finds, by their size."""
    title = f"Slowdowns found in suite {audit.suite}, in %: {audit.runs:,} runs, {audit.metrics:,} metrics"
    sizes = sorted({power.effect for detector in audit.detectors for power in detector.power})
    names = [percent(size) for size in sizes]
    parts, place = frame(title, "size of the injected slowdown", [(0.0, 0.0), (0.0, 100.0)], names=names, room=_WIDE)
    x = _WIDE.width - _WIDE.right + 16
    for index, detector in enumerate(audit.detectors):
        colour, dash, y = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)], TOP + 12 + 40 * index
        points = [(float(sizes.index(power.effect)), 100 * power.suspected) for power in detector.power]
        parts += _line([place(point) for point in points], colour, dash)
        parts += _line([(x, y), (x + 24, y)], colour, dash)
        parts.append(f'<text x="{x + 32}" y="{y + 4}">{escape(clean(detector.detector, limit=24))}</text>')
        alarms = f"false alarms: {detector.alarms.count:,} of {detector.alarms.trials:,} runs"
        parts.append(f'<text x="{x}" y="{y + 20}" fill="#555">{alarms}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


Points: TypeAlias = Sequence[tuple[float, float]]

HEIGHT: Final = 260
LEFT, TOP, BOTTOM = 58, 36, 62
TICKS: Final = 5
TITLE_SIZE: Final = 13.0
TITLE_ROOM: Final = 700.0  # characters times font size that fit next to LEFT
FONT: Final = 'font-family="sans-serif" font-size="11"'


@dataclass(frozen=True, kw_only=True, slots=True)
class Room:
    """A chart's size, and the room to the right of its axes. At most `names` labels fit below them."""

    width: int = 460
    height: int = HEIGHT
    right: int = 16
    names: int = 6


_USUAL: Final = Room()
_WIDE: Final = Room(width=760, height=420, right=200, names=12)


def line_chart(title: str, x_name: str, lines: Mapping[str, Points], points: Mapping[str, Points]) -> str:
    """Draw a chart. `points` are marks in the colour of the line with the same name."""
    parts, place = frame(title, x_name, [point for each in (*lines.values(), *points.values()) for point in each])
    for index, name in enumerate(dict.fromkeys((*lines, *points))):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        parts += _line([place(point) for point in lines.get(name, ())], colour, dash)
        parts += _rings([place(point) for point in points.get(name, ())], colour)
        if name:
            x = LEFT + index * (_USUAL.width - LEFT) / max(len(lines), 1)
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 10}" fill="{colour}">{escape(clean(name, limit=24))}</text>')
    return "\n".join([*parts, "</svg>"])


# Per version: its place, its value, and the ends of its interval.
Intervals: TypeAlias = Sequence[tuple[int, float, float, float]]


def interval_chart(title: str, names: Sequence[str], curves: Mapping[str, Intervals]) -> str:
    """Draw a curve per name of (place among the names, value, lowest, highest), with its intervals as bars."""
    points = [(float(x), y) for curve in curves.values() for x, *ys in curve for y in ys]
    parts, place = frame(title, "version", points, names=names)
    for index, (name, curve) in enumerate(curves.items()):
        colour, dash, aside = COLOURS[index], DASHES[index], 0.12 * index
        parts += _line([place((x + aside, value)) for x, value, _, _ in curve], colour, dash)
        for x, _, low, high in curve:
            (left, bottom), (_, top) = place((x + aside, low)), place((x + aside, high))
            parts.append(
                f'<line x1="{left:.1f}" y1="{bottom:.1f}" x2="{left:.1f}" y2="{top:.1f}" stroke="{colour}"'
                ' stroke-width="3" stroke-opacity="0.45"/>'
            )
        words = f'<text x="{LEFT + 150 * index}" y="{HEIGHT - 10}" fill="{colour}">{escape(clean(name))}</text>'
        parts.append(words)
    return "\n".join([*parts, "</svg>"])


def frame(
    title: str, x_name: str, points: Points, *, names: Sequence[str] = (), room: Room = _USUAL
) -> tuple[list[str], Callable[[tuple[float, float]], tuple[float, float]]]:
    """Draw an empty chart with axes that include `points` and 0. Also return a function that places a point in it.

    `names` label the places 0, 1, … instead of numbers. With them the axis of values need not include 0.
    """
    xs = [-0.5, len(names) - 0.5] if names else _ticks([x for x, _ in points], from_zero=False)
    ys = _ticks([y for _, y in points], from_zero=not names)
    every = -(-len(names) // room.names) or 1
    named = {float(i): clean(names[i], limit=12) for i in range(0, len(names), every)}

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x = LEFT + (point[0] - xs[0]) / (xs[-1] - xs[0]) * (room.width - LEFT - room.right)
        height = room.height - TOP - BOTTOM
        return x, TOP + height - (point[1] - ys[0]) / (ys[-1] - ys[0]) * height

    size = min(TITLE_SIZE, TITLE_ROOM / max(1, len(clean(title))))
    parts = [
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {room.width} {room.height}" width="{room.width}" role="img" {FONT}>',
        f"<title>{escape(clean(title))}</title>",
        f'<rect width="{room.width}" height="{room.height}" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-size="{size:.3g}">{escape(clean(title))}</text>',
    ]
    for tick, name in (named or {tick: f"{tick:,g}" for tick in xs}).items():
        x, bottom = place((tick, ys[0]))
        parts.append(f'<text x="{x:.1f}" y="{bottom + 15:.1f}" text-anchor="middle">{escape(name)}</text>')
    for tick in ys:
        x, y = place((xs[0], tick))
        parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{room.width - room.right}" y2="{y:.1f}" stroke="#eee"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:,g}</text>')
    middle = (LEFT + room.width - room.right) / 2
    parts.append(f'<text x="{middle:.1f}" y="{room.height - 30}" text-anchor="middle">{escape(clean(x_name))}</text>')
    return parts, place


def _line(points: Points, colour: str, dash: str) -> Iterator[str]:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'


def _rings(points: Points, colour: str) -> Iterator[str]:
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def render_sweep_svg(audit: "Audit") -> str:
    """Draw precision and recall by threshold, in percent, with a pair of lines per size of the change."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in audit.sweep:
        size = percent(point.effect, signed=True)
        if point.threshold is not None:
            lines.setdefault(f"recall {size}", []).append((100 * point.threshold, 100 * point.recall))
            if point.precision is not None:
                lines.setdefault(f"precision {size}", []).append((100 * point.threshold, 100 * point.precision))
    return line_chart(
        "Precision and recall of control charts, in %", "violation ratio above which is called, in %", lines, {}
    )


def render_labels_svg(audit: "Audit") -> str:
    """Draw precision, recall and F on the user's labelled runs by threshold, in percent, for charts and rules."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in audit.labelled:
        shares = {"precision": one.precision, "recall": one.recall, "F": one.f}
        for name, share in shares.items():
            if one.threshold is not None and share is not None:
                lines.setdefault(f"{name}, {one.detector}", []).append((one.threshold, 100 * share))
    limit = "violation ratio, or confidence change, above which is called"
    return line_chart("Your good and bad runs, in %", limit, lines, {})


def _ticks(values: Sequence[float], *, from_zero: bool) -> list[float]:
    """Return round numbers from below the smallest value, or from 0, to above the largest."""
    low, high = min(values), max(values)
    if from_zero:
        low = min(low, 0.0)
    if high <= low:
        high = low + (abs(low) or 1.0)
    size = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step = next(step for factor in (1, 2, 5, 10) if (step := factor * size) * TICKS >= high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]
