import pytest

from perf_culprit.measure.worktree_executor import analysis_rounds, interleaved


def test_every_round_is_a_palindrome() -> None:
    assert [side for _, side in interleaved("AB", rounds=2)] == list("ABBAABBA")
    assert [side for _, side in interleaved("ABC", rounds=1)] == list("ABCCBA")
    assert [number for number, _ in interleaved("AB", rounds=2)] == [1] * 4 + [2] * 4


@pytest.mark.parametrize(
    ("rounds", "expected"), [(1, (1,)), (3, (3,)), (4, (4,)), (5, (4, 5)), (10, (4, 5, 7, 10)), (20, (4, 7, 12, 20))]
)
def test_analyses_begin_where_a_proof_is_possible_and_end_with_the_last_round(
    rounds: int, expected: tuple[int, ...]
) -> None:
    assert analysis_rounds(rounds, analyses=4, first=4) == expected
