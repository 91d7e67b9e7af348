"""The headline of a verdict, and the words for the effects. Names are added to them."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from perf_culprit.model.detectors import Scale
from perf_culprit.model.finding import Finding, Severity, Verdict
from perf_culprit.model.reason import Loss, Remark, VerdictReason
from perf_culprit.model.report import Answer, BudgetState, Conclusion, Report
from perf_culprit.model.run import Cost, Direction, Metric, MetricKey
from perf_culprit.say.certainty_words import UNDECIDED, WOULD_SUSPECT, looks, unproven
from perf_culprit.say.document import Tone
from perf_culprit.say.numbers import (
    count_of,
    is_bytes,
    is_rate_unit,
    is_time,
    lasted,
    percent,
    percent_at_least,
    significant,
)
from perf_culprit.say.sections import Sections, by_benchmark, left_what


def took(cost: Cost | None) -> str:
    """Describe the cost of measuring. Empty if it is unknown."""
    if not cost:
        return ""
    return count_of(cost.executions, "execution") + (f" in {lasted(cost.seconds, 'runner ')}" if cost.seconds else "")


def share(count: int, sections: Sections, *, all_of: str = "all ") -> str:
    return _share(count, sections.total, sections.noun, all_of=all_of)


def _share(count: int, total: int, noun: str, *, all_of: str = "all ") -> str:
    if count == total == 2 and all_of:
        return f"both {noun}s"
    if count == total:
        return f"{all_of if count > 1 else ''}{count_of(count, noun)}"
    return f"{count:,} of {count_of(total, noun)}"


def word(findings: tuple[Finding, ...], *, better: bool) -> str:
    if all(is_timed(finding.metric) for finding in findings):
        return "faster" if better else "slower"
    return "better" if better else "worse"


TIMES: Final = "time"
_STEMS: Final = ("got worse ", "got better ", "got ")


def quantity(finding: Finding) -> str:
    """Name the metric's quantity, such as "memory", for "worse in …"."""
    if is_timed(finding.metric):
        return TIMES
    if is_bytes(finding.metric.unit):
        return "memory"
    if is_rate_unit(finding.metric.unit):
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


@dataclass(frozen=True, slots=True)
class Headline:
    emoji: str
    text: str
    tone: Tone


# Above this, a factor is easier to read than a percentage.
MANIFOLD: Final = 9.0
_EXPECTED = {
    Direction.LOWER_IS_BETTER: ", where lower is better",
    Direction.HIGHER_IS_BETTER: ", where higher is better",
    Direction.UNKNOWN: " than usual",
}


def headline(report: Report, sections: Sections) -> Headline:
    answer = _of_conclusion(report, sections)
    if gone := unexplained(report):
        answer = _not_green(replace(answer, text=f"{answer.text}; {len(gone):,} missing"))
    if report.lost:
        answer = _lost_first(report, answer)
    if any(note.code is Remark.LOST for note in report.notes) or report.has_failed_command:
        answer = replace(answer, emoji="🔴", tone=Tone.WORSE)
    if not (over := exceeded_budgets(report)):
        return answer
    count = len(report.budgets)
    return Headline(
        "🔴", f"{over:,} of {count_of(count, 'budget')} exceeded; {answer.text[0].lower()}{answer.text[1:]}", Tone.WORSE
    )


def unexplained(report: Report) -> tuple[MetricKey, ...]:
    """Return the missing benchmarks, each once, without those that are known to have failed."""
    failed = {one.benchmark for one in report.lost}
    return tuple(key for key in by_benchmark(report.missing) if key.benchmark not in failed)


def _lost_first(report: Report, answer: Headline) -> Headline:
    """Begin the headline with what failed."""
    named = [one for one in report.lost if one.benchmark]
    how = "skipped" if all(one.kind is Loss.SKIPPED for one in named) else "failed"
    first = f"{count_of(len(named), 'benchmark')} {how}" if named else f"The {report.lost[0].side} failed"
    return _not_green(replace(answer, text=f"{first}; {answer.text[0].lower()}{answer.text[1:]}"))


def _not_green(answer: Headline) -> Headline:
    """Return the headline of a run that lacks something: it is not green."""
    is_fine = answer.tone in (Tone.FINE, Tone.BETTER, Tone.PLAIN)
    return replace(answer, emoji="⚠️", tone=Tone.UNSURE) if is_fine else answer


def exceeded_budgets(report: Report) -> int:
    return sum(check.state is BudgetState.OVER for check in report.budgets)


def _of_conclusion(report: Report, sections: Sections) -> Headline:
    match report.conclusion:
        case Conclusion.REGRESSION:
            loud = report.failed or any(finding.severity is Severity.MAJOR for finding in sections.regressions)
            return Headline("🔴" if loud else "🟠", _change_text(sections), Tone.WORSE)
        case Conclusion.IMPROVEMENT:
            return Headline("🔵", _change_text(sections), Tone.BETTER)
        case Conclusion.SUSPECTED:
            return Headline("🟠", _suspicion(report, sections), Tone.UNSURE)
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


def effect(finding: Finding) -> str:
    """Describe the change of one metric, to follow its name: "takes 38.6% longer"."""
    if finding.is_by_limit and finding.scale is Scale.OUTSIDE:
        return f"is outside its limits in {percent(finding.score or 0.0)} of the samples"
    change = finding.relative_change
    beyond = finding.reason.arguments.get("beyond")
    if finding.reason.code is VerdictReason.LEFT_CATEGORY and isinstance(beyond, float):
        return f"is {percent(beyond)} beyond its category"
    if change is None or not math.isfinite(change):
        return "got better" if finding.verdict is Verdict.IMPROVEMENT else "got worse"
    if finding.rules is not None and abs(change) < finding.minimum_effect:
        return f"breaks its rules in {percent(finding.excess.time_in_violation)} of the time"
    return _movement(change, finding.metric)


def suspected_effect(finding: Finding) -> str:
    """Return text like "looks 12.4% slower"."""
    change = finding.relative_change
    worse = word((finding,), better=False)
    if change is None or not math.isfinite(change):
        return looks(1, worse)
    if (factor := _factor(change)) is not None:
        return looks(1, f"{worse} by a factor of {_whole(factor)}")
    return looks(1, f"{percent(abs(change))} {worse}")


def _movement(change: float, metric: Metric) -> str:
    share_text = percent(abs(change))
    if (words := _words(metric)) is None:
        manifold = _manifold(change)
        level = f"{manifold} as high" if manifold else f"{share_text} {'higher' if change > 0 else 'lower'}"
        return f"is {level}{_EXPECTED[metric.direction]}"
    verb, more, less, as_before = words
    if manifold := _manifold(change):
        return f"{verb} {manifold} {as_before}"
    return f"{verb} {share_text} {more if change > 0 else less}"


def _words(metric: Metric) -> tuple[str, str, str, str] | None:
    """Return the words for what a metric does, for more of it, for less of it, and for a multiple."""
    if metric.direction is Direction.LOWER_IS_BETTER and is_time(metric.unit):
        return "takes", "longer", "less time", "as long"
    if metric.direction is Direction.LOWER_IS_BETTER and is_bytes(metric.unit):
        return "needs", "more", "less", "as much"
    if metric.direction is Direction.HIGHER_IS_BETTER and is_rate_unit(metric.unit):
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
    """Return whether only the call trees show a slowdown, while the metrics leave it open."""
    slower = report.diagnosis is not None and report.diagnosis.answer is Answer.SLOWER
    return slower and report.conclusion is Conclusion.INCONCLUSIVE


def comparison(finding: Finding) -> str:
    """Return a word or two for a table: "slower" only if time is measured."""
    if finding.reason.code is VerdictReason.LEFT_CATEGORY:
        return "left its category"
    return word((finding,), better=is_better(finding))


def is_better(finding: Finding) -> bool:
    return finding.verdict is Verdict.IMPROVEMENT or (finding.verdict is Verdict.SUSPECTED and not finding.looks_worse)


def _change_text(sections: Sections) -> str:
    """Return text like "2 of 148 benchmarks got slower, 1 left its category, 3 got faster". The loudest comes first."""
    out_of_category = tuple(one for one in sections.regressions if one.reason.code is VerdictReason.LEFT_CATEGORY)
    worse = tuple(one for one in sections.regressions if one not in out_of_category)
    category = "left its category" if len(out_of_category) == 1 else "left their categories"
    parts = [(count, of, f"got {what}") for count, of, what in _parts(worse, sections, better=False)]
    parts += [(len(out_of_category), share(len(out_of_category), sections), category)] if out_of_category else []
    parts += [(count, of, f"got {what}") for count, of, what in _parts(sections.improvements, sections, better=True)]
    text = _join(parts)
    if looking := sections.looking_worse:
        text += f"; {unproven(_looking(looking, sections, of_all=False))}"
    return "; ".join([text[:1].upper() + text[1:], *_differ(sections), *_noisy(sections), *_untestable(sections)])


def _join(parts: Sequence[tuple[int, str, str]], *, of_all: bool = True) -> str:
    """Join the parts by commas, without repeated words: "faster" after "got slower"."""
    texts: list[str] = []
    before = ""
    for count, of, what in parts:
        shared = next((stem for stem in _STEMS if what.startswith(stem) and before.startswith(stem)), "")
        texts.append(f"{of if of_all and not texts else f'{count:,}'} {what.removeprefix(shared)}")
        before = what
    return ", ".join(texts)


def _looking(findings: tuple[Finding, ...], sections: Sections, *, of_all: bool = True) -> str:
    """Return text like "1 of 20 benchmarks looks slower"."""
    parts = _parts(findings, sections, better=False)
    return _join([(count, of, looks(count, what)) for count, of, what in parts], of_all=of_all)


def _suspicion(report: Report, sections: Sections) -> str:
    """Return text like "1 of 20 benchmarks looks slower, not proven"."""
    if worse := sections.looking_worse:
        subject = _looking(worse, sections)
        text = unproven(f"{subject[0].upper()}{subject[1:]}")
    else:
        moved = [note.arguments.get("change") for note in report.notes if note.code is Remark.SUITE_MOVED]
        by = "".join(f" by {percent(change, signed=True)}" for change in moved if isinstance(change, float))
        text = unproven(f"All benchmarks moved together{by}")
    return "; ".join([text, *_better(sections), *_differ(sections), *_untestable(sections)])


def _better(sections: Sections) -> list[str]:
    better = sections.improvements
    return [f"{len(better):,} got {word(better, better=True)}"] if better else []


def _differ(sections: Sections) -> list[str]:
    count = len(sections.differing)
    return [f"{count:,} differ{'s' if count == 1 else ''}, by {_lone_side(sections)}"] if count else []


def _noisy(sections: Sections) -> list[str]:
    count = sum(map(_is_blind, sections.untested))
    return [f"{count:,} {UNDECIDED}"] if count else []


def _untestable(sections: Sections) -> list[str]:
    """Return clauses about metrics that were not comparable or could not be tested."""
    count = sum(not (_is_blind(one) or one.is_of_other_benchmark or one.is_other_load) for one in sections.untested)
    rest = [f"{share(count, sections)} could not be tested"] if count else []
    return [*_not_comparable(sections), *other_load_clauses(sections), *rest]


def _partly(sections: Sections) -> str:
    """Return text like "1 of 3 benchmarks is not comparable: it changed; 1 got faster; no change seen in 1"."""
    quiet = [f"no change seen in {len(sections.quiet):,}"] if sections.quiet else []
    text = "; ".join([*_untestable(sections), *_differ(sections), *_better(sections), *quiet])
    return text[:1].upper() + text[1:] or "Not comparable: the benchmarks changed"


def _not_comparable(sections: Sections) -> list[str]:
    count = len(sections.not_comparable)
    predicate = "is not comparable: it changed" if count == 1 else "are not comparable: they changed"
    return [f"{share(count, sections)} {predicate}"] if count else []


def other_load_clauses(sections: Sections) -> list[str]:
    """Return a clause per load that is another one: "the load rose by 27%"."""
    changes = [one.relative_change or 0.0 for one in sections.untested if one.is_other_load]
    return [f"the load {'rose' if change > 0 else 'fell'} by {percent(abs(change))}" for change in changes]


def _untold(report: Report, sections: Sections) -> str:
    if loads := other_load_clauses(sections):
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
    if not has_blind(sections):
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


def has_blind(sections: Sections) -> bool:
    return any(map(_is_blind, sections.untested))


def _is_blind(finding: Finding) -> bool:
    return finding.reason.code is VerdictReason.BLIND


def untested_words(sections: Sections) -> str:
    """Name the untested metrics: "not comparable", "undecided" if all tests were in vain, or "not tested"."""
    if len(sections.not_comparable) == len(sections.untested):
        return "not comparable"
    return UNDECIDED if all(map(_is_blind, sections.untested)) else "not tested"


# A metric is weak if its smallest visible change exceeds this multiple of the median metric's.
WEAK_FACTOR = 2.0


def no_change(sections: Sections) -> str:
    """Return text like "No change seen in 17 of 20 benchmarks; a slowdown of 9% or more would have been suspected"."""
    counts = (
        (sections.looking_better, unproven(looks(len(sections.looking_better), "better"))),
        (sections.refuted, f"looked {word(sections.refuted, better=False)}, refuted by measuring again"),
        (sections.accepted, "worse and accepted"),
        (sections.watched, f"{looks(len(sections.watched), 'worse')}, only watched"),
        (sections.outside, f"{left_what(sections.outside, 'the')}, not called"),
    )
    parts = [
        *_quiet(sections.varying),
        *(f"{len(findings):,} {words}" for findings, words in counts if findings),
        *_noisy(sections),
        *_untestable(sections),
        *_constant(sections),
    ]
    return "; ".join(parts) or f"No change seen in {count_of(sections.total, sections.noun)}"


def _quiet(sections: Sections) -> Iterator[str]:
    """Yield how small a change would have been seen, and apart the metrics without one of the minimum effect."""
    if inside := len(sections.not_seen) - len(sections.outside):
        yield f"No change seen in {share(inside, sections, all_of='')}"
        if clause := detectable_clause(sections):
            yield clause
    if sections.unchanged:
        of = (
            f"{len(sections.unchanged):,}" if sections.not_seen else share(len(sections.unchanged), sections, all_of="")
        )
        yield f"{of} {within(sections)}"


def _constant(sections: Sections) -> Iterator[str]:
    """Count the constants separately: their equality tells nothing about what noise hides in other metrics."""
    if count := len(sections.constants):
        yield f"{count_of(count, 'other metric' if sections.varying.all else sections.noun)} exactly equal"


def within(sections: Sections) -> str:
    """Return text like "unchanged within 5%": the largest of their minimum effects."""
    return f"unchanged within {percent(max((one.minimum_effect for one in sections.unchanged), default=0.0))}"


def detectable_clause(sections: Sections) -> str:
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
    return f"a {what} of {', '.join(sizes)} or more {WOULD_SUSPECT}{where}"


def weakest(sections: Sections) -> tuple[Finding, ...]:
    """Return the metrics whose visible change is much larger than in others of the quantity, worst first."""
    weak: list[tuple[float, Finding]] = []
    for group in by_quantity(sections.not_seen).values():
        effects = [(entry.detectable_effect, entry) for entry in group if entry.detectable_effect is not None]
        middle = median(effect for effect, _ in effects) if effects else 0.0
        weak += [(effect, entry) for effect, entry in effects if effect > WEAK_FACTOR * middle]
    return tuple(entry for _, entry in sorted(weak, key=lambda pair: (-pair[0], pair[1].key)))
