"""Methods over all their paths: what no misaligned path can hide."""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from bot.diagnose.comparison.align import AlignedNode, AlignedTree
from bot.diagnose.comparison.observed import Spread, added_up
from bot.diagnose.ranking import inside_itself

# Where an absolute path into the standard library begins.
_STANDARD: Final = re.compile(r".*/lib(?:64)?/python3\.[0-9]+/|.*/Lib/")


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """What is tested: one amount of the target beside that of the baseline."""

    baseline: Spread
    target: Spread


@dataclass(frozen=True, kw_only=True, slots=True)
class Method:
    """`places`: its nodes; `outermost`: those that do not run inside another call of it.

    `own`: without callees; `total`: with them, of the outermost calls (a recursion is one). `calls`: of baseline and
    target, per repetition; None where they are not counted, or a side has none.
    """

    name: str
    places: tuple[int, ...]
    outermost: tuple[int, ...]
    own: Row
    total: Row
    is_in_baseline: bool
    is_in_target: bool
    is_loading: bool
    calls: tuple[float, float] | None

    @property
    def is_in_both(self) -> bool:
        return self.is_in_baseline and self.is_in_target


def methods_of(tree: AlignedTree) -> tuple[Method, ...]:
    places: dict[str, list[int]] = {}
    outermost: dict[str, list[int]] = {}
    parents = [node.parent if node.parent >= 0 else None for node in tree.nodes]
    inside = inside_itself([node.method for node in tree.nodes], parents)
    for i, (node, is_inner) in enumerate(zip(tree.nodes, inside, strict=True)):
        places.setdefault(node.method, []).append(i)
        if not is_inner:
            outermost.setdefault(node.method, []).append(i)
    return tuple(
        Method(
            name=name,
            places=tuple(indices),
            outermost=tuple(outermost[name]),
            own=merged([tree.nodes[i] for i in indices], "own", tree),
            total=merged([tree.nodes[i] for i in outermost[name]], "elapsed", tree),
            is_loading=all(_is_loading(tree, i) for i in indices),
            calls=_calls([tree.nodes[i] for i in indices]),
            is_in_baseline=any(tree.nodes[i].baseline is not None for i in indices),
            is_in_target=any(tree.nodes[i].target is not None for i in indices),
        )
        for name, indices in places.items()
    )


def _calls(nodes: Sequence[AlignedNode]) -> tuple[float, float] | None:
    before, after = (
        [side.calls for side in sides if side is not None]
        for sides in zip(*((n.baseline, n.target) for n in nodes), strict=True)
    )
    if None in before or None in after:
        return None
    totals = sum(filter(None, before)), sum(filter(None, after))
    return totals if all(totals) else None


def is_in_c(name: str) -> bool:
    """Functions of the interpreter, as cProfile names them: no commit of the program changes them."""
    return name.startswith(("<built-in ", "<method ", "<slot wrapper "))


def _is_loading(tree: AlignedTree, i: int) -> bool:
    """Python's import system: what it takes depends on caches of files. Modules' own code, below it, is not meant."""
    while i >= 0 and is_in_c(tree.nodes[i].method):
        i = tree.nodes[i].parent
    return i >= 0 and tree.nodes[i].method.startswith("<frozen importlib")


def total_row(tree: AlignedTree) -> Row:
    return merged([tree.nodes[i] for i in tree.roots], "elapsed", tree)


def merged(nodes: Sequence[AlignedNode], amount: Literal["own", "elapsed"], tree: AlignedTree) -> Row:
    """Of all the nodes together; a side that has none of them took no time."""
    sides = ([node.baseline for node in nodes], tree.baseline), ([node.target for node in nodes], tree.target)
    before, after = (
        added_up([getattr(node, amount) for node in side if node is not None], repetitions=whole.repetitions)
        for side, whole in sides
    )
    return Row(baseline=before, target=after)


def is_standard(file: str | None) -> bool:
    """Whether Python's standard library has it, which no commit of a program changes: `copy.py`, `json/decoder.py`."""
    if not file:
        return False
    if file.startswith("<frozen "):
        return True
    place = _STANDARD.search(file)
    top = (file[place.end() :] if place else file).partition("/")[0]
    return "site-packages" not in file and top.removesuffix(".py") in sys.stdlib_module_names
