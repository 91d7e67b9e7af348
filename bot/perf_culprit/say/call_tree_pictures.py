"""Pictures of compared call trees: Mermaid's text, and the flame graph."""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Final, TypeAlias

from perf_culprit.model.call_tree import CallNode, CallTree
from perf_culprit.model.notable_calls import FIRST_MARK, marked, notable_nodes
from perf_culprit.model.report import ComparedNode, ComparedSuspect, NodeState, ServiceComparison, TreeComparison
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.call_tree_words import call_count, grown, own_change, unseen
from perf_culprit.say.inert import Safe, clean, fill, inline_data, own

# Every other character in a label is written by its number, as Mermaid's entity: quotes, brackets, Markdown, HTML and
# the characters that Mermaid itself puts instead of entities.
_PLAIN: Final = re.compile(r"[A-Za-z0-9 ]")
_CLASSES: Final = (
    "  classDef slow stroke:#d29922,stroke-width:2px",
    "  classDef other stroke:#cf222e,stroke-width:2px",
    "  classDef suspect stroke:#cf222e,stroke-width:4px",
    "  classDef touched stroke-dasharray:3 3",
)


def label(text: str) -> str:
    """Return the text for a quoted label, with all characters except letters, digits and spaces as entities."""
    # Mermaid itself replaces an entity's start by "ﬂ°": in a name it would show another character.
    text = text.replace("\N{LATIN SMALL LIGATURE FL}", "fl")
    return "".join(character if _PLAIN.fullmatch(character) else f"#{ord(character)};" for character in text)


def call_tree_picture(comparison: TreeComparison, service: ServiceComparison) -> Safe:
    """Draw slower paths and their callees in a fenced block. Suspects have thick borders, changed code dotted ones."""
    touched, marks = touched_methods(comparison), marked(comparison)
    places = notable_nodes(service, marks)
    lines = ["```mermaid", "flowchart LR"]
    for i, caller in places.items():
        node = service.nodes[i]
        words = node_words(node, is_touched=node.method in touched)
        lines.append(f'  n{i}["{label(" ".join(words))}"]')
        if caller is not None:
            lines.append(f"  n{caller} {'-->' if caller == node.parent else '-.->'} n{i}")
    for name, hits in (
        ("slow", [i for i in places if _mark(service.nodes[i], marks) == "slower"]),
        ("other", [i for i in places if _mark(service.nodes[i], marks) == "other"]),
        ("suspect", [i for i in places if _mark(service.nodes[i], marks) == "suspect"]),
        ("touched", [i for i in places if service.nodes[i].method in touched]),
    ):
        if hits:
            lines.append(f"  class {','.join(f'n{i}' for i in hits)} {name}")
    return Safe("\n".join([*lines, *_CLASSES, "```"]))


def _mark(node: ComparedNode, marks: Mapping[str, int]) -> str:
    if (mark := marks.get(node.method, 0)) and node.state is not NodeState.REMOVED:
        return "suspect" if mark == FIRST_MARK else "other"
    return "slower" if node.state is NodeState.SLOWER else ""


def touched_methods(comparison: TreeComparison) -> frozenset[str]:
    """Return the methods whose code was changed."""
    return frozenset(suspect.method for suspect in comparison.suspects if suspect.touched is not None)


def node_words(node: ComparedNode, *, is_touched: bool) -> tuple[str, str]:
    """Return the method's name, and the words for its change."""
    words = []
    if node.state is NodeState.ADDED:
        words.append(unseen(node.target))
    elif node.state is NodeState.REMOVED:
        words.append(unseen(node.baseline, after=True))
    elif node.relative_change is not None:
        own = own_change(node.baseline, node.target)
        words.append(grown(node.relative_change).replace(" ", "\N{NO-BREAK SPACE}"))
        if own is not None:
            words.append(f"(own time {own})".replace(" ", "\N{NO-BREAK SPACE}"))
    before, after = (None if side is None else side.calls for side in (node.baseline, node.target))
    if before and after and not 0.99 < after / before < 1.01:
        words.append(f"· {call_count(before)} → {call_count(after)} calls")
    if is_touched:
        words.append("· changed")
    return clean(node.method, limit=TEXT_LIMITS.frame_label_characters), " ".join(words)


# Flame graphs draw whole numbers: microseconds, millionths of a share, or counts.
_SCALES: Final = {"ms": 1_000.0, "share": 1_000_000.0}


def flame_section(comparison: TreeComparison) -> Safe:
    """Return HTML whose script gets names as data, never as markup. Several services share a root of their own.

    Each node is [name, parent, time with callees before and after, own time before and after, mark]. The mark is 2 for
    the first suspect and 1 for another.
    """
    units, marks = {service.unit for service in comparison.services}, marked(comparison)
    trees = [
        (service.service, *_totals(service), (_compared_node(node, marks) for node in service.nodes))
        for service in comparison.services
    ]
    return _flame(trees, units.pop() if len(units) == 1 else "", is_pair=True, suspects=list(marks))


def single_flame_section(trees: Sequence[CallTree], unit: str) -> Safe:
    """Draw one revision, as if its side before took no time."""

    def flame_node(node: CallNode) -> _DrawnNode:
        return node.method, node.parent, 0.0, node.elapsed_ms, 0.0, node.self_ms, 0

    drawn_trees = [(tree.service, 0.0, tree.total_ms, map(flame_node, tree.nodes)) for tree in trees]
    return _flame(drawn_trees, unit, is_pair=False)


# Method, caller, time with callees before and after, own time before and after, its mark.
_DrawnNode: TypeAlias = tuple[str, int | None, float, float, float, float, int]


def _compared_node(node: ComparedNode, marks: Mapping[str, int]) -> _DrawnNode:
    (before, own_before), (after, own_after) = (
        (0.0, 0.0) if side is None else (side.elapsed, max(0.0, side.self_time))
        for side in (node.baseline, node.target)
    )
    return node.method, node.parent, before, after, own_before, own_after, marks.get(node.method, 0)


def _flame(
    trees: Sequence[tuple[str, float, float, Iterable[_DrawnNode]]],
    unit: str,
    *,
    is_pair: bool,
    suspects: Sequence[str] = (),
) -> Safe:
    nodes: list[list[str | int | float]] = []
    above = -1
    if len(trees) > 1:
        nodes.append(["all services", above, sum(tree[1] for tree in trees), sum(tree[2] for tree in trees), 0, 0, 0])
        above = 0
    for service, before, after, below in trees:
        top = len(nodes)
        nodes.append([clean(service, limit=TEXT_LIMITS.frame_name_characters), above, before, after, 0, 0, 0])
        for method, caller, *numbers in below:
            parent = top if caller is None else top + 1 + caller
            nodes.append([clean(method, limit=TEXT_LIMITS.frame_name_characters), parent, *numbers])
    names = [clean(name, limit=TEXT_LIMITS.frame_name_characters) for name in suspects[: TEXT_LIMITS.listed_methods]]
    data = inline_data({"unit": unit, "nodes": nodes, "suspects": names})
    more = own("and {} more", len(suspects) - len(names)) if len(suspects) > len(names) else ""
    return Safe(fill("flame.html.j2", data=data, is_pair=is_pair, is_listed=bool(names), more=more))


def collapsed_difference(comparison: TreeComparison) -> bytes:
    """Return `service;caller;callee 120 310` per path: own time before and after, in difffolded.pl's format."""
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
    """Return a stack frame's name without separators and line breaks."""
    return "".join(c if c.isprintable() and c != ";" else "_" for c in name) or "_"


def pictured(diagnosis: TreeComparison, suspect: ComparedSuspect | None) -> ServiceComparison | None:
    """Return the service where the first suspect gained most. None if nothing in it is slower."""
    if suspect is None:
        return None
    services = [service for service in diagnosis.services if service.service == suspect.service]
    slow = (NodeState.SLOWER, NodeState.ADDED)
    return next((service for service in services if any(node.state in slow for node in service.nodes)), None)


def tree_and_flame(comparison: TreeComparison, service: ServiceComparison) -> Safe:
    return Safe(f"{tree_list(comparison, service)}{flame_section(comparison)}")


def tree_list(comparison: TreeComparison, service: ServiceComparison) -> Safe:
    """Return HTML with callers above their callees. Suspects and slower methods are marked."""
    touched, marks = touched_methods(comparison), marked(comparison)
    callees: dict[int | None, list[int]] = {}
    places = notable_nodes(service, marks)
    for i, caller in places.items():
        callees.setdefault(caller, []).append(i)

    def listed(caller: int | None) -> str:
        items = "".join(map(item, callees.get(caller, ())))
        return f"<ul>{items}</ul>" if items else ""

    def item(i: int) -> str:
        node = service.nodes[i]
        name, words = node_words(node, is_touched=node.method in touched)
        shade = f' class="tree-{mark}"' if (mark := _mark(node, marks)) else ""
        skipped = "" if places[i] == node.parent else "… "
        return f"<li{shade}>{skipped}<code>{escape(name)}</code> {escape(words)}{listed(i)}</li>"

    return Safe(f'<div class="tree">{listed(None)}</div>\n')
