"""What a search measured by commit, as SVG: the change against the good commit, its interval, and who is named."""

from collections.abc import Iterator
from html import escape

from bot.model.bisection_report import BisectionReport, MeasuredCommit
from bot.report.audit_plot import COLOURS
from bot.report.bisection import headline
from bot.report.inert import SHORT_HASH, clean
from bot.report.line_chart import HEIGHT, LEFT, Points, frame
from bot.report.numbers import percent

MOST_WIDTH = 1.0  # of an interval that is drawn whole: wider ones must not squeeze all others
MOST_CHARACTERS = 55
USUAL, NAMED = COLOURS[0], COLOURS[1]


def bisection_svg(report: BisectionReport) -> str:
    """A point per commit with a number, in the order of the history; each links to its commit's page."""
    commit_range = report.commit_range
    order = dict.fromkeys((commit_range.good, *commit_range.merge_bases, *commit_range.commits))
    places = {commit: float(place) for place, commit in enumerate(order)}
    marks = {places[entry.commit]: entry for entry in report.measured if entry.relative_change is not None}
    points = [point for x, entry in marks.items() for point in _heights(x, entry)]
    axis = f"commits after {_short(commit_range.good)}, up to {_short(commit_range.bad)}"
    parts, place = frame(headline(report), axis, points or [(0.0, 0.0), (len(places) - 1.0, 0.0)])
    name = escape(clean(f"{report.key.benchmark} ({report.key.metric})", limit=MOST_CHARACTERS))
    parts.append(f'<text x="{LEFT}" y="{HEIGHT - 10}">change in %, {name}</text>')
    named = {culprit.commit for culprit in report.outcome.culprits}
    for x, entry in marks.items():
        drawn = _mark([place(point) for point in _heights(x, entry)], entry, is_named=entry.commit in named)
        change, subject = percent(entry.relative_change or 0.0, signed=True), report.subjects.get(entry.commit)
        words = f"{_short(entry.commit)}: {change}, n = {entry.executions}"
        title = words if subject is None else f"{words}: {clean(subject)}"
        parts += _linked([f"<title>{escape(title)}</title>", *drawn], entry.commit, report.repository_url)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _heights(x: float, entry: MeasuredCommit) -> Points:
    """In percent: its mean and, where it is narrow enough, both ends of its interval."""
    interval, mean = entry.confidence_interval, entry.relative_change or 0.0
    ends = [] if interval is None or interval.high - interval.low > MOST_WIDTH else [interval.low, interval.high]
    return [(x, 100 * value) for value in (mean, *ends)]


def _mark(points: Points, entry: MeasuredCommit, *, is_named: bool) -> Iterator[str]:
    (x, y), *ends = points
    colour = NAMED if is_named else USUAL
    if ends:
        (_, low), (_, high) = ends
        yield f'<line x1="{x:.1f}" y1="{low:.1f}" x2="{x:.1f}" y2="{high:.1f}" stroke="{colour}" stroke-width="1.5"/>'
    yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{5 if is_named else 3}" fill="{colour}"/>'
    if is_named:
        yield f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end" fill="{colour}">{_short(entry.commit)}</text>'


def _linked(parts: list[str], commit: str, repository_url: str | None) -> list[str]:
    if repository_url is None:
        return ["<g>", *parts, "</g>"]
    return [f'<a href="{escape(repository_url)}/commit/{escape(commit)}" target="_blank">', *parts, "</a>"]


def _short(commit: str) -> str:
    return escape(clean(commit)[:SHORT_HASH])
