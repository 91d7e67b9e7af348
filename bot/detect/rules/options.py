"""What can be chosen about the rule ensemble."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from bot.stats.association_rules import Mining


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleOptions:
    """`discretisation` and `ensemble` name methods of [F11]; `single` is one model of all runs, for comparison.

    `confidence_change` flags a counter: 0.25 is a medium level (68% of instants) that falls to 30%, a shift by one
    and a half standard deviations, or something quite different for more than half of the test. `alpha` bounds how
    often a counter's rules fail by chance. `warm_up` and `cool_down` are the fractions of a test that are dropped.
    `interval_s`: None finds one that holds a sample of the slowest counter, so long that a test has no more than
    `most_instants`. `most_models` of the nearest and newest
    runs are mined. With `prefer_near_duplicates` only runs of the target's environment are, where there are two; a
    single one must agree with the majority. `weights` are the user's own for models by commit; those not named weigh 1.
    """

    discretisation: Literal["three_level", "equal_width"] = "three_level"
    ensemble: Literal["stacking", "bagging", "single"] = "stacking"
    mining: Mining = field(default_factory=Mining)
    confidence_change: float = 0.25
    alpha: float = 0.01
    warm_up: float = 0.05
    cool_down: float = 0.05
    interval_s: float | None = None
    most_instants: int = 144
    most_models: int = 10
    prefer_near_duplicates: bool = True
    weights: Mapping[str, float] | None = None
