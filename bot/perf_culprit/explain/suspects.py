"""Rank the suspects of all services together, and locate the origin of a slowdown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from perf_culprit.explain.aligned_trees import AlignedNode, AlignedTree, ObservedNode, change
from perf_culprit.explain.method_names import match_caller, match_method
from perf_culprit.explain.slower_methods import NOTABLE, JudgedMethod, Searched
from perf_culprit.explain.tree_methods import Method, is_in_c, is_standard
from perf_culprit.model.call_tree import Certainty, ChangeKind, ImpactedService, MethodMatch, Touched, TouchedFunction
from perf_culprit.model.report import ChangeCause, ComparedSuspect, NodeAmount, ScoreParts, SuspectReason, TouchedCode

# The origin of a slowdown: the parts that begin in a method, split up below it, or are in its own code.


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A method's evidence in the tree's unit. `own` and `total`: gains without and with callees, recursions once.

    `origin`: the part of the gain that begins here. If calls are counted: own time per call, and additional calls of
    callees. Otherwise: the method's growth beyond its caller's, because callers above the cause dilute it with
    unchanged time. `branch`: the gain with callees, minus the largest gain of a single method below.
    """

    own: float
    total: float
    origin: float
    branch: float


def evidence(one: Searched) -> Mapping[str, Evidence]:
    origins = _origins(one)
    below = _gains_below(one)
    by_name = {}
    for judged in one.methods:
        name, places = judged.method.name, judged.method.places
        total = sum(float(one.gains[i]) for i in judged.method.outermost)
        by_name[name] = Evidence(
            own=sum(float(one.own_gains[i]) for i in places),
            total=total,
            origin=sum(origins[i] for i in places),
            branch=max(0.0, total - max(below.get(name, {}).values(), default=0.0)),
        )
    return by_name


def _origins(one: Searched) -> list[float]:
    nodes = one.tree.nodes
    origins = [0.0] * len(nodes)
    # The caller is responsible for slower functions in C and in the standard library.
    for i, node in enumerate(nodes):
        gain = max(0.0, float(one.gains[i]))
        place = i
        if node.parent < 0 or _is_counted(node):
            begins = _by_calls(one, i)
        elif node.baseline is None and one.judged[i].is_real and nodes[node.parent].is_in_both:
            # Stacks do not count calls, but if there were none before, the caller started to call.
            place, begins = node.parent, gain
        else:
            begins = gain * _growth_beyond_caller(nodes, i)
        origins[own_caller(nodes, place)] += min(begins, gain)
    # Amounts passed on from below are limited to the caller's gain.
    return [min(amount, max(0.0, float(one.gains[i]))) for i, amount in enumerate(origins)]


def own_caller(nodes: Sequence[AlignedNode], i: int) -> int:
    """The node itself, or the nearest ancestor that a commit of the program can have changed."""
    place = i
    while is_foreign(nodes[place]) and nodes[place].parent >= 0:
        place = nodes[place].parent
    return place


def is_foreign(node: AlignedNode) -> bool:
    return is_in_c(node.method) or is_standard(node.side.file)


def _is_counted(node: AlignedNode) -> bool:
    sides = [side for side in (node.baseline, node.target) if side is not None]
    return all(side.calls is not None for side in sides)


def _by_calls(one: Searched, i: int) -> float:
    """The gain that begins here; time = calls x (own time per call + callees' calls per call x time of those calls)."""
    node = one.tree.nodes[i]
    own = max(0.0, float(one.own_gains[i]))
    before, after = node.baseline, node.target
    if before is None or after is None or not before.calls or not after.calls:
        return own
    longer = max(0.0, after.own.mean / after.calls - before.own.mean / before.calls) * after.calls
    begins = min(longer, own)
    for child in node.children:
        callee = one.tree.nodes[child]
        gain = max(0.0, float(one.gains[child]))
        per_call = [
            (side.calls or 0.0) / caller.calls if side is not None and caller.calls else 0.0
            for side, caller in ((callee.baseline, before), (callee.target, after))
        ]
        more = max(0.0, per_call[1] - per_call[0]) * after.calls
        side = callee.baseline or callee.side
        begins += min(more * side.elapsed.mean / side.calls if side.calls else 0.0, gain)
    return begins


def _growth_beyond_caller(nodes: "tuple[AlignedNode, ...]", i: int) -> float:
    """The part of the growth beyond the caller's: 0 if that grew equally, 1 if it did not grow in comparison."""
    parent = nodes[i].parent
    if parent < 0:
        return 0.0
    mine, above = _inverse_growth(nodes[i]), _inverse_growth(nodes[parent])
    return max(0.0, 1 - mine / above) if above > 0 else 0.0


def _inverse_growth(node: AlignedNode) -> float:
    """Baseline over target; 0 for a new node."""
    before = node.baseline.elapsed.mean if node.baseline is not None else 0.0
    after = node.target.elapsed.mean if node.target is not None else 0.0
    return before / after if after > 0 else 1.0


def _gains_below(one: Searched) -> dict[str, dict[str, float]]:
    """Map each slower method to the gains of the methods below it, a recursion once."""
    nodes = one.tree.nodes
    wanted = {judged.method.name for judged in one.methods if judged.is_slower}
    # The nearest ancestor whose method is wanted, so that deep trees are not walked step by step.
    above: list[int] = []
    for node in nodes:
        parent = node.parent
        above.append(parent if parent < 0 or nodes[parent].method in wanted else above[parent])
    below: dict[str, dict[str, float]] = {}
    for i, node in enumerate(nodes):
        passed = {node.method}
        place = above[i]
        while place >= 0 and (name := nodes[place].method) != node.method:
            if name not in passed:
                gains = below.setdefault(name, {})
                gains[node.method] = gains.get(node.method, 0.0) + float(one.gains[i])
            passed.add(name)
            place = above[place]
    return below


# Rank the suspects of all services: their share of the slowdown, the reasons, and whether a commit touched them.
#
# docs/diagnosis.md explains the score in words.

# Weights of the score's parts; they add up to 1 *(choice)*.
WEIGHTS: Final = {"origin": 0.3, "touched": 0.3, "own_time": 0.2, "branch": 0.1, "slowdown": 0.1}

# Minimum share of the slowdown: below it, a touched method is no evidence.
EVIDENT: Final = 0.1
# Minimum share of a method's gain with callees that no single method below explains.
EXPLAINED: Final = 0.5
# Minimum share of the slowdown that begins in a method.
ORIGIN: Final = 0.25
# Weight of a name match as evidence that the commit changed the method.
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
    """Rank every slower method, the highest score first; ties by gain, then by name.

    Touched methods come first, unless hardly any of the slowdown is in and below them. Methods with evidence of their
    own precede those that only lie above it, and callers by name. `uncertain`: services that got slower as a whole,
    though no method is proven slower; their largest gains are listed.
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
    return _paths_in_turn(sorted(suspects, key=_order))


def _paths_in_turn(suspects: Sequence[ComparedSuspect]) -> tuple[ComparedSuspect, ...]:
    """Rank callers of a better suspect and its caller below suspects on other paths: they repeat the same evidence."""
    first: list[ComparedSuspect] = []
    later: list[ComparedSuspect] = []
    above: set[tuple[str, str]] = set()
    for one in suspects:
        is_repeated = (one.service, one.method) in above and not OF_THE_COMMIT.intersection(one.reasons)
        (later if is_repeated and one.parts.branch < NOTABLE else first).append(one)
        above |= {(one.service, name) for name in one.path[:-2] if name != one.method}
    return (*first, *later)


def _callers_of_foreign(one: Searched) -> set[str]:
    """Methods of the program that call a slower method which no commit of the program can have changed."""
    nodes = one.tree.nodes
    slower = (judged.method.places for judged in one.methods if judged.own_is_slower or judged.is_slower)
    return {nodes[own_caller(nodes, i)].method for places in slower for i in places if is_foreign(nodes[i])}


def _order(suspect: ComparedSuspect) -> tuple[int, bool, bool, float, float, float, str]:
    """The sort key: certain suspects precede uncertain ones, such as a root that accumulates others' time."""
    parts = suspect.parts
    is_touched = parts.touched >= _TOUCHED[Certainty.BARE_NAME]
    shows_there = any(reason not in OF_THE_COMMIT for reason in suspect.reasons)
    steps = (is_touched and shows_there, is_touched or SuspectReason.CALLS_TOUCHED in suspect.reasons, True)
    step = steps.index(True) if parts.slowdown >= EVIDENT else len(steps) - 1
    doubtful = suspect.q_value is None, is_standard(suspect.file)
    return step, *doubtful, -suspect.score, -parts.own_time, -parts.slowdown, suspect.method


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
        # The place in the target's source, which matches the head's lines.
        nodes = (searched[number].tree.nodes[i].target for number, places in method.places.items() for i in places)
        file, line = next(((node.file, node.line) for node in nodes if node is not None), (None, None))
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
    """The mean share of the slowdown over the slower services; a service without the method counts as 0."""
    shares = [
        min(1.0, max(0.0, getattr(proof, of) / searched[number].slowdown))
        for number, proof in method.evidence.items()
        if searched[number].slowdown > 0
    ]
    return sum(shares) / services if services else 0.0


def _q_value(judged: JudgedMethod) -> float | None:
    """The q-value that made it a suspect: the smaller one if both did."""
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
