"""Evidence of a metric that did not change, among very many: its numbers stay in the columns of their computation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from bot.model.finding import Evidence, Excess

# What the findings are ordered and grouped by. All else is made again when it is read.
LIGHT: Final = ("key", "metric", "test", "relative_change", "reason")

if TYPE_CHECKING:
    Like = Evidence
else:
    # Not inherited: the places of seventeen fields would take more room than this has.
    Like = object


class Kept(Like):
    """The evidence at `index` of `source`, a tenth of its size."""

    __slots__ = ("index", "source", *LIGHT)
    # What is tested by a p-value has no score, and a counter's rules.
    score = None
    threshold = None
    rules = None
    excess = Excess()

    def __init__(self, evidence: Evidence, source: Sequence[Evidence], index: int) -> None:
        for name in LIGHT:
            object.__setattr__(self, name, getattr(evidence, name))
        object.__setattr__(self, "source", source)
        object.__setattr__(self, "index", index)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source[self.index], name)
