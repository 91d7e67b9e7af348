"""What rules between counters say about one counter: the data behind a report's votes, rules and shaded spans."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelVote:
    """One rule model: `run` names the baseline run that trained it (commit, else time or number)."""

    run: str
    weight: float
    flagged: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ViolatedRule:
    """A rule that held in the baseline and not in the target; an empty `premise` held always.

    Premise and consequent are in words ("cpu is high"). Confidences are shares of the instants with the premise;
    `change` is the cosine distance between them [F11].
    """

    premise: tuple[str, ...]
    consequent: str
    old_confidence: float
    new_confidence: float
    change: float


@dataclass(frozen=True, kw_only=True, slots=True)
class RuleEvidence:
    """`rules` by falling change, at most a few. `violations` are spans of the target, in seconds of its table's clock.

    `lower_boundary` and `upper_boundary` bound the medium level (or all levels) in the nearest model: chart data.
    """

    votes: tuple[ModelVote, ...]
    rules: tuple[ViolatedRule, ...]
    violations: tuple[tuple[float, float], ...]
    lower_boundary: float
    upper_boundary: float
