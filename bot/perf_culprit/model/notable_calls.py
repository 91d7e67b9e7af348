"""The part of compared call trees that an answer keeps and draws: suspects, slower paths, and their callees."""

from collections.abc import Iterator, Mapping
from itertools import takewhile
from typing import Final

from perf_culprit.model.report import ComparedNode, ComparedSuspect, NodeState, ServiceComparison, TreeComparison
from perf_culprit.model.text_limits import TEXT_LIMITS

# A slower method with its callers: more distant callers are omitted if they lead to nothing else.
WAY: Final = 4
# For methods in one revision only: at a higher q-value the other's samples may lack them by chance.
ONE_SIDED: Final = 0.05
FIRST_MARK: Final = 2  # the mark of the first suspect
_SLOW: Final = (NodeState.SLOWER, NodeState.ADDED)


def shown_suspects(comparison: TreeComparison) -> tuple[ComparedSuspect, ...]:
    """Return the suspects without methods that are only on the way to one: the tree shows these."""
    return tuple(suspect for suspect in comparison.suspects if suspect.reasons)


def marked(comparison: TreeComparison) -> dict[str, int]:
    """Map suspects to marks, in order: FIRST for the first one, 1 for the others."""
    return {one.method: 1 if place else FIRST_MARK for place, one in enumerate(shown_suspects(comparison))}


def notable_nodes(service: ServiceComparison, marks: Mapping[str, int]) -> dict[int, int | None]:
    """Choose a dozen nodes, callers before callees, each with its nearest chosen caller.

    First each suspect where it gained most, then other paths with a reason, slower ones, and their callees.
    """
    nodes = service.nodes
    worst: dict[str, int] = {}
    for i in sorted(range(len(nodes)), key=lambda i: -_gain(nodes[i])):
        worst.setdefault(nodes[i].method, i)

    def rank(i: int) -> tuple[int, int, float]:
        node = nodes[i]
        mark = marks.get(node.method, 0) if worst[node.method] == i else 0
        order = 0 if mark else 1 if node.reasons else 2 if node.state is NodeState.SLOWER else 3
        if order == 3 and (_is_noise(node) or node.parent is None or nodes[node.parent].state not in _SLOW):
            order = 4
        sides = (node.baseline, node.target)
        return order, -mark, -max((side.elapsed for side in sides if side is not None), default=0.0)

    places: set[int] = set()
    for i in sorted((i for i in range(len(nodes)) if rank(i)[0] < 4), key=lambda i: (*rank(i), i)):
        way = [*takewhile(lambda place: place not in places, (i, *_callers(service, i)))][:WAY]
        if len(places) + len(way) <= TEXT_LIMITS.picture_nodes:
            places.update(way)
    return {i: next((place for place in _callers(service, i) if place in places), None) for i in sorted(places)}


def _callers(service: ServiceComparison, i: int) -> Iterator[int]:
    """Yield the callers, the nearest first."""
    place = service.nodes[i].parent
    while place is not None:
        yield place
        place = service.nodes[place].parent


def _gain(node: ComparedNode) -> float:
    before, after = (0.0 if side is None else side.elapsed for side in (node.baseline, node.target))
    return after - before


def _is_noise(node: ComparedNode) -> bool:
    """Whether no test supports the change, for example for a method in some samples of one revision."""
    if node.state in (NodeState.ADDED, NodeState.REMOVED):
        return node.q_value is None or node.q_value >= ONE_SIDED
    return node.state in (NodeState.NOT_TESTED, NodeState.FASTER)
