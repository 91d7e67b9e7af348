"""A report's page: the comment, interactive call trees, and every finding to search and draw."""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

import numpy as np

from perf_culprit.model.finding import PROVEN, Finding, ViolatedRule
from perf_culprit.model.report import Report, TreeComparison
from perf_culprit.model.run import MetricKey, TimeSeries
from perf_culprit.model.series import ChangePoint
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.call_tree_pictures import flame_section
from perf_culprit.say.call_tree_words import tree_headline
from perf_culprit.say.certainty_words import VERDICT_WORDS
from perf_culprit.say.comparison import PageOptions, comparison_document
from perf_culprit.say.departures import time_line
from perf_culprit.say.document import Fold, Picture
from perf_culprit.say.finding_tables import before_and_after, certainty_text, change_text
from perf_culprit.say.headlines import comparison
from perf_culprit.say.inert import Safe, clean, fill, inline_data, plain, repository_name
from perf_culprit.say.numbers import count_of, percent, shown_unit, significant
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.render_html import html_of, page
from perf_culprit.say.render_terminal import terminal
from perf_culprit.say.sections import split
from perf_culprit.stats.density import shape_of


def render_html(
    report: Report,
    history: Mapping[MetricKey, Sequence[ChangePoint]] | None = None,
    *,
    options: PageOptions | None = None,
) -> str:
    """Render the comment, and below it every benchmark. `history` has the change points of findings' `series`."""
    options = options or PageOptions()
    document, scripts = comparison_document(report, options), []
    body = html_of(document)
    if report.diagnosis is not None:
        folds = (node for node in document.nodes if isinstance(node, Fold))
        if not any(isinstance(part, Picture) for fold in folds for part in fold.parts):
            body = Safe(body + flame_section(report.diagnosis))
        scripts.append("flame.js.j2")
    if report.findings:
        body = Safe(body + time_line(report.findings) + explorer_section(report, history or {}))
        scripts.append("explorer.js.j2")
    return page(body, title=_tab(options), scripts=scripts)


def _tab(options: PageOptions) -> str:
    """Name the browser's tab after the repository, whose beginning is all that fits."""
    if options.repository_url is None:
        return "report"
    number = "" if options.pull_request is None else f" #{options.pull_request}"
    return f"{escape(clean(repository_name(options.repository_url)))}{number}, report"


def flame_page(comparison: TreeComparison) -> str:
    title = Safe(f"<h1>{escape(tree_headline(comparison))}</h1>\n")
    return page(Safe(title + flame_section(comparison)), title="call trees", scripts=["flame.js.j2"])


_NOT_NORMAL: Final = 0.05  # p-values below it


def explorer_section(report: Report, history: Mapping[MetricKey, Sequence[ChangePoint]]) -> Safe:
    """Return HTML with a row per finding as its script's data: names are never markup.

    `history` has the change points of findings' `series`.
    """
    sections = split(report)
    rows = [_row(finding, history.get(finding.key, ()), sections.several_metrics) for finding in report.findings]
    present = [
        word for verdict, word in VERDICT_WORDS.items() if any(entry.verdict is verdict for entry in report.findings)
    ]
    data = inline_data({"verdicts": present, "rows": rows})
    return Safe(fill("explorer.html.j2", data=data, noun=Safe(sections.noun)))


def _row(finding: Finding, steps: Sequence[ChangePoint], with_metric: bool) -> list[Any]:
    """[name, verdict, in words, before, after, change, its interval, certainty or reason, drawing]."""
    key, changed = finding.key, finding.verdict in PROVEN
    return [
        plain(key.full_name if with_metric else key.benchmark, limit=TEXT_LIMITS.page_name_characters),
        VERDICT_WORDS[finding.verdict],
        comparison(finding) if changed else VERDICT_WORDS[finding.verdict],
        *map(terminal, before_and_after(finding)),
        *change_text(finding),
        certainty_text(finding) if changed else plain(sentence(finding.reason), limit=TEXT_LIMITS.sentence_characters),
        _chart_data(finding, steps),
    ]


def _chart_data(finding: Finding, steps: Sequence[ChangePoint]) -> dict[str, Any] | None:
    sides = (finding.chart.baseline_samples, finding.chart.target_samples)
    rules = finding.rules
    if not (any(sides) or finding.series or rules):
        return None
    factor, unit = shown_unit((*sides[0], *sides[1], *finding.series), finding.metric.unit)
    data: dict[str, Any] = {"unit": plain(unit, limit=TEXT_LIMITS.unit_characters) if unit else ""}
    if any(sides):
        data["samples"] = [_short(side, factor) for side in sides]
        data["shapes"] = "" if finding.chart.time_series else _shapes(finding)
    if finding.series:
        data["series"] = _short(finding.series, factor)
        if finding.category and finding.category_limit is not None:
            data["category"] = [
                plain(finding.category, limit=TEXT_LIMITS.unit_characters),
                *_short((finding.category_limit,), factor),
            ]
        data["steps"] = [[step.index, *_short((step.before, step.after), factor)] for step in steps]
    if finding.chart.time_series is not None:
        data["time"] = _time(finding.chart.time_series, factor, limits="control limits" if rules is None else "levels")
    if rules is not None:
        data["rules"] = [_rule(rule) for rule in rules.rules]
        data["votes"] = [[plain(vote.run), int(vote.flagged)] for vote in rules.votes]
    return data


def _shapes(finding: Finding) -> str:
    """Describe both sides' samples in words; "" if one has too few [B17, figure 3]."""
    words = []
    for name, samples, side in (
        ("before", finding.chart.baseline_samples, finding.baseline),
        ("after", finding.chart.target_samples, finding.target),
    ):
        if (shape := shape_of(np.array(samples))) is None:
            return ""
        count = len(samples) if side is None else side.count
        part = f" ({len(samples)} of {count:,} samples)" if count > len(samples) else ""
        modes, how = count_of(shape.modes, "mode"), "not" if shape.normal_p < _NOT_NORMAL else "close to"
        normal = f"{how} normal (p {significant(shape.normal_p)})"
        words.append(f"{name}{part}: {modes}, skewness {significant(shape.skewness)}, {normal}")
    return "; ".join(words)


def _time(series: TimeSeries, factor: float, *, limits: str) -> dict[str, Any]:
    """Return the time series, with times in seconds from the first value."""
    spans = ((first - series.start_s, last - series.start_s) for first, last in series.violations)
    return {
        "step": _short((series.interval_s,), 1)[0],
        "values": _short(series.values, factor),
        "limits": _short((series.lower, series.upper), factor),
        "named": limits + (" at the baseline's load" if series.is_scaled else ""),
        "spans": [_short(span, 1) for span in spans],
    }


def _short(values: Sequence[float], factor: float) -> list[float | None]:
    """Round to five digits: a picture shows three."""
    return [float(f"{value * factor:.5g}") if math.isfinite(value * factor) else None for value in values]


def _rule(rule: ViolatedRule) -> list[str]:
    premise = plain(" and ".join(rule.premise) or "always")
    return [premise, plain(rule.consequent), percent(rule.old_confidence), percent(rule.new_confidence)]
