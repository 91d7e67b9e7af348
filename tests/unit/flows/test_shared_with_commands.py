"""`flows` holds the functions of commands. Functions that only a GitHub job calls belong to `action`."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[3] / "bot/perf_culprit"
FLOWS = "perf_culprit.flows"


def used(tree: ast.Module) -> set[tuple[str, str]]:
    """Return what a module uses of flows, as (module, name). A module imported whole counts by its attributes."""
    nodes = list(ast.walk(tree))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    whole = {name.name for node in imports if node.module == FLOWS for name in node.names}
    named = {
        (node.module.removeprefix(f"{FLOWS}."), name.name)
        for node in imports
        if node.module and node.module.startswith(f"{FLOWS}.")
        for name in node.names
    }
    of_whole = {
        (node.value.id, node.attr)
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in whole
    }
    return named | of_whole


def test_each_flow_is_used_by_a_command() -> None:
    rooms: dict[tuple[str, str], set[str]] = defaultdict(set)
    defined: set[tuple[str, str]] = set()
    for path in PACKAGE.rglob("*.py"):
        tree = ast.parse(path.read_text())
        room = path.relative_to(PACKAGE).parts[0]
        for use in used(tree):
            rooms[use].add(room)
        if room == "flows":
            definitions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            defined |= {(path.stem, node.name) for node in definitions}
            for node in ast.walk(tree):
                if isinstance(node, ast.Name):
                    rooms[path.stem, node.id].add(room)
    assert len(defined) > 100, "the scan must have seen the room"
    assert {f"{module}.{name}" for module, name in defined if rooms[module, name] == {"action"}} == set()
