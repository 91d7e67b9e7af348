"""Evidence of a metric that did not change, among very many: its numbers stay in the columns of their computation."""

from collections.abc import Sequence
from typing import Any, Final, cast

from bot.model.finding import Evidence, Excess

# What findings are ordered and grouped by.
HELD: Final = ("key", "metric", "test", "relative_change", "reason")


class EvidenceOnDemand:
    """Stands in for the evidence at `index` of `rows` and takes a tenth of its room.

    It holds the fields of HELD. Any other is read from the row, which makes its evidence anew. No subclass of Evidence:
    the places of seventeen fields would take more room than all that is held here.
    """

    __slots__ = ("_index", "_rows", *HELD)
    # Asked of every finding, and the same for all that is tested by a p-value.
    score = threshold = rules = None
    excess = Excess()

    def __init__(self, rows: Sequence[Evidence], index: int, evidence: Evidence) -> None:
        self._rows, self._index = rows, index
        for name in HELD:
            setattr(self, name, getattr(evidence, name))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rows[self._index], name)


def on_demand(rows: Sequence[Evidence], index: int, evidence: Evidence) -> Evidence:
    """`evidence`, which `rows` has at `index`, without its numbers: they are read from there whenever one is asked."""
    return cast(Evidence, EvidenceOnDemand(rows, index, evidence))
