"""Every finding as data of a page's script, which lists, searches and draws them: names are never markup."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from bot.model.change import ChangePoint
from bot.model.finding import Finding, Verdict
from bot.model.metric import MetricKey
from bot.model.report import Report
from bot.model.rules import RuleEvidence
from bot.report.cells import certainty_text, change_text
from bot.report.inert import SENTENCE_LIMIT, Safe, plain
from bot.report.numbers import percent, shown_unit
from bot.report.reasons import sentence
from bot.report.scripts import inline_data
from bot.report.sections import split
from bot.report.templating import fill
from bot.report.text import sides_text
from bot.report.wording import comparison

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
    with_metric = split(report).several_metrics
    rows = [_row(finding, history.get(finding.evidence.key, ()), with_metric) for finding in report.findings]
    present = [word for verdict, word in _WORDS.items() if any(entry.verdict is verdict for entry in report.findings)]
    return Safe(fill("explorer.html.j2", data=inline_data({"verdicts": present, "rows": rows})))


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
    sides = (finding.baseline_samples, finding.target_samples)
    if not (any(sides) or finding.series or finding.evidence.rules):
        return None
    factor, unit = shown_unit((*sides[0], *sides[1], *finding.series), finding.evidence.metric.unit)
    return {
        "unit": plain(unit, limit=_UNIT_LIMIT) if unit else "",
        "samples": [_short(side, factor) for side in sides],
        "series": _short(finding.series, factor),
        "steps": [[step.index, *_short((step.before, step.after), factor)] for step in steps],
        "rules": [] if finding.evidence.rules is None else _rules(finding.evidence.rules),
    }


def _short(values: Sequence[float], factor: float) -> list[float | None]:
    """Five digits: a picture shows three."""
    return [float(f"{value * factor:.5g}") if math.isfinite(value * factor) else None for value in values]


def _rules(found: RuleEvidence) -> list[str]:
    return [
        f"{plain(' and '.join(rule.premise) or 'always')} \u2192 {plain(rule.consequent)}: "
        f"{percent(rule.old_confidence)} of the time before, {percent(rule.new_confidence)} now"
        for rule in found.rules
    ]
