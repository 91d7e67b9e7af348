import pytest

from perf_culprit.measure.worktree_executor import analysis_rounds, interleaved


def test_every_round_is_a_palindrome() -> None:
    assert [side for _, side in interleaved("AB", rounds=2)] == list("ABBAABBA")
    assert [side for _, side in interleaved("ABC", rounds=1)] == list("ABCCBA")
    assert [number for number, _ in interleaved("AB", rounds=2)] == [1] * 4 + [2] * 4


@pytest.mark.parametrize("rounds", [1, 2, 3, 4, 5, 7, 10, 20])
def test_analyses_are_distinct_and_end_with_the_last_round(rounds: int) -> None:
    analyses = analysis_rounds(rounds, analyses=4)
    assert analyses[-1] == rounds
    assert len(set(analyses)) == len(analyses) == min(4, rounds)
    assert list(analyses) == sorted(analyses)
    assert analyses[0] >= 1
