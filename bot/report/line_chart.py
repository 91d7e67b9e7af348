"""A chart of lines over numbers, as SVG: what was found, and as rings what is known from elsewhere."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from typing import Final, TypeAlias

from bot.report.audit_plot import COLOURS, DASHES, NAMESPACE
from bot.report.inert import clean

Points: TypeAlias = Sequence[tuple[float, float]]

WIDTH: Final = 460
HEIGHT: Final = 260
LEFT, RIGHT, TOP, BOTTOM = 58, 16, 36, 62
TICKS: Final = 5
TITLE_SIZE: Final = 13.0
TITLE_ROOM: Final = 700.0  # characters times font size that fit beside LEFT
FONT: Final = 'font-family="sans-serif" font-size="11"'


def line_chart(title: str, x_name: str, lines: Mapping[str, Points], measured: Mapping[str, Points]) -> str:
    """`measured` are marks in the colour of the line of the same name."""
    parts, place = frame(title, x_name, [point for each in (*lines.values(), *measured.values()) for point in each])
    for index, name in enumerate(dict.fromkeys((*lines, *measured))):
        colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
        parts += _line([place(point) for point in lines.get(name, ())], colour, dash)
        parts += _rings([place(point) for point in measured.get(name, ())], colour)
        if name:
            x = LEFT + index * (WIDTH - LEFT) / max(len(lines), 1)
            parts.append(f'<text x="{x:.1f}" y="{HEIGHT - 10}" fill="{colour}">{escape(clean(name, limit=24))}</text>')
    return "\n".join([*parts, "</svg>"])


def frame(
    title: str, x_name: str, points: Points
) -> tuple[list[str], Callable[[tuple[float, float]], tuple[float, float]]]:
    """A chart with axes that hold `points` and 0, and nothing in it; and where in it a point lies."""
    xs = _ticks([x for x, _ in points], from_zero=False)
    ys = _ticks([y for _, y in points], from_zero=True)

    def place(point: tuple[float, float]) -> tuple[float, float]:
        x = LEFT + (point[0] - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - LEFT - RIGHT)
        return x, HEIGHT - BOTTOM - (point[1] - ys[0]) / (ys[-1] - ys[0]) * (HEIGHT - TOP - BOTTOM)

    size = min(TITLE_SIZE, TITLE_ROOM / max(1, len(clean(title))))
    parts = [
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" {FONT}>',
        f"<title>{escape(clean(title))}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="20" font-size="{size:.3g}">{escape(clean(title))}</text>',
    ]
    for tick in xs:
        x, bottom = place((tick, ys[0]))
        parts.append(f'<text x="{x:.1f}" y="{bottom + 15:.1f}" text-anchor="middle">{tick:,g}</text>')
    for tick in ys:
        x, y = place((xs[0], tick))
        parts.append(f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#eee"/>')
        parts.append(f'<text x="{x - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:,g}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(f'<text x="{middle:.1f}" y="{HEIGHT - 30}" text-anchor="middle">{escape(clean(x_name))}</text>')
    return parts, place


def _line(points: Points, colour: str, dash: str) -> Iterator[str]:
    text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    yield f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>'


def _rings(points: Points, colour: str) -> Iterator[str]:
    for x, y in points:
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _ticks(values: Sequence[float], *, from_zero: bool) -> list[float]:
    """Round numbers from below the smallest value, or from 0, to above the largest."""
    low, high = min(values), max(values)
    if from_zero:
        low = min(low, 0.0)
    if high <= low:
        high = low + (abs(low) or 1.0)
    size = 10.0 ** math.floor(math.log10((high - low) / TICKS))
    step = next(step for factor in (1, 2, 5, 10) if (step := factor * size) * TICKS >= high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, last + 1)]
