"""The structure of one service call: which execution called which, from their labels."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# The same calls come again and again, in every block of a log.
MOST_REMEMBERED: Final = 2_000
MOST_REMEMBERED_LINES: Final = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class Shape:
    """`order`: the executions so that parents come before children; `parents[i]`: the caller of execution i, or -1.

    `tops`: the executions that nothing calls, in the order of their labels. `has_root`: they are all labelled as
    roots (without a dot), so that no line above them is missing. `digest`: the same for the same labels and methods
    in any order of lines.
    """

    order: tuple[int, ...]
    parents: tuple[int, ...]
    tops: tuple[int, ...]
    has_root: bool
    digest: bytes


def shape_of(labels: tuple[bytes, ...], methods: tuple[bytes, ...]) -> Shape:
    """The parent of `1.1.2.1` is `1.1.2`; where that line is missing, the nearest ancestor that was logged."""
    return (_remembered if len(labels) <= MOST_REMEMBERED_LINES else _shape_of)(labels, methods)


def _shape_of(labels: tuple[bytes, ...], methods: tuple[bytes, ...]) -> Shape:
    # With the closing dot every label sorts right before its descendants, whatever its components are.
    dotted = [label + b"." for label in labels]
    order = sorted(range(len(labels)), key=dotted.__getitem__)
    parents = [-1] * len(labels)
    ancestors: list[int] = []
    tops = []
    for execution in order:
        label = dotted[execution]
        while ancestors and not label.startswith(dotted[ancestors[-1]]):
            ancestors.pop()
        if ancestors:
            parents[execution] = ancestors[-1]
        else:
            tops.append(execution)
        ancestors.append(execution)
    digest = hashlib.blake2b(b"\n".join([part for i in order for part in (labels[i], methods[i])]), digest_size=8)
    return Shape(
        order=tuple(order),
        parents=tuple(parents),
        tops=tuple(tops),
        has_root=not any(b"." in labels[top] for top in tops),
        digest=digest.digest(),
    )


_remembered: Final = lru_cache(MOST_REMEMBERED)(_shape_of)
