"""Where a slowdown comes from: what of it begins in a method, splits up below it, or is its own code's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.diagnose.comparison.align import AlignedNode
from bot.diagnose.comparison.methods import is_in_c, is_standard
from bot.diagnose.comparison.observed import ObservedNode
from bot.diagnose.comparison.search import Searched


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """In the tree's unit. `own` and `total`: gained without and with callees, a recursion once.

    `origin`: of the gain, what begins here. Where calls are counted: own time per call, and additional calls of
    callees. Else what the method's growth exceeds its caller's by: callers above the cause dilute it with time that
    did not change. `branch`: gained with callees, less what the one method below it gained that gained most.
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
    # What functions in C and of the standard library take longer for is their caller's doing.
    for i, node in enumerate(nodes):
        gain = max(0.0, float(one.gains[i]))
        place = i
        if _is_counted(node):
            begins = _by_calls(one, i)
        elif is_newly_called(one, i):
            # Stacks do not count calls, but that there are none before says who began to call.
            place, begins = node.parent, gain
        else:
            begins = gain * _growth_beyond_caller(nodes, i)
        origins[own_caller(nodes, place)] += min(begins, gain)
    # What was passed on from below is part of the caller's gain, and not more.
    return [min(amount, max(0.0, float(one.gains[i]))) for i, amount in enumerate(origins)]


def is_newly_called(one: Searched, i: int) -> bool:
    """By a method that both revisions run."""
    node = one.tree.nodes[i]
    is_new = node.baseline is None and one.judged[i].is_real
    return is_new and node.parent >= 0 and one.tree.nodes[node.parent].is_in_both


def own_caller(nodes: Sequence[AlignedNode], i: int) -> int:
    """The node itself, or the nearest one above that a commit of the program can have changed."""
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
    """Time of a method = calls x (own time per call + calls of callees per call x their time per call)."""
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
        begins += min(more * _time_per_call(callee.baseline or callee.target), gain)
    return begins


def _time_per_call(node: ObservedNode | None) -> float:
    return node.elapsed.mean / node.calls if node is not None and node.calls else 0.0


def _growth_beyond_caller(nodes: "tuple[AlignedNode, ...]", i: int) -> float:
    """From 0, where the caller grew by as much, to 1, where the caller did not grow beside it."""
    parent = nodes[i].parent
    if parent < 0:
        return 0.0
    mine, above = _inverse_growth(nodes[i]), _inverse_growth(nodes[parent])
    return max(0.0, 1 - mine / above) if above > 0 else 0.0


def _inverse_growth(node: AlignedNode) -> float:
    """Baseline over target; 0 of what is new."""
    before = node.baseline.elapsed.mean if node.baseline is not None else 0.0
    after = node.target.elapsed.mean if node.target is not None else 0.0
    return before / after if after > 0 else 1.0


def _gains_below(one: Searched) -> dict[str, dict[str, float]]:
    """Slower method -> each method below it -> what that gained there, a recursion once."""
    nodes = one.tree.nodes
    wanted = {judged.method.name for judged in one.methods if judged.is_slower}
    # The nearest node above whose method is wanted, so that deep trees are not walked step by step.
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
