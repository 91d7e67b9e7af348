"""A badge: one line about the performance since the last release, as SVG."""

from html import escape
from typing import Final

from bot.model.panel import LATELY_RUNS, Standing
from bot.report.audit_plot import NAMESPACE
from bot.report.inert import clean
from bot.report.numbers import percent

_SUBJECT: Final = "performance"
_FINE, _WORSE, _UNKNOWN = "#1a7f37", "#b3261e", "#59636e"
# Of 11 px Verdana, as badges are drawn; textLength makes any font fit.
_CHARACTER, _PAD, _HEIGHT = 6.6, 12, 20
_TAG_LIMIT: Final = 24


def standing_text(standing: Standing) -> str:
    """The performance since the release in a few words."""
    return _words(standing)[0]


def badge(standing: Standing) -> str:
    text, colour = _words(standing)
    left, right = (round(len(part) * _CHARACTER) + _PAD for part in (_SUBJECT, text))
    title = escape(f"{_SUBJECT}: {text}")
    parts = [
        f'<svg xmlns="{NAMESPACE}" width="{left + right}" height="{_HEIGHT}" role="img" aria-label="{title}">',
        f"<title>{title}</title>",
        f'<rect rx="3" width="{left + right}" height="{_HEIGHT}" fill="{colour}"/>',
        f'<path d="M3 0H{left}V{_HEIGHT}H3A3 3 0 0 1 0 {_HEIGHT - 3}V3A3 3 0 0 1 3 0Z" fill="#444c56"/>',
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">',
        *(
            f'<text x="{middle:g}" y="14" textLength="{width - _PAD}">{escape(part)}</text>'
            for middle, width, part in ((left / 2, left, _SUBJECT), (left + right / 2, right, text))
        ),
        "</g>\n</svg>\n",
    ]
    return "\n".join(parts)


def _words(standing: Standing) -> tuple[str, str]:
    since = f"since {clean(standing.release, limit=_TAG_LIMIT)}" if standing.release else f"in {LATELY_RUNS} runs"
    if not standing.judged:
        return "too few runs", _UNKNOWN
    if standing.worst is None:
        return f"no regression {since}", _FINE
    return f"{percent(standing.worst, signed=True)} {since}", _WORSE
