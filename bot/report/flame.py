"""The difference of two revisions as a flame graph: drawn in a page, and in two columns for flamegraph.pl."""

from typing import Final

from bot.model.tree_comparison import ComparedNode, ServiceComparison, TreeComparison
from bot.report.inert import Safe, clean
from bot.report.templating import fill, inline_data

# Flame graphs draw whole numbers: microseconds, millionths of a share, or what was counted.
_SCALES: Final = {"ms": 1_000.0, "share": 1_000_000.0}
_NAME_LIMIT: Final = 500


def flame_section(comparison: TreeComparison) -> Safe:
    """HTML; names are data of its script, never markup. Services lie below a root of their own where they are many.

    Each node is [name, parent, time with callees before and after, own time before and after, 1 for a suspect].
    """
    units = {one.unit for one in comparison.services}
    nodes: list[list[str | int | float]] = []
    above = -1
    if len(comparison.services) > 1:
        totals = [sum(one[place] for one in map(_totals, comparison.services)) for place in (0, 1)]
        nodes.append(["all services", above, *totals, 0, 0, 0])
        above = 0
    for service in comparison.services:
        top = len(nodes)
        nodes.append([clean(service.service, limit=_NAME_LIMIT), above, *_totals(service), 0, 0, 0])
        for node in service.nodes:
            parent = top if node.parent is None else top + 1 + node.parent
            sides = (node.baseline, node.target)
            elapsed = [0.0 if side is None else side.elapsed for side in sides]
            own = [0.0 if side is None else max(0.0, side.self_time) for side in sides]
            nodes.append([clean(node.method, limit=_NAME_LIMIT), parent, *elapsed, *own, int(bool(node.reasons))])
    data = inline_data({"unit": units.pop() if len(units) == 1 else "", "nodes": nodes})
    return Safe(fill("flame.html.j2", data=data))


def collapsed_difference(comparison: TreeComparison) -> bytes:
    """`service;caller;callee 120 310` per path: own time before and after, as difffolded.pl writes it."""
    lines = []
    for service in comparison.services:
        paths: list[str] = []
        for node in service.nodes:
            above = _frame(service.service) if node.parent is None else paths[node.parent]
            paths.append(f"{above};{_frame(node.method)}")
            before, after = _own(node, service)
            if before or after:
                lines.append(f"{paths[-1]} {before} {after}\n")
    return "".join(lines).encode("utf-8", "replace")


def _totals(service: ServiceComparison) -> tuple[float, float]:
    roots = [node for node in service.nodes if node.parent is None]
    before = sum(node.baseline.elapsed for node in roots if node.baseline is not None)
    return before, sum(node.target.elapsed for node in roots if node.target is not None)


def _own(node: ComparedNode, service: ServiceComparison) -> tuple[int, int]:
    scale = _SCALES.get(service.unit, 1.0)
    before, after = (0.0 if side is None else max(0.0, side.self_time) for side in (node.baseline, node.target))
    return round(before * scale), round(after * scale)


def _frame(name: str) -> str:
    """A stack's frame: neither the separator nor a line break."""
    return "".join(c if c.isprintable() and c != ";" else "_" for c in name) or "_"
