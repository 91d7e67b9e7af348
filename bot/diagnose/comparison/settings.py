"""The settings of the comparison of two revisions."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonSettings:
    """`alpha`: the false discovery rate inside a level of the tree.

    `minimum_effect`: a path that gained less is not slower, however significant: many calls make tiny effects
    significant. `same_work`: profiles that count samples recorded the same work, so counts are compared, not shares.
    """

    alpha: float = 0.01
    minimum_effect: float = 0.01
    same_work: bool = False
