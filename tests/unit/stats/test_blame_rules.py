import numpy as np

from perf_culprit.arrays import ABSENT
from perf_culprit.stats.rule_change import NEVER, rounds_of_blame


def blame(*rules: tuple[tuple[int, ...], int, bool], counters: int, moved: tuple[int, ...] = ()) -> list[int | None]:
    width = max(len(premise) for premise, _, _ in rules) or 1
    premises = np.array([[*premise, *[ABSENT] * (width - len(premise))] for premise, _, _ in rules])
    rounds = rounds_of_blame(
        premises,
        np.array([consequent for _, consequent, _ in rules]),
        np.array([broken for _, _, broken in rules]),
        moved=np.isin(np.arange(counters), moved),
    )
    return [None if value == NEVER else int(value) for value in rounds]


def test_nothing_is_blamed_while_all_rules_hold() -> None:
    assert blame(((0,), 1, False), ((), 0, False), counters=2) == [None, None]


def test_a_counter_that_left_its_level_is_blamed_and_not_those_it_predicted() -> None:
    assert blame(((), 0, True), ((0,), 1, True), ((1,), 0, True), ((), 1, False), counters=2, moved=(0,)) == [0, None]


def test_the_counter_that_broke_with_all_others_is_blamed_for_them() -> None:
    """Counters 0, 1 and 2 predict each other, and only 2 no longer fits."""
    pairs = [((a,), b, 2 in {a, b}) for a in range(3) for b in range(3) if a != b]
    assert blame(*pairs, counters=3) == [None, None, 1]


def test_two_counters_that_only_broke_with_each_other_are_both_blamed() -> None:
    assert blame(((0,), 1, True), ((1,), 0, True), counters=2) == [1, 1]


def test_a_rule_of_two_premises_falls_silent_with_either() -> None:
    assert blame(((), 0, True), ((0, 1), 2, True), ((1,), 2, False), counters=3, moved=(0,)) == [0, None, None]


def test_a_counter_that_moved_is_blamed_though_the_other_broke_a_larger_share() -> None:
    """Counter 1 is stuck at high: the rule that predicts high holds, and its prediction of counter 0 is wrong."""
    rules = (((0,), 1, True), ((0,), 1, True), ((0,), 1, False), ((1,), 0, True))
    assert blame(*rules, counters=2) == [1, None]
    assert blame(*rules, counters=2, moved=(1,)) == [None, 0]
