"""The words of the verdict: headline, effects, and next step. Names are added to them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from statistics import median
from typing import Final

from perf_culprit.model.detectors import Scale
from perf_culprit.model.finding import BaselineSource, Finding, Severity, Verdict
from perf_culprit.model.reason import Remark, Untested, VerdictReason
from perf_culprit.model.report import Answer, BudgetState, Conclusion, Report
from perf_culprit.model.run import Cost, Direction, Metric
from perf_culprit.say.document import Heading, Link, Name, Paragraph, Prose, Tone, paragraph, words
from perf_culprit.say.inert import Safe
from perf_culprit.say.numbers import counted, is_bytes, is_rate, is_time, lasted, percent, percent_at_least, significant
from perf_culprit.say.reason_text import sentence
from perf_culprit.say.render_markdown import markdown, markdown_text
from perf_culprit.say.sections import Sections, by_benchmark, left_what


def took(cost: Cost | None) -> str:
    """Describe the cost of measuring. Empty if it is unknown."""
    if not cost:
        return ""
    return counted(cost.executions, "execution") + (f" in {lasted(cost.seconds, 'runner ')}" if cost.seconds else "")


def share(count: int, sections: Sections, *, all_of: str = "all ") -> str:
    return _share(count, sections.total, sections.noun, all_of=all_of)


def _share(count: int, total: int, noun: str, *, all_of: str = "all ") -> str:
    if count == total == 2 and all_of:
        return f"both {noun}s"
    if count == total:
        return f"{all_of if count > 1 else ''}{counted(count, noun)}"
    return f"{count:,} of {counted(total, noun)}"


def word(findings: tuple[Finding, ...], *, better: bool) -> str:
    if all(is_timed(finding.metric) for finding in findings):
        return "faster" if better else "slower"
    return "better" if better else "worse"


# Times, memory and counts are listed separately if a suite has several of them.

TIMES: Final = "time"
_STEMS: Final = ("got worse ", "got better ", "got ")


def quantity(finding: Finding) -> str:
    """Name the metric's quantity, such as "memory", for "worse in …"."""
    if is_timed(finding.metric):
        return TIMES
    if is_bytes(finding.metric.unit):
        return "memory"
    if is_rate(finding.metric.unit):
        return "throughput"
    sides = (finding.baseline, finding.target)
    # Their means have fractions only by rounding.
    is_whole = all(side is not None and abs(side.value - round(side.value)) <= 1e-6 * abs(side.value) for side in sides)
    return "counts" if is_whole else "other metrics"


def by_quantity(findings: Sequence[Finding]) -> dict[str, tuple[Finding, ...]]:
    """Group the findings by quantity: times first, then in order of appearance."""
    ordered = sorted(findings, key=lambda one: not is_timed(one.metric))
    names = dict.fromkeys(map(quantity, ordered))
    return {name: tuple(one for one in ordered if quantity(one) == name) for name in names}


def _parts(findings: tuple[Finding, ...], sections: Sections, *, better: bool) -> list[tuple[int, str, str]]:
    """Return the number, its share of the total, and words like "slower" or "worse in memory", per quantity."""
    together, groups = by_quantity(sections.all), by_quantity(findings)
    if len(together) == 1 or not sections.several_metrics:
        return [(len(findings), share(len(findings), sections), word(findings, better=better))] if findings else []
    parts = []
    for name, group in groups.items():
        count, total = (len({one.key.benchmark for one in some}) for some in (group, together[name]))
        what = f"{word(group, better=better)}{'' if name == TIMES else f' in {name}'}"
        parts.append((count, _share(count, total, "benchmark"), what))
    return parts


def is_timed(metric: Metric) -> bool:
    return metric.direction is Direction.LOWER_IS_BETTER and is_time(metric.unit)


# Headline and next step.


@dataclass(frozen=True, slots=True)
class Headline:
    emoji: str
    text: str
    tone: Tone


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


# Above this, a factor is easier to read than a percentage.
MANIFOLD: Final = 9.0
_EXPECTED = {
    Direction.LOWER_IS_BETTER: ", where lower is better",
    Direction.HIGHER_IS_BETTER: ", where higher is better",
    Direction.UNKNOWN: " than usual",
}

_MEASURE_AGAIN = "Run the job again, or measure base and head in one job."
IN_TURN: Final = "Measure both commits in turn on one machine:"
UNDER_WAY: Final = "Both commits are measured in turn now; the answer follows."
# Measured in turn already, and still looking worse.
_BY_ROUNDS: Final = (VerdictReason.SUSPECTED_ROUNDS, VerdictReason.NOT_CONFIRMED)
FAILS: Final = "This fails the check."
SAME_VALUES: Final = "Both sides hold the same values: one may be a copy of the other."
COMMAND: Final = "perf-culprit measure --commits BASE HEAD --run COMMAND --until-decided"
HARNESS_COMMAND: Final = f"{COMMAND} --harness head"


def headline(report: Report, sections: Sections) -> Headline:
    told = _of_conclusion(report, sections)
    if gone := by_benchmark(report.missing):
        told = replace(told, text=f"{told.text}; {len(gone):,} missing")
        if any(note.code is Remark.LOST for note in report.notes):
            told = replace(told, emoji="🔴", tone=Tone.WORSE)
    if not (over := _exceeded(report)):
        return told
    count = len(report.budgets)
    return Headline(
        "🔴", f"{over:,} of {counted(count, 'budget')} exceeded; {told.text[0].lower()}{told.text[1:]}", Tone.WORSE
    )


def _exceeded(report: Report) -> int:
    return sum(check.state is BudgetState.OVER for check in report.budgets)


def _of_conclusion(report: Report, sections: Sections) -> Headline:
    match report.conclusion:
        case Conclusion.REGRESSION:
            loud = report.failed or any(finding.severity is Severity.MAJOR for finding in sections.regressions)
            return Headline("🔴" if loud else "🟠", _changed(sections), Tone.WORSE)
        case Conclusion.IMPROVEMENT:
            return Headline("🔵", _changed(sections), Tone.BETTER)
        case Conclusion.SUSPECTED:
            return Headline("🟠", _suspected(report, sections), Tone.UNSURE)
        case Conclusion.NO_CHANGE:
            return Headline("🟢", no_change(sections), Tone.FINE)
        case Conclusion.INCONCLUSIVE:
            return Headline("🟡", _untold(report, sections), Tone.UNSURE)
        case Conclusion.OTHER_HARDWARE | Conclusion.FIRST_RUN | Conclusion.NOT_AFFECTED | Conclusion.NOT_COMPARABLE:
            return _no_verdict(report, sections)


def _no_verdict(report: Report, sections: Sections) -> Headline:
    if report.conclusion is Conclusion.FIRST_RUN:
        return Headline("⚪\N{VARIATION SELECTOR-16}", "First run: nothing to compare with yet", Tone.PLAIN)
    if report.conclusion is Conclusion.NOT_AFFECTED:
        return Headline(
            "⚪\N{VARIATION SELECTOR-16}", "Not measured: nothing that changed reaches the benchmarks", Tone.PLAIN
        )
    if report.conclusion is Conclusion.NOT_COMPARABLE:
        return Headline("⚠️", _partly(sections), Tone.UNSURE)
    compared = "no verdict" if sections.total else "nothing to compare with"
    return Headline("⚠️", f"Other hardware: {compared}", Tone.UNSURE)


def next_step(report: Report, sections: Sections, *, has_check: bool = True) -> NextStep:
    if report.conclusion in (Conclusion.REGRESSION, Conclusion.IMPROVEMENT):
        is_worse = report.conclusion is Conclusion.REGRESSION
        advice = _regression_advice(report, has_check=has_check) if is_worse else _done(report)
        subject = next(iter(sections.changed), None)
        place = "Look there first." if is_worse and report.blames_target else ""
        return NextStep(subject=subject, effect=effect(subject) if subject else "", place=place, advice=advice)
    if _exceeded(report):
        return NextStep(advice=f"Get below the budget, or change it in the configuration. {FAILS}")
    if report.conclusion is Conclusion.SUSPECTED:
        return _to_decide(report, sections)
    is_copy = _is_copy(report)
    if report.conclusion is Conclusion.INCONCLUSIVE and (sections.differing or _blind(sections)) and not is_copy:
        noise = "the differences below, the largest first, may be noise alone"
        # A report from elsewhere may give a reason of its own, which is not ours to say.
        ours = next((one.reason for one in sections.differing if one.reason.code is VerdictReason.DIFFERS), None)
        told = noise if ours is None else sentence(ours).partition(";")[0]
        advice = f"{told[0].upper()}{told[1:]}. {_in_turn((*sections.differing, *sections.untested))}"
        return NextStep(advice=advice, command=COMMAND)
    weak = weakest(sections) if report.conclusion is Conclusion.NO_CHANGE else ()
    if advice := _harness_advice(report):
        return NextStep(advice=advice, command=HARNESS_COMMAND, weakest=weak)
    return NextStep(advice=SAME_VALUES if is_copy else _advice(report, sections), weakest=weak)


def _is_copy(report: Report) -> bool:
    """Whether both sides agree in every digit. Two measurements of a time hardly do."""
    has_times = any(is_time(one.metric.unit) for one in report.findings)
    return has_times and all(one.baseline is not None and one.baseline == one.target for one in report.findings)


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
    stored = [one for one in worse if one.reason.code not in _BY_ROUNDS]
    in_turn, command = (UNDER_WAY, "") if is_under_way else (_in_turn(stored), COMMAND)
    if not worse:
        return NextStep(advice=f"Either the code did that or another machine. {in_turn}", command=command)
    if stored:
        how = in_turn
    else:
        most = _most_rounds(worse)
        about = "" if most is None else f" (about {most:,} in all)"
        how, command = f"Measure more rounds of both sides{about}, or use a quieter machine.", ""
    return NextStep(
        subject=worse[0], effect=_looks(worse[0]), advice=f"{_nothing_else(sections)}{how}", command=command
    )


def _most_rounds(findings: Sequence[Finding]) -> int | None:
    """Return the rounds that can prove the change of each, as far as they are known."""
    rounds = [one.reason.arguments.get("rounds") for one in findings]
    return max((count for count in rounds if isinstance(count, int)), default=None)


def _in_turn(findings: Sequence[Finding]) -> str:
    most = _most_rounds(findings)
    return IN_TURN if most is None else f"{IN_TURN[:-1]}, {counted(most, 'round')} or more:"


def _regression_advice(report: Report, *, has_check: bool) -> str:
    if not report.blames_target:
        return (
            "That may come from commits of the base branch that were not measured, so this does not fail the check. "
            "To know, measure base and head in one job."
        )
    if not has_check:
        return ""
    return FAILS if report.failed else "This does not fail the check."


def effect(finding: Finding) -> str:
    """Describe the change of one metric, to follow its name: "takes 38.6% longer"."""
    if finding.score is not None and finding.scale is Scale.OUTSIDE:
        return f"is outside its limits in {percent(finding.score)} of the samples"
    change = finding.relative_change
    beyond = finding.reason.arguments.get("beyond")
    if finding.reason.code is VerdictReason.LEFT_CATEGORY and isinstance(beyond, float):
        return f"is {percent(beyond)} beyond its category"
    if change is None or not math.isfinite(change):
        return "got better" if finding.verdict is Verdict.IMPROVEMENT else "got worse"
    if finding.rules is not None and abs(change) < finding.minimum_effect:
        return f"breaks its rules in {percent(finding.excess.time_in_violation)} of the time"
    return _moved(change, finding.metric)


def _moved(change: float, metric: Metric) -> str:
    shown = percent(abs(change))
    if (words := _words(metric)) is None:
        manifold = _manifold(change)
        level = f"{manifold} as high" if manifold else f"{shown} {'higher' if change > 0 else 'lower'}"
        return f"is {level}{_EXPECTED[metric.direction]}"
    verb, more, less, as_before = words
    if manifold := _manifold(change):
        return f"{verb} {manifold} {as_before}"
    return f"{verb} {shown} {more if change > 0 else less}"


def _words(metric: Metric) -> tuple[str, str, str, str] | None:
    """Return the words for what a metric does, for more of it, for less of it, and for a multiple."""
    if metric.direction is Direction.LOWER_IS_BETTER and is_time(metric.unit):
        return "takes", "longer", "less time", "as long"
    if metric.direction is Direction.LOWER_IS_BETTER and is_bytes(metric.unit):
        return "needs", "more", "less", "as much"
    if metric.direction is Direction.HIGHER_IS_BETTER and is_rate(metric.unit):
        return "does", "more per second", "less per second", "as much per second"
    return None


def _factor(change: float) -> float | None:
    """Return the larger level as a multiple of the smaller one. None if a percentage is clearer."""
    if change >= MANIFOLD:
        return 1 + change
    return 1 / (1 + change) if -1 < change <= 1 / (1 + MANIFOLD) - 1 else None


def _manifold(change: float) -> str:
    """Return a factor such as "12 times", or "1/3,500" if almost nothing is left. Empty if a percentage is clearer."""
    if (factor := _factor(change)) is None:
        return ""
    return f"{significant(factor)} times" if change > 0 else f"1/{_whole(factor)}"


def _whole(factor: float) -> str:
    return significant(factor).removesuffix(".0")


def only_diagnosis(report: Report) -> bool:
    """Whether only the call trees show a slowdown, while the metrics leave it open."""
    slower = report.diagnosis is not None and report.diagnosis.answer is Answer.SLOWER
    return slower and report.conclusion is Conclusion.INCONCLUSIVE


def comparison(finding: Finding) -> str:
    """Return a word or two for a table: "slower" only if time is measured."""
    if finding.reason.code is VerdictReason.LEFT_CATEGORY:
        return "left its category"
    return word((finding,), better=is_better(finding))


def is_better(finding: Finding) -> bool:
    return finding.verdict is Verdict.IMPROVEMENT or (finding.verdict is Verdict.SUSPECTED and not finding.looks_worse)


def _advice(report: Report, sections: Sections) -> str:
    match report.conclusion:
        case Conclusion.INCONCLUSIVE if _other_loads(sections):
            return "Measure under the load of the baseline. If this is the new load, later runs compare with it."
        case Conclusion.INCONCLUSIVE:
            return _untested_advice(sections)
        case Conclusion.FIRST_RUN:
            measured = counted(len(report.new) or sections.total, sections.noun)
            return f"{measured} measured. Once a run of the base branch is recorded, the next one is compared."
        case Conclusion.NOT_AFFECTED:
            return "Nothing to do. To measure all the same, write `/perf-run`, or use `--affected off`."
        case Conclusion.OTHER_HARDWARE:
            return f"Neither a pass nor a regression. {_MEASURE_AGAIN}"
        case _:
            return unchanged_advice(report, sections)


def _changed(sections: Sections) -> str:
    """Return text like "2 of 148 benchmarks got slower, 1 left its category, 3 got faster". The loudest comes first."""
    left = tuple(one for one in sections.regressions if one.reason.code is VerdictReason.LEFT_CATEGORY)
    worse = tuple(one for one in sections.regressions if one not in left)
    category = "left its category" if len(left) == 1 else "left their categories"
    parts = [(count, of, f"got {what}") for count, of, what in _parts(worse, sections, better=False)]
    parts += [(len(left), share(len(left), sections), category)] if left else []
    parts += [(count, of, f"got {what}") for count, of, what in _parts(sections.improvements, sections, better=True)]
    text = _joined(parts)
    if looking := sections.looking_worse:
        text += f"; {_looking(looking, sections, of_all=False)}, not proven"
    return "; ".join([text[:1].upper() + text[1:], *_differ(sections), *_noisy(sections), *_untestable(sections)])


def _joined(parts: Sequence[tuple[int, str, str]], *, of_all: bool = True) -> str:
    """Join the parts by commas, without repeated words: "faster" after "got slower"."""
    told: list[str] = []
    before = ""
    for count, of, what in parts:
        shared = next((stem for stem in _STEMS if what.startswith(stem) and before.startswith(stem)), "")
        told.append(f"{of if of_all and not told else f'{count:,}'} {what.removeprefix(shared)}")
        before = what
    return ", ".join(told)


def _looking(findings: tuple[Finding, ...], sections: Sections, *, of_all: bool = True) -> str:
    """Return text like "1 of 20 benchmarks looks slower"."""
    parts = _parts(findings, sections, better=False)
    return _joined(
        [(count, of, f"{'looks' if count == 1 else 'look'} {what}") for count, of, what in parts], of_all=of_all
    )


def _look(findings: tuple[Finding, ...]) -> str:
    return "looks" if len(findings) == 1 else "look"


def _suspected(report: Report, sections: Sections) -> str:
    """Return text like "1 of 20 benchmarks looks slower, not proven"."""
    if worse := sections.looking_worse:
        subject = _looking(worse, sections)
        text = f"{subject[0].upper()}{subject[1:]}, not proven"
    else:
        moved = [note.arguments.get("change") for note in report.notes if note.code is Remark.SUITE_MOVED]
        by = "".join(f" by {percent(change, signed=True)}" for change in moved if isinstance(change, float))
        text = f"All benchmarks moved together{by}, not proven"
    return "; ".join([text, *_better(sections), *_differ(sections), *_untestable(sections)])


def _better(sections: Sections) -> list[str]:
    better = sections.improvements
    return [f"{len(better):,} got {word(better, better=True)}"] if better else []


def _differ(sections: Sections) -> list[str]:
    count = len(sections.differing)
    return [f"{count:,} differ{'s' if count == 1 else ''}, by {_lone_side(sections)}"] if count else []


def _noisy(sections: Sections) -> list[str]:
    count = sum(map(_is_blind, sections.untested))
    return [f"{count:,} undecided"] if count else []


def _untestable(sections: Sections) -> list[str]:
    """Return clauses about metrics that were not comparable or could not be tested."""
    told = (_is_blind(one) or one.is_of_other_benchmark or one.is_other_load for one in sections.untested)
    count = sum(not is_told for is_told in told)
    rest = [f"{share(count, sections)} could not be tested"] if count else []
    return [*_not_comparable(sections), *_other_loads(sections), *rest]


def _partly(sections: Sections) -> str:
    """Return text like "1 of 3 benchmarks is not comparable: it changed; 1 got faster; no change seen in 1"."""
    quiet = [f"no change seen in {len(sections.quiet):,}"] if sections.quiet else []
    text = "; ".join([*_untestable(sections), *_differ(sections), *_better(sections), *quiet])
    return text[:1].upper() + text[1:] or "Not comparable: the benchmarks changed"


def _not_comparable(sections: Sections) -> list[str]:
    count = len(sections.not_comparable)
    told = "is not comparable: it changed" if count == 1 else "are not comparable: they changed"
    return [f"{share(count, sections)} {told}"] if count else []


def _other_loads(sections: Sections) -> list[str]:
    """Return a clause per load that is another one: "the load rose by 27%"."""
    changes = [one.relative_change or 0.0 for one in sections.untested if one.is_other_load]
    return [f"the load {'rose' if change > 0 else 'fell'} by {percent(abs(change))}" for change in changes]


def _untold(report: Report, sections: Sections) -> str:
    if loads := _other_loads(sections):
        return f"T{', '.join(loads)[1:]}: not comparable, or the system gets other traffic"
    if not (sections.differing or sections.untested):
        return "Cannot tell: nothing could be compared"
    if only_diagnosis(report):
        return "The call trees show a slowdown, the metrics can't tell"
    quiet = (*_quiet(sections.varying), *_constant(sections))
    rest = [*_better(sections), *(f"{text[0].lower()}{text[1:]}" for text in quiet)]
    if sections.differing:
        return "; ".join([_differing(sections), *_noisy(sections), *_untestable(sections), *rest])
    return "; ".join([f"Cannot tell{_about(sections)}: {_lack(report, sections)}", *rest])


def _about(sections: Sections) -> str:
    """Name the quantities without any test, if others have one: " about time"."""
    groups = by_quantity(sections.all)
    silent = [name for name, group in groups.items() if all(one in sections.untested for one in group)]
    return f" about {' and '.join(silent)}" if silent and len(silent) < len(groups) else ""


def _lack(report: Report, sections: Sections) -> str:
    if not _blind(sections):
        return f"no test possible for {share(len(sections.untested), sections)}"
    if report.baseline_runs == 1 and all(one.target is None or one.target.runs == 1 for one in sections.untested):
        return "one run a side doesn't show how much runs differ"
    return "too few runs, or too noisy ones"


def _differing(sections: Sections) -> str:
    """Return text like "All 3 benchmarks differ, +30.2% to +31.5%; one run a side can't tell …"."""
    together, parts = by_quantity(sections.all), []
    for name, group in by_quantity(sections.differing).items():
        count, total = (len({one.key.benchmark for one in some}) for some in (group, together[name]))
        where = f" in {name}" if len(together) > 1 else ""
        changes = sorted(one.relative_change for one in group if one.relative_change is not None)
        ends = dict.fromkeys(percent(change, signed=True) for change in (*changes[:1], *changes[-1:]))
        by = f", {' to '.join(ends)}" if ends else ""
        parts.append(f"{_share(count, total, 'benchmark')} differ{'s' if count == 1 else ''}{where}{by}")
    text = ", ".join(parts)
    return f"{text[0].upper()}{text[1:]}; {_lone_side(sections)} can't tell the code from the machine"


def _lone_side(sections: Sections) -> str:
    """Name what is too little. Several files of one job share its machine and its stretch of time."""
    sides = (side for one in sections.differing for side in (one.baseline, one.target) if side is not None)
    return "so few jobs" if any(side.runs > 1 for side in sides) else "one run a side"


def _blind(sections: Sections) -> bool:
    return any(map(_is_blind, sections.untested))


def _is_blind(finding: Finding) -> bool:
    return finding.reason.code is VerdictReason.BLIND


def untested_words(sections: Sections) -> str:
    """Name the untested metrics: "not comparable", "undecided" if all tests were in vain, or "not tested"."""
    if len(sections.not_comparable) == len(sections.untested):
        return "not comparable"
    return "undecided" if all(map(_is_blind, sections.untested)) else "not tested"


def _untested_advice(sections: Sections) -> str:
    if not sections.untested:
        return "Check that the baseline and this run measure the same benchmarks."
    return rounds_advice(sections) or "The reason for each is below."


def _looks(finding: Finding) -> str:
    """Return text like "looks 12.4% slower"."""
    change = finding.relative_change
    worse = word((finding,), better=False)
    if change is None or not math.isfinite(change):
        return f"looks {worse}"
    if (factor := _factor(change)) is not None:
        return f"looks {worse} by a factor of {_whole(factor)}"
    return f"looks {percent(abs(change))} {worse}"


# The words for "nothing found": the changes it excludes, and the metrics in which it excludes little.

# A metric is weak if its smallest visible change exceeds this multiple of the median metric's.
WEAK_FACTOR = 2.0


def no_change(sections: Sections) -> str:
    """Return text like "No change seen in 17 of 20 benchmarks; a slowdown of 9% or more would have been suspected"."""
    counts = (
        (sections.looking_better, f"{_look(sections.looking_better)} better, not proven"),
        (sections.refuted, f"looked {word(sections.refuted, better=False)}, refuted by measuring again"),
        (sections.accepted, "worse and accepted"),
        (sections.watched, f"{_look(sections.watched)} worse, only watched"),
        (sections.outside, f"{left_what(sections.outside, 'the')}, not called"),
    )
    parts = [
        *_quiet(sections.varying),
        *(f"{len(findings):,} {told}" for findings, told in counts if findings),
        *_noisy(sections),
        *_untestable(sections),
        *_constant(sections),
    ]
    return "; ".join(parts) or f"No change seen in {counted(sections.total, sections.noun)}"


def _quiet(sections: Sections) -> Iterator[str]:
    """Yield how small a change would have been seen, and apart the metrics without one of the minimum effect."""
    if inside := len(sections.not_seen) - len(sections.outside):
        yield f"No change seen in {share(inside, sections, all_of='')}"
        if seen := _detectable(sections):
            yield seen
    if sections.unchanged:
        of = (
            f"{len(sections.unchanged):,}" if sections.not_seen else share(len(sections.unchanged), sections, all_of="")
        )
        yield f"{of} {within(sections)}"


def _constant(sections: Sections) -> Iterator[str]:
    """Count the constants separately: their equality tells nothing about what noise hides in other metrics."""
    if count := len(sections.constants):
        yield f"{counted(count, 'other metric' if sections.varying.all else sections.noun)} exactly equal"


def within(sections: Sections) -> str:
    """Return text like "unchanged within 5%": the largest of their minimum effects."""
    return f"unchanged within {percent(max((one.minimum_effect for one in sections.unchanged), default=0.0))}"


def _nothing_else(sections: Sections) -> str:
    """Return a sentence about the other metrics: "No change seen in 18 others; a slowdown of … "."""
    parts = []
    if count := len(sections.not_seen):
        parts = [f"No change seen in {counted(count, 'other')}", _detectable(sections)]
    if count := len(sections.varying.unchanged):
        others = f"{count:,}" if parts else f"{counted(count, 'other')} {'is' if count == 1 else 'are'}"
        parts.append(f"{others} {within(sections)}")
    return f"{'; '.join(part for part in parts if part)}. " if parts else ""


def _done(report: Report) -> str:
    if any(note.code is Remark.PART_MISSING for note in report.notes):
        return "Measure the missing part again."
    if not report.missing:
        return "Nothing to do."
    fails = f" {FAILS}" if report.failed else ""
    return f"See why benchmarks are missing: a crash or a time limit leaves no result.{fails}"


def unchanged_advice(report: Report, sections: Sections) -> str:
    if advice := rounds_advice(sections):
        return advice
    if not sections.not_seen:
        return _done(report)
    if not _detectable(sections):
        return "How small a change would have been seen is not known for these numbers."
    paired = report.baseline_source is BaselineSource.PAIRED
    measure = "measure more rounds of both sides" if paired else "measure both commits in turn on one machine"
    return f"To see smaller ones, {measure}, or use a quieter machine."


def rounds_advice(sections: Sections) -> str:
    """Advise the number of rounds that makes every untested metric testable. Empty if rounds are not the problem."""
    reasons = [finding.reason for finding in sections.untested]
    if {reason.code for reason in reasons} - {Untested.TOO_FEW_EXECUTIONS}:
        return ""
    asked = [rounds for reason in reasons if isinstance(rounds := reason.arguments.get("rounds"), int)]
    if not asked:
        return ""
    return f"Measure {max(asked):,} rounds of base, head, head, base: fewer can't tell a change from chance."


def _detectable(sections: Sections) -> str:
    """State how small a slowdown would have been seen, except in the weakest metrics. It qualifies "no change seen"."""
    weak = {entry.key for entry in weakest(sections)}
    groups = by_quantity([entry for entry in sections.not_seen if entry.detectable_effect is not None])
    sizes, count = [], 0
    for name, group in groups.items():
        effects = [entry.detectable_effect or 0.0 for entry in group if entry.key not in weak]
        count += len(effects)
        sizes.append(f"{percent_at_least(max(effects))}{'' if len(groups) == 1 else f' ({name})'}")
    if not sizes:
        return ""
    what = "slowdown" if all(is_timed(finding.metric) for finding in sections.not_seen) else "change for the worse"
    where = f" in {count:,} of them" if count < len(sections.not_seen) else ""
    return f"a {what} of {', '.join(sizes)} or more would have been suspected{where}"


def weakest(sections: Sections) -> tuple[Finding, ...]:
    """Return the metrics whose visible change is much larger than in others of the quantity, worst first."""
    weak: list[tuple[float, Finding]] = []
    for group in by_quantity(sections.not_seen).values():
        effects = [(entry.detectable_effect, entry) for entry in group if entry.detectable_effect is not None]
        middle = median(effect for effect, _ in effects) if effects else 0.0
        weak += [(effect, entry) for effect, entry in effects if effect > WEAK_FACTOR * middle]
    return tuple(entry for _, entry in sorted(weak, key=lambda pair: (-pair[0], pair[1].key)))


# The texts shown without a verdict: the reason, and what remains instead.


class Lack(StrEnum):
    """The gap that prevents a verdict."""

    NOT_MEASURED = "Not measured"
    NOT_JUDGED = "Not judged"


def lack_line(lack: Lack, reason: str, *, sha: str, run_url: str) -> Safe:
    """Return the line above an earlier result. `reason` may quote a stranger's file."""
    run = Link(Safe("the run"), run_url)
    told = "> ⚠️ **{}:** {} ({}, {}). What follows is an earlier result."
    return markdown(words(told, Safe(lack), Name(sha[:7]), Prose(reason), run))


def unmeasured_text(reason: str, *, sha: str, run_url: str) -> str:
    """Return the text for the job summary."""
    heading = Heading(text=words("Not measured: {}", Name(sha[:7])), tone=Tone.UNSURE, mark="⚠️")
    return markdown_text(heading, paragraph(words("{}, {}", Prose(reason), Link(Safe("the run"), run_url))))


def unmeasured_body(reason: str, *, run_url: str) -> str:
    """Return the text for the check run, which belongs to that commit."""
    log = Link(Safe("the log of the measurement"), run_url)
    return markdown_text(paragraph(words("No verdict: {}. See {}.", Prose(reason), log)))


def unjudged_body(reason: str, *, next_step: str | None) -> str:
    """Return the text for the check run if there are results but no rules."""
    return markdown_text(paragraph(words("No verdict: {}", Prose(reason))), *_next(next_step))


def unpublished_text(reason: str, *, next_step: str | None = None) -> str:
    """Return the text for the job summary about a missing comment."""
    heading = Heading(text=Safe("No comment"), tone=Tone.UNSURE)
    return markdown_text(heading, paragraph(words("Reason: {}", Prose(reason))), *_next(next_step))


def _next(next_step: str | None) -> tuple[Paragraph, ...]:
    return (paragraph(words("Next: {}", Prose(next_step))),) if next_step else ()
