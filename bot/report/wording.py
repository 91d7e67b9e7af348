"""The words of the verdict, shared by all renderings. No foreign text in here: names are added by the renderer."""

import math
from dataclasses import dataclass

from bot.model.finding import Finding, Severity, Verdict
from bot.model.metric import Direction, Metric
from bot.model.report import Conclusion, Report
from bot.report.numbers import is_bytes, is_rate, is_time, percent, percent_at_least
from bot.report.sections import Sections


@dataclass(frozen=True, kw_only=True, slots=True)
class Headline:
    emoji: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NextStep:
    """What to do: `subject` and `effect` make one sentence ("<name> takes 38 % longer"), `advice` follows."""

    advice: str
    subject: Finding | None = None
    effect: str = ""


CONTROL_CHART = "control_chart"
CHANGE_POINT = "change_point"
_EXPECTED = {
    Direction.LOWER_IS_BETTER: ", where lower is better",
    Direction.HIGHER_IS_BETTER: ", where higher is better",
    Direction.UNKNOWN: " than usual",
}

# Conclusions that say the same whatever was measured.
_NO_VERDICT = {
    Conclusion.FIRST_RUN: Headline(emoji="⚪\N{VARIATION SELECTOR-16}", text="First run: nothing to compare with yet"),
    Conclusion.OTHER_HARDWARE: Headline(emoji="⚠️", text="The baseline comes from other hardware: no verdict"),
    Conclusion.MACHINE_CHANGED: Headline(emoji="⚠️", text="The machine changed: no verdict"),
}
_MEASURE_AGAIN = "Run the job again, or measure base and head in one job."


def headline(report: Report, sections: Sections) -> Headline:
    match report.conclusion:
        case Conclusion.REGRESSION:
            loud = report.failed or any(finding.severity is Severity.MAJOR for finding in sections.regressions)
            return Headline(emoji="🔴" if loud else "🟠", text=_changed(sections))
        case Conclusion.IMPROVEMENT:
            return Headline(emoji="🔵", text=_changed(sections))
        case Conclusion.NO_CHANGE:
            return Headline(emoji="🟢", text=_no_change(sections))
        case Conclusion.INCONCLUSIVE:
            return Headline(emoji="🟡", text=_undecided(report, sections))
        case Conclusion.FIRST_RUN | Conclusion.OTHER_HARDWARE | Conclusion.MACHINE_CHANGED:
            return _NO_VERDICT[report.conclusion]


def next_step(report: Report, sections: Sections) -> NextStep:
    if report.conclusion in (Conclusion.REGRESSION, Conclusion.IMPROVEMENT):
        fails = "This fails the check." if report.failed else "This does not fail the check."
        advice = f"Look there first. {fails}" if report.conclusion is Conclusion.REGRESSION else "Nothing to do."
        subject = next(iter(sections.changed), None)
        return NextStep(subject=subject, effect=effect(subject) if subject else "", advice=advice)
    return NextStep(advice=_advice(report, sections))


def effect(finding: Finding) -> str:
    """What happened to one metric, to follow its name: "takes 38.6 % longer"."""
    evidence = finding.evidence
    if evidence.score is not None and evidence.test == CONTROL_CHART:
        return f"is outside its limits in {percent(evidence.score)} of the samples"
    change = evidence.relative_change
    if change is None or not math.isfinite(change):
        return "got better" if finding.verdict is Verdict.IMPROVEMENT else "got worse"
    shown = percent(abs(change))
    more = change > 0
    metric = evidence.metric
    if metric.direction is Direction.LOWER_IS_BETTER and is_time(metric.unit):
        return f"takes {shown} longer" if more else f"takes {shown} less time"
    if metric.direction is Direction.LOWER_IS_BETTER and is_bytes(metric.unit):
        return f"needs {shown} more" if more else f"needs {shown} less"
    if metric.direction is Direction.HIGHER_IS_BETTER and is_rate(metric.unit):
        return f"does {shown} more per second" if more else f"does {shown} less per second"
    return f"is {shown} {'higher' if more else 'lower'}{_EXPECTED[metric.direction]}"


def comparison(finding: Finding) -> str:
    """One word for the table: "slower" only where time is measured."""
    return _word((finding,), better=finding.verdict is Verdict.IMPROVEMENT)


def detectable(report: Report, sections: Sections) -> str:
    """How small a slowdown would have been found; the honest half of "no change"."""
    if report.detectable_effect is None:
        return "How small a change would have been found is not known for these numbers."
    timed = all(_is_timed(finding.evidence.metric) for finding in sections.unchanged)
    what = "slowdown" if timed else "change for the worse"
    return f"A {what} of {percent_at_least(report.detectable_effect)} or more would have been found."


def counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def more_samples(sections: Sections) -> int | None:
    """The further samples that would decide every undecided metric; None where no number is known."""
    return max((finding.more_samples for finding in sections.undecided if finding.more_samples), default=None)


def _advice(report: Report, sections: Sections) -> str:
    match report.conclusion:
        case Conclusion.INCONCLUSIVE:
            return _undecided_advice(report, sections)
        case Conclusion.FIRST_RUN:
            measured = counted(len(report.new) or sections.total, sections.noun)
            return f"{measured} measured. Once a run of the base branch is recorded, the next one is compared."
        case Conclusion.OTHER_HARDWARE:
            return f"Neither a pass nor a regression. {_MEASURE_AGAIN}"
        case Conclusion.MACHINE_CHANGED:
            return f"Code seldom moves all benchmarks together. {_MEASURE_AGAIN}"
        case _:
            return detectable(report, sections)


def _changed(sections: Sections) -> str:
    """Such as "2 of 148 benchmarks got slower, 3 faster"; the louder half comes first."""
    parts = []
    subject = _share(len(sections.regressions or sections.improvements), sections)
    if sections.regressions:
        parts.append(f"{subject} got {_word(sections.regressions, better=False)}")
        if sections.improvements:
            parts.append(f"{len(sections.improvements):,} {_word(sections.improvements, better=True)}")
    else:
        parts.append(f"{subject} got {_word(sections.improvements, better=True)}")
    text = ", ".join(parts)
    return text[0].upper() + text[1:]


def _no_change(sections: Sections) -> str:
    others = [
        f"{len(found):,} {word}"
        for found, word in ((sections.accepted, "worse and accepted"), (sections.undecided, "undecided"))
        if found
    ]
    if not others:
        return f"{counted(sections.total, sections.noun)}, no change"
    return ", ".join([f"{_share(len(sections.unchanged), sections)} unchanged", *others])


def _undecided(report: Report, sections: Sections) -> str:
    if not sections.undecided:
        return "Nothing could be compared"
    subject = _share(len(sections.undecided), sections)
    if _all_lack_samples(report, sections):
        return f"Too few samples for {subject}"
    return f"Noise hides the answer for {subject}" if more_samples(sections) else f"No answer for {subject}"


def _undecided_advice(report: Report, sections: Sections) -> str:
    if not sections.undecided:
        return "Check that the baseline and this run measure the same benchmarks."
    if _all_lack_samples(report, sections):
        return f"At least {counted(report.settings.minimum_samples, 'sample')} of each are needed: measure more often."
    needed = more_samples(sections)
    if needed is not None:
        variation = max((_variation(finding) for finding in sections.undecided), default=0.0)
        vary = f" They vary by up to {percent(variation)}." if variation > 0 else ""
        return f"{counted(needed, 'more sample')} of each, or a calmer machine, would decide.{vary}"
    return "The reason for each is below."


def _all_lack_samples(report: Report, sections: Sections) -> bool:
    fewest = report.settings.minimum_samples
    targets = [finding.evidence.target for finding in sections.undecided]
    return all(target is not None and target.count < fewest for target in targets)


def _share(count: int, sections: Sections) -> str:
    if count == sections.total:
        return f"{'all ' if count > 1 else ''}{counted(count, sections.noun)}"
    return f"{count:,} of {counted(sections.total, sections.noun)}"


def _word(findings: tuple[Finding, ...], *, better: bool) -> str:
    if all(_is_timed(finding.evidence.metric) for finding in findings):
        return "faster" if better else "slower"
    return "better" if better else "worse"


def _is_timed(metric: Metric) -> bool:
    return metric.direction is Direction.LOWER_IS_BETTER and is_time(metric.unit)


def _variation(finding: Finding) -> float:
    """The larger coefficient of variation of the two sides; 0 where none is known."""
    sides = (finding.evidence.baseline, finding.evidence.target)
    return max(
        (
            side.standard_deviation / abs(side.mean)
            for side in sides
            if side is not None and side.standard_deviation is not None and side.mean
        ),
        default=0.0,
    )
