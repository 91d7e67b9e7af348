"""METHODS 4.4 and 4.5: changes of rules in another run."""

import numpy as np
import pytest

from perf_culprit.arrays import ABSENT
from perf_culprit.stats.association_rules import Mining, Rules, mine_rules
from perf_culprit.stats.items import HeldBits, Items, shares_change, to_instants
from perf_culprit.stats.rule_change import apply_rules, conditional_moments, confidence_change, mismatches
from tests.unit.stats.test_association_rules import random_levels, three_each


def change(old: float, new: float) -> float:
    return float(confidence_change(np.array([old]), np.array([new]))[0])


def rule(premise: list[int], consequent: int) -> Rules:
    return Rules(
        premises=np.array([premise or [ABSENT]]),
        consequents=np.array([consequent]),
        support=np.array([0.5]),
        confidence=np.array([0.9]),
    )


def test_methods_4_4_from_0_9_to_0_2_is_0_652() -> None:
    assert change(0.9, 0.2) == pytest.approx(0.652, abs=5e-4)


def test_confidence_change_is_0_for_the_same_and_1_for_the_opposite() -> None:
    assert change(0.7, 0.7) == pytest.approx(0, abs=1e-12)
    assert change(1.0, 0.0) == 1.0
    assert change(0.2, 0.9) == pytest.approx(change(0.9, 0.2))


def test_methods_4_4_a_premise_that_never_holds_has_no_new_confidence() -> None:
    levels = np.array([[0, 1], [0, 2]], dtype=np.int16)
    outcome = apply_rules(rule([1], 4), HeldBits.of(levels, three_each(2)), three_each(2))
    assert outcome.premises[0] == 0
    assert np.isnan(outcome.confidence[0])
    assert np.isnan(confidence_change(np.array([0.9]), outcome.confidence)[0])


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_applied_rules_count_what_a_loop_counts(missing: float) -> None:
    items = three_each(5)
    rules = mine_rules(
        random_levels(1, counters=5, instants=80), items, Mining(premise_length=2, minimum_confidence=0.3, prune=False)
    )
    levels = random_levels(2, counters=5, instants=130, missing=missing)
    bits = HeldBits.of(levels, items)
    outcome, wrong = apply_rules(rules, bits, items), mismatches(rules, bits, items)
    present = [{int(s + v) for s, v in zip(items.starts, row, strict=True) if v >= 0} for row in levels]
    assert len(rules) > 50
    for index, (premise, consequent) in enumerate(zip(rules.premises, rules.consequents.tolist(), strict=True)):
        needed, counter = set(premise[premise != ABSENT].tolist()), consequent // 3
        satisfied = [needed <= row and levels[i, counter] >= 0 for i, row in enumerate(present)]
        matched = [consequent in row for row in present]
        assert outcome.premises[index] == sum(satisfied)
        assert outcome.matches[index] == sum(s and m for s, m in zip(satisfied, matched, strict=True))
        expected = [s and not m for s, m in zip(satisfied, matched, strict=True)]
        assert to_instants(wrong[index], 130).tolist() == expected


def test_a_rule_keeps_its_confidence_in_the_run_it_was_mined_from() -> None:
    levels, items = random_levels(4, counters=9, instants=100), Items(np.full(9, 3))
    rules = mine_rules(levels, items, Mining())
    assert apply_rules(rules, HeldBits.of(levels, items), items).confidence == pytest.approx(rules.confidence)


def test_shares_of_levels_change_by_the_cosine_between_them() -> None:
    items = three_each(3)
    old = np.array([[0, 1, -1], [1, 1, -1], [2, 1, -1]], dtype=np.int16)
    new = np.array([[2, 1, 0], [2, 1, 0], [2, 1, 0]], dtype=np.int16)
    assert shares_change(items, old, new) == pytest.approx([1 - 1 / np.sqrt(3), 0, 0])


def test_conditional_moments_are_those_of_the_values_at_the_set_bits() -> None:
    values = np.random.default_rng(5).normal(3.0, 2.0, (70, 3))
    instants = np.zeros((3, 70), dtype=bool)
    instants[0, ::3] = instants[1, 65:] = True
    octets = np.zeros((3, 16), dtype=np.uint8)
    octets[:, :9] = np.packbits(instants, axis=1, bitorder="little")
    mean, deviation = conditional_moments(octets.view("<u8").astype(np.uint64), values)
    for rule_place in (0, 1):
        chosen = values[instants[rule_place], rule_place]
        assert (mean[rule_place], deviation[rule_place]) == pytest.approx((np.mean(chosen), np.std(chosen)))
    assert np.isnan([mean[2], deviation[2]]).all()
