"""Rank the suspects of all services together, and locate the origin of a slowdown."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from perf_culprit.explain.aligned_trees import AlignedNode, AlignedTree, relative_change
from perf_culprit.explain.diagnosis_constants import NOTABLE, TOUCHED
from perf_culprit.explain.method_names import match_caller, match_method
from perf_culprit.explain.significance import scales
from perf_culprit.explain.slower_methods import JudgedMethod, Searched
from perf_culprit.explain.tree_methods import TreeMethod, is_foreign
from perf_culprit.model.call_tree import Certainty, ChangeKind, ImpactedService, MethodMatch, Touched
from perf_culprit.model.report import ChangeCause, ComparedSuspect, NodeAmount, ScoreParts, SuspectReason, TouchedCode


@dataclass(frozen=True, kw_only=True, slots=True)
class MethodEvidence:
    """A method's evidence in the tree's unit. `own` and `total`: gains without and with callees, recursions once.

    `origin`: the part of the gain that begins here. If calls are counted: own time per call, and additional calls of
    callees. Otherwise: the growth beyond that of the rest of its caller, less what begins below it. `branch`: the gain
    with callees, minus the largest gain of a single method below.
    """

    own: float
    total: float
    origin: float
    branch: float


def method_evidence(one: Searched) -> Mapping[str, MethodEvidence]:
    origins = _origins(one)
    below = _gains_below(one)
    by_name = {}
    for tested in one.methods:
        name, places = tested.method.name, tested.method.places
        total = sum(float(one.gains[i]) for i in tested.method.outermost)
        by_name[name] = MethodEvidence(
            own=sum(float(one.own_gains[i]) for i in places),
            total=total,
            origin=sum(origins[i] for i in places),
            branch=max(0.0, total - max(below.get(name, {}).values(), default=0.0)),
        )
    return by_name


def _origins(one: Searched) -> list[float]:
    nodes = one.tree.nodes
    begins = _begins(one)
    origins = [0.0] * len(nodes)
    for i, node in enumerate(nodes):
        here = begins[i] if _is_counted(node) else begins[i] - sum(begins[child] for child in node.children)
        place = node.parent if not _is_counted(node) and _is_called_more(one, i) else i
        origins[own_caller(nodes, place)] += max(0.0, here)
    # Amounts passed on from below are limited to the caller's gain.
    return [min(amount, max(0.0, float(one.gains[i]))) for i, amount in enumerate(origins)]


def _begins(one: Searched) -> list[float]:
    """The gain that begins in each node or below it. If calls are counted, only what begins in the node itself.

    Stacks do not count calls: if all else below the caller grew as much, the caller is called more often. A new callee
    begins nothing, because its caller started to call it.
    """
    nodes, by_baseline = one.tree.nodes, scales(one.tree, one.common)[1]
    before = [by_baseline * node.baseline.elapsed.mean if node.baseline is not None else 0.0 for node in nodes]
    begins = []
    for i, (node, is_new) in enumerate(zip(nodes, in_new_calls(one), strict=True)):
        gain, parent = max(0.0, float(one.gains[i])), node.parent
        if is_new:
            begins.append(0.0)
        elif _is_counted(node):
            begins.append(min(_by_calls(one, i), gain))
        elif parent < 0:
            begins.append(gain)
        else:
            begins.append(max(0.0, gain - before[i] * _least_growth(one, parent, without=i)))
    return begins


def _least_growth(one: Searched, place: int, *, without: int = -1) -> float:
    """How much more a method was called, at most: the least growth of its own code and its notable callees."""
    nodes, (by_target, by_baseline) = one.tree.nodes, scales(one.tree, one.common)
    node = nodes[place]
    callees = [nodes[child] for child in node.children if child != without]
    sides = [(node.baseline and node.baseline.own, node.target and node.target.own)]
    sides += [(each.baseline and each.baseline.elapsed, each.target and each.target.elapsed) for each in callees]
    parts = [(before.mean * by_baseline, after.mean * by_target if after else 0.0) for before, after in sides if before]
    largest = max((before for before, _ in parts), default=0.0)
    return max(0.0, min((after / before - 1 for before, after in parts if before > NOTABLE * largest), default=0.0))


def _is_called_more(one: Searched, i: int) -> bool:
    """Whether all that a method does and calls grew, by half of its growth at least: then its caller changed."""
    node = one.tree.nodes[i]
    if not node.children or node.baseline is None or node.parent < 0 or one.tree.nodes[node.parent].parent < 0:
        return False
    before = node.baseline.elapsed.mean * scales(one.tree, one.common)[1]
    return before > 0 and 2 * before * _least_growth(one, i) >= one.gains[i] > 0


def in_new_calls(one: Searched) -> list[bool]:
    """Return whether each node is a new callee of a method that both revisions run, or below one."""
    inside: list[bool] = []
    for node, judgement in zip(one.tree.nodes, one.judged, strict=True):
        above = node.parent >= 0 and inside[node.parent]
        is_new = node.baseline is None and judgement.is_real and node.parent >= 0
        # A root accumulates everything, and in shares always has the whole.
        inside.append(
            above or (is_new and one.tree.nodes[node.parent].is_in_both and one.tree.nodes[node.parent].parent >= 0)
        )
    return inside


def own_caller(nodes: Sequence[AlignedNode], i: int) -> int:
    """Return the node itself, or the nearest ancestor that a commit of the program can have changed, or None."""
    place = i
    while place >= 0 and is_foreign(nodes[place]):
        place = nodes[place].parent
    return place if place >= 0 else i


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
    # The gain leaves out outliers, so the former time is that of the target without it.
    former = max(0.0, after.own.mean - own) / before.calls
    begins = min(max(0.0, after.own.mean - former * after.calls), own)
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


def _gains_below(one: Searched) -> dict[str, dict[str, float]]:
    """Map each slower method to the gains of the methods below it, a recursion once."""
    nodes = one.tree.nodes
    wanted = {tested.method.name for tested in one.methods if tested.is_slower}
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


# One method's result and evidence by the number of the searched service.
_Services: TypeAlias = dict[int, tuple[JudgedMethod, MethodEvidence]]


def rank(
    searched: Sequence[Searched],
    *,
    touched: Touched | None,
    impact: dict[str, tuple[ImpactedService, ...]],
    uncertain: Collection[int] = (),
) -> tuple[ComparedSuspect, ...]:
    """Rank every method on a slower path, the highest score first; ties by own time, gain and name.

    The score is the share of the slowdown that begins in the method. With the code of a commit two thirds are
    what the method takes more with callees, if the commit changed it. `uncertain`: services that got slower as
    a whole, though no method is proven slower; their largest gains are listed.
    """
    methods: dict[str, _Services] = {}
    for number, one in enumerate(searched):
        by_name = method_evidence(one)
        inside, callers = in_new_calls(one), _callers_of_foreign(one)
        is_proven = any(tested.own_is_slower or tested.is_slower for tested in one.methods) or any(inside)
        for tested in one.methods:
            method, places = tested.method, tested.method.places
            of = by_name[method.name]
            # The caller's row stands for all that it started to call.
            if all(inside[i] for i in places) and of.origin <= 0:
                continue
            calls_others = method.name in callers or any(one.judged[i].changed_calls for i in places)
            is_notable = of.total >= NOTABLE * one.slowdown > 0
            if (
                tested.own_is_slower
                or tested.is_slower
                or (is_notable and number in uncertain)
                or (calls_others and of.origin >= NOTABLE * one.slowdown > 0)
                or (is_notable and is_proven and touched and _match(one, places, method.name, touched))
            ):
                methods.setdefault(method.name, {})[number] = tested, of
    slowed = {number for services in methods.values() for number in services if searched[number].slowdown > 0}
    suspects = [
        _suspect(name, services, searched, slowed=len(slowed), touched=touched, impact=impact.get(name, ()))
        for name, services in methods.items()
    ]
    return tuple(sorted(suspects, key=lambda one: (-one.score, -one.parts.own_time, -one.parts.slowdown, one.method)))


def _callers_of_foreign(one: Searched) -> set[str]:
    """Methods of the program that call a slower method which no commit of the program can have changed."""
    nodes = one.tree.nodes
    slower = (tested.method.places for tested in one.methods if tested.own_is_slower or tested.is_slower)
    return {nodes[own_caller(nodes, i)].method for places in slower for i in places if is_foreign(nodes[i])}


def _match(one: Searched, places: Sequence[int], name: str, touched: Touched) -> MethodMatch | None:
    file, line = _place(one, places)
    return match_method(name, touched=touched, file=file, line=line)


def _place(one: Searched, places: Sequence[int]) -> tuple[str | None, int | None]:
    """The place in the target's source, which matches the head's lines."""
    nodes = (one.tree.nodes[i].target for i in places)
    return next(((node.file, node.line) for node in nodes if node is not None), (None, None))


def _suspect(
    name: str,
    services: _Services,
    searched: Sequence[Searched],
    *,
    slowed: int,
    touched: Touched | None,
    impact: tuple[ImpactedService, ...],
) -> ComparedSuspect:
    shares = {name: _mean_share(services, searched, slowed, of=name) for name in ("own", "origin", "branch", "total")}
    judgements = [searched[number].judged[i] for number, (one, _) in services.items() for i in one.method.places]
    reasons = {reason for one in judgements for reason in one.reasons}
    own_is_slower = any(one.own_is_slower for one, _ in services.values())
    is_slower = any(one.is_slower for one, _ in services.values())
    if (own_is_slower or not is_slower) and shares["own"] >= NOTABLE * shares["total"]:
        reasons.add(SuspectReason.OWN_TIME)
    if (is_slower or not own_is_slower) and shares["branch"] >= shares["total"] / 2 > 0:
        reasons.add(SuspectReason.PATH_END)
    if shares["origin"] >= NOTABLE:
        reasons.add(SuspectReason.ORIGIN)
        if any(one.changed_calls for one in judgements):
            reasons.add(SuspectReason.CHANGED_CALLS)
    match, code = None, 0.0
    if touched is not None:
        file, line = next(_place(searched[number], one.method.places) for number, (one, _) in services.items())
        match = match_method(name, touched=touched, file=file, line=line)
        if match is not None:
            reasons.add(SuspectReason.TOUCHED)
            code = 1.0 if match.certainty in (Certainty.FILE_AND_LINE, Certainty.QUALIFIED_NAME) else 0.5
        elif reasons and match_caller(name, touched=touched, file=file, line=line):
            reasons.add(SuspectReason.CALLS_TOUCHED)
            code = 0.5
    parts = ScoreParts(
        own_time=shares["own"],
        origin=shares["origin"],
        branch=shares["branch"],
        slowdown=shares["total"],
        touched=code,
    )
    score = parts.origin if touched is None else (1 - TOUCHED) * parts.origin + TOUCHED * code * parts.slowdown
    number = max(services, key=lambda number: (services[number][1].total, -number))
    one, (worst_judged, _) = searched[number], services[number]
    method = worst_judged.method
    worst = max(method.places, key=lambda i: (float(one.gains[i]), -i))
    sides = [_sum(one.tree, method, target=target) for target in (False, True)]
    described = one.tree.nodes[worst].side
    return ComparedSuspect(
        method=name,
        score=score if own_is_slower or is_slower else score / 2,
        parts=parts,
        reasons=tuple(reason for reason in SuspectReason if reason in reasons),
        service=one.tree.target.service,
        unit=one.tree.target.unit,
        path=one.tree.path(worst),
        baseline=sides[0],
        target=sides[1],
        relative_change=relative_change(*sides),
        q_value=_q_value(worst_judged),
        cause=_common_cause([one.judged[i].cause for i in method.places]),
        services=impact,
        touched=code_of(match, described.line),
        file=described.file,
        line=described.line,
    )


def code_of(match: MethodMatch | None, line: int | None = None) -> TouchedCode | None:
    if match is None:
        return None
    if not match.functions:
        return TouchedCode(file=match.path, name="", certainty=match.certainty)
    function = min(match.functions, key=lambda one: (abs(one.first_line - (line or one.first_line)), one.first_line))
    return TouchedCode(
        file=function.path,
        name=function.qualified_name,
        certainty=match.certainty,
        first_line=None if function.kind is ChangeKind.DELETED else function.changed_line or function.first_line,
        last_line=None if function.kind is ChangeKind.DELETED else function.last_line,
    )


def _mean_share(services: _Services, searched: Sequence[Searched], slowed: int, *, of: str) -> float:
    """The mean share of the slowdown over the slower services; a service without the method counts as 0."""
    shares = [
        min(1.0, max(0.0, getattr(proof, of) / searched[number].slowdown))
        for number, (_, proof) in services.items()
        if searched[number].slowdown > 0
    ]
    return sum(shares) / slowed if slowed else 0.0


def _q_value(tested: JudgedMethod) -> float | None:
    """The q-value that made it a suspect: the smaller one if both did."""
    sure = [
        value
        for value, is_slower in ((tested.self_q_value, tested.own_is_slower), (tested.q_value, tested.is_slower))
        if is_slower and value is not None
    ]
    return min(sure, default=None)


def _sum(tree: AlignedTree, method: TreeMethod, *, target: bool) -> NodeAmount | None:
    top = set(method.outermost)
    sides = ((i, tree.nodes[i].target if target else tree.nodes[i].baseline) for i in method.places)
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
    return ChangeCause.BOTH if len(distinct) > 1 else next(iter(distinct), None)
