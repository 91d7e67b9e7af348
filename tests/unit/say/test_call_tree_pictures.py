"""The call tree as Mermaid text: any name stays within its label."""

import re

import pytest
from msgspec.structs import replace

from perf_culprit.model.report import ComparedNode, NodeAmount, NodeState, ServiceComparison, SuspectReason
from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.call_tree_pictures import call_tree_picture, label
from tests.support.diagnosed_reports import diagnosis
from tests.support.hostile import _PIECES

# Mermaid 11 parses the text with each of these names and shows the name, as checked once in a browser.
HOSTILE = [
    *_PIECES,
    'a"] --> x["b',
    'a"]; click n0 "javascript:alert(1)"',
    '%%{init: {"securityLevel":"loose"}}%%',
    "<script>alert(1)</script>",
    "#quot;",
    "#60;script#62;",
    "ﬂ°°60¶ß",  # Mermaid's internal encoding of an entity
    "1. item",
    "- item",
    "__init__",
    "end",
    "subgraph",
    "style n0 fill:#f00",
    "std::vector<int>::push_back(int&&)",
    "名前",
]
LINE = re.compile(
    r'flowchart LR|  n\d+\["(?:[A-Za-z0-9 ]|#\d+;)+"\]|  n\d+ (?:-->|-\.->) n\d+'
    r"|  class n\d+(?:,n\d+)* (?:slow|other|suspect|touched)"
    r"|  classDef (?:slow|other|suspect|touched) [a-z0-9#:,\- ]+"
)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_stays_inside_its_label(name: str) -> None:
    comparison = diagnosis()
    service = comparison.services[0]
    nodes = tuple(replace(one, method=name) if one.method == "compile_regex" else one for one in service.nodes)
    first, *lines, last = call_tree_picture(comparison, replace(service, nodes=nodes)).split("\n")
    assert (first, last) == ("```mermaid", "```")
    assert all(LINE.fullmatch(line) for line in lines)


def test_suspects_are_thick_and_touched_code_is_dotted() -> None:
    comparison = diagnosis()
    text = call_tree_picture(comparison, comparison.services[0])
    assert "class n1 suspect" in text
    assert "class n2 other" in text
    assert "class n1 touched" in text
    assert "class n0 slow" in text
    assert label("1 → 240 calls") in text


def test_a_huge_tree_is_cut_around_the_suspects() -> None:
    amount = NodeAmount(elapsed=1.0, self_time=0.0)
    nodes = [ComparedNode(method="root", parent=None, baseline=amount, target=amount, state=NodeState.SLOWER)]
    nodes += [
        ComparedNode(method="x" * 500, parent=0, baseline=amount, target=amount, state=NodeState.SLOWER)
        for _ in range(5_000)
    ]
    suspect = replace(nodes[-1], method="culprit", parent=4_000, reasons=(SuspectReason.PATH_END,))
    service = replace(diagnosis().services[0], nodes=(*nodes, suspect))
    text = call_tree_picture(diagnosis(), service)
    assert "culprit" in text
    assert text.count('["') == TEXT_LIMITS.picture_nodes
    assert len(text) < TEXT_LIMITS.picture_nodes * (TEXT_LIMITS.frame_label_characters * 8 + 100)


def test_a_tree_deeper_than_the_picture_is_left_out() -> None:
    amount = NodeAmount(elapsed=1.0, self_time=0.0)
    deep = tuple(
        ComparedNode(
            method=f"m{i}", parent=i - 1 if i else None, baseline=amount, target=amount, state=NodeState.SLOWER
        )
        for i in range(2_000)
    )
    service: ServiceComparison = replace(diagnosis().services[0], nodes=deep)
    assert call_tree_picture(diagnosis(), service).count('["') == TEXT_LIMITS.picture_nodes


def test_chance_is_not_drawn_and_callers_that_are_left_out_are_dotted() -> None:
    """A suspect ten calls deep, with callees that are undecided, only in one revision's samples, or not tested."""
    amount = NodeAmount(elapsed=1.0, self_time=0.0)

    def node(name: str, parent: int | None, state: NodeState, q_value: float | None = None) -> ComparedNode:
        sides = {NodeState.ADDED: (None, amount), NodeState.REMOVED: (amount, None)}.get(state, (amount, amount))
        return ComparedNode(
            method=name, parent=parent, baseline=sides[0], target=sides[1], state=state, q_value=q_value
        )

    way = [node(f"m{i}", i - 1 if i else None, NodeState.UNDECIDED, 0.9) for i in range(10)]
    suspect = replace(node("tokenize", 9, NodeState.SLOWER, 0.001), reasons=(SuspectReason.ORIGIN,))
    callees = [
        node("called", 10, NodeState.UNDECIDED, 0.9),
        node("new", 10, NodeState.ADDED, 0.01),
        node("rare", 10, NodeState.ADDED, 0.4),
        node("gone", 10, NodeState.REMOVED),
        node("small", 10, NodeState.NOT_TESTED),
    ]
    service = replace(diagnosis().services[0], nodes=(*way, suspect, *callees))
    text = call_tree_picture(replace(diagnosis(), suspects=()), service)
    assert [name for name in ("m6", "m7", "called", "new", "rare", "gone", "small") if f"{name} " in text] == [
        "m7",
        "called",
        "new",
    ]
    assert "n9 --> n10" in text
    other = replace(node("other", 0, NodeState.SLOWER, 0.001), reasons=(SuspectReason.ORIGIN,))
    text = call_tree_picture(replace(diagnosis(), suspects=()), replace(service, nodes=(*service.nodes, other)))
    assert "n0 -.-> n7" in text
