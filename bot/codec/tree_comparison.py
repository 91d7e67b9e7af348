"""Two revisions' call trees compared, as JSON (tree-comparison v1): what `diagnose --baseline … --json` writes.

The same object stands in a report as its `diagnosis`.
"""

from typing import Final, Literal

from pydantic.dataclasses import dataclass

import bot.codec.reason  # noqa: F401  # teaches the doubts' form
from bot.codec.fields import same_fields
from bot.codec.wire import WIRE_CONFIG, decode, encode
from bot.errors import DataError
from bot.model.tree_comparison import TreeComparison

SCHEMA_NAME: Final = "tree-comparison-v1"


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class TreeComparisonFile(TreeComparison):
    """The whole file. `format` and `version` make it known by content."""

    format: Literal["perf-culprit-tree-comparison"]
    version: Literal[1]


def encode_tree_comparison(comparison: TreeComparison) -> bytes:
    """Fields that say nothing are left out: a tree has thousands of nodes."""
    return encode(tree_comparison_entry(comparison), indent=1, exclude_defaults=True)


def decode_tree_comparison(data: bytes, *, place: str) -> TreeComparison:
    """The comparison in `data`; a DataError with file and place where it is none."""
    return tree_comparison(decode(TreeComparisonFile, data, place=place, what=SCHEMA_NAME), place=place)


def tree_comparison_entry(comparison: TreeComparison) -> TreeComparisonFile:
    return same_fields(TreeComparisonFile, comparison, format="perf-culprit-tree-comparison", version=1)


def tree_comparison(file: TreeComparisonFile, *, place: str) -> TreeComparison:
    require_callers_first(file, place=place)
    return same_fields(TreeComparison, file)


def require_callers_first(comparison: TreeComparison, *, place: str) -> None:
    """A DataError where a node stands before the one that calls it."""
    for i, service in enumerate(comparison.services):
        for j, node in enumerate(service.nodes):
            if node.parent is not None and not 0 <= node.parent < j:
                raise DataError(
                    f"its parent {node.parent} does not come before it",
                    place=f"{place}: services.{i}.nodes.{j}.parent",
                    next_step="write the file again with this version of perf-culprit",
                )
