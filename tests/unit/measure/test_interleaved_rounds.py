import pytest

from perf_culprit.judge.paired_executions import planned_looks
from perf_culprit.measure.worktree_executor import balanced_round, interleaved


def test_every_round_is_a_palindrome() -> None:
    assert [side for _, side in interleaved("AB", rounds=2)] == list("ABBAABBA")
    assert [side for _, side in interleaved("ABC", rounds=1)] == list("ABCCBA")
    assert [number for number, _ in interleaved("AB", rounds=2)] == [1] * 4 + [2] * 4


def test_a_drawn_round_is_a_palindrome_of_any_order_that_its_seed_repeats() -> None:
    rounds = [list(balanced_round("AB", seed=5, number=number)) for number in range(200)]
    assert {"".join(side for side, _ in one) for one in rounds} == {"ABBA", "BAAB"}
    assert 60 < sum(one[0][0] == "A" for one in rounds) < 140
    for one in rounds:
        assert (one[0][1], one[2][1]) == (one[1][1], one[3][1])
    assert rounds[7] == list(balanced_round("AB", seed=5, number=7))
    assert rounds != [list(balanced_round("AB", seed=6, number=number)) for number in range(200)]
    three = {"".join(side for side, _ in balanced_round("ABC", seed=5, number=number)) for number in range(200)}
    assert len(three) == 6
    assert all(order == order[::-1] for order in three)


@pytest.mark.parametrize(
    ("rounds", "expected"), [(1, (1,)), (3, (3,)), (4, (4,)), (5, (4, 5)), (10, (4, 5, 7, 10)), (20, (4, 7, 12, 20))]
)
def test_analyses_begin_where_a_proof_is_possible_and_end_with_the_last_round(
    rounds: int, expected: tuple[int, ...]
) -> None:
    assert planned_looks(rounds, proven=0.01) == expected
