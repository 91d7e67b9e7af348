"""The next step after a verdict: what to do, where to look, what to type."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from perf_culprit.model.finding import BaselineSource, Finding
from perf_culprit.model.reason import Remark, Untested, VerdictReason
from perf_culprit.model.report import Conclusion, Report
from perf_culprit.say.headlines import (
    detectable_clause,
    effect,
    exceeded_budgets,
    has_blind,
    other_load_clauses,
    suspected_effect,
    weakest,
    within,
)
from perf_culprit.say.numbers import count_of, is_time
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.sections import Sections

_MEASURE_AGAIN = "Run the job again, or measure base and head in one job."
_IN_TURN: Final = "Measure both commits in turn on one machine:"
_UNDER_WAY: Final = "Both commits are measured in turn now; the answer follows."
# Measured in turn already, and still looking worse.
_BY_ROUNDS: Final = (VerdictReason.SUSPECTED_ROUNDS, VerdictReason.NOT_CONFIRMED)
_FAILS: Final = "This fails the check."
_SAME_VALUES: Final = "Both sides hold the same values: one may be a copy of the other."
COMMAND: Final = "perf-culprit measure --commits BASE HEAD --run COMMAND --until-decided"
_HARNESS_COMMAND: Final = f"{COMMAND} --harness head"


@dataclass(frozen=True, kw_only=True, slots=True)
class NextStep:
    """The next step. `subject` and `effect` form a sentence ("<name> takes 38% longer"); `advice` and `command` follow.

    `place`: where to look if no call tree tells it. `weakest` are metrics in which only much larger changes would have
    been seen. They are named last.
    """

    advice: str
    place: str = ""
    subject: Finding | None = None
    effect: str = ""
    command: str = ""
    weakest: tuple[Finding, ...] = ()


def next_step(report: Report, sections: Sections, *, has_check: bool = True) -> NextStep:
    if report.conclusion in (Conclusion.REGRESSION, Conclusion.IMPROVEMENT):
        is_worse = report.conclusion is Conclusion.REGRESSION
        advice = _regression_advice(report, has_check=has_check) if is_worse else _done_text(report)
        subject = next(iter(sections.changed), None)
        place = "Look there first." if is_worse and report.blames_target else ""
        return NextStep(subject=subject, effect=effect(subject) if subject else "", place=place, advice=advice)
    is_over, is_suspected = exceeded_budgets(report), report.conclusion is Conclusion.SUSPECTED
    if is_over or (report.lost and not is_suspected):
        budget = f"Get below the budget, or change it in the configuration. {_FAILS}"
        return NextStep(advice=budget if is_over else _done_text(report))
    if is_suspected:
        return _to_decide(report, sections)
    is_copy = _is_copy(report)
    if report.conclusion is Conclusion.INCONCLUSIVE and (sections.differing or has_blind(sections)) and not is_copy:
        noise = "the differences below, the largest first, may be noise alone"
        # A report from elsewhere may give a reason of its own, which is not ours to say.
        ours = next(
            (finding.reason for finding in sections.differing if finding.reason.code is VerdictReason.DIFFERS), None
        )
        reason = noise if ours is None else sentence(ours).partition(";")[0]
        advice = f"{reason[0].upper()}{reason[1:]}. {_in_turn((*sections.differing, *sections.untested))}"
        return NextStep(advice=advice, command=COMMAND)
    weak = weakest(sections) if report.conclusion is Conclusion.NO_CHANGE else ()
    if advice := _harness_advice(report):
        return NextStep(advice=advice, command=_HARNESS_COMMAND, weakest=weak)
    return NextStep(advice=_SAME_VALUES if is_copy else _advice(report, sections), weakest=weak)


def _is_copy(report: Report) -> bool:
    """Whether both sides agree in every digit. Two measurements of a time hardly do."""
    has_times = any(is_time(finding.metric.unit) for finding in report.findings)
    return has_times and all(
        finding.baseline is not None and finding.baseline == finding.target for finding in report.findings
    )


def _harness_advice(report: Report) -> str:
    """Empty unless the benchmarks changed and nothing else was found."""
    if report.conclusion is Conclusion.NOT_COMPARABLE:
        return "Whether the code got slower there is not known. Measure both commits by the head's benchmarks:"
    notes = {note.code for note in report.notes}
    is_changed = Remark.HARNESS_CHANGED in notes and Remark.PART_MISSING not in notes
    if report.conclusion is Conclusion.NO_CHANGE and is_changed:
        return "The benchmarks changed too, so measure both commits by the head's:"
    return ""


def _to_decide(report: Report, sections: Sections) -> NextStep:
    """Return the step that decides about suspects, or all benchmarks. The one needing most rounds sets the number."""
    worse = sections.looking_worse
    is_under_way = any(note.code is Remark.BEING_PROVEN for note in report.notes)
    stored = [finding for finding in worse if finding.reason.code not in _BY_ROUNDS]
    in_turn, command = (_UNDER_WAY, "") if is_under_way else (_in_turn(stored), COMMAND)
    if not worse:
        return NextStep(advice=f"Either the code did that or another machine. {in_turn}", command=command)
    if stored:
        how = in_turn
    else:
        most = _most_rounds(worse)
        about = "" if most is None else f" (about {most:,} in all)"
        how, command = f"Measure more rounds of both sides{about}, or use a quieter machine.", ""
    return NextStep(
        subject=worse[0], effect=suspected_effect(worse[0]), advice=f"{_nothing_else(sections)}{how}", command=command
    )


def _most_rounds(findings: Sequence[Finding]) -> int | None:
    """Return the rounds that can prove the change of each, as far as they are known."""
    rounds = [finding.reason.arguments.get("rounds") for finding in findings]
    return max((count for count in rounds if isinstance(count, int)), default=None)


def _in_turn(findings: Sequence[Finding]) -> str:
    most = _most_rounds(findings)
    return _IN_TURN if most is None else f"{_IN_TURN[:-1]}, {count_of(most, 'round')} or more:"


def _regression_advice(report: Report, *, has_check: bool) -> str:
    if not report.blames_target:
        return (
            "That may come from commits of the base branch that were not measured, so this does not fail the check. "
            "To know, measure base and head in one job."
        )
    if not has_check:
        return ""
    return _FAILS if report.failed else "This does not fail the check."


def _advice(report: Report, sections: Sections) -> str:
    match report.conclusion:
        case Conclusion.INCONCLUSIVE if other_load_clauses(sections):
            return "Measure under the load of the baseline. If this is the new load, later runs compare with it."
        case Conclusion.INCONCLUSIVE:
            nothing = "Check that the baseline and this run measure the same benchmarks."
            return rounds_advice(sections) or ("The reason for each is below." if sections.untested else nothing)
        case Conclusion.FIRST_RUN:
            count = count_of(len(report.new) or sections.total, sections.noun)
            return f"{count} measured. Once a run of the base branch is recorded, the next one is compared."
        case Conclusion.NOT_AFFECTED:
            return "Nothing to do. To measure all the same, write `/perf-run`, or use `--affected off`."
        case Conclusion.OTHER_HARDWARE:
            return f"Neither a pass nor a regression. {_MEASURE_AGAIN}"
        case _:
            return unchanged_advice(report, sections)


def _nothing_else(sections: Sections) -> str:
    """Return a sentence about the other metrics: "No change seen in 18 others; a slowdown of … "."""
    parts = []
    if count := len(sections.not_seen):
        parts = [f"No change seen in {count_of(count, 'other')}", detectable_clause(sections)]
    if count := len(sections.varying.unchanged):
        others = f"{count:,}" if parts else f"{count_of(count, 'other')} {'is' if count == 1 else 'are'}"
        parts.append(f"{others} {within(sections)}")
    return f"{'; '.join(part for part in parts if part)}. " if parts else ""


def _done_text(report: Report) -> str:
    if any(note.code is Remark.PART_MISSING for note in report.notes):
        return "Measure the missing part again."
    fails = f" {_FAILS}" if report.failed else ""
    if report.lost:
        return f"Run what failed at that commit, and measure again.{fails}"
    if not report.missing:
        return "Nothing to do."
    return f"See why benchmarks are missing.{fails}"


def unchanged_advice(report: Report, sections: Sections) -> str:
    if advice := rounds_advice(sections):
        return advice
    if not sections.not_seen:
        return _done_text(report)
    if not detectable_clause(sections):
        return "How small a change would have been seen is not known for these numbers."
    paired = report.baseline_source is BaselineSource.PAIRED
    measure = "measure more rounds of both sides" if paired else "measure both commits in turn on one machine"
    return f"To see smaller ones, {measure}, or use a quieter machine."


def rounds_advice(sections: Sections) -> str:
    """Advise the number of rounds that makes every untested metric testable. Empty if rounds are not the problem."""
    reasons = [finding.reason for finding in sections.untested]
    if {reason.code for reason in reasons} - {Untested.TOO_FEW_EXECUTIONS}:
        return ""
    round_counts = [rounds for reason in reasons if isinstance(rounds := reason.arguments.get("rounds"), int)]
    if not round_counts:
        return ""
    return f"Measure {max(round_counts):,} rounds of base, head, head, base: fewer can't tell a change from chance."
