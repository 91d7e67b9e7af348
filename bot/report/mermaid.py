"""Compared call trees as Mermaid's text, which GitHub draws; foreign names cannot leave their labels."""

import re
from collections.abc import Sequence
from typing import Final

from bot.model.tree_comparison import ComparedNode, NodeState, ServiceComparison, TreeComparison
from bot.report.inert import Safe, clean
from bot.report.numbers import percent
from bot.report.tree_comparison import count, own_change

# More boxes are no picture. GitHub's Mermaid takes 50,000 characters and 500 edges.
MOST_NODES: Final = 24
LABEL_LIMIT: Final = 48
# Anything else in a label is written by its number, as Mermaid's entity: quotes, brackets, Markdown, HTML and the
# characters that Mermaid itself puts in the place of entities.
_PLAIN: Final = re.compile(r"[A-Za-z0-9 ]")
_SLOW: Final = (NodeState.SLOWER, NodeState.ADDED)
_CLASSES: Final = (
    "  classDef slow stroke:#d29922,stroke-width:2px",
    "  classDef suspect stroke:#cf222e,stroke-width:4px",
    "  classDef touched stroke-dasharray:3 3",
)


def label(text: str) -> str:
    """The text for a quoted label, every other character than letters, digits and spaces as an entity."""
    # "ﬂ°" is what Mermaid itself puts in the place of an entity's start: of a name it would show another character.
    text = text.replace("\N{LATIN SMALL LIGATURE FL}", "fl")
    return "".join(one if _PLAIN.fullmatch(one) else f"#{ord(one)};" for one in text)


def call_tree_picture(comparison: TreeComparison, service: ServiceComparison) -> Safe:
    """A fenced block: the slower paths, what they call, suspects with thick, changed code with dotted borders."""
    touched = touched_methods(comparison)
    places = chosen(service)
    lines = ["```mermaid", "flowchart LR"]
    for i in places:
        node = service.nodes[i]
        words = node_words(node, is_touched=node.method in touched)
        lines.append(f'  n{i}["{label(" ".join(words))}"]')
        if node.parent is not None:
            lines.append(f"  n{node.parent} --> n{i}")
    for name, hits in (
        ("slow", [i for i in places if service.nodes[i].state is NodeState.SLOWER and not service.nodes[i].reasons]),
        ("suspect", [i for i in places if service.nodes[i].reasons]),
        ("touched", [i for i in places if service.nodes[i].method in touched]),
    ):
        if hits:
            lines.append(f"  class {','.join(f'n{i}' for i in hits)} {name}")
    return Safe("\n".join([*lines, *_CLASSES, "```"]))


def touched_methods(comparison: TreeComparison) -> frozenset[str]:
    """Whose code was changed."""
    return frozenset(one.method for one in comparison.suspects if one.touched is not None)


def node_words(node: ComparedNode, *, is_touched: bool) -> tuple[str, str]:
    """The method, and what became of it."""
    words = []
    if node.state is NodeState.ADDED:
        words.append("new")
    elif node.state is NodeState.REMOVED:
        words.append("gone")
    elif node.relative_change is not None:
        own = own_change(node.baseline, node.target)
        words.append(percent(node.relative_change, signed=True).replace(" ", "\N{NO-BREAK SPACE}"))
        if own is not None:
            words.append(f"(own time {own})".replace(" ", "\N{NO-BREAK SPACE}"))
    before, after = (None if side is None else side.calls for side in (node.baseline, node.target))
    if before and after and not 0.99 < after / before < 1.01:
        words.append(f"· {count(before)} → {count(after)} calls")
    if is_touched:
        words.append("· changed")
    return clean(node.method, limit=LABEL_LIMIT), " ".join(words)


def chosen(service: ServiceComparison) -> Sequence[int]:
    """Callers before callees. Suspects with the way to them come first, then slower ones, then what these call."""
    nodes = service.nodes

    def rank(i: int) -> tuple[int, float]:
        node = nodes[i]
        above = None if node.parent is None else nodes[node.parent]
        order = 0 if node.reasons else 1 if node.state is NodeState.SLOWER else 2
        if order == 2 and (node.state is NodeState.FASTER or (above is not None and above.state not in _SLOW)):
            order = 3
        sides = (node.baseline, node.target)
        return order, -max((side.elapsed for side in sides if side is not None), default=0.0)

    kept: set[int] = set()
    for i in sorted((i for i in range(len(nodes)) if rank(i)[0] < 3), key=lambda i: (*rank(i), i)):
        way: list[int] = []
        place: int | None = i
        while place is not None and place not in kept and len(way) <= MOST_NODES:
            way.append(place)
            place = nodes[place].parent
        if len(kept) + len(way) <= MOST_NODES:
            kept.update(way)
    return sorted(kept)
