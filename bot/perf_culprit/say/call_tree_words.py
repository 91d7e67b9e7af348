"""Words for compared call trees: changes of methods and services, their certainty and their reasons. No names."""

from collections.abc import Sequence
from typing import Final

from perf_culprit.model.notable_calls import shown_suspects
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
from perf_culprit.say.certainty_words import UNDECIDED
from perf_culprit.say.inert import SHORT_HASH, plain
from perf_culprit.say.numbers import amount_text, count_of, percent, percent_at_least, q_text, quantities, significant

BASES: Final = {
    Basis.SAMPLES: "repetitions were tested",
    Basis.COUNTS: "counted samples were tested",
    Basis.TOTALS: "totals only: no certainty",
}
# Nothing is said of a whole: only methods are tested, and others may make up for a slower one.
ANSWERS: Final = {Answer.SLOWER: "a method in it got slower", Answer.UNDECIDED: UNDECIDED}
# What "not slower" leaves at most, even if a file does not say how much.
TENTH: Final = 0.1
# Smaller values are mentioned.
FULLY_ALIGNED: Final = 0.99
FULLY_OWN: Final = 0.99
# A factor that most methods share: smaller ones are differences between medians of good runs.
_COMMON_FACTOR: Final = 1.05
REASONS: Final = {
    SuspectReason.PATH_END: "the path of slower methods ends here",
    SuspectReason.OWN_TIME: "its own code takes longer",
    SuspectReason.ORIGIN: "the slowdown begins here",
    SuspectReason.CHANGED_CALLS: "calls other methods than before",
    SuspectReason.CALLS_MORE_OFTEN: "calls a method more often",
    SuspectReason.ADDED: "on a path that was {before}, below a slower method",
    SuspectReason.TOUCHED: "the commit changed it",
    SuspectReason.CALLS_TOUCHED: "calls what the commit changed",
}
# Redundant if another reason holds.
_IMPLIED: Final = frozenset({SuspectReason.PATH_END})
_SLOWER: Final = frozenset({SuspectReason.PATH_END, SuspectReason.OWN_TIME, SuspectReason.ORIGIN})
CAUSES: Final = {
    ChangeCause.MORE_CALLS: "called more often",
    ChangeCause.TIME_PER_CALL: "longer per call",
    ChangeCause.BOTH: "more calls, and longer ones",
}
# Above this, percentages are hard to read.
MANY_TIMES: Final = 9.0


def tree_headline(comparison: TreeComparison) -> str:
    """Return the headline, made of our own words, numbers and a hash."""
    suspects = shown_suspects(comparison)
    basis = "; ".join(BASES[basis] for basis in Basis if basis in {service.basis for service in comparison.services})
    compared = f"{count_of(len(comparison.services), 'service')} compared: {basis}"
    if comparison.answer is Answer.NOT_SLOWER:
        return f"No {bound(comparison.services)}, {compared}"
    if comparison.answer is Answer.UNDECIDED:
        slower = f"; {count_of(len(suspects), 'method')} may be slower" if suspects else ""
        return f"Undecided{slower}, {compared}"
    by = "in between" if comparison.commit is None else "by the commit"
    count = sum(suspect.touched is not None for suspect in suspects)
    touched = f", {count or 'none'} of them changed {by}"
    if not count and (above := _changed_callers(comparison)):
        touched += f", but {count_of(len(above), 'method')} that {'calls' if len(above) == 1 else 'call'} them"
    commit = f" ({plain(comparison.commit)[:SHORT_HASH]})" if comparison.commit else ""
    listed = count_of(len(suspects), "suspect")
    return f"{listed}{touched if comparison.touched is not None else ''}{commit}, {compared}"


def _changed_callers(comparison: TreeComparison) -> set[str]:
    return comparison.touched_methods.keys() & {
        name for suspect in shown_suspects(comparison) for name in suspect.path[:-1]
    }


def unseen(side: NodeAmount | None, *, after: bool = False) -> str:
    """Return what is known of a method in one revision only. Whether the source has it is another question."""
    verb = "sampled" if side is None or side.calls is None else "called"
    return f"no longer {verb}" if after else f"not {verb} before"


def bound(services: Sequence[ServiceComparison]) -> str:
    """Return words like "method takes 7% of the whole more": the most that any method of them may have gained."""
    most = percent_at_least(max(service.visible or TENTH for service in services))
    shared = max(1.0 if service.unit == "share" else service.common_factor or 1.0 for service in services)
    beyond = (
        f" beyond the {percent(shared - 1)} that most methods share and runs differ by"
        if shared >= _COMMON_FACTOR
        else ""
    )
    return f"method takes {most} of {'the whole' if len(services) == 1 else 'its service'} more{beyond}"


def answer_words(comparison: ServiceComparison) -> str:
    sides = (NodeAmount(elapsed=total, self_time=0.0) for total in (comparison.baseline_total, comparison.target_total))
    unit = "samples" if comparison.unit == "share" else comparison.unit
    totals = ""
    # Shares without a count of samples add up to 1 on both sides.
    if unit == comparison.unit or max(comparison.baseline_total, comparison.target_total) > 1.5:
        both = before_to_after(next(sides), next(sides), unit, own=False)
        counts = " samples" if unit == "samples" else ""
        before, after = comparison.baseline_total, comparison.target_total
        change = f" ({percent(after / before - 1, signed=True)})" if before > 0 else ""
        totals = f"{both}{counts}{change}, "
    words = f"no {bound([comparison])}" if comparison.answer is Answer.NOT_SLOWER else ANSWERS[comparison.answer]
    if comparison.answer is Answer.SLOWER and totals and comparison.target_total <= comparison.baseline_total:
        words = f"but {words}"
    if comparison.aligned < FULLY_ALIGNED:
        words += f"; {percent(comparison.aligned)} of the time is in methods of both revisions"
    return totals + words


def amounts(before: NodeAmount | None, after: NodeAmount | None, unit: str, *, own: bool) -> tuple[str, str]:
    """Return both sides in one unit. A foreign unit stays unnamed; a missing side is an en dash."""
    sides = [None if side is None else (side.self_time if own else side.elapsed) for side in (before, after)]
    present = tuple(max(0.0, side) for side in sides if side is not None)
    if unit == "share":
        texts = iter([percent(side) for side in present])
    else:
        texts = iter(
            amount_text(quantity) if quantity.is_own else quantity.number for quantity in quantities(present, unit)
        )
    first, second = (next(texts) if side is not None else "\N{EN DASH}" for side in sides)
    return first, second


def before_to_after(before: NodeAmount | None, after: NodeAmount | None, unit: str, *, own: bool) -> str:
    """Return both sides, with their unit once."""
    first, second = amounts(before, after, unit, own=own)
    _, space, name = second.partition(" ")
    return f"{first.removesuffix(space + name)} → {second}"


def calls(before: NodeAmount | None, after: NodeAmount | None) -> str:
    sides = [side.calls if side is not None else None for side in (before, after)]
    if None in sides:
        return "\N{EN DASH}"
    first, second = (call_count(number or 0.0) for number in sides)
    return first if first == second else f"{first} → {second}"


def call_count(number: float) -> str:
    """Return the number of calls per repetition, as a whole number if it is one."""
    return f"{number:,.0f}" if number % 1 == 0 and number < 1e6 else significant(number)


def suspect_change(suspect: ComparedSuspect) -> str:
    if suspect.baseline is None:
        return unseen(suspect.target)
    return grown(suspect.relative_change) if suspect.relative_change is not None else "from 0"


def grown(relative: float) -> str:
    return (
        f"{significant(1 + relative)}\N{MULTIPLICATION SIGN}"
        if relative >= MANY_TIMES
        else percent(relative, signed=True)
    )


def own_change(before: NodeAmount | None, after: NodeAmount | None) -> str | None:
    """Return the change of own time. None without callees, in one revision only, or if there was no own time before."""
    if before is None or after is None or before.self_time <= 0:
        return None
    if all(side.self_time > FULLY_OWN * side.elapsed for side in (before, after)):
        return None
    return grown(after.self_time / before.self_time - 1)


def suspect_certainty(suspect: ComparedSuspect) -> str:
    return q_text(suspect.q_value) if suspect.q_value is not None else "no certainty"


def _is_less(suspect: ComparedSuspect) -> bool:
    return suspect.relative_change is not None and suspect.relative_change < 0


def _own_is_less(suspect: ComparedSuspect) -> bool:
    before, after = suspect.baseline, suspect.target
    return before is not None and after is not None and after.self_time < before.self_time


def begins_to_call(comparison: TreeComparison, suspect: ComparedSuspect) -> tuple[str, ...]:
    """Return the new callees of a method in both revisions where its service got slower, the longest first."""
    nodes = next((service.nodes for service in comparison.services if service.service == suspect.service), ())
    new = [
        (node.target.elapsed, node.method)
        for node in nodes
        if SuspectReason.ADDED in node.reasons and node.target is not None and node.parent is not None
        if (caller := nodes[node.parent]).method == suspect.method and caller.baseline is not None
    ]
    return tuple(dict.fromkeys(name for _, name in sorted(new, reverse=True)))


def why(suspect: ComparedSuspect, *, begins: bool = False) -> str:
    """Return the reasons, except slowness of a method that got faster. `begins`: its new callees are named too."""
    implied = _IMPLIED | ({SuspectReason.CHANGED_CALLS} if begins else set())
    reasons = [reason for reason in suspect.reasons if reason not in implied]
    less = _SLOWER if _is_less(suspect) else {SuspectReason.OWN_TIME} if _own_is_less(suspect) else frozenset()
    before = unseen(suspect.target)
    words = [REASONS[reason].format(before=before) for reason in reasons or suspect.reasons if reason not in less]
    if suspect.cause is not None and not _is_less(suspect):
        words.append(CAUSES[suspect.cause])
    return "; ".join(words)


def suspect_effect(suspect: ComparedSuspect) -> str:
    if suspect.baseline is None:
        return f"was {unseen(suspect.target)}"
    if suspect.relative_change is None:
        return "got slower"
    size = percent(abs(suspect.relative_change))
    own = own_change(suspect.baseline, suspect.target)
    callees = "" if own is None else f" with callees, own time {own}"
    if suspect.unit == "share":
        return f"takes a {size} larger share of the time{callees}"
    if suspect.relative_change >= MANY_TIMES:
        return f"takes {significant(1 + suspect.relative_change)} times as long{callees}"
    return f"takes {size} {'longer' if suspect.relative_change >= 0 else 'less time'}{callees}"
