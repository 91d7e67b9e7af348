"""The test within rounds beside independent ones: all arrangements by brute force, scipy's permutation test, theory."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.location_score import MOVES, move_scores, standard_scores
from perf_culprit.stats.permutation import block_test, critical_values
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.side_blocks import Blocks, between


def rounds(count: int, sides: str = "ABBA") -> Blocks:
    is_target = np.array([side == "B" for side in sides * count])
    return Blocks(is_target, np.repeat(np.arange(count), len(sides)))


def test_arrangements_are_all_choices_within_rounds() -> None:
    blocks = Blocks(np.array([True, False, True, False, False]), np.array([0, 0, 1, 1, 1]))
    listed = {tuple(row) for row in blocks.arrangements.astype(int).tolist()}
    assert listed == {(*first, *second) for first in ((1, 0), (0, 1)) for second in ((1, 0, 0), (0, 1, 0), (0, 0, 1))}
    assert blocks.least_p_value == pytest.approx(2 / 6)
    assert math.exp(rounds(12).log_arrangements) == pytest.approx(6**12)


def test_drawn_arrangements_keep_each_round_and_begin_with_the_observed_one() -> None:
    blocks = rounds(12)
    drawn = blocks.arrangements
    assert (drawn[0] == blocks.is_target).all()
    assert (drawn.reshape(len(drawn), 12, 4).sum(axis=2) == 2).all()
    assert drawn.mean(axis=0) == pytest.approx(0.5, abs=0.04)


def test_the_p_value_is_that_of_all_arrangements_one_by_one() -> None:
    """Brute force, with the largest standardised sum written down once more."""
    rng = np.random.default_rng(1)
    blocks = rounds(3)
    values = rng.standard_t(3, (5, 12)) + 1.2 * blocks.is_target
    p_values = block_test(values, blocks).p_value
    choices = [set(chosen) for chosen in combinations(range(4), 2)]
    for row, p_value in zip(standard_scores(values, blocks).astype(float), p_values, strict=True):

        def largest(chosen: tuple[set[int], ...], scores: Floats = row) -> float:
            columns = [4 * number + place for number, places in enumerate(chosen) for place in places]
            return float(np.abs(scores[:, columns].sum(axis=1)).max())

        observed = largest(({1, 2},) * 3)
        everywhere = [largest(chosen) for chosen in product(choices, repeat=3)]
        assert p_value == pytest.approx(np.mean([value >= observed - 1e-4 for value in everywhere]))


def test_scores_sum_up_with_mean_0_and_variance_1_over_all_arrangements() -> None:
    rng = np.random.default_rng(2)
    blocks = Blocks(np.array([1, 0, 0, 1, 1, 0, 1, 0], dtype=bool), np.array([0, 0, 0, 1, 1, 1, 1, 1]))
    scores = standard_scores(rng.standard_normal((3, 8)), blocks)
    sums = scores @ blocks.arrangements.T
    assert sums.mean(axis=2) == pytest.approx(0, abs=1e-5)
    variance = sums.var(axis=2)
    assert variance[variance > 0] == pytest.approx(1, abs=1e-4)
    assert (variance > 0).mean() >= 0.5


def test_scores_do_not_know_the_sides() -> None:
    rng = np.random.default_rng(3)
    values = rng.standard_normal((4, 24))
    blocks = rounds(6)
    other = Blocks(~blocks.is_target, blocks.block)
    assert standard_scores(values, blocks) == pytest.approx(standard_scores(values, other))


def test_with_normal_noise_it_says_what_scipys_permutation_test_of_the_means_says() -> None:
    """Not the same statistic, but the same question: their p-values go together."""
    rng = np.random.default_rng(4)
    blocks = rounds(12)
    values = rng.standard_normal((40, 48)) + np.linspace(0, 1, 40)[:, None] * blocks.is_target
    p_values = block_test(values, blocks).p_value
    means = [
        stats.permutation_test(
            (row[blocks.is_target], row[~blocks.is_target]),
            lambda a, b: a.mean() - b.mean(),
            n_resamples=999,
            rng=np.random.default_rng(5),
        ).pvalue
        for row in values
    ]
    assert stats.spearmanr(p_values, means).statistic > 0.9


@pytest.mark.parametrize("effect", [1.2, 1.6, 2.5])
def test_tiny_p_values_are_those_of_all_arrangements(effect: float) -> None:
    """46,656 arrangements are more than are listed in use; here all are."""
    rng = np.random.default_rng(6)
    blocks = rounds(6)
    values = rng.standard_normal((10, 24)) + effect * blocks.is_target
    scores = standard_scores(values, blocks)
    listed = blocks._all()
    statistic = np.abs(scores @ listed.T).max(axis=1)
    observed = np.abs(scores @ blocks.is_target.astype(np.float32)).max(axis=1)
    exact = (statistic >= observed[:, None] - 1e-4).mean(axis=1)
    p_values = block_test(values, blocks).p_value
    tiny = exact < 0.001
    assert tiny.sum() >= 2
    assert np.log(p_values[tiny]) == pytest.approx(np.log(exact[tiny]), abs=0.25)


def test_p_values_reach_far_beyond_what_is_drawn() -> None:
    blocks = rounds(12)
    values = np.random.default_rng(7).standard_normal((1, 48)) + 12 * blocks.is_target
    assert block_test(values, blocks).p_value[0] == pytest.approx(2 / 6**12, rel=0.2)


NOISES = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "lognormal": lambda rng, shape: rng.lognormal(0, 0.8, shape),
    "heavy tails": lambda rng, shape: rng.standard_t(1.5, shape),
    "two modes": lambda rng, shape: 0.05 * rng.standard_normal(shape) + (rng.random(shape) < 0.2),
    "coarse clock": lambda rng, shape: np.round(20 + rng.standard_normal(shape)),
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("levels", [0.0, 5.0])
def test_it_rejects_as_often_as_it_says(noise: str, levels: float) -> None:
    rng = np.random.default_rng(8)
    blocks = rounds(6)
    values = NOISES[noise](rng, (1500, 24)) + np.repeat(levels * rng.standard_normal((1500, 6)), 4, axis=1)
    p_value = block_test(values, blocks).p_value
    for alpha in (0.2, 0.05, 0.01):
        assert (p_value <= alpha).mean() <= alpha + 4 * math.sqrt(alpha * (1 - alpha) / 1500)
    assert (p_value <= 0.2).mean() >= 0.1  # and no more seldom than ties make it


def found_at(values: Floats, blocks: Blocks, alpha: float = 0.005) -> float:
    return float((block_test(values, blocks).p_value <= alpha).mean())


def test_rounds_that_differ_hide_nothing() -> None:
    """Where a t test of round differences finds a change, so does this."""
    rng = np.random.default_rng(9)
    blocks = rounds(12)
    noise = 0.05 * rng.standard_normal((200, 48)) + np.repeat(0.15 * rng.standard_normal((200, 12)), 4, axis=1)
    values = noise + 0.10 * blocks.is_target
    assert found_at(values, blocks) >= 0.98


def test_two_modes_hide_nothing() -> None:
    """Means and ranks find little: the modes are four times as far apart as the change."""
    rng = np.random.default_rng(10)
    blocks = rounds(12)
    values = 0.03 * rng.standard_normal((200, 48)) + 0.4 * (rng.random((200, 48)) < 0.25) + 0.1 * blocks.is_target
    ranks = stats.mannwhitneyu(values[:, blocks.is_target], values[:, ~blocks.is_target], axis=1).pvalue
    assert found_at(values, blocks) >= 0.97
    assert (ranks <= 0.005).mean() <= found_at(values, blocks) - 0.1


def test_normal_noise_costs_little_beside_the_test_that_knows_it() -> None:
    rng = np.random.default_rng(11)
    blocks = rounds(12)
    values = rng.standard_normal((400, 48)) + 1.1 * blocks.is_target
    best = stats.ttest_ind(values[:, blocks.is_target], values[:, ~blocks.is_target], axis=1).pvalue
    assert found_at(values, blocks) >= (best <= 0.005).mean() - 0.12


def test_without_any_noise_nothing_is_nothing_and_a_change_is_as_sure_as_it_can_be() -> None:
    blocks = rounds(4)
    values = np.stack([np.full(16, 3.0), 3.0 + 0.01 * blocks.is_target, np.repeat(np.arange(4.0), 4)])
    assert block_test(values, blocks).p_value == pytest.approx([1, 2 / 6**4, 1])


def test_moving_and_stretching_the_values_changes_nothing() -> None:
    rng = np.random.default_rng(12)
    blocks = rounds(5)
    values = rng.standard_t(2, (20, 20)) + 0.8 * blocks.is_target
    assert block_test(1000 * values - 7, blocks).p_value == pytest.approx(block_test(values, blocks).p_value, abs=0.002)


def test_swapping_the_sides_changes_nothing() -> None:
    rng = np.random.default_rng(13)
    blocks = rounds(4)
    values = rng.standard_t(2, (20, 16)) + 0.8 * blocks.is_target
    other = Blocks(~blocks.is_target, blocks.block)
    assert block_test(values, other).p_value == pytest.approx(block_test(values, blocks).p_value)


def test_one_value_far_away_says_no_more_than_any() -> None:
    """Its score is bounded by the density that is spread evenly."""
    values = np.append(np.random.default_rng(14).standard_normal(39), 1e6)[None]
    assert np.abs(move_scores(values)).max() < 10
    assert move_scores(values).shape == (1, len(MOVES), 40)


def test_the_critical_value_is_exceeded_as_often_as_it_says() -> None:
    rng = np.random.default_rng(15)
    blocks = rounds(6)
    values = rng.standard_normal((400, 24))
    result = block_test(values, blocks)
    rejected = result.statistic > critical_values(values, blocks, alpha=0.05)
    assert (rejected == (result.p_value <= 0.05)).mean() > 0.98
    assert np.isinf(critical_values(values[:, :4], rounds(1), alpha=0.05)).all()


def test_rounds_too_large_to_be_listed_are_drawn() -> None:
    rng = np.random.default_rng(16)
    blocks = Blocks(np.arange(30) % 2 == 0, np.zeros(30, dtype=np.intp))
    values = rng.standard_normal((100, 30))
    values[0] += 10 * blocks.is_target
    p_value = block_test(values, blocks).p_value
    assert p_value[0] <= 1 / 4000
    assert (p_value[1:] <= 0.05).mean() <= 0.13


def test_differences_are_of_executions_of_one_round() -> None:
    blocks = Blocks(np.array([True, False, False, True]), np.array([0, 0, 1, 1]))
    assert between(np.array([[5.0, 2.0, 10.0, 14.0]]), blocks).tolist() == [[3.0, 4.0]]
