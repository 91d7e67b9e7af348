"""Diagnoses and compared call trees for a terminal."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Final

from perf_culprit.errors import listed
from perf_culprit.model.call_tree import (
    Diagnosis,
    ImpactedService,
    LineFault,
    MethodSuspect,
    RecordFault,
    ServiceStatistics,
    SlowCall,
)
from perf_culprit.model.report import (
    Answer,
    Basis,
    ChangeCause,
    ComparedSuspect,
    NodeAmount,
    ServiceComparison,
    SuspectReason,
    TreeComparison,
)
from perf_culprit.say.charts import blocks
from perf_culprit.say.inert import SENTENCE_LIMIT, SHORT_HASH, Safe, join, plain
from perf_culprit.say.numbers import amount_text, percent, q_text, quantities, significant
from perf_culprit.say.reason_text import sentence, sentence_markdown
from perf_culprit.say.sections import columns, counted

# A diagnosis for a terminal: suspects, what to test again for each, services, and unused lines.

BAR_WIDTH: Final = 30
SHOWN_IMPACTS: Final = 5
SHOWN_SERVICES: Final = 20
SHOWN_SLOW_CALLS: Final = 3
_LINE_LIMIT: Final = 160
_plain = partial(plain, limit=_LINE_LIMIT)
FAULTS: Final = {
    LineFault.NO_MATCH: "no method execution by the pattern",
    LineFault.TOO_LONG: "longer than a line may be",
    LineFault.ELAPSED: "its time is negative, no number or too large",
    LineFault.LABEL: "its label is not dot-separated or too long",
    LineFault.REPEATED: "the line before, once more",
}
RECORD_FAULTS: Final = {
    RecordFault.MALFORMED: "no record of the format",
    RecordFault.TOO_LONG: "longer than a record may be",
    RecordFault.NUMBER: "its time or count is negative, no number or too large",
    RecordFault.UNOPENED: "ends what never began",
    RecordFault.UNCLOSED: "begins and never ends: closed with its caller or at the last time known",
    RecordFault.OVERLAP: "ends after its caller: cut there",
    RecordFault.ORDER: "its time lies before the record before it",
    RecordFault.LOST_PARENT: "its caller is missing: taken as called by nobody",
    RecordFault.CYCLE: "is its own caller",
    RecordFault.REPEATED: "its id was there before",
    RecordFault.TOO_DEEP: "deeper than calls may be nested: its time stays with its caller",
    RecordFault.ASYNCHRONOUS: "asynchronous: not nested in a thread",
    RecordFault.NO_EXECUTION: "measures no execution",
}


def diagnosis_text(diagnosis: Diagnosis, *, top: int = 20) -> str:
    """For a terminal; foreign control characters never reach it, and no line starts with foreign text."""
    suspects = [suspect for suspect in diagnosis.suspects if not suspect.tiny][:top]
    shown = suspects or list(diagnosis.suspects[:top])
    blocks = [
        _headline(diagnosis),
        _suspects(shown, diagnosis.unit),
        _impacts(shown[:SHOWN_IMPACTS]),
        _services(diagnosis.services, diagnosis.unit),
    ]
    more = len(diagnosis.suspects) - len(shown)
    if more:
        tiny = sum(suspect.tiny for suspect in diagnosis.suspects)
        limit = _amount(diagnosis.minimum_self_ms, diagnosis.unit)
        blocks.insert(
            2, f"and {counted(more, 'more method')}, {tiny:,} of them below {limit} per call of every service"
        )
    blocks += [block for block in (_unused(diagnosis),) if block]
    return "\n\n".join(blocks) + "\n"


def _headline(diagnosis: Diagnosis) -> str:
    reading = diagnosis.reading
    calls = sum(service.all_calls for service in diagnosis.services)
    return (
        f"{counted(calls, 'call')} of {counted(len(diagnosis.services), 'service')}, "
        f"{counted(len(diagnosis.suspects), 'method')}, {counted(reading.lines, 'line')}"
    )


def _suspects(suspects: Sequence[MethodSuspect], unit: str) -> str:
    header = (
        "rank",
        "score",
        "self time" if unit == "ms" else f"self {_plain(unit, limit=20)}",
        "per execution",
        "executions",
        "services",
        "method",
    )
    rows = [
        (
            str(rank),
            f"{suspect.score:.4f}",
            _amount(suspect.self_ms, unit),
            _amount(suspect.self_ms_per_execution, unit),
            f"{suspect.calls:,}",
            str(len(suspect.services)),
            _plain(suspect.method) + (" (tiny)" if suspect.tiny else ""),
        )
        for rank, suspect in enumerate(suspects, 1)
    ]
    return "\n".join(["Suspects", *columns([header, *rows], right=range(6))])


def _impacts(suspects: Sequence[MethodSuspect]) -> str:
    parts = [
        "\n".join([f"{rank}. {_plain(suspect.method)}", *_bars(suspect.services[:SHOWN_SERVICES])])
        for rank, suspect in enumerate(suspects, 1)
    ]
    return "Services to test again (█ own time, ░ what it calls)\n" + "\n".join(parts)


def _bars(impacts: Sequence[ImpactedService]) -> list[str]:
    rows = [
        (
            blocks(impact.self_share, impact.children_share, width=BAR_WIDTH),
            percent(impact.self_share),
            percent(impact.children_share),
            _plain(impact.service),
        )
        for impact in impacts
    ]
    return columns(rows, right=(1, 2), indent="   ")


def _services(services: Sequence[ServiceStatistics], unit: str) -> str:
    header = ("calls", "mean", "SD", "min", "max", "calls/s", "slowest", "service")
    rows = [
        (
            f"{service.calls:,}",
            *(
                _amount(value, unit)
                for value in (service.mean_ms, service.standard_deviation_ms, service.min_ms, service.max_ms)
            ),
            _throughput(service),
            ", ".join(map(_slow_call, service.slowest[:SHOWN_SLOW_CALLS])) or "n/a",
            _plain(service.service),
        )
        for service in services[:SHOWN_SERVICES]
    ]
    more = len(services) - len(rows)
    lines = ["Services", *columns([header, *rows], right=range(6))]
    return "\n".join([*lines, f"and {more:,} more: see the JSON"] if more else lines)


def _throughput(service: ServiceStatistics) -> str:
    """The lowest and the highest; the first and the last window may hold less than their width."""
    inner = service.windows[1:-1] or service.windows
    if not inner:
        return "n/a"
    rates = [window.calls_per_s for window in inner]
    low, high = significant(min(rates)), significant(max(rates))
    return low if low == high else f"{low}–{high}"  # noqa: RUF001 - a range of numbers takes an en dash


def _slow_call(slow: SlowCall) -> str:
    at = "" if slow.time_s is None else f" at {datetime.fromtimestamp(slow.time_s, UTC):%H:%M:%S}"
    return _plain(slow.call, limit=24) + at


def _unused(diagnosis: Diagnosis) -> str:
    reading = diagnosis.reading
    lines = [f"- {counted(count, 'line')}: {FAULTS[fault]}" for fault, count in reading.unused.items()]
    lines += [
        f"  {f'line {example.line:,}' if example.line else 'seen as'}: {_plain(example.text)}"
        for example in reading.examples
    ]
    if reading.headless_calls:
        lines.append(f"- {counted(reading.headless_calls, 'call')} without a logged root: in trees, not in statistics")
    if reading.rare_paths:
        paths = counted(reading.rare_paths, "rare path")
        lines.append(f"- {paths} given up for their number; their methods count, without what they call")
    if reading.cut_calls:
        lines.append(f"- {counted(reading.cut_calls, 'call')} too long to be held whole: cut in pieces")
    lines += [f"- a file ends too early or is damaged: {_plain(name)}" for name in reading.truncated_files]
    return "Not used\n" + "\n".join(lines) if lines else ""


def _amount(amount: float, unit: str) -> str:
    (quantity,) = quantities((amount,), unit)
    return amount_text(quantity)


# Compared call trees for a terminal: suspects with why, the path to the first, services to test again.

SHOWN_NAMES: Final = 10
SHOWN_SHARES: Final = 5
BASES: Final = {
    Basis.SAMPLES: "repetitions were tested",
    Basis.COUNTS: "counted samples were tested",
    Basis.TOTALS: "totals only: no certainty",
}
ANSWERS: Final = {Answer.SLOWER: "slower", Answer.NOT_SLOWER: "nothing got slower", Answer.UNDECIDED: "undecided"}
# Less is worth a word.
FULLY_ALIGNED: Final = 0.99
FULLY_OWN: Final = 0.99
# Why a method is a suspect.
REASONS: Final = {
    SuspectReason.PATH_END: "the path of slower methods ends here",
    SuspectReason.OWN_TIME: "its own code takes longer",
    SuspectReason.ORIGIN: "the slowdown begins here",
    SuspectReason.CHANGED_CALLS: "calls other methods than before",
    SuspectReason.CALLS_MORE_OFTEN: "calls a method more often",
    SuspectReason.ADDED: "new, called by a slower method",
    SuspectReason.TOUCHED: "the commit changed it",
    SuspectReason.CALLS_TOUCHED: "calls what the commit changed",
}
# Where another reason holds it says nothing more.
_IMPLIED: Final = frozenset({SuspectReason.PATH_END})
CAUSES: Final = {
    ChangeCause.MORE_CALLS: "called more often",
    ChangeCause.TIME_PER_CALL: "longer per call",
    ChangeCause.BOTH: "more calls, and longer ones",
}


def tree_comparison_text(comparison: TreeComparison, *, top: int = 20) -> str:
    """For a terminal; foreign control characters never reach it, and no line starts with foreign text."""
    suspects = shown_suspects(comparison)
    blocks = [headline(comparison), "Services\n" + "\n".join(answers(comparison))]
    if suspects:
        title = "Suspects" if comparison.answer is Answer.SLOWER else "What gained most, without certainty"
        blocks.append(f"{title}\n" + "\n".join(_suspect(rank, one) for rank, one in enumerate(suspects[:top], 1)))
        if len(suspects) > top:
            blocks.append(f"and {counted(len(suspects) - top, 'more suspect')}: see the JSON")
        blocks.append("Path to the first\n   " + " → ".join(_plain(name, limit=60) for name in suspects[0].path))
    if comparison.impacted:
        blocks.append("Services to test again\n" + "\n".join(_impact(comparison)))
    blocks += [
        f"{title}: " + listed([_plain(name, limit=60) for name in names], most=SHOWN_NAMES)
        for title, names in added_or_removed(comparison).items()
    ]
    if comparison.notes:
        notes = (f"- {_plain(sentence(note), limit=SENTENCE_LIMIT)}" for note in comparison.notes)
        blocks.append("\n".join(["Notes", *notes]))
    return "\n\n".join(blocks) + "\n"


def added_or_removed(comparison: TreeComparison) -> dict[str, tuple[str, ...]]:
    """Names by title, where there are some."""
    by_title = {
        "Methods added": comparison.added_methods,
        "Methods removed": comparison.removed_methods,
        "Services added": comparison.added_services,
        "Services removed": comparison.removed_services,
    }
    return {title: names for title, names in by_title.items() if names}


def shown_suspects(comparison: TreeComparison) -> tuple[ComparedSuspect, ...]:
    """Without methods that only lie on the way to a suspect: those are in the tree."""
    return tuple(one for one in comparison.suspects if one.reasons)


def headline(comparison: TreeComparison) -> str:
    """In our own words, numbers and a hash."""
    suspects = shown_suspects(comparison)
    basis = "; ".join(BASES[basis] for basis in Basis if basis in {one.basis for one in comparison.services})
    compared = f"{counted(len(comparison.services), 'service')} compared: {basis}"
    if comparison.answer is Answer.NOT_SLOWER:
        visible = percent(max(one.visible or 0.0 for one in comparison.services))
        return f"Nothing got slower; a method that takes {visible} of the whole more would have been seen, {compared}"
    if comparison.answer is Answer.UNDECIDED:
        slower = f"; {counted(len(suspects), 'method')} may be slower" if suspects else ""
        return f"Undecided{slower}, {compared}"
    touched = f", {sum(one.touched is not None for one in suspects)} of them changed by the commit"
    commit = f" ({_plain(comparison.commit)[:SHORT_HASH]})" if comparison.commit else ""
    listed = counted(len(suspects), "suspect")
    return f"{listed}{touched if comparison.touched is not None else ''}{commit}, {compared}"


def answers(comparison: TreeComparison) -> Iterator[str]:
    """A line per service: both totals, the answer, and why it is undecided."""
    for one in comparison.services[:SHOWN_SERVICES]:
        yield f" - {_plain(one.service, limit=60)}: {answer_words(one)}"
        for doubt in one.doubts:
            yield f"      {_plain(sentence(doubt), limit=SENTENCE_LIMIT)}"
    if len(comparison.services) > SHOWN_SERVICES:
        yield f"   and {len(comparison.services) - SHOWN_SERVICES:,} more: see the JSON"


def answer_markdown(one: ServiceComparison) -> Safe:
    return join("; ", [Safe(answer_words(one)), *map(sentence_markdown, one.doubts)])


def answer_words(one: ServiceComparison) -> str:
    sides = (NodeAmount(elapsed=total, self_time=0.0) for total in (one.baseline_total, one.target_total))
    unit = "samples" if one.unit == "share" else one.unit
    totals = ""
    # Shares without a count of samples add up to 1 on both sides.
    if unit == one.unit or max(one.baseline_total, one.target_total) > 1.5:
        before, after = amounts(next(sides), next(sides), unit, own=False)
        grown = one.target_total / one.baseline_total - 1 if one.baseline_total > 0 else None
        counts = " samples" if unit == "samples" else ""
        totals = f"{before} → {after}{counts}{f' ({percent(grown, signed=True)})' if grown is not None else ''}, "
    words = ANSWERS[one.answer]
    if one.answer is Answer.NOT_SLOWER and one.visible is not None:
        words += f"; {percent(one.visible)} of the whole would have been seen"
    if one.aligned < FULLY_ALIGNED:
        words += f"; {percent(one.aligned)} of the time is in methods of both revisions"
    return totals + words


def amounts(before: NodeAmount | None, after: NodeAmount | None, unit: str, *, own: bool) -> tuple[str, str]:
    """Both sides in one unit; a foreign unit is left to the reader. An en dash for a side that is not there."""
    sides = [None if side is None else (side.self_time if own else side.elapsed) for side in (before, after)]
    present = tuple(max(0.0, side) for side in sides if side is not None)
    if unit == "share":
        shown = iter([percent(side) for side in present])
    else:
        shown = iter(
            amount_text(quantity) if quantity.is_own else quantity.number for quantity in quantities(present, unit)
        )
    first, second = (next(shown) if side is not None else "\N{EN DASH}" for side in sides)
    return first, second


def calls(before: NodeAmount | None, after: NodeAmount | None) -> str:
    sides = [side.calls if side is not None else None for side in (before, after)]
    if None in sides:
        return "\N{EN DASH}"
    first, second = (count(number or 0.0) for number in sides)
    return first if first == second else f"{first} → {second}"


def count(number: float) -> str:
    """Calls per repetition; a whole number where it is one."""
    return f"{number:,.0f}" if number % 1 == 0 and number < 1e6 else significant(number)


def change(suspect: ComparedSuspect) -> str:
    if suspect.baseline is None:
        return "new"
    return percent(suspect.relative_change, signed=True) if suspect.relative_change is not None else "from 0"


def own_change(before: NodeAmount | None, after: NodeAmount | None) -> str | None:
    """Of the time without callees; None where there are none, or where one side took no time of its own."""
    if before is None or after is None or before.self_time <= 0:
        return None
    if all(side.self_time > FULLY_OWN * side.elapsed for side in (before, after)):
        return None
    return percent(after.self_time / before.self_time - 1, signed=True)


def certainty(suspect: ComparedSuspect) -> str:
    return q_text(suspect.q_value) if suspect.q_value is not None else "no certainty"


def why(suspect: ComparedSuspect) -> str:
    reasons = [reason for reason in suspect.reasons if reason not in _IMPLIED]
    words = [REASONS[reason] for reason in reasons or suspect.reasons]
    if suspect.cause is not None:
        words.append(CAUSES[suspect.cause])
    return "; ".join(words)


def _suspect(rank: int, suspect: ComparedSuspect) -> str:
    own = " → ".join(amounts(suspect.baseline, suspect.target, suspect.unit, own=True))
    whole = " → ".join(amounts(suspect.baseline, suspect.target, suspect.unit, own=False))
    parts = suspect.parts
    score = (
        f"score {suspect.score:.2f}: of the slowdown, own time {percent(parts.own_time)}, begins here "
        f"{percent(parts.origin)}, branches here {percent(parts.branch)}, with callees {percent(parts.slowdown)}; "
        f"touched {parts.touched:g}"
    )
    lines = [
        f"{rank}. {_plain(suspect.method)}  {change(suspect)}, {certainty(suspect)}",
        f"   own time {own}, with callees {whole}, calls {calls(suspect.baseline, suspect.target)}",
        f"   {score}",
    ]
    if why(suspect):
        lines.append(f"   why: {why(suspect)}")
    if suspect.touched is not None:
        place = "" if suspect.touched.first_line is None else f":{suspect.touched.first_line}"
        sure = suspect.touched.certainty.value.replace("_", " ")
        lines.append(f"   changed: {_plain(suspect.touched.file)}{place} (matched by {sure})")
    if suspect.services:
        shares = [f"{_plain(one.service, limit=40)} {percent(one.self_share)}" for one in suspect.services]
        lines.append(f"   own time in: {listed(shares, most=SHOWN_SHARES)}")
    return "\n".join(lines)


def _impact(comparison: TreeComparison) -> Iterator[str]:
    shown = comparison.impacted[:SHOWN_SERVICES]
    rows = [(blocks(one.share, width=BAR_WIDTH), percent(one.share), _plain(one.service)) for one in shown]
    yield from columns(rows, right=(1,), indent="   ")
    if len(comparison.impacted) > SHOWN_SERVICES:
        yield f"   and {len(comparison.impacted) - SHOWN_SERVICES:,} more: see the JSON"
