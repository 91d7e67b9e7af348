"""Draw the three pictures of docs/decision-rule.md, readable on a light and on a dark page.

python .ci/rule_pictures.py [--check]

`--check` writes nothing and names the outdated pictures.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

DOCS: Final = Path(__file__).parents[1] / "docs"
# Names of the classes, and their colors on a light and on a dark page.
COLORS: Final = {
    "ink": ("#1f2328", "#e6edf3"),
    "gray": ("#59636e", "#9198a1"),
    "page": ("#ffffff", "#0d1117"),
    "band": ("#eaeef2", "#21262d"),
    "red": ("#cf222e", "#f85149"),
    "orange": ("#bc4c00", "#db6d28"),
    "green": ("#1a7f37", "#3fb950"),
    "blue": ("#0969da", "#58a6ff"),
}
# Verdict, its condition, color, and the interval's low end, middle and high end in percent.
VERDICTS: Final = (
    ("regression", "proven: rate ≤ 1%", "red", (9, 12, 16)),
    ("suspected", "rate ≤ 10%", "orange", (3, 14, 27)),
    ("not seen", "wider than the minimum effect", "gray", (-5, 6, 17)),
    ("unchanged", "inside the minimum effect", "green", (-2, 1, 4)),
    ("improvement", "proven: rate ≤ 1%", "blue", (-16, -12, -8)),
    ("not tested", "too few units to compare", "gray", (-22, 8, 30)),
)
MEASURED: Final = (("parse", 7.4), ("sort", 8.6), ("load", 21.0), ("save", 8.1), ("hash", 9.0), ("send", 7.7))
SHIFT: Final = 8.0
UNITS: Final = (
    ("baseline", 10.1),
    ("baseline", 9.4),
    ("baseline", 10.6),
    ("baseline", 9.8),
    ("target", 12.4),
    ("target", 12.0),
)


def page(name: str, width: int, height: int, drawn: Iterator[str]) -> str:
    light, dark = (
        "".join(f".{color}{{fill:{pair[mode]};stroke:{pair[mode]}}}" for color, pair in COLORS.items())
        for mode in (0, 1)
    )
    root = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-size="13" role="img"'
    return "\n".join(
        [
            f'{root} font-family="system-ui, sans-serif" aria-label="{name}">',
            f"<style>{light}@media (prefers-color-scheme:dark){{{dark}}}text{{stroke:none!important}}</style>",
            f'<rect class="page" width="{width}" height="{height}"/>',
            *drawn,
            "</svg>\n",
        ]
    )


def text(x: float, y: float, words: str, color: str = "gray", more: str = 'text-anchor="middle"') -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{color}" {more}>{words}</text>'


def line(x: tuple[float, float], y: tuple[float, float], color: str, more: str = "") -> str:
    return f'<line x1="{x[0]:.4g}" x2="{x[1]:.4g}" y1="{y[0]:.4g}" y2="{y[1]:.4g}" class="{color}" {more}/>'


def dot(x: float, y: float, color: str, radius: float = 5, more: str = "") -> str:
    return f'<circle cx="{x:.4g}" cy="{y:.4g}" r="{radius:g}" class="{color}" {more}/>'


def verdicts() -> Iterator[str]:
    def at(percent: float) -> float:
        return 469 + 7.7 * percent

    yield f'<rect class="band" x="{at(-5):g}" y="26" width="{at(5) - at(-5):g}" height="222"/>'
    yield line((at(0), at(0)), (26, 248), "gray", 'stroke-dasharray="3 3"')
    yield text(at(0), 18, "minimum effect ±5%")
    for row, (verdict, condition, color, (low, middle, high)) in enumerate(VERDICTS):
        y = 48 + 36 * row
        yield text(16, y, verdict, color, 'font-weight="600"')
        yield text(16, y + 14, condition, "gray", 'font-size="11"')
        dashes = 'stroke-dasharray="6 3"' if verdict == "not tested" else ""
        yield line((at(low), at(high)), (y, y), color, f'stroke-width="3" {dashes}')
        yield dot(at(middle), y, color)
    for percent in range(-20, 31, 10):
        yield text(at(percent), 278, f"{percent:+}%" if percent else "0%")


def shift() -> Iterator[str]:
    panels = (("as measured", 90, 0.0), ("the shift of +8% taken out", 420, SHIFT))
    for title, left, taken in panels:
        yield text(left + 105, 22, title, "ink", 'text-anchor="middle" font-weight="600"')
        yield line((left, left), (36, 206), "gray", 'stroke-dasharray="3 3"')
        yield text(left, 226, "0%")
        yield text(left + 200, 226, "+20%")
        if not taken:
            yield line((left + 10 * SHIFT, left + 10 * SHIFT), (36, 206), "orange", 'stroke-width="2"')
            yield text(left + 10 * SHIFT, 226, "shift", "orange")
        for row, (name, change) in enumerate(MEASURED):
            y, x = 52 + 28 * row, left + 1000 * ((100 + change) / (100 + taken) - 1)
            color = "red" if change > 2 * SHIFT else "gray"
            yield text(left - 14, y + 4, name, color, 'text-anchor="end"')
            yield line((left, x), (y, y), color)
            yield dot(x, y, color)
    yield text(345, 120, "→", "ink", 'text-anchor="middle" font-size="26"')


def units() -> Iterator[str]:
    random = Random(4)  # noqa: S311 # the same picture every time
    for number, (side, level) in enumerate(UNITS):
        x, color = 110 + 92 * number, "gray" if side == "baseline" else "red"
        samples = [random.gauss(level, 0.45) for _ in range(24)]
        for sample in samples:
            yield dot(x + random.uniform(-14, 14), height(sample), color, 2.5, 'opacity="0.45"')
        yield line((x - 22, x + 22), (height(median(samples)),) * 2, color, 'stroke-width="4"')
        yield text(x, 222, f"{side} {number + 1 if side == 'baseline' else number - 3}", color)
    for tick in (9, 10, 11, 12, 13):
        yield text(40, height(tick) + 4, f"{tick} ms", "gray", 'text-anchor="end" font-size="11"')
    yield text(340, 20, "24 samples (dots) make one unit: their median (bar). The bars are compared.", "ink")


def height(ms: float) -> float:
    return 200 - 34 * (ms - 8.5)


def main(is_check: bool) -> None:
    pictures = {
        "decision-rule.svg": page("Verdicts by interval", 720, 290, verdicts()),
        "decision-rule-shift.svg": page("The shift of the machine", 720, 236, shift()),
        "decision-rule-units.svg": page("Samples and units", 720, 236, units()),
    }
    outdated = [
        name
        for name, drawn in pictures.items()
        if not (DOCS / name).exists() or (DOCS / name).read_text(encoding="utf-8") != drawn
    ]
    for name in outdated:
        if is_check:
            sys.stderr.write(f"docs/{name} is not what .ci/rule_pictures.py draws: run it\n")
        else:
            (DOCS / name).write_text(pictures[name], encoding="utf-8")
    sys.exit(1 if is_check and outdated else 0)


if __name__ == "__main__":
    main("--check" in sys.argv[1:])
