"""What a commit that a bisection named did to the program: which methods got slower, and where."""

from dataclasses import dataclass

from bot.model.reason import Reason
from bot.model.touched import TouchedFunction
from bot.model.tree_comparison import ComparedSuspect, TreeComparison


@dataclass(frozen=True, kw_only=True, slots=True)
class CulpritDiagnosis:
    """`counted`: functions whose instructions make up the change, counted exactly, the most first.

    `changed`: functions whose code the commit changed, tests left out, and `more` of them.

    `comparison`: the parent's profile against the commit's; without one `doubt` says why.
    """

    commit: str
    counted: tuple[ComparedSuspect, ...] = ()
    changed: tuple[TouchedFunction, ...] = ()
    more: int = 0
    comparison: TreeComparison | None = None
    doubt: Reason | None = None
