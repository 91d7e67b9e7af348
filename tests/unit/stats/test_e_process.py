"""E-values of rounds: they hold while one looks, multiply, and grow where something changed."""

import numpy as np

from perf_culprit.stats.e_process import e_values, typical_magnitudes


def test_looking_after_every_round_reaches_20_in_at_most_a_twentieth_of_unchanged_series() -> None:
    differences = 0.01 * np.random.default_rng(0).standard_t(2, (5000, 40))
    magnitudes = typical_magnitudes(differences)
    looks = [e_values(differences[:, :count], magnitudes[:count]) for count in range(1, 41)]
    reached = np.max(looks, axis=0) >= 20
    assert 0 < reached.mean() <= 0.05


def test_their_mean_is_at_most_1_where_nothing_changed() -> None:
    differences = np.random.default_rng(1).standard_normal((200_000, 6))
    assert e_values(differences, np.ones(6)).mean() <= 1.01


def test_a_change_of_three_standard_deviations_is_proven_within_twelve_rounds() -> None:
    differences = np.random.default_rng(2).standard_normal((200, 12)) + 3.0
    assert (e_values(differences, np.ones(12)) >= 100).mean() >= 0.9


def test_both_directions_count_alike_and_missing_rounds_count_nothing() -> None:
    differences = np.array([[0.1, 0.2, np.nan], [-0.1, -0.2, np.nan], [0.1, 0.2, 0.0]])
    assert (
        e_values(differences, np.full(3, 0.1)).round(12).tolist()
        == [e_values(differences[:1, :2], np.full(2, 0.1))[0].round(12)] * 3
    )


def test_the_typical_magnitude_knows_no_signs_and_no_later_rounds() -> None:
    differences = np.random.default_rng(3).standard_normal((5, 8))
    assert (typical_magnitudes(differences) == typical_magnitudes(-differences)).all()
    assert (typical_magnitudes(differences)[:4] == typical_magnitudes(differences[:, :4])).all()
