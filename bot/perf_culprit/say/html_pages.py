"""Pages of one file, without outside resources."""

import math
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, Final

from perf_culprit.model.finding import Finding, Verdict, ViolatedRule
from perf_culprit.model.report import ComparedNode, NodeState, Report, ServiceComparison, TreeComparison
from perf_culprit.model.run import MetricKey, TimeSeries
from perf_culprit.model.series import ChangePoint, DeviationMatrix
from perf_culprit.say.call_tree_pictures import chosen, flame_section, node_words, pictured, touched_methods
from perf_culprit.say.call_tree_text import headline, shown_suspects
from perf_culprit.say.inert import SENTENCE_LIMIT, Safe, fill, inline, inline_data, plain
from perf_culprit.say.markdown_report import check_texts
from perf_culprit.say.numbers import percent, shown_unit
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.report_tables import certainty_text, change_text
from perf_culprit.say.sections import split
from perf_culprit.say.series_text import releases_section
from perf_culprit.say.terminal_report import sides_text
from perf_culprit.say.wording import comparison

# Every finding as data of a page's script, which lists, searches and draws them: names are never markup.

_NAME_LIMIT: Final = 300
_UNIT_LIMIT: Final = 24
_WORDS: Final = {
    Verdict.REGRESSION: "worse",
    Verdict.IMPROVEMENT: "better",
    Verdict.INCONCLUSIVE: "undecided",
    Verdict.NO_CHANGE: "unchanged",
}


def explorer_section(report: Report, history: Mapping[MetricKey, Sequence[ChangePoint]]) -> Safe:
    """HTML with a row per finding. `history` has the change points of findings' `series`."""
    sections = split(report)
    rows = [
        _row(finding, history.get(finding.evidence.key, ()), sections.several_metrics) for finding in report.findings
    ]
    present = [word for verdict, word in _WORDS.items() if any(entry.verdict is verdict for entry in report.findings)]
    data = inline_data({"verdicts": present, "rows": rows})
    return Safe(fill("explorer.html.j2", data=data, noun=Safe(sections.noun)))


def _row(finding: Finding, steps: Sequence[ChangePoint], with_metric: bool) -> list[Any]:
    """[name, verdict, in words, before, after, change, its interval, how sure or why not, what is drawn]."""
    evidence, changed = finding.evidence, finding.verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT)
    key = evidence.key
    return [
        plain(key.full_name if with_metric else key.benchmark, limit=_NAME_LIMIT),
        _WORDS[finding.verdict],
        comparison(finding) if changed else _WORDS[finding.verdict],
        *sides_text(finding),
        *change_text(evidence),
        certainty_text(finding) if changed else plain(sentence(finding.reason), limit=SENTENCE_LIMIT),
        _drawn(finding, steps),
    ]


def _drawn(finding: Finding, steps: Sequence[ChangePoint]) -> dict[str, Any] | None:
    sides = (finding.chart.baseline_samples, finding.chart.target_samples)
    rules = finding.evidence.rules
    if not (any(sides) or finding.series or rules):
        return None
    factor, unit = shown_unit((*sides[0], *sides[1], *finding.series), finding.evidence.metric.unit)
    drawn: dict[str, Any] = {"unit": plain(unit, limit=_UNIT_LIMIT) if unit else ""}
    if any(sides):
        drawn["samples"] = [_short(side, factor) for side in sides]
    if finding.series:
        drawn["series"] = _short(finding.series, factor)
        drawn["steps"] = [[step.index, *_short((step.before, step.after), factor)] for step in steps]
    if finding.chart.time_series is not None:
        drawn["time"] = _time(finding.chart.time_series, factor, limits="control limits" if rules is None else "levels")
    if rules is not None:
        drawn["rules"] = [_rule(rule) for rule in rules.rules]
        drawn["votes"] = [[plain(vote.run), int(vote.flagged)] for vote in rules.votes]
    return drawn


def _time(series: TimeSeries, factor: float, *, limits: str) -> dict[str, Any]:
    """Times in seconds from the first value."""
    spans = ((first - series.start_s, last - series.start_s) for first, last in series.violations)
    return {
        "step": _short((series.interval_s,), 1)[0],
        "values": _short(series.values, factor),
        "limits": _short((series.lower, series.upper), factor),
        "named": limits + (" at the baseline's load" if series.is_scaled else ""),
        "spans": [_short(span, 1) for span in spans],
    }


def _short(values: Sequence[float], factor: float) -> list[float | None]:
    """Five digits: a picture shows three."""
    return [float(f"{value * factor:.5g}") if math.isfinite(value * factor) else None for value in values]


def _rule(rule: ViolatedRule) -> list[str]:
    premise = plain(" and ".join(rule.premise) or "always")
    return [premise, plain(rule.consequent), percent(rule.old_confidence), percent(rule.new_confidence)]


# Pages of one file, without outside resources: the report, flame graphs, and the deviation matrix of releases.

_MERMAID: Final = re.compile(r'<pre lang="mermaid">.*?</pre>', re.DOTALL)
# What a comment folds for its length.
_UNFOLDED: Final = re.compile(r"<details>(<summary>(?:Why|Impact):)")


def render_html(markdown: str, report: Report, history: Mapping[MetricKey, Sequence[ChangePoint]] | None = None) -> str:
    """The comment as GitHub shows it, and below it every benchmark. For our own `markdown`: its HTML is kept.

    The call tree's picture, which GitHub draws from Mermaid's text, is a nested list and a flame graph here. Without
    GitHub's Markdown parser (the extra `preview`) there is the verdict in the comment's place.
    """
    try:
        import cmarkgfm
        from cmarkgfm.cmark import Options
    except ImportError:
        body = f"<h1>{escape(check_texts(report)[0])}</h1>\n"
    else:
        body = cmarkgfm.github_flavored_markdown_to_html(markdown, Options.CMARK_OPT_UNSAFE)
        # A comment's place is below a page's heading; here it is the page. And a column of verdicts has a name.
        body = body.replace("<h3>", "<h1>").replace("</h3>", "</h1>").replace("></th>", ">verdict</th>")
    scripts = []
    if report.diagnosis is not None:
        suspects = shown_suspects(report.diagnosis)
        service = pictured(report.diagnosis, suspects[0] if suspects else None)
        tree = "" if service is None else tree_list(report.diagnosis, service)
        section = tree + flame_section(report.diagnosis)
        drawn, count = _MERMAID.subn(lambda _: section, body, count=1)
        body = _UNFOLDED.sub(r"<details open>\1", drawn) if count else body + section
        scripts.append("flame.js.j2")
    if report.findings:
        body += explorer_section(report, history or {})
        scripts.append("explorer.js.j2")
    return page(Safe(body), title="report", scripts=scripts)


def flame_page(comparison: TreeComparison) -> str:
    title = Safe(f"<h1>{escape(headline(comparison))}</h1>\n")
    return page(Safe(title + flame_section(comparison)), title="call trees", scripts=["flame.js.j2"])


def releases_page(matrix: DeviationMatrix) -> str:
    return page(releases_section(matrix), title="releases")


def page(body: Safe, *, title: str, scripts: Sequence[str] = ()) -> str:
    made = [inline(name) for name in scripts]
    style, style_digest = inline("page.css.j2")
    return fill(
        "page.html.j2",
        body=body,
        title=Safe(title),
        scripts=[text for text, _ in made],
        style=style,
        allowed_style=style_digest,
        allowed=Safe(" ".join(digest for _, digest in made) or "'none'"),
    )


def tree_list(comparison: TreeComparison, service: ServiceComparison) -> Safe:
    """HTML: callers above their callees; suspects and slower methods marked."""
    touched = touched_methods(comparison)
    callees: dict[int | None, list[int]] = {}
    shown = frozenset(places := chosen(service))
    for i in places:
        parent = service.nodes[i].parent
        callees.setdefault(parent if parent in shown else None, []).append(i)

    def listed(caller: int | None) -> str:
        items = "".join(map(item, callees.get(caller, ())))
        return f"<ul>{items}</ul>" if items else ""

    def item(i: int) -> str:
        node = service.nodes[i]
        name, words = node_words(node, is_touched=node.method in touched)
        return f"<li{_shade(node)}><code>{escape(name)}</code> {escape(words)}{listed(i)}</li>"

    return Safe(f'<div class="tree">{listed(None)}</div>\n')


def _shade(node: ComparedNode) -> str:
    if node.reasons:
        return ' class="tree-suspect"'
    return ' class="tree-slower"' if node.state is NodeState.SLOWER else ""
