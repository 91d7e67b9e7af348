"""Steps of the stated detectable size are found when they are planted elsewhere in the same series."""

import numpy as np
import pytest
from scipy.stats import binom

from perf_culprit.arrays import Floats
from perf_culprit.stats.steps import (
    FEWEST_VALUES,
    NEWEST,
    detectable_step,
    online_alarms,
    steps,
)
from tests.unit.stats.test_change_point import noise

EFFECT = 0.01
SERIES = 8
KEPT = 0.9


def series_of(kind: str, rng: np.random.Generator, length: int) -> Floats:
    return np.asarray(100 * np.exp(noise(kind, rng, length) * (0.003 if kind == "two modes" else 0.03)))


@pytest.mark.parametrize("kind", ["white", "autocorrelated", "heavy tails", "two modes"])
@pytest.mark.parametrize(("length", "short"), [(25, 0), (200, 0), (30, 5)])
def test_nine_of_ten_steps_of_the_stated_size_are_found(kind: str, length: int, short: int) -> None:
    """The first `short` values are at another level."""
    rng = np.random.default_rng(length)
    tried = hits = 0
    for _ in range(SERIES):
        series = series_of(kind, rng, length)
        series[:short] *= 1.5
        step = detectable_step(series, minimum_effect=EFFECT)
        assert step is not None
        assert step.relative_change is not None
        for start in rng.integers(8 + short, length - step.rows + 1, 3).tolist():
            planted = series.copy()
            planted[start:] *= 1 + step.relative_change
            changes = steps(planted, minimum_effect=EFFECT)
            tried, hits = tried + 1, hits + any(abs(change.index - start) <= 5 for change in changes)
    # A program with the stated power finds fewer with a probability of 0.1%.
    assert hits >= binom.ppf(0.001, tried, KEPT)


@pytest.mark.parametrize("kind", ["white", "heavy tails"])
def test_and_raise_an_alarm_online(kind: str) -> None:
    rng = np.random.default_rng(5)
    tried = hits = 0
    for _ in range(SERIES):
        series = series_of(kind, rng, 100)
        step = detectable_step(series, minimum_effect=EFFECT, online=True)
        assert step is not None
        assert (step.rows, step.relative_change is not None) == (NEWEST, True)
        for start in rng.integers(35, 100 - NEWEST, 2).tolist():
            planted = series[: start + NEWEST].copy()
            planted[start:] *= 1 + (step.relative_change or 0)
            alarms = online_alarms(planted, minimum_effect=EFFECT, first_judged=start)
            tried, hits = tried + 1, hits + bool(alarms)
    assert hits >= binom.ppf(0.001, tried, KEPT)


def test_half_of_it_would_mostly_be_missed() -> None:
    """The stated size is not just an upper bound."""
    rng = np.random.default_rng(9)
    missed = 0
    for _ in range(SERIES):
        series = series_of("white", rng, 200)
        step = detectable_step(series, minimum_effect=EFFECT)
        assert step is not None
        series[120 : 120 + step.rows] *= 1 + (step.relative_change or 0) / 2
        missed += not steps(series, minimum_effect=EFFECT)
    assert missed >= SERIES // 2


def test_without_noise_it_is_the_minimum_effect() -> None:
    step = detectable_step(np.full(60, 5.0), minimum_effect=0.05)
    assert step is not None
    assert step.relative_change == pytest.approx(0.05, rel=0.2)
    assert step.size == pytest.approx(0.25, rel=0.2)


def test_from_zeros_alone_any_step_is_found() -> None:
    step = detectable_step(np.zeros(60), minimum_effect=0.05)
    assert step is not None
    assert (step.size, step.relative_change) == (0, None)
    planted = np.where(np.arange(60) < 30, 0, 1e-12)
    assert steps(planted, minimum_effect=0.05)


@pytest.mark.parametrize("median", [2.0, 1000.0])
def test_zeros_among_the_values_keep_the_share(median: float) -> None:
    series = np.random.default_rng(2).normal(median, 0.02 * median, 80)
    series[[10, 40]] = 0.0
    step = detectable_step(series, minimum_effect=EFFECT)
    assert step is not None
    assert step.relative_change is not None
    assert step.relative_change == pytest.approx(0.07, abs=0.03)
    assert step.size == pytest.approx(step.relative_change * median, rel=0.01)


def test_too_few_values_and_noise_beyond_all_steps_are_unknown() -> None:
    rng = np.random.default_rng(3)
    assert detectable_step(np.full(FEWEST_VALUES - 1, 5.0), minimum_effect=EFFECT) is None
    assert detectable_step(np.full(30, 5.0), minimum_effect=EFFECT, online=True) is None
    assert detectable_step(np.exp(rng.normal(0, 30, 60)), minimum_effect=EFFECT) is None
