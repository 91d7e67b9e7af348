"""The slower paths as nested lists, in a page where nobody draws the Mermaid of the same tree."""

from html import escape

from bot.model.tree_comparison import ComparedNode, NodeState, ServiceComparison, TreeComparison
from bot.report.inert import Safe
from bot.report.mermaid import chosen, node_words, touched_methods


def tree_list(comparison: TreeComparison, service: ServiceComparison) -> Safe:
    """HTML: callers above their callees; suspects and slower methods marked."""
    touched = touched_methods(comparison)
    callees: dict[int | None, list[int]] = {}
    shown = frozenset(places := chosen(service))
    for i in places:
        parent = service.nodes[i].parent
        callees.setdefault(parent if parent in shown else None, []).append(i)

    def listed(caller: int | None) -> str:
        items = "".join(map(item, callees.get(caller, ())))
        return f"<ul>{items}</ul>" if items else ""

    def item(i: int) -> str:
        node = service.nodes[i]
        name, words = node_words(node, is_touched=node.method in touched)
        return f"<li{_shade(node)}><code>{escape(name)}</code> {escape(words)}{listed(i)}</li>"

    return Safe(f'<div class="tree">{listed(None)}</div>\n')


def _shade(node: ComparedNode) -> str:
    if node.reasons:
        return ' class="tree-suspect"'
    return ' class="tree-slower"' if node.state is NodeState.SLOWER else ""
