import numpy as np
import pytest
from scipy.stats import binom

from perf_culprit.arrays import Floats
from perf_culprit.stats.steps import steps

LENGTH = 300
NOISY_SERIES = 60
# Stated in docs/detectors/change-point.md: the share of unchanged series of 300 runs with any change reported.
STATED_RATES = {"white": 0.01, "autocorrelated": 0.01, "heavy tails": 0.01, "two modes": 0.10}


def noise(kind: str, rng: np.random.Generator, length: int = LENGTH) -> Floats:
    normal = rng.standard_normal(length)
    if kind == "autocorrelated":
        values = normal * np.sqrt(1 - 0.3**2)
        for index in range(1, length):
            values[index] += 0.3 * values[index - 1]
        return np.asarray(values)
    if kind == "heavy tails":
        return np.asarray(rng.standard_t(3, length))
    if kind == "two modes":
        return np.asarray(np.where(rng.random(length) < 0.3, 25.0, 0.0) + normal)
    return normal


def with_step(size: float, *, at: int = 150, seed: int = 3) -> Floats:
    series = 100 + noise("white", np.random.default_rng(seed))
    series[at:] += size
    return series


def test_a_step_of_five_percent_is_found_where_it_is() -> None:
    (change,) = steps(with_step(5.0))
    assert abs(change.index - 150) <= 1
    assert change.kind == "step"
    assert change.relative_change == pytest.approx(0.05, abs=0.01)
    assert change.p_value <= change.q_value < 0.001


def test_direction_does_not_matter() -> None:
    (down,) = steps(with_step(-5.0))
    assert abs(down.index - 150) <= 1
    assert down.relative_change == pytest.approx(-0.05, abs=0.01)


@pytest.mark.parametrize("other", [0.7, 1.5, 3.0])
@pytest.mark.parametrize("first", [1, 3, 6])
@pytest.mark.parametrize("is_reversed", [False, True])
def test_a_short_level_at_an_end_hides_no_step(first: int, other: float, is_reversed: bool) -> None:
    """The short level itself is not reported."""
    for seed in range(5):
        levels = np.repeat([other, 1.0, 1.22], [first, 10, 14])
        series = levels * np.exp(0.02 * noise("white", np.random.default_rng(seed), len(levels)))
        (change,) = steps(series[::-1] if is_reversed else series, minimum_effect=0.01)
        assert change.index == (14 if is_reversed else first + 10)


def test_two_changes_are_two() -> None:
    series = with_step(5.0, at=100)
    series[200:] -= 8.0
    assert [round(change.index, -1) for change in steps(series)] == [100, 200]


@pytest.mark.parametrize("runs", [1, 2, 3])
def test_blips_are_silent(runs: int) -> None:
    series = with_step(0.0)
    for start in (60, 150, 240):
        series[start : start + runs] *= 3
    assert steps(series) == ()


def test_gradual_drift_is_one_drift() -> None:
    ramp = np.concatenate([np.zeros(100), np.linspace(0, 20, 100), np.full(100, 20.0)])
    (change,) = steps(100 + ramp + noise("white", np.random.default_rng(5)))
    assert change.kind == "drift"
    assert 100 <= change.index <= 200
    # The change is from the level before its first part to the level after its last.
    assert change.before < 106
    assert change.after == pytest.approx(120, abs=1)
    assert change.relative_change == (change.after - change.before) / change.before


@pytest.mark.parametrize("factor", [7.0, 1e-6, 3e8])
def test_a_positive_factor_changes_nothing(factor: float) -> None:
    series = with_step(5.0)
    expected = [(one.index, one.kind, one.p_value, one.q_value) for one in steps(series)]
    assert [(one.index, one.kind, one.p_value, one.q_value) for one in steps(factor * series)] == expected


def test_zero_and_negative_values_are_judged_too() -> None:
    (change,) = steps(with_step(5.0) - 100)
    assert abs(change.index - 150) <= 1


def test_missing_values_keep_their_places() -> None:
    series = with_step(8.0)
    series[[10, 40, 41, 149]] = np.nan
    (change,) = steps(series)
    assert abs(change.index - 150) <= 1


@pytest.mark.parametrize("values", [[], [1.0], [1.0] * 15, [5.0] * 100, [0.0] * 100, [float("nan")] * 100])
def test_short_and_constant_series_are_silent(values: list[float]) -> None:
    assert steps(np.array(values)) == ()


def test_a_step_without_noise_is_found() -> None:
    (change,) = steps(np.repeat([10.0, 11.0], 40))
    assert (change.index, change.before, change.after, change.kind) == (40, 10.0, 11.0, "step")


def test_no_relative_change_from_zero() -> None:
    (change,) = steps(np.repeat([0.0, 1.0], 40))
    assert change.relative_change is None


@pytest.mark.parametrize("kind", STATED_RATES)
def test_pure_noise_stays_below_the_stated_rate(kind: str) -> None:
    rng = np.random.default_rng(11)
    alarms = sum(bool(steps(100 + 2 * noise(kind, rng))) for _ in range(NOISY_SERIES))
    # A correct program exceeds this with a probability of 0.1%.
    assert alarms <= binom.ppf(0.999, NOISY_SERIES, STATED_RATES[kind])
