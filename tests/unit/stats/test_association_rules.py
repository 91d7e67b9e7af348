"""METHODS 4.3: rules between levels, compared with apriori where both can run."""

from itertools import combinations

import numpy as np
import pytest
from efficient_apriori import apriori

from perf_culprit.arrays import ABSENT
from perf_culprit.stats.association_rules import Mining, Rules, mine_rules
from perf_culprit.stats.discretise import LevelTable
from perf_culprit.stats.items import Items

Rule = tuple[frozenset[int], int]


def random_levels(seed: int, *, counters: int, instants: int, missing: float = 0.0) -> LevelTable:
    """Levels that depend on a common load, so that rules exist."""
    rng = np.random.default_rng(seed)
    load = rng.integers(0, 3, (instants, 1))
    own = rng.integers(0, 3, (instants, counters))
    levels = np.where(rng.random((instants, counters)) < np.linspace(0.2, 0.9, counters), load, own)
    levels[rng.random(levels.shape) < missing] = -1
    return levels.astype(np.int16)


def three_each(counters: int) -> Items:
    return Items(np.full(counters, 3))


def as_dictionary(rules: Rules) -> dict[Rule, tuple[float, float]]:
    keys = [
        (frozenset(premise[premise != ABSENT].tolist()), consequent)
        for premise, consequent in zip(rules.premises, rules.consequents.tolist(), strict=True)
    ]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, zip(rules.support.tolist(), rules.confidence.tolist(), strict=True), strict=True))


def by_apriori(levels: LevelTable, items: Items, mining: Mining) -> dict[Rule, tuple[float, float]]:
    baskets = [
        tuple(int(start + level) for start, level in zip(items.starts, row, strict=True) if level >= 0)
        for row in levels
    ]
    _, rules = apriori(
        baskets,
        min_support=mining.minimum_support,
        min_confidence=mining.minimum_confidence,
        max_length=mining.premise_length + 1,
    )
    results = {
        (frozenset(rule.lhs), rule.rhs[0]): (rule.support, rule.confidence) for rule in rules if len(rule.rhs) == 1
    }
    for item, count in enumerate(items.counts(levels)):
        share = int(count) / len(levels)
        if share >= max(mining.minimum_support, mining.minimum_confidence):
            results[frozenset(), item] = (share, share)
    return results


@pytest.mark.parametrize("premise_length", [1, 2])
@pytest.mark.parametrize(("support", "confidence"), [(0.1, 0.5), (0.05, 0.7), (0.3, 0.3)])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_methods_4_3_rules_are_those_of_apriori(
    premise_length: int, support: float, confidence: float, missing: float
) -> None:
    mining = Mining(minimum_support=support, minimum_confidence=confidence, premise_length=premise_length, prune=False)
    levels, items = random_levels(premise_length, counters=7, instants=60, missing=missing), three_each(7)
    expected = by_apriori(levels, items, mining)
    by_name = as_dictionary(mine_rules(levels, items, mining))
    assert len(expected) > 3
    assert by_name.keys() == expected.keys()
    for rule, numbers in by_name.items():
        assert numbers == pytest.approx(expected[rule], rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_methods_4_3_redundant_rules_are_pruned(seed: int) -> None:
    mining = Mining(premise_length=2, prune=False)
    levels, items = random_levels(seed, counters=6, instants=50), three_each(6)
    everything = as_dictionary(mine_rules(levels, items, mining))
    # Without the test against chance and the limit, the pruning only removes redundant rules.
    pruned = as_dictionary(mine_rules(levels, items, Mining(premise_length=2, alpha=1e300, most_rules=10**6)))
    needed = {
        (premise, consequent)
        for (premise, consequent), (_, confidence) in everything.items()
        if all(
            everything.get((frozenset(shorter), consequent), (0.0, 0.0))[1] < confidence
            for length in range(len(premise))
            for shorter in combinations(premise, length)
        )
    }
    assert pruned.keys() == needed
    assert len(needed) < len(everything)


def test_a_rule_that_chance_explains_is_pruned() -> None:
    rng = np.random.default_rng(5)
    levels = rng.integers(0, 3, (144, 60)).astype(np.int16)
    assert not len(mine_rules(levels, three_each(60), Mining(minimum_confidence=0.45)))
    assert len(mine_rules(levels, three_each(60), Mining(minimum_confidence=0.45, prune=False)))
    levels[:, 7] = levels[:, 3]
    strong = as_dictionary(mine_rules(levels, three_each(60), Mining()))
    assert strong.keys() == {
        (frozenset({3 * first + level}), 3 * second + level) for level in range(3) for first, second in [(3, 7), (7, 3)]
    }


def test_two_premises_are_tested_as_often_as_pairs_were_tried() -> None:
    levels = np.random.default_rng(5).integers(0, 3, (144, 20)).astype(np.int16)
    assert not len(mine_rules(levels, three_each(20), Mining(minimum_confidence=0.45, premise_length=2)))


def test_each_consequent_keeps_its_strongest_rules() -> None:
    levels, items = random_levels(2, counters=12, instants=200), three_each(12)
    everything = mine_rules(levels, items, Mining(alpha=1e300, most_rules=10**6))
    few = mine_rules(levels, items, Mining(alpha=1e300, most_rules=2))
    for consequent in np.unique(everything.consequents):
        all_of_it = np.sort(everything.confidence[everything.consequents == consequent])[::-1]
        assert few.confidence[few.consequents == consequent].tolist() == all_of_it[:2].tolist()


def test_a_constant_counter_is_a_rule_without_premise() -> None:
    levels = np.ones((20, 3), dtype=np.int16)
    rules = as_dictionary(mine_rules(levels, three_each(3), Mining()))
    assert rules == {(frozenset(), item): (1.0, 1.0) for item in (1, 4, 7)}


def test_counters_without_values_have_no_rules() -> None:
    assert len(mine_rules(np.full((20, 3), -1, dtype=np.int16), three_each(3), Mining(premise_length=2))) == 0
