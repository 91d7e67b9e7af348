"""A rule ensemble's votes, rules and violating spans as part of a report."""

from pydantic.dataclasses import dataclass

from bot.codec.wire import WIRE_CONFIG
from bot.model.rules import ModelVote, RuleEvidence, ViolatedRule


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class VoteEntry:
    run: str
    weight: float
    flagged: bool


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class RuleEntry:
    """Confidences are fractions of the instants at which the premise holds; an empty premise always does."""

    premise: tuple[str, ...]
    consequent: str
    old_confidence: float
    new_confidence: float
    change: float


@dataclass(config=WIRE_CONFIG, frozen=True, kw_only=True)
class RulesEntry:
    """`violations` are first and last second of each span, on the clock of the target's table."""

    votes: tuple[VoteEntry, ...]
    rules: tuple[RuleEntry, ...]
    violations: tuple[tuple[float, float], ...]
    lower_boundary: float
    upper_boundary: float


def rules_entry(rules: RuleEvidence | None) -> RulesEntry | None:
    if rules is None:
        return None
    return RulesEntry(
        votes=tuple(VoteEntry(run=vote.run, weight=vote.weight, flagged=vote.flagged) for vote in rules.votes),
        rules=tuple(
            RuleEntry(
                premise=rule.premise,
                consequent=rule.consequent,
                old_confidence=rule.old_confidence,
                new_confidence=rule.new_confidence,
                change=rule.change,
            )
            for rule in rules.rules
        ),
        violations=rules.violations,
        lower_boundary=rules.lower_boundary,
        upper_boundary=rules.upper_boundary,
    )


def rule_evidence(entry: RulesEntry | None) -> RuleEvidence | None:
    if entry is None:
        return None
    return RuleEvidence(
        votes=tuple(ModelVote(run=vote.run, weight=vote.weight, flagged=vote.flagged) for vote in entry.votes),
        rules=tuple(
            ViolatedRule(
                premise=rule.premise,
                consequent=rule.consequent,
                old_confidence=rule.old_confidence,
                new_confidence=rule.new_confidence,
                change=rule.change,
            )
            for rule in entry.rules
        ),
        violations=entry.violations,
        lower_boundary=entry.lower_boundary,
        upper_boundary=entry.upper_boundary,
    )
