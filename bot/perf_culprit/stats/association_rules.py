"""Association rules between counters' levels, mined by co-occurrence counts [F11, 5.2.3; Agrawal & Srikant 1994].

Every instant has one level of every counter, so baskets are as long as there are counters. Trees and candidate joins
would be too slow for them, while one matrix product counts all pairs at once.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from perf_culprit.arrays import ABSENT, Booleans, Floats, Integers, row_blocks
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.discretise import LevelTable
from perf_culprit.stats.items import Items, indicator_matrix


@dataclass(frozen=True, kw_only=True, slots=True)
class Mining:
    """`minimum_support` applies to premise and consequent together, `minimum_confidence` to the rule; both are shares.

    `premise_length` is the longest premise: 0, 1 or 2. `prune` drops redundant rules: a subset of their premise has the
    same consequent and no lower confidence (for the empty premise: lift <= 1). It also drops rules that chance
    explains: of all items tried, some premise does this well for `alpha` of uncorrelated consequents. The test uses
    Chernoff's bound [Webb 2007]. Pruning keeps the `most_rules` rules of highest confidence per consequent.
    """

    minimum_support: float = 0.1
    minimum_confidence: float = 0.5
    premise_length: int = 1
    prune: bool = True
    alpha: float = 0.01
    most_rules: int = 100


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Rules:
    """r rules. `premises` (r, l) are items, padded with ABSENT; an empty premise means a frequent consequent.

    `consequents` (r,) are items; `support` and `confidence` (r,) are shares of the instants they were mined from.
    """

    premises: Integers
    consequents: Integers
    support: Floats
    confidence: Floats

    def __len__(self) -> int:
        return len(self.consequents)

    def take(self, chosen: Integers | Booleans) -> "Rules":
        return Rules(
            premises=self.premises[chosen],
            consequents=self.consequents[chosen],
            support=self.support[chosen],
            confidence=self.confidence[chosen],
        )


def mine_rules(levels: LevelTable, items: Items, mining: Mining) -> Rules:
    """Return all rules with one item as consequent, also with an empty premise, ordered by consequent and strength.

    `levels` (n, m) come from `to_levels`; a missing level belongs to no item. Premises never contain the consequent's
    counter. Only the test against chance makes an assumption: that the instants are independent.
    """
    frequent = _Frequent.of(levels, items, mining)
    parts = [_without_premise(frequent, mining)]
    if mining.premise_length >= 1:
        parts += [
            _with_one(frequent, np.arange(part.start, part.stop), mining)
            for part in row_blocks(frequent.size, cells=frequent.size)
        ]
    if mining.premise_length >= 2 and frequent.size <= WORK_LIMITS.paired_items:
        together = frequent.holds.T @ frequent.holds
        parts += [_with_two(frequent, consequent, together, mining) for consequent in range(frequent.size)]
    return _strongest(_join(parts), mining.most_rules if mining.prune else None)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Frequent:
    """The items with enough support: `items` (k,) and `counters` (k,); `holds` (n, k) of 0 and 1; `counts` (k,)."""

    items: Integers
    counters: Integers
    holds: NDArray[np.float32]
    counts: Floats
    least: int

    @classmethod
    def of(cls, levels: LevelTable, items: Items, mining: Mining) -> "_Frequent":
        counts = items.counts(levels)
        least = max(_at_least(mining.minimum_support * len(levels)), 1)
        chosen = np.flatnonzero(counts >= least)
        return cls(
            items=chosen,
            counters=items.counters[chosen],
            holds=indicator_matrix(levels, items, chosen),
            counts=counts[chosen].astype(np.float64),
            least=least,
        )

    @property
    def size(self) -> int:
        return len(self.items)

    @property
    def instants(self) -> int:
        return len(self.holds)

    def rules(self, premises: Integers, consequents: Integers, both: Floats, premise_counts: Floats) -> Rules:
        """Return rules from positions among the frequent items; ABSENT stays."""
        return Rules(
            premises=np.where(premises == ABSENT, ABSENT, self.items[premises]),
            consequents=self.items[consequents],
            support=both / self.instants,
            confidence=both / premise_counts,
        )


def _without_premise(frequent: _Frequent, mining: Mining) -> Rules:
    chosen = np.flatnonzero(frequent.counts >= _at_least(mining.minimum_confidence * frequent.instants))
    premises = np.full((len(chosen), 1), ABSENT)
    return frequent.rules(premises, chosen, frequent.counts[chosen], np.full(len(chosen), float(frequent.instants)))


def _with_one(frequent: _Frequent, block: Integers, mining: Mining) -> Rules:
    both = frequent.holds[:, block].T @ frequent.holds
    needed = np.maximum(np.ceil(mining.minimum_confidence * frequent.counts - 1e-9), frequent.least)
    is_rule = both >= needed.astype(np.float32)
    is_rule &= frequent.counters[block][:, None] != frequent.counters
    rows, premises = np.nonzero(is_rule)
    counts, consequents = both[rows, premises].astype(np.float64), block[rows]
    if mining.prune:
        likely = _beyond_chance(
            counts,
            frequent.counts[premises],
            frequent.counts[consequents] / frequent.instants,
            alpha=mining.alpha / frequent.size,
        )
        counts, premises, consequents = counts[likely], premises[likely], consequents[likely]
    return frequent.rules(premises[:, None], consequents, counts, frequent.counts[premises])


def _with_two(frequent: _Frequent, consequent: int, together: NDArray[np.float32], mining: Mining) -> Rules:
    held = frequent.holds[frequent.holds[:, consequent] > 0]
    all_three = held.T @ held
    needed = np.maximum(np.ceil(mining.minimum_confidence * together - 1e-4), frequent.least)
    other = frequent.counters != frequent.counters[consequent]
    is_rule = (all_three >= needed) & other & other[:, None] & (frequent.counters[:, None] != frequent.counters)
    first, second = np.nonzero(np.triu(is_rule, 1))
    counts, premise_counts = all_three[first, second].astype(np.float64), together[first, second].astype(np.float64)
    if mining.prune:
        of_one = held.sum(axis=0) / frequent.counts
        best = np.maximum(np.maximum(of_one[first], of_one[second]), frequent.counts[consequent] / frequent.instants)
        pairs = max(frequent.size * (frequent.size - 1) / 2, 1)
        likely = _beyond_chance(counts, premise_counts, best, alpha=mining.alpha / pairs)
        first, second = first[likely], second[likely]
        counts, premise_counts = counts[likely], premise_counts[likely]
    premises = np.column_stack([first, second])
    return frequent.rules(premises, np.full(len(first), consequent), counts, premise_counts)


def _beyond_chance(both: Floats, premises: Floats, share: Floats, *, alpha: float) -> Booleans:
    """Whether the consequent is more frequent under the premise than `share`, and not by chance alone."""
    confidence = both / premises
    # Integers stored as floats are exact, so equal confidence does not count as a gain.
    better = both > share * premises * (1 + 1e-12)
    entropy = relative_entropy(confidence, share)
    beyond: Booleans = better & (premises * entropy >= -math.log(alpha))
    return beyond


def _join(parts: list[Rules]) -> Rules:
    width = max(part.premises.shape[1] for part in parts)
    premises = np.full((sum(map(len, parts)), width), ABSENT)
    start = 0
    for part in parts:
        premises[start : start + len(part), : part.premises.shape[1]] = part.premises
        start += len(part)
    return Rules(
        premises=premises,
        consequents=np.concatenate([part.consequents for part in parts]),
        support=np.concatenate([part.support for part in parts]),
        confidence=np.concatenate([part.confidence for part in parts]),
    )


def _strongest(rules: Rules, most: int | None) -> Rules:
    """Sort rules by consequent, confidence, support and premise; keep at most `most` per consequent."""
    keys = (*rules.premises.T[::-1], -rules.support, -rules.confidence, rules.consequents)
    ordered = rules.take(np.lexsort(keys))
    if most is None or not len(ordered):
        return ordered
    first = np.flatnonzero(np.diff(ordered.consequents, prepend=-1))
    rank = np.arange(len(ordered)) - np.repeat(first, np.diff(first, append=len(ordered)))
    return ordered.take(rank < most)


def _at_least(share_of_instants: float) -> int:
    return math.ceil(share_of_instants - 1e-9)


def relative_entropy(observed: Floats, expected: Floats) -> Floats:
    """Relative entropy of two shares, elementwise: q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)); infinite if p excludes q.

    Chernoff's bound: in n independent trials a share this far from p on one side has probability at most
    exp(-n * entropy) [Chernoff 1952, Hoeffding 1963].
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        happened = np.where(observed > 0, observed * np.log(observed / expected), 0.0)
        not_happened = np.where(observed < 1, (1 - observed) * np.log((1 - observed) / (1 - expected)), 0.0)
    entropy: Floats = np.maximum(happened + not_happened, 0.0)
    return entropy


def lowest_plausible_share(observed: Floats, counts: Floats, *, alpha: float) -> Floats:
    """Lower confidence bound of a share observed in `counts` independent trials, elementwise, by Chernoff's bound.

    If the true share is below it, a share as high as `observed` has a chance of less than `alpha`. Conservative: the
    exact binomial bound is higher.
    """
    low, high = np.zeros_like(observed), observed.copy()
    needed = -np.log(alpha) / np.maximum(counts, 1)
    for _ in range(40):  # each step halves the error, which gives twelve digits
        middle = (low + high) / 2
        too_low = relative_entropy(observed, middle) > needed
        low, high = np.where(too_low, middle, low), np.where(too_low, high, middle)
    return low
