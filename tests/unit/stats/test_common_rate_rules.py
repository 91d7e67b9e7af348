"""METHODS 4.1: counters at a common rate."""

import numpy as np
import pytest

from perf_culprit.stats.common_rate import common_window, interval_medians


def test_the_window_is_what_all_sources_saw_without_its_ends() -> None:
    assert common_window([(0, 100), (10, 120)], warm_up=0.1, cool_down=0.2) == pytest.approx((19, 82))


def test_sources_without_a_common_time_have_an_empty_window() -> None:
    start, end = common_window([(0, 10), (20, 30)], warm_up=0, cool_down=0)
    assert end <= start


def test_each_counter_is_its_median_in_the_interval() -> None:
    times = np.array([0.0, 1, 2, 3, 4, 5, 6])
    values = np.array([[1.0, 5], [9, np.nan], [2, np.nan], [4, 7], [8, np.inf], [np.nan, 1], [6, 3]])
    medians = interval_medians(times, values, edges_s=np.array([0.0, 3, 6]))
    assert medians.tolist() == [[2, 5], [6, 3]]


def test_an_interval_without_values_is_missing() -> None:
    medians = interval_medians(np.array([0.0, 9]), np.array([[1.0], [2]]), edges_s=np.array([0.0, 3, 6, 9]))
    assert medians[[0, 2], 0].tolist() == [1, 2]
    assert np.isnan(medians[1, 0])


def test_medians_are_those_of_numpy() -> None:
    rng = np.random.default_rng(8)
    values = rng.normal(size=(60, 5))
    values[rng.random(values.shape) < 0.3] = np.nan
    medians = interval_medians(np.arange(60.0), values, edges_s=np.linspace(0, 60, 7))
    assert medians == pytest.approx(np.array([np.nanmedian(values[i : i + 10], axis=0) for i in range(0, 60, 10)]))


def test_sources_of_different_rates_meet_in_the_same_intervals() -> None:
    edges = np.linspace(0, 60, 7)
    slow = interval_medians(np.arange(0, 60, 5.0), np.arange(0, 60, 5.0)[:, None], edges_s=edges)
    fast = interval_medians(np.arange(0, 60, 0.5) + 0.1, np.arange(0, 60, 0.5)[:, None], edges_s=edges)
    assert np.abs(slow - fast).max() < 3
