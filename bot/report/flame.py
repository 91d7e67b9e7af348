"""The difference of two revisions as a flame graph's data: of d3-flame-graph, and in two columns for flamegraph.pl."""

import json
from typing import Any, Final

from bot.model.tree_comparison import ComparedNode, ServiceComparison, TreeComparison

# Flame graphs draw whole numbers: microseconds, millionths of a share, or what was counted.
_SCALES: Final = {"ms": 1_000.0, "share": 1_000_000.0}


def flame_graph(comparison: TreeComparison) -> bytes:
    """Nested `name`, `value`, `delta`, `children`, as d3-flame-graph reads them (differential: blue is less, red more).

    `value` is the target's time with callees, `delta` what it gained. Services lie below the root.
    Paths that are gone have the value 0. Nested without recursion: trees may be deep.
    """
    services = [_nested(service) for service in comparison.services]
    return _json(
        {
            "name": "all",
            "value": sum(service["value"] for service in services),
            "delta": sum(service["delta"] for service in services),
            "children": services,
        }
    )


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


def _nested(service: ServiceComparison) -> dict[str, Any]:
    top: dict[str, Any] = {"name": service.service, "value": 0, "delta": 0, "children": []}
    made: list[dict[str, Any]] = []
    for node in service.nodes:
        before, after = _elapsed(node, service)
        one: dict[str, Any] = {"name": node.method, "value": after, "delta": after - before, "children": []}
        made.append(one)
        above = top if node.parent is None else made[node.parent]
        above["children"].append(one)
        if node.parent is None:
            top["value"] += after
            top["delta"] += after - before
    return top


def _json(document: dict[str, Any]) -> bytes:
    """As json.dumps, which would recurse once per level."""
    pieces: list[str] = []
    stack: list[dict[str, Any] | str] = [document]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            pieces.append(one)
            continue
        own = json.dumps({name: value for name, value in one.items() if name != "children"}, ensure_ascii=False)
        pieces.append(own[:-1] + ', "children": [')
        stack.append("]}")
        for place, child in enumerate(reversed(one["children"])):
            stack += [", ", child] if place else [child]
    return ("".join(pieces) + "\n").encode("utf-8", "replace")


def _elapsed(node: ComparedNode, service: ServiceComparison) -> tuple[int, int]:
    before, after = (side.elapsed if side is not None else 0.0 for side in (node.baseline, node.target))
    return _whole(before, service), _whole(after, service)


def _own(node: ComparedNode, service: ServiceComparison) -> tuple[int, int]:
    before, after = (max(0.0, side.self_time) if side is not None else 0.0 for side in (node.baseline, node.target))
    return _whole(before, service), _whole(after, service)


def _whole(amount: float, service: ServiceComparison) -> int:
    return round(amount * _SCALES.get(service.unit, 1.0))


def _frame(name: str) -> str:
    """A stack's frame: neither the separator nor a line break."""
    return "".join(c if c.isprintable() and c != ";" else "_" for c in name) or "_"
