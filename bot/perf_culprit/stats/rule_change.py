"""Rules applied to another run: their new confidence, and its distance from the old one [F11, 5.2.3]."""

from dataclasses import dataclass

import numpy as np

from perf_culprit.arrays import ABSENT, Booleans, Floats, Integers, row_blocks
from perf_culprit.stats.association_rules import Rules
from perf_culprit.stats.items import Bits, HeldBits, Items, to_instants


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class RuleCounts:
    """Counts of r rules in one run, shapes (r,).

    `premises` counts the instants at which the premise holds and the consequent's counter was observed. `matches`
    counts those at which the consequent holds too.
    """

    premises: Integers
    matches: Integers

    @property
    def confidence(self) -> Floats:
        """The share of matches among premises; NaN where the premise never holds."""
        confidence = np.full(len(self.premises), np.nan)
        np.divide(self.matches, self.premises, out=confidence, where=self.premises > 0)
        return confidence


def confidence_change(old: Floats, new: Floats) -> Floats:
    """1 - cos of the angle between (c, 1 - c) and (c', 1 - c'), elementwise in 0..1 [F11, eq. 5-1 to 5-3].

    From 0.9 to 0.2 it is 0.652. NaN where a confidence is NaN: a premise that never holds has no change.
    """
    lengths = np.hypot(old, 1 - old) * np.hypot(new, 1 - new)
    change: Floats = 1 - (old * new + (1 - old) * (1 - new)) / lengths
    return np.clip(change, 0.0, 1.0)


def apply_rules(rules: Rules, bits: HeldBits, items: Items) -> RuleCounts:
    """Count the rules' premises and matches in a run whose levels are `bits`."""
    premises, matches = np.zeros(len(rules), dtype=np.intp), np.zeros(len(rules), dtype=np.intp)
    for part in row_blocks(len(rules), cells=bits.held.shape[1]):
        rules_of_part = rules.take(np.arange(part.start, part.stop))
        held = premise_bits(rules_of_part, bits, items)
        premises[part] = np.bitwise_count(held).sum(axis=1)
        matches[part] = np.bitwise_count(held & bits.held[rules_of_part.consequents]).sum(axis=1)
    return RuleCounts(premises=premises, matches=matches)


def mismatches(rules: Rules, bits: HeldBits, items: Items) -> Bits:
    """Instants at which a premise holds and its observed consequent does not, (r, words)."""
    return premise_bits(rules, bits, items) & ~bits.held[rules.consequents]


def premise_bits(rules: Rules, bits: HeldBits, items: Items) -> Bits:
    """Instants at which each premise holds and the consequent's counter was observed, (r, words)."""
    held = bits.observed[items.counters[rules.consequents]]
    for column in rules.premises.T:
        held = np.where((column != ABSENT)[:, None], held & bits.held[column], held)
    return held


def conditional_moments(held: Bits, values: Floats) -> tuple[Floats, Floats]:
    """Return each column's mean and standard deviation at the instants of its bits: shapes (r,), NaN without any.

    `held` (r, words), `values` (n, r), known at these instants.
    """
    chosen = to_instants(held, len(values)).T
    count = chosen.sum(axis=0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        mean = np.where(chosen, values, 0.0).sum(axis=0) / count
        squares = np.where(chosen, (values - mean) ** 2, 0.0).sum(axis=0)
        return mean, np.sqrt(squares / count)


NEVER = np.iinfo(np.intp).max
# Counters this close to the highest share are blamed together, to keep the number of rounds low.
NEARLY = 0.9


def rounds_of_blame(premises: Integers, consequents: Integers, broken: Booleans, *, moved: Booleans) -> Integers:
    """Return the round in which each of m counters is blamed, shape (m,); NEVER if it is not.

    The input is all rules whose premise holds somewhere in the target. `premises` (r, l) are counters padded with
    ABSENT, `consequents` and `broken` are (r,). `moved` (m,): the counter's own levels changed.

    The source blames every consequent. But an always high counter breaks "when it is high, so is the other" for an
    unchanged other. Therefore moved consequents are blamed first. Each further round blames those with the largest
    share of broken rules. Rules with a blamed premise no longer count.
    """
    counters = len(moved)
    rounds = np.full(counters, NEVER, dtype=np.intp)
    rounds[(np.bincount(consequents[broken], minlength=counters) > 0) & moved] = 0
    # The last entry stands for ABSENT, which is never blamed.
    blamed = np.append(rounds != NEVER, False)
    while True:
        testifies = ~blamed[premises].any(axis=1) & ~blamed[consequents]
        wrong = np.bincount(consequents[testifies & broken], minlength=counters)
        if not wrong.any():
            return rounds
        share = wrong / np.maximum(np.bincount(consequents[testifies], minlength=counters), 1)
        chosen = share >= NEARLY * share.max()
        rounds[chosen] = rounds[rounds != NEVER].max(initial=0) + 1
        blamed[:-1] |= chosen
