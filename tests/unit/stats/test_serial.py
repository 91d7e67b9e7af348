"""Units that drift: the factor against simulated autoregressions, and sides measured one after the other."""

import numpy as np
import pytest

from perf_culprit.stats.ragged import Floats, Integers, Ragged
from perf_culprit.stats.run_comparison import unit_test
from perf_culprit.stats.serial import CORRELATIONS, _expected, serial_factor

SEED = 53


def autoregressive(rng: np.random.Generator, rows: int, count: int, correlation: float) -> Floats:
    values = rng.standard_normal((rows, count))
    for column in range(1, count):
        values[:, column] = correlation * values[:, column - 1] + np.sqrt(1 - correlation**2) * values[:, column]
    return values


def as_rows(values: Floats) -> Ragged:
    return Ragged(values.ravel(), np.full(len(values), values.shape[1]))


@pytest.mark.parametrize("correlation", [0.0, 0.4, 0.8])
@pytest.mark.parametrize(("target", "baseline"), [(5, 5), (3, 9)])
def test_what_is_expected_is_what_simulated_series_show(correlation: float, target: int, baseline: int) -> None:
    values = autoregressive(np.random.default_rng(SEED), 100_000, target + baseline, correlation)
    sides = values[:, :baseline], values[:, baseline:]
    centred = [side - side.mean(axis=1, keepdims=True) for side in sides]
    products = sum((side[:, 1:] * side[:, :-1]).sum() for side in centred)
    squares = sum((side**2).sum() for side in centred)
    assumed = squares / len(values) / (target + baseline - 2) * (1 / target + 1 / baseline)
    true = np.var(sides[1].mean(axis=1) - sides[0].mean(axis=1))
    ratios, factors = _expected(target, baseline)
    assert np.interp(correlation, CORRELATIONS, ratios) == pytest.approx(products / squares, abs=0.01)
    assert np.interp(correlation, CORRELATIONS, factors) == pytest.approx(true / assumed, rel=0.03)


def test_a_lone_unit_has_no_neighbours() -> None:
    ones, fives = np.ones(3, dtype=np.intp), np.full(3, 5)
    rng = np.random.default_rng(SEED)
    assert serial_factor(Ragged(rng.random(3), ones), Ragged(rng.random(15), fives)).tolist() == [1.0, 1.0, 1.0]


def test_units_in_any_order_ask_for_little_more() -> None:
    rng = np.random.default_rng(SEED)
    factors = [serial_factor(as_rows(rng.random((20, 5))), as_rows(rng.random((20, 5))))[0] for _ in range(50)]
    assert min(factors) >= 1.0
    assert np.median(factors) < 1.4


def test_a_constant_suite_and_rows_of_other_lengths_have_a_factor() -> None:
    rng = np.random.default_rng(SEED)
    sizes = np.array([2, 4, 300])
    for values in (np.ones(306), rng.random(306)):
        factor = serial_factor(Ragged(values, sizes), Ragged(values, sizes))
        assert np.isfinite(factor).all()
        assert (factor >= 1.0).all()


def alarms(p_values: Floats) -> bool:
    ranks = np.arange(1, len(p_values) + 1)
    return bool((np.sort(p_values) <= 0.01 * ranks / len(p_values)).any())


def test_a_machine_that_drifts_from_one_side_to_the_other_is_no_change() -> None:
    rng = np.random.default_rng(SEED)
    families: Integers = np.zeros(20, dtype=np.intp)
    called = []
    for _ in range(200):
        levels = np.exp(0.05 * autoregressive(rng, 20, 10, 0.8))
        decision = unit_test(
            as_rows(levels[:, 5:]),
            as_rows(levels[:, :5]),
            families=families,
            timed=np.ones(20, dtype=np.bool_),
            level=0.99,
        )
        called.append(alarms(decision.p_value))
    assert sum(called) <= 6
