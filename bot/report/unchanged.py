"""The words of "nothing found": what it is worth, and in which metrics it is worth little."""

from statistics import median

from bot.model.baseline import BaselineSource
from bot.model.finding import Finding
from bot.model.reason import Untested, VerdictReason
from bot.model.report import Report
from bot.report.numbers import percent_at_least
from bot.report.sections import Sections
from bot.report.words import BOTH_SIDES, MORE_ROUNDS, counted, is_timed, share

# A metric is weak where only so many times the change of the middle metric would have been seen.
WEAK_FACTOR = 2.0


def no_change(report: Report, sections: Sections) -> str:
    """Such as "Nothing found in 17 of 20 benchmarks; a slowdown of 9% or more would have been seen; 3 not tested"."""
    seen = _detectable(report, sections)
    parts = [
        f"Nothing found in {share(len(sections.unchanged), sections, all_of='')}" if sections.unchanged else "",
        seen if sections.unchanged else "",
        *(
            f"{len(findings):,} {word}"
            for findings, word in ((sections.accepted, "worse and accepted"), (sections.untested, "not tested"))
            if findings
        ),
    ]
    return "; ".join(part for part in parts if part) or f"Nothing found in {counted(sections.total, sections.noun)}"


def nothing_in_the_rest(report: Report, sections: Sections) -> str:
    """To follow what is said of some metrics: " Nothing found in the other 18; a slowdown of …"."""
    if not sections.unchanged:
        return ""
    seen = _detectable(report, sections)
    return f" Nothing found in the other {len(sections.unchanged):,}{'; ' if seen else ''}{seen}."


def unchanged_advice(report: Report, sections: Sections) -> str:
    if advice := rounds_advice(sections):
        return advice
    if not sections.unchanged:
        return "Nothing to do."
    if _detectable_in_most(report, sections) is None:
        return "How small a change would have been seen is not known for these numbers."
    if all(finding.is_decided for finding in sections.unchanged):
        return "Nothing to do."
    paired = report.baseline_source is BaselineSource.PAIRED
    return f"To see smaller ones, {MORE_ROUNDS if paired else BOTH_SIDES}, or use a quieter machine."


def rounds_advice(sections: Sections) -> str:
    """What makes a test possible for every untested metric; empty where something else than rounds is missing."""
    reasons = [finding.reason for finding in sections.untested]
    if {reason.code for reason in reasons} - {Untested.TOO_FEW_EXECUTIONS, VerdictReason.TOO_FEW_ROUNDS}:
        return ""
    asked = [rounds for reason in reasons if isinstance(rounds := reason.arguments.get("rounds"), int)]
    if not asked:
        return ""
    return f"Measure {max(asked):,} rounds of base, head, head, base: fewer can't tell a change from chance."


def _detectable(report: Report, sections: Sections) -> str:
    """How small a slowdown would have been seen: what "nothing found" is worth. In all metrics but the weakest."""
    effect = _detectable_in_most(report, sections)
    if effect is None:
        return ""
    timed = all(is_timed(finding.evidence.metric) for finding in sections.unchanged)
    what = "slowdown" if timed else "change for the worse"
    weak = len(weakest(sections))
    where = f" in {len(sections.unchanged) - weak:,} of them" if weak else ""
    return f"a {what} of {percent_at_least(effect)} or more would have been seen{where}"


def _detectable_in_most(report: Report, sections: Sections) -> float | None:
    weak = weakest(sections)
    if not weak:
        return report.detectable_effect
    left_out = {entry.evidence.key for entry in weak}
    others = (entry.detectable_effect for entry in sections.unchanged if entry.evidence.key not in left_out)
    return max((effect for effect in others if effect is not None), default=None)


def weakest(sections: Sections) -> tuple[Finding, ...]:
    """The unchanged metrics in which only a much larger change than in the others would have been seen, worst first."""
    effects = [(entry.detectable_effect, entry) for entry in sections.unchanged if entry.detectable_effect is not None]
    if not effects:
        return ()
    middle = median(effect for effect, _ in effects)
    weak = [(effect, entry) for effect, entry in effects if effect > WEAK_FACTOR * middle]
    return tuple(entry for _, entry in sorted(weak, key=lambda pair: (-pair[0], pair[1].evidence.key)))
