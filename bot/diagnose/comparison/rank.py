"""Suspects of all services in one order: how much of the slowdown is theirs, why the search stopped, who touched them.

docs/diagnosis.md explains the score in words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from bot.diagnose.changed import match_method
from bot.diagnose.comparison.align import AlignedNode, AlignedTree, relative
from bot.diagnose.comparison.observed import SHARE, ObservedNode
from bot.diagnose.comparison.search import Judged
from bot.model.call_tree import ImpactedService
from bot.model.touched import Certainty, ChangeKind, MethodMatch, Touched, TouchedFunction
from bot.model.tree_comparison import (
    ChangeCause,
    ComparedSuspect,
    NodeAmount,
    NodeState,
    ScoreParts,
    SuspectReason,
    TouchedCode,
)

# Weights of the score's parts; they add up to 1. What a method itself costs more is the best evidence there is, that
# the commit changed it the second best *(choice)*.
OWN_TIME_WEIGHT: Final = 0.4
TOUCHED_WEIGHT: Final = 0.3
PLACE_WEIGHT: Final = 0.2
SLOWDOWN_WEIGHT: Final = 0.1

# How much a match of names counts as "the commit changed it".
_TOUCHED: Final = {
    Certainty.FILE_AND_LINE: 1.0,
    Certainty.QUALIFIED_NAME: 1.0,
    Certainty.BARE_NAME: 0.5,
    Certainty.FILE: 0.25,
}
_STATES: Final = (NodeState.SLOWER, NodeState.ADDED)


@dataclass(frozen=True, kw_only=True, slots=True)
class Searched:
    tree: AlignedTree
    judged: Sequence[Judged]

    @property
    def slowdown(self) -> float:
        """What the service gained. Of shares, which cannot gain as a whole, what its paths from the root gained."""
        tree = self.tree
        if tree.target.unit != SHARE:
            return max(0.0, tree.target.total - tree.baseline.total)
        below = {child for root in tree.roots for child in tree.nodes[root].children}
        return sum(max(0.0, tree.nodes[i].gain) for i in below) + sum(
            max(0.0, tree.nodes[root].own_gain) for root in tree.roots
        )


@dataclass(kw_only=True, slots=True)
class _Method:
    """One method's slower paths, per searched service."""

    places: dict[int, list[int]] = field(default_factory=dict)


def rank(
    searched: Sequence[Searched], *, touched: Touched | None, impact: dict[str, tuple[ImpactedService, ...]]
) -> tuple[ComparedSuspect, ...]:
    """Every method with a slower or an added path, the highest score first; ties by what it gained, then by name."""
    methods: dict[str, _Method] = {}
    for number, one in enumerate(searched):
        for i, (node, judged) in enumerate(zip(one.tree.nodes, one.judged, strict=True)):
            if judged.state is NodeState.SLOWER or (judged.state is NodeState.ADDED and judged.is_real):
                methods.setdefault(node.method, _Method()).places.setdefault(number, []).append(i)
    slowed = [one for one in searched if one.slowdown > 0 and any(judged.state in _STATES for judged in one.judged)]
    suspects = [
        _suspect(name, method, searched, services=len(slowed), touched=touched, impact=impact.get(name, ()))
        for name, method in methods.items()
    ]
    return tuple(sorted(suspects, key=lambda one: (-one.score, -one.parts.own_time, -one.parts.slowdown, one.method)))


def _suspect(
    name: str,
    method: _Method,
    searched: Sequence[Searched],
    *,
    services: int,
    touched: Touched | None,
    impact: tuple[ImpactedService, ...],
) -> ComparedSuspect:
    judged = [searched[number].judged[i] for number, places in method.places.items() for i in places]
    found = {reason for one in judged for reason in one.reasons}
    match = _match(name, method, searched, touched)
    if match is not None:
        found.add(SuspectReason.TOUCHED)
    reasons = tuple(reason for reason in SuspectReason if reason in found)
    parts = ScoreParts(
        own_time=_mean_share(method, searched, services, own=True),
        slowdown=_mean_share(method, searched, services, own=False),
        place=float(any(reason is not SuspectReason.TOUCHED for reason in reasons)),
        touched=_TOUCHED[match.certainty] if match is not None else 0.0,
    )
    number = max(method.places, key=lambda number: (_gain(searched[number].tree, method.places[number]), -number))
    one, places = searched[number], method.places[number]
    worst = max(places, key=lambda i: (one.tree.nodes[i].gain, -i))
    sides = [_summed(one.tree, places, target=target) for target in (False, True)]
    described = _described(one.tree.nodes[worst])
    return ComparedSuspect(
        method=name,
        score=OWN_TIME_WEIGHT * parts.own_time
        + TOUCHED_WEIGHT * parts.touched
        + PLACE_WEIGHT * parts.place
        + SLOWDOWN_WEIGHT * parts.slowdown,
        parts=parts,
        reasons=reasons,
        service=one.tree.target.service,
        unit=one.tree.target.unit,
        path=one.tree.path(worst),
        baseline=sides[0],
        target=sides[1],
        relative_change=_change(*sides),
        q_value=one.judged[worst].q_value,
        cause=_common_cause([one.judged[i].cause for i in places]),
        services=impact,
        touched=_code(match, described),
        file=described.file,
        line=described.line,
    )


def _match(name: str, method: _Method, searched: Sequence[Searched], touched: Touched | None) -> MethodMatch | None:
    """Of the target's place in the source, which the head's lines speak of."""
    if touched is None:
        return None
    nodes = (searched[number].tree.nodes[i].target for number, places in method.places.items() for i in places)
    node = next((node for node in nodes if node is not None), None)
    if node is None:
        return match_method(name, touched=touched)
    return match_method(name, touched=touched, file=node.file, line=node.line)


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


def _mean_share(method: _Method, searched: Sequence[Searched], services: int, *, own: bool) -> float:
    """Of the slowdown, the mean over the services that got slower, where a service without the method counts 0."""
    shares = []
    for number, places in method.places.items():
        one = searched[number]
        if one.slowdown <= 0:
            continue
        tree = one.tree
        chosen = places if own else _tops(tree, places)
        gain = sum(tree.nodes[i].own_gain if own else tree.nodes[i].gain for i in chosen)
        shares.append(min(1.0, max(0.0, gain / one.slowdown)))
    return sum(shares) / services if services else 0.0


def _tops(tree: AlignedTree, places: Sequence[int]) -> list[int]:
    """Without paths that run through another one of these: a recursion counts once."""
    inner = set(places)
    return [i for i in places if not any(above in inner for above in _above(tree, i))]


def _above(tree: AlignedTree, i: int) -> Iterator[int]:
    while (i := tree.nodes[i].parent) >= 0:
        yield i


def _gain(tree: AlignedTree, places: Sequence[int]) -> float:
    return sum(tree.nodes[i].gain for i in places)


def _summed(tree: AlignedTree, places: Sequence[int], *, target: bool) -> NodeAmount | None:
    top = set(_tops(tree, places))
    sides = [(i, tree.nodes[i].target if target else tree.nodes[i].baseline) for i in places]
    known = [(i, side) for i, side in sides if side is not None]
    if not known:
        return None
    calls = [side.calls for _, side in known]
    return NodeAmount(
        elapsed=sum(side.elapsed.mean for i, side in known if i in top),
        self_time=sum(side.own.mean for _, side in known),
        calls=None if None in calls else sum(number for number in calls if number is not None),
    )


def _described(node: AlignedNode) -> ObservedNode:
    side = node.target or node.baseline
    if side is None:
        raise ValueError("a path that neither revision took")
    return side


def _change(baseline: NodeAmount | None, target: NodeAmount | None) -> float | None:
    if baseline is None or target is None:
        return None
    return relative(target.elapsed, baseline.elapsed)


def _common_cause(causes: Sequence[ChangeCause | None]) -> ChangeCause | None:
    known = {cause for cause in causes if cause is not None}
    if len(known) > 1:
        return ChangeCause.BOTH
    return known.pop() if known else None
