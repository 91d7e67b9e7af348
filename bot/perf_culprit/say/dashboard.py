"""A dashboard as the files of a static site: page, script, style, badge, and an index that calls the page's script.

No name becomes markup: the page's script writes all of them as text.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from itertools import groupby, islice
from typing import Any, Final

from perf_culprit.model.finding import Acceptance
from perf_culprit.model.reason import Untested, because
from perf_culprit.model.run import Metric
from perf_culprit.model.series import (
    LATELY_RUNS,
    Dashboard,
    KeptPanel,
    Panel,
    PanelSeries,
    ReleaseStanding,
    SeriesCommit,
    ShownChange,
)
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.charts import NAMESPACE
from perf_culprit.say.headlines import is_timed
from perf_culprit.say.inert import clean, fill, plain
from perf_culprit.say.numbers import count_of, percent, shown_unit
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.series_text import lacking_words

INDEX: Final = "data/index.js"
_TREND: Final = 40
_TREND_HEIGHT: Final = 20


def dashboard_files(dashboard: Dashboard, stored_panels: Sequence[KeptPanel]) -> dict[str, bytes]:
    """Return the files by path. `stored_panels` lists the chunks that hold each panel's values."""
    index = json.dumps(_index(dashboard, stored_panels), separators=(",", ":"), allow_nan=False)
    return {
        "index.html": fill("dashboard.html.j2").encode(),
        "dashboard.js": fill("dashboard.js.j2").encode(),
        "dashboard.css": fill("dashboard.css.j2").encode(),
        "badge.svg": badge(dashboard.standing).encode(),
        INDEX: f"perfCulprit.index({index});\n".encode(),
    }


def _index(dashboard: Dashboard, stored_panels: Sequence[KeptPanel]) -> dict[str, Any]:
    numbers = {one.hash: number for number, one in enumerate(dashboard.commits)}
    by_panel: dict[int, list[ShownChange]] = {}
    for change in dashboard.changes:
        by_panel.setdefault(change.panel, []).append(change)
    return {
        "repository": dashboard.repository_url,
        "name": plain(dashboard.name, limit=TEXT_LIMITS.page_name_characters),
        "standing": _words(dashboard.standing)[0],
        "notes": [plain(sentence(note), limit=TEXT_LIMITS.sentence_characters) for note in dashboard.notes],
        "commits": [
            [
                commit.hash,
                plain(commit.subject, limit=TEXT_LIMITS.issue_subject_characters),
                commit.seconds,
                commit.tag and plain(commit.tag),
            ]
            for commit in dashboard.commits
        ],
        "panels": [
            _panel(panel, by_panel.get(number, ()), stored_panels[number], numbers, commits=dashboard.commits)
            for number, panel in enumerate(dashboard.panels)
        ],
    }


def _panel(
    panel: Panel,
    changes: Sequence[ShownChange],
    stored: KeptPanel,
    numbers: Mapping[str, int],
    *,
    commits: Sequence[SeriesCommit],
) -> dict[str, Any]:
    several = len({one.metric.name for one in panel.series}) > 1
    by_series = {row: list(group) for row, group in groupby(changes, key=lambda change: change.series)}
    regressed = set(panel.runs[-1].judged) if panel.runs else set()
    machine = ", ".join(plain(value) for value in panel.environment.values())
    identity = hashlib.sha256(json.dumps(sorted(panel.environment.items())).encode()).hexdigest()[:6]
    return {
        "suite": plain(panel.suite),
        "machine": machine,
        "machineId": identity,
        "told": f"{_state_sentence(panel, changes, len(regressed))}{_minutes(panel, commits, numbers)}",
        "lately": max(len(panel.runs) - LATELY_RUNS, 0),
        "runs": [numbers[run.commit] for run in panel.runs],
        "chunks": stored.chunks,
        "perChunk": stored.series_per_chunk,
        "series": [
            _series(one, by_series.get(row, ()), several=several, is_judged=one.key in regressed, numbers=numbers)
            for row, one in enumerate(panel.series)
        ],
    }


def _state_sentence(panel: Panel, changes: Sequence[ShownChange], regressions: int) -> str:
    """Describe the state of the panel in one or two sentences."""
    start = len(panel.runs) - LATELY_RUNS
    last = {change.series: change for change in changes}
    late = [_sign(one, panel.series[one.series].metric) for one in last.values() if one.change.index >= start]
    worse, better = late.count(1), late.count(-1)
    timed = all(is_timed(one.metric) for one in panel.series)
    bad, good = ("slower", "faster") if timed else ("worse", "better")
    total = count_of(len(panel.series), "benchmark")
    over = f"in the newest {count_of(min(len(panel.runs), LATELY_RUNS), 'run')}"
    if worse or better:
        got = [(count, word) for count, word in ((worse, bad), (better, good)) if count]
        text = f"{got[0][0]:,} of {total} got {got[0][1]}"
        text += f" and {got[1][0]:,} {got[1][1]} {over}." if got[1:] else f" {over}."
    else:
        unclear = sum(_why_unjudged(one) is not None for one in panel.series)
        text = f"No change in {total} {over}."
        if unclear == len(panel.series):
            text = f"{total[0].upper()}{total[1:]}: too few runs to find changes."
        elif unclear:
            text += f" {count_of(unclear, 'benchmark')} {'has' if unclear == 1 else 'have'} too few runs."
    if regressions:
        text += f" The newest run was judged a regression in {count_of(regressions, 'benchmark')}."
    return text


def _minutes(panel: Panel, commits: Sequence[SeriesCommit], numbers: Mapping[str, int]) -> str:
    """Sum what measuring the runs took by the months of their commits, the newest first. Empty if it is unknown."""
    months: dict[str, float] = {}
    for run in reversed(panel.runs):
        if run.seconds:
            month = f"{datetime.fromtimestamp(commits[numbers[run.commit]].seconds, UTC):%Y-%m}"
            months[month] = months.get(month, 0.0) + run.seconds
    texts = [f"{math.ceil(seconds / 60):,} in {month}" for month, seconds in months.items()]
    return f" Runner minutes: {', '.join(texts[: TEXT_LIMITS.dashboard_months])}." if texts else ""


def _sign(change: ShownChange, metric: Metric) -> int:
    """Return 1 if it got worse, -1 if better."""
    step = change.change.after - change.change.before
    return metric.direction.worse_sign * ((step > 0) - (step < 0))


def _series(
    series: PanelSeries, changes: Sequence[ShownChange], *, several: bool, is_judged: bool, numbers: Mapping[str, int]
) -> list[Any]:
    """[name, unit, factor, worse sign, newest value, its run, trend, changes, newest judged worse, why not, bounds]."""
    backwards = ((index, series.values[index]) for index in range(len(series.values) - 1, -1, -1))
    values = ((index, value) for index, value in backwards if value is not None)
    tail = list(islice(values, _TREND))
    newest = [value for _, value in reversed(tail)]
    factor, unit = shown_unit(tuple(newest), series.metric.unit)
    return [
        plain(series.key.full_name if several else series.benchmark, limit=TEXT_LIMITS.page_name_characters),
        plain(unit, limit=TEXT_LIMITS.unit_characters) if unit else "",
        factor,
        series.metric.direction.worse_sign,
        _short(newest[-1], factor),
        tail[0][0],
        _trend(newest),
        [_change(each, series.metric, factor, numbers) for each in changes],
        int(is_judged),
        _why_unjudged(series),
        [
            [plain(name, limit=TEXT_LIMITS.unit_characters), _short(bound, factor)]
            for name, bound in series.category_limits
        ],
    ]


def _why_unjudged(series: PanelSeries) -> str | None:
    if not series.statistic:
        return sentence(because(Untested.DIFFERENT_STATISTICS))
    return lacking_words(series.judged, series.values_lacking) if series.values_lacking else None


def _change(change: ShownChange, metric: Metric, factor: float, numbers: Mapping[str, int]) -> list[Any]:
    """[run, before, after, relative change, worse or better, kind, accepted, culprit, since, after which commit]."""
    accepted, culprit = change.accepted, change.culprit
    return [
        change.change.index,
        _short(change.change.before, factor),
        _short(change.change.after, factor),
        change.change.relative_change and _short(change.change.relative_change, 1.0),
        _sign(change, metric),
        change.change.kind,
        accepted and [plain(accepted.author), _both_sides(accepted), accepted.pull_request],
        culprit and [numbers[culprit.commit], culprit.relative_change, culprit.posterior, culprit.thread],
        numbers[change.since],
        change.after and numbers[change.after],
    ]


def _both_sides(accepted: Acceptance) -> str:
    """Return the reason, and what got better at that commit. The change next to it shows what got worse."""
    better = [
        f"{one.benchmark} {one.metric} {percent(one.after / one.before - 1, signed=True)}"
        for one in accepted.changes or ()
        if one.is_better and one.before
    ]
    gained = f" (better there: {', '.join(better[: TEXT_LIMITS.dashboard_gains])})" if better else ""
    return plain(f"{accepted.reason}{gained}", limit=TEXT_LIMITS.sentence_characters)


def _short(value: float, factor: float) -> float | None:
    """Round the value. None for a non-finite number, which a script cannot show."""
    short = float(f"{value * factor:.5g}")
    return short if math.isfinite(short) else None


def _trend(values: Sequence[float]) -> list[int]:
    low, high = min(values), max(values)
    if not 0 < high - low < float("inf"):
        return []
    return [round((value - low) / (high - low) * _TREND_HEIGHT) for value in values]


_SUBJECT: Final = "performance"
_FINE, _WORSE, _UNKNOWN = "#1a7f37", "#b3261e", "#59636e"
# Character width in 11 px Verdana, the font of badges. textLength makes any other font fit.
_CHARACTER, _PAD, _HEIGHT = 6.6, 12, 20


def badge(standing: ReleaseStanding) -> str:
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


def _words(standing: ReleaseStanding) -> tuple[str, str]:
    """Return the performance since the release in a few words, and their colour."""
    since = (
        f"since {clean(standing.release, limit=TEXT_LIMITS.tag_characters)}"
        if standing.release
        else f"in {LATELY_RUNS} runs"
    )
    if not standing.judged:
        return "too few runs", _UNKNOWN
    if standing.worst is None:
        return f"no regression {since}", _FINE
    return f"at worst {percent(standing.worst, signed=True)} {since}", _WORSE
