"""Suspects of all services in one order: how much of the slowdown is theirs, why the search stopped, who touched them.

docs/diagnosis.md explains the score in words.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.diagnose.changed import match_caller, match_method
from bot.diagnose.comparison.align import AlignedTree, change
from bot.diagnose.comparison.evidence import Evidence, evidence, is_foreign, own_caller
from bot.diagnose.comparison.methods import Method, is_standard
from bot.diagnose.comparison.observed import ObservedNode
from bot.diagnose.comparison.search import NOTABLE, JudgedMethod, Searched
from bot.model.call_tree import ImpactedService
from bot.model.touched import Certainty, ChangeKind, MethodMatch, Touched, TouchedFunction
from bot.model.tree_comparison import ChangeCause, ComparedSuspect, NodeAmount, ScoreParts, SuspectReason, TouchedCode

# Weights of the score's parts; they add up to 1 *(choice)*.
WEIGHTS: Final = {"origin": 0.3, "touched": 0.3, "own_time": 0.2, "branch": 0.1, "slowdown": 0.1}

# Of the slowdown: with less behind it, that the commit touched a method is no evidence.
EVIDENT: Final = 0.1
# Of a method's gain with callees: what no single method below it explains.
EXPLAINED: Final = 0.5
# Of the slowdown: what begins in a method.
ORIGIN: Final = 0.25
# How much a match of names counts as "the commit changed it".
_TOUCHED: Final = {
    Certainty.FILE_AND_LINE: 1.0,
    Certainty.QUALIFIED_NAME: 1.0,
    Certainty.BARE_NAME: 0.5,
    Certainty.FILE: 0.25,
}
OF_THE_COMMIT: Final = frozenset({SuspectReason.TOUCHED, SuspectReason.CALLS_TOUCHED})


@dataclass(kw_only=True, slots=True)
class _Method:
    """One method's evidence per searched service, and its paths there."""

    places: dict[int, tuple[int, ...]] = field(default_factory=dict)
    evidence: dict[int, Evidence] = field(default_factory=dict)
    judged: dict[int, JudgedMethod] = field(default_factory=dict)


def rank(
    searched: Sequence[Searched],
    *,
    touched: Touched | None,
    impact: dict[str, tuple[ImpactedService, ...]],
    uncertain: Collection[int] = (),
) -> tuple[ComparedSuspect, ...]:
    """Every method that is slower, the highest score first; ties by what it gained, then by name.

    What the commit touched comes first, unless hardly any of the slowdown is in and below it: what shows there before
    what only lies above, and before what calls it by name. `uncertain`:
    numbers of services whose whole got slower though no method did for sure; there what gained most is listed.
    """
    methods: dict[str, _Method] = {}
    for number, one in enumerate(searched):
        by_name = evidence(one)
        callers = _callers_of_foreign(one)
        for judged in one.methods:
            method, places = judged.method, judged.method.places
            added = any(SuspectReason.ADDED in one.judged[i].reasons for i in places)
            calls_others = method.name in callers or any(one.judged[i].changed_calls for i in places)
            if (
                judged.own_is_slower
                or judged.is_slower
                or added
                or (calls_others and by_name[method.name].origin >= ORIGIN * one.slowdown > 0)
                or (number in uncertain and by_name[method.name].total >= EVIDENT * one.slowdown > 0)
            ):
                entry = methods.setdefault(method.name, _Method())
                entry.places[number], entry.judged[number] = places, judged
                entry.evidence[number] = by_name[method.name]
    slowed = {number for method in methods.values() for number in method.places if searched[number].slowdown > 0}
    suspects = [
        _suspect(name, method, searched, services=len(slowed), touched=touched, impact=impact.get(name, ()))
        for name, method in methods.items()
    ]
    return tuple(sorted(suspects, key=_order))


def _callers_of_foreign(one: Searched) -> set[str]:
    """Methods of the program that call one which got slower and which no commit of it can have changed."""
    nodes = one.tree.nodes
    slower = (judged.method.places for judged in one.methods if judged.own_is_slower or judged.is_slower)
    return {nodes[own_caller(nodes, i)].method for places in slower for i in places if is_foreign(nodes[i])}


def _order(suspect: ComparedSuspect) -> tuple[int, bool, float, float, float, str]:
    parts = suspect.parts
    is_touched = parts.touched >= _TOUCHED[Certainty.BARE_NAME]
    shows_there = any(reason not in OF_THE_COMMIT for reason in suspect.reasons)
    steps = (is_touched and shows_there, is_touched or SuspectReason.CALLS_TOUCHED in suspect.reasons, True)
    step = steps.index(True) if parts.slowdown >= EVIDENT else len(steps) - 1
    return step, is_standard(suspect.file), -suspect.score, -parts.own_time, -parts.slowdown, suspect.method


def _suspect(
    name: str,
    method: _Method,
    searched: Sequence[Searched],
    *,
    services: int,
    touched: Touched | None,
    impact: tuple[ImpactedService, ...],
) -> ComparedSuspect:
    shares = {name: _mean_share(method, searched, services, of=name) for name in ("own", "origin", "branch", "total")}
    judged = [searched[number].judged[i] for number, places in method.places.items() for i in places]
    reasons = {reason for one in judged for reason in one.reasons}
    own_is_slower = any(one.own_is_slower for one in method.judged.values())
    is_slower = any(one.is_slower for one in method.judged.values())
    if (own_is_slower or not is_slower) and shares["own"] >= NOTABLE * shares["total"]:
        reasons.add(SuspectReason.OWN_TIME)
    if (is_slower or not own_is_slower) and shares["branch"] >= EXPLAINED * shares["total"] > 0:
        reasons.add(SuspectReason.PATH_END)
    if shares["origin"] >= ORIGIN:
        reasons.add(SuspectReason.ORIGIN)
        if any(one.changed_calls for one in judged):
            reasons.add(SuspectReason.CHANGED_CALLS)
    match = None
    if touched is not None:
        file, line = _place(method, searched)
        match = match_method(name, touched=touched, file=file, line=line)
        if match is not None:
            reasons.add(SuspectReason.TOUCHED)
        elif reasons and match_caller(name, touched=touched, file=file, line=line):
            reasons.add(SuspectReason.CALLS_TOUCHED)
    parts = ScoreParts(
        own_time=shares["own"],
        origin=shares["origin"],
        branch=shares["branch"],
        slowdown=shares["total"],
        touched=_TOUCHED[match.certainty] if match is not None else 0.0,
    )
    number = max(method.places, key=lambda number: (method.evidence[number].total, -number))
    one, places = searched[number], method.places[number]
    worst = max(places, key=lambda i: (float(one.gains[i]), -i))
    sides = [_summed(one.tree, method.judged[number].method, target=target) for target in (False, True)]
    described = one.tree.nodes[worst].side
    return ComparedSuspect(
        method=name,
        score=sum(weight * getattr(parts, part) for part, weight in WEIGHTS.items()),
        parts=parts,
        reasons=tuple(reason for reason in SuspectReason if reason in reasons),
        service=one.tree.target.service,
        unit=one.tree.target.unit,
        path=one.tree.path(worst),
        baseline=sides[0],
        target=sides[1],
        relative_change=change(*sides),
        q_value=_q_value(method.judged[number]),
        cause=_common_cause([one.judged[i].cause for i in places]),
        services=impact,
        touched=_code(match, described),
        file=described.file,
        line=described.line,
    )


def _place(method: _Method, searched: Sequence[Searched]) -> tuple[str | None, int | None]:
    """In the target's source, which the head's lines speak of."""
    nodes = (searched[number].tree.nodes[i].target for number, places in method.places.items() for i in places)
    node = next((node for node in nodes if node is not None), None)
    return (None, None) if node is None else (node.file, node.line)


def _code(match: MethodMatch | None, node: ObservedNode) -> TouchedCode | None:
    if match is None:
        return None
    if not match.functions:
        return TouchedCode(file=match.path, name="", certainty=match.certainty)
    function = min(match.functions, key=lambda one: _distance(one, node.line))
    return TouchedCode(
        file=function.path,
        name=function.qualified_name,
        certainty=match.certainty,
        first_line=None if function.kind is ChangeKind.DELETED else function.changed_line or function.first_line,
        last_line=None if function.kind is ChangeKind.DELETED else function.last_line,
    )


def _distance(function: TouchedFunction, line: int | None) -> tuple[int, int]:
    return (abs(function.first_line - line) if line is not None else 0, function.first_line)


def _mean_share(method: _Method, searched: Sequence[Searched], services: int, *, of: str) -> float:
    """Of the slowdown, the mean over the services that got slower, where a service without the method counts 0."""
    shares = [
        min(1.0, max(0.0, getattr(proof, of) / searched[number].slowdown))
        for number, proof in method.evidence.items()
        if searched[number].slowdown > 0
    ]
    return sum(shares) / services if services else 0.0


def _q_value(judged: JudgedMethod) -> float | None:
    """Of what made it a suspect: the smaller one of those that did."""
    sure = [
        value
        for value, is_slower in ((judged.self_q_value, judged.own_is_slower), (judged.q_value, judged.is_slower))
        if is_slower and value is not None
    ]
    return min(sure, default=None)


def _summed(tree: AlignedTree, method: Method, *, target: bool) -> NodeAmount | None:
    places, top = method.places, set(method.outermost)
    sides = [(i, tree.nodes[i].target if target else tree.nodes[i].baseline) for i in places]
    present = [(i, side) for i, side in sides if side is not None]
    if not present:
        return None
    calls = [side.calls for _, side in present]
    return NodeAmount(
        elapsed=sum(side.elapsed.mean for i, side in present if i in top),
        self_time=max(0.0, sum(side.own.mean for _, side in present)),
        calls=None if None in calls else sum(number for number in calls if number is not None),
    )


def _common_cause(causes: Sequence[ChangeCause | None]) -> ChangeCause | None:
    distinct = {cause for cause in causes if cause is not None}
    if len(distinct) > 1:
        return ChangeCause.BOTH
    return distinct.pop() if distinct else None
