"""The very run that changed, also beside noise and at the edges."""

import numpy as np
import pytest

from bot.stats.change_point import find_changes
from bot.stats.change_point_online import online_alarms
from bot.stats.change_point_place import first_changed
from bot.stats.ragged import Floats


def with_step(at: int, *, size: float, seed: int = 0, length: int = 60) -> Floats:
    values = np.random.default_rng(seed).normal(10, 1, length)
    values[at:] += size
    return np.asarray(values)


@pytest.mark.parametrize("at", [4, 30, 56])
def test_the_first_of_the_new_level(at: int) -> None:
    assert first_changed(with_step(at, size=8), low=0, high=60, around=range(60)) == at


def test_it_is_the_least_squares_split() -> None:
    values = with_step(30, size=1.0, seed=2)
    errors = {index: values[:index].var() * index + values[index:].var() * (60 - index) for index in range(4, 57)}
    assert first_changed(values, low=0, high=60, around=range(60)) == min(errors, key=errors.__getitem__)


def test_only_where_asked_and_never_within_a_blip_of_an_edge() -> None:
    values = with_step(30, size=8)
    assert first_changed(values, low=0, high=60, around=range(33, 40)) == 33
    assert first_changed(values, low=27, high=60, around=range(25, 34)) == 31
    assert first_changed(values, low=27, high=34, around=range(25, 40)) is None


def test_large_steps_are_named_to_the_run() -> None:
    """Nine of ten at eight standard deviations, for whole series and alarms alike."""
    offline = online = 0
    for seed in range(20):
        series = 100 + with_step(70 + seed, size=8.0, seed=seed, length=140)
        (change,) = find_changes(series, rng=np.random.default_rng(1))
        (alarm,) = online_alarms(series)
        offline += change.index == 70 + seed
        online += alarm.change_index == 70 + seed
    assert min(offline, online) >= 18
