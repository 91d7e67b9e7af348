"""Counts without noise: steps below the minimum effect are not reported and do not hide others."""

import numpy as np
import pytest

from perf_culprit.arrays import Floats
from perf_culprit.stats.steps import (
    NEWEST,
    LeastEffect,
    counts,
    first_changed,
    online_alarms,
    steps,
)

STEPS = 20
SHORTEST_LEVEL, LONGEST_LEVEL = 25, 60
# The factors of planted steps. The trifles between them are 0.1 to 0.9%, as if a commit adds a call.
FACTORS = (1.03, 1.1, 1.3, 2.0, 4.0)


def call_counts(seed: int) -> tuple[Floats, list[int]]:
    """A noiseless series of whole numbers and the places of its `STEPS` steps. Each level contains one trifle."""
    rng = np.random.default_rng(seed)
    level, values, planted = 50_000.0, list[float](), list[int]()
    for number in range(STEPS + 1):
        if number:
            level *= rng.choice(FACTORS) ** rng.choice([-1, 1])
            planted.append(len(values))
        rows = int(rng.integers(SHORTEST_LEVEL, LONGEST_LEVEL))
        trifle = 1 + rng.choice([-1, 1]) * rng.uniform(0.001, 0.009)
        turn = int(rng.integers(rows))
        values += [level] * turn + [level * trifle] * (rows - turn)
        level *= trifle
    return np.round(values), planted


def changes(series: Floats, minimum_effect: float) -> list[int]:
    return [change.index for change in steps(series, minimum_effect=minimum_effect)]


def alarms(series: Floats, minimum_effect: float) -> list[int]:
    return [alarm.index for alarm in online_alarms(series, minimum_effect=minimum_effect)]


@pytest.mark.parametrize("seed", range(3))
def test_every_step_of_call_counts_and_no_trifle(seed: int) -> None:
    series, planted = call_counts(seed)
    seen_changes = changes(series, 0.01)
    assert len(seen_changes) == STEPS
    assert all(abs(index - step) <= 2 for index, step in zip(seen_changes, planted, strict=True))
    assert len(changes(series, 0.0)) > STEPS  # the series does contain trifles


@pytest.mark.parametrize("seed", range(3))
def test_every_step_of_call_counts_raises_its_alarm_online(seed: int) -> None:
    series, planted = call_counts(seed)
    judged = [step for step in planted if step >= 30 + NEWEST]
    raised = alarms(series, 0.01)
    assert all(any(step <= index <= step + NEWEST for index in raised) for step in judged)
    assert len(raised) <= len(planted) + 1  # trifles may add up to the minimum effect


@pytest.mark.parametrize("trifle", [1.0001, 1.002, 1.0099])
@pytest.mark.parametrize("later", [2, 4, 7, 11])
def test_a_trifle_hides_no_step_soon_after(trifle: float, later: int) -> None:
    series = np.repeat([10_000.0, 10_000 * trifle, 10_000 * trifle * 4.01], [80, later, 60])
    assert changes(series, 0.01) == [80 + later]
    (alarm,) = online_alarms(series, minimum_effect=0.01)
    assert 80 + later <= alarm.index <= 80 + later + NEWEST
    assert alarm.change.index == 80 + later
    assert alarm.change.relative_change == pytest.approx(3.01, abs=0.05)


def test_zeros_make_no_difference() -> None:
    """A run without a value counts 0 calls, whose logarithm does not exist."""
    series = np.repeat([10_000.0, 10_020.0, 40_100.0], [80, 7, 60])
    series[[20, 100]] = 0.0
    assert changes(series, 0.01) == [87]
    assert len(alarms(series, 0.01)) == 1


@pytest.mark.parametrize("factor", [0.5, 0.95, 1.05, 1.5, 1000.0, 0.001])
def test_a_step_of_the_minimum_effect_and_more_is_found(factor: float) -> None:
    series = np.repeat([10_000.0, 10_000 * factor], 60)
    assert changes(series, 0.05) == [60]
    assert len(alarms(series, 0.05)) == 1


@pytest.mark.parametrize("factor", [0.951, 0.999, 1.0001, 1.049])
def test_less_is_none(factor: float) -> None:
    series = np.repeat([10_000.0, 10_000 * factor], 60)
    assert (changes(series, 0.05), alarms(series, 0.05)) == ([], [])


@pytest.mark.parametrize("seed", range(5))
def test_nothing_reported_is_smaller(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.normal(0, 0.04, 12)
    series = 1000 * np.exp(np.repeat(np.cumsum(sizes), 30)) * (1 + rng.normal(0, 0.002, 360))
    offline = steps(series, minimum_effect=0.03)
    online = online_alarms(series, minimum_effect=0.03)
    sizes_found = [change.relative_change for change in offline] + [alarm.change.relative_change for alarm in online]
    assert sizes_found
    assert all(size is not None and abs(size) >= 0.03 for size in sizes_found)


def test_levels_of_both_signs_are_compared_by_the_smaller() -> None:
    least = LeastEffect(share=0.1, logarithmic=False)
    assert not least.reached(100.0, 109.0)
    assert least.reached(100.0, 110.0)
    assert least.reached(0.0, 1e-6)
    assert least.reached(np.array([-1.0, 50.0]), np.array([1.0, 51.0])).tolist() == [True, False]
    assert counts(0.0, 1.0, 0.05)
    assert not counts(0.0, 0.0, 0.0)
    assert not counts(5.0, 5.0, 0.0)


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
    """Nine of ten steps of eight standard deviations are exact, for whole series and for alarms."""
    offline = online = 0
    for seed in range(20):
        series = 100 + with_step(70 + seed, size=8.0, seed=seed, length=140)
        (change,) = steps(series)
        (alarm,) = online_alarms(series)
        offline += change.index == 70 + seed
        online += alarm.change.index == 70 + seed
    assert min(offline, online) >= 18
