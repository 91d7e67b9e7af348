"""The words of the verdict, shared by all renderings. No foreign text in here: names are added by the renderer."""

import math
from dataclasses import dataclass

from bot.model.finding import Finding, Severity, Verdict
from bot.model.metric import Direction, Metric
from bot.model.reason import Untested, VerdictReason
from bot.model.report import Conclusion, Report
from bot.model.tree_comparison import Answer
from bot.report.numbers import is_bytes, is_rate, is_time, percent, significant
from bot.report.sections import Sections
from bot.report.unchanged import no_change, nothing_in_the_rest, rounds_advice, unchanged_advice, weakest
from bot.report.words import BOTH_SIDES, MORE_ROUNDS, counted, share, word


@dataclass(frozen=True, kw_only=True, slots=True)
class Headline:
    emoji: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class NextStep:
    """What to do: `subject` and `effect` make one sentence ("<name> takes 38% longer"), `advice` follows.

    `weakest` are metrics in which only much larger changes would have been seen; they are named last.
    """

    advice: str
    subject: Finding | None = None
    effect: str = ""
    weakest: tuple[Finding, ...] = ()


# From here on a factor is read more easily than a percentage.
MANIFOLD = 9.0
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
            return Headline(emoji="🟢", text=no_change(report, sections))
        case Conclusion.INCONCLUSIVE:
            return Headline(emoji="🟡", text=_undecided(report, sections))
        case Conclusion.OTHER_HARDWARE:
            compared = "no verdict" if sections.total else "nothing to compare with"
            return Headline(emoji="⚠️", text=f"Other hardware: {compared}")
        case Conclusion.FIRST_RUN | Conclusion.MACHINE_CHANGED:
            return _NO_VERDICT[report.conclusion]


def next_step(report: Report, sections: Sections, *, has_check: bool = True) -> NextStep:
    if report.conclusion in (Conclusion.REGRESSION, Conclusion.IMPROVEMENT):
        advice = (
            _regression_advice(report, has_check=has_check)
            if report.conclusion is Conclusion.REGRESSION
            else "Nothing to do."
        )
        subject = next(iter(sections.changed), None)
        return NextStep(subject=subject, effect=effect(subject) if subject else "", advice=advice)
    if report.conclusion is Conclusion.INCONCLUSIVE and sections.undecided:
        subject = sections.undecided[0]
        advice = f"{_undecided_advice(sections)}{nothing_in_the_rest(report, sections)}"
        return NextStep(subject=subject, effect=f"{_looks(subject)}, but that isn't proven", advice=advice)
    weak = weakest(sections) if report.conclusion is Conclusion.NO_CHANGE else ()
    return NextStep(advice=_advice(report, sections), weakest=weak)


def _regression_advice(report: Report, *, has_check: bool) -> str:
    if not report.blames_target:
        return (
            "That may come from commits of the base branch that were not measured, so this does not fail the check. "
            "To know, measure base and head in one job."
        )
    if not has_check:
        return "Look there first."
    return f"Look there first. {'This fails the check.' if report.failed else 'This does not fail the check.'}"


def effect(finding: Finding) -> str:
    """What happened to one metric, to follow its name: "takes 38.6% longer"."""
    evidence = finding.evidence
    if evidence.score is not None and evidence.test == CONTROL_CHART:
        return f"is outside its limits in {percent(evidence.score)} of the samples"
    change = evidence.relative_change
    if change is None or not math.isfinite(change):
        return "got better" if finding.verdict is Verdict.IMPROVEMENT else "got worse"
    shown = percent(abs(change))
    if (words := _words(evidence.metric)) is None:
        return f"is {shown} {'higher' if change > 0 else 'lower'}{_EXPECTED[evidence.metric.direction]}"
    verb, more, less, as_before = words
    if manifold := _manifold(change):
        return f"{verb} {manifold} {as_before}"
    return f"{verb} {shown} {more if change > 0 else less}"


def _words(metric: Metric) -> tuple[str, str, str, str] | None:
    """What a metric does, with more of it, with less, and with so many times as much."""
    if metric.direction is Direction.LOWER_IS_BETTER and is_time(metric.unit):
        return "takes", "longer", "less time", "as long"
    if metric.direction is Direction.LOWER_IS_BETTER and is_bytes(metric.unit):
        return "needs", "more", "less", "as much"
    if metric.direction is Direction.HIGHER_IS_BETTER and is_rate(metric.unit):
        return "does", "more per second", "less per second", "as much per second"
    return None


def _manifold(change: float) -> str:
    """Such as "12 times", or "1/3,500" where almost nothing is left; empty where a percentage says it better."""
    if change >= MANIFOLD:
        return f"{significant(1 + change)} times"
    return f"1/{significant(1 / (1 + change)).removesuffix('.0')}" if -1 < change <= 1 / (1 + MANIFOLD) - 1 else ""


def only_diagnosis(report: Report) -> bool:
    """Whether the call trees alone show a slowdown that the metrics leave open."""
    slower = report.diagnosis is not None and report.diagnosis.answer is Answer.SLOWER
    return slower and report.conclusion is Conclusion.INCONCLUSIVE


def comparison(finding: Finding) -> str:
    """One word for the table: "slower" only where time is measured."""
    return word((finding,), better=finding.verdict is Verdict.IMPROVEMENT)


def more_samples(sections: Sections) -> int | None:
    """The further samples that would decide every undecided metric; None where one of them needs something else."""
    needed = [finding.more_samples for finding in sections.undecided]
    return max((count for count in needed if count), default=None) if all(needed) else None


def _advice(report: Report, sections: Sections) -> str:
    match report.conclusion:
        case Conclusion.INCONCLUSIVE:
            return _untested_advice(report, sections)
        case Conclusion.FIRST_RUN:
            measured = counted(len(report.new) or sections.total, sections.noun)
            return f"{measured} measured. Once a run of the base branch is recorded, the next one is compared."
        case Conclusion.OTHER_HARDWARE:
            return f"Neither a pass nor a regression. {_MEASURE_AGAIN}"
        case Conclusion.MACHINE_CHANGED:
            return f"Code seldom moves all benchmarks together. {_MEASURE_AGAIN}"
        case _:
            return unchanged_advice(report, sections)


def _changed(sections: Sections) -> str:
    """Such as "2 of 148 benchmarks got slower, 3 faster"; the louder half comes first."""
    parts = []
    subject = share(len(sections.regressions or sections.improvements), sections)
    if sections.regressions:
        parts.append(f"{subject} got {word(sections.regressions, better=False)}")
        if sections.improvements:
            parts.append(f"{len(sections.improvements):,} {word(sections.improvements, better=True)}")
    else:
        parts.append(f"{subject} got {word(sections.improvements, better=True)}")
    text = ", ".join(parts)
    return text[0].upper() + text[1:]


def _undecided(report: Report, sections: Sections) -> str:
    if sections.undecided:
        look = "looks" if len(sections.undecided) == 1 else "look"
        subject = share(len(sections.undecided), sections)
        return f"{subject[0].upper()}{subject[1:]} {look} {word(sections.undecided, better=False)}, not proven"
    if not sections.untested:
        return "Cannot tell: nothing could be compared"
    subject = share(len(sections.untested), sections)
    cannot = "The call trees show a slowdown, the metrics can't tell" if only_diagnosis(report) else "Cannot tell"
    if _all_lack_samples(report, sections):
        return f"{cannot}: too few samples for {subject}"
    if rounds_advice(sections):
        return f"{cannot}: too few rounds for {subject}"
    return f"{cannot}: no conclusive test for {subject}"


def _undecided_advice(sections: Sections) -> str:
    """What would decide those that look worse."""
    needed = more_samples(sections)
    if needed is not None:
        return f"{counted(needed, 'more sample')} of each would decide, or a quieter machine."
    codes = {finding.reason.code for finding in sections.undecided}
    if VerdictReason.LOOKS_WORSE_ROUNDS in codes:
        return f"To decide, {MORE_ROUNDS}, or use a quieter machine."
    if VerdictReason.LOOKS_WORSE_BETWEEN_RUNS in codes:
        return f"To decide, {BOTH_SIDES}."
    return "Measure again to decide."


def _untested_advice(report: Report, sections: Sections) -> str:
    if not sections.untested:
        return "Check that the baseline and this run measure the same benchmarks."
    reasons = [finding.reason for finding in sections.untested]
    if {reason.code for reason in reasons} == {Untested.WITHOUT_SPREAD}:
        runs = counted(max(runs for r in reasons if isinstance(runs := r.arguments["runs"], int)), "more run")
        return (
            f"One number per run shows no noise. Compare three files of each side, or record {runs} of the base branch."
        )
    if _all_lack_samples(report, sections):
        return f"At least {counted(report.settings.minimum_samples, 'sample')} of each are needed: measure more often."
    return rounds_advice(sections) or "The reason for each is below."


def _looks(finding: Finding) -> str:
    """Such as "looks 12.4% slower"."""
    change = finding.evidence.relative_change
    worse = word((finding,), better=False)
    return f"looks {worse}" if change is None or not math.isfinite(change) else f"looks {percent(abs(change))} {worse}"


def _all_lack_samples(report: Report, sections: Sections) -> bool:
    fewest = report.settings.minimum_samples
    targets = [finding.evidence.target for finding in sections.untested]
    return all(target is not None and target.count < fewest for target in targets)
