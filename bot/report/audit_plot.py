"""An audit's plot: which share of injected slowdowns each detector found, by their size, as SVG."""

import math
from collections.abc import Iterator
from html import escape

from bot.model.audit import Audit, DetectorAudit
from bot.report.inert import clean
from bot.report.numbers import percent

NAMESPACE = "http://www.w3.org/2000/svg"
WIDTH, HEIGHT = 760, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 200, 56, 48
TICKS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0)
SHARES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
# Okabe & Ito: told apart with any kind of colour vision; the dashes do without colours.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "12 4")


def render_audit_svg(audit: Audit) -> str:
    title = f"Slowdowns found in suite {clean(audit.suite)}: {audit.runs:,} runs, {audit.metrics:,} metrics"
    lines = [
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>',
        *_axes(),
    ]
    for index, entry in enumerate(audit.detectors):
        lines += _curve(entry, index)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _axes() -> Iterator[str]:
    for effect in TICKS:
        x = _x(effect)
        yield f'<line x1="{x:.1f}" y1="{_y(0):.1f}" x2="{x:.1f}" y2="{_y(1):.1f}" stroke="#eee"/>'
        yield f'<text x="{x:.1f}" y="{_y(0) + 18:.1f}" text-anchor="middle">{percent(effect)}</text>'
    for share in SHARES:
        stroke = "#888" if share == 0.9 else "#eee"
        yield f'<line x1="{LEFT}" y1="{_y(share):.1f}" x2="{WIDTH - RIGHT}" y2="{_y(share):.1f}" stroke="{stroke}"/>'
        yield f'<text x="{LEFT - 8}" y="{_y(share) + 4:.1f}" text-anchor="end">{percent(share)}</text>'
    middle = (LEFT + WIDTH - RIGHT) / 2
    yield f'<text x="{middle:.1f}" y="{HEIGHT - 8}" text-anchor="middle">size of the injected slowdown</text>'
    yield f'<text x="{LEFT}" y="{TOP - 10}">share found</text>'


def _curve(entry: DetectorAudit, index: int) -> Iterator[str]:
    colour, dash = COLOURS[index % len(COLOURS)], DASHES[index % len(DASHES)]
    points = " ".join(f"{_x(effect):.1f},{_y(share):.1f}" for effect, share in entry.curve)
    yield f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    x, y = WIDTH - RIGHT + 16, TOP + 12 + 40 * index
    yield (
        f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>'
    )
    yield f'<text x="{x + 30}" y="{y + 4}">{escape(clean(entry.detector, limit=24))}</text>'
    alarms = f"false alarms: {entry.alarms.count:,} of {entry.alarms.trials:,} runs"
    yield f'<text x="{x}" y="{y + 20}" font-size="11" fill="#555">{alarms}</text>'


def _x(effect: float) -> float:
    first, last = math.log(TICKS[0]), math.log(TICKS[-1])
    return LEFT + (math.log(effect) - first) / (last - first) * (WIDTH - LEFT - RIGHT)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
