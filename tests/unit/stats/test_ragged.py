import numpy as np
import pytest

from perf_culprit.stats.ragged import Ragged, pooled


def ragged(*rows: list[float]) -> Ragged:
    return Ragged(np.array([value for row in rows for value in row]), np.array([len(row) for row in rows]))


def test_moments_are_those_of_each_row() -> None:
    rng = np.random.default_rng(1)
    rows = [rng.lognormal(3, 1, size).tolist() for size in (1, 2, 7, 7, 50)]
    moments = ragged(*rows).moments()
    assert moments.count.tolist() == [1, 2, 7, 7, 50]
    assert moments.mean == pytest.approx([np.mean(row) for row in rows], rel=1e-14)
    assert moments.variance[1:] == pytest.approx([np.var(row, ddof=1) for row in rows[1:]], rel=1e-12)
    assert moments.variance[0] == 0


def test_a_small_spread_on_a_large_mean_survives() -> None:
    row = [1e9 + offset for offset in (0.0, 1.0, 2.0, 3.0)]
    assert ragged(row).moments().variance[0] == pytest.approx(5 / 3, rel=1e-12)


@pytest.mark.parametrize("value", [0.1, 1e-300, 3.3e200, -7.7])
def test_a_constant_row_has_exactly_its_value_and_no_spread(value: float) -> None:
    moments = ragged([value] * 7, [value]).moments()
    assert moments.mean.tolist() == [value, value]
    assert moments.squares.tolist() == [0.0, 0.0]


def test_medians_of_rows_of_several_lengths() -> None:
    assert ragged([3, 1, 2], [5], [4, 1], [9, 7, 8]).medians().tolist() == [2, 5, 2.5, 8]


def test_rows_keeps_only_the_chosen() -> None:
    chosen = ragged([1, 2], [3], [4, 5, 6]).rows(np.array([0, 2]))
    assert chosen.values.tolist() == [1, 2, 4, 5, 6]
    assert chosen.sizes.tolist() == [2, 3]


def test_pooled_moments_are_those_of_all_samples() -> None:
    rng = np.random.default_rng(2)
    parts = [rng.normal(1000, 1, size).tolist() for size in (3, 1, 8, 5)]
    whole = ragged([*parts[0], *parts[1], *parts[2]], parts[3]).moments()
    joined = pooled(ragged(*parts).moments(), np.array([3, 1]))
    assert joined.count.tolist() == whole.count.tolist()
    assert joined.mean == pytest.approx(whole.mean, rel=1e-14)
    assert joined.squares == pytest.approx(whole.squares, rel=1e-9)


def test_pooled_moments_of_one_constant_are_exact() -> None:
    joined = pooled(ragged([0.1] * 3, [0.1] * 7).moments(), np.array([2]))
    assert (joined.mean[0], joined.squares[0]) == (0.1, 0.0)


def test_ordered_and_joined_rows() -> None:
    first = Ragged(np.array([3.0, 1.0, 2.0, 9.0, 8.0]), np.array([3, 2]))
    second = Ragged(np.array([5.0, 7.0, 6.0]), np.array([1, 2]))
    assert first.ordered().values.tolist() == [1.0, 2.0, 3.0, 8.0, 9.0]
    joined = first.joined(second)
    assert joined.values.tolist() == [3.0, 1.0, 2.0, 5.0, 9.0, 8.0, 7.0, 6.0]
    assert joined.sizes.tolist() == [4, 4]
