import numpy as np
import pytest
from scipy import stats

from perf_culprit.arrays import Floats
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.load_scaling import LinearLoad, fit_load, fit_quality, scaling_factors


def counter(rng: np.random.Generator, load: Floats, *, noise: float = 0.05) -> Floats:
    """A counter that rises by 20% if the load rises by 14% from 4,000 requests."""
    level: Floats = 0.02 * load - 24.0
    return level * rng.normal(1.0, noise, len(load))


def test_methods_2_5_two_minutes_give_slope_and_intercept() -> None:
    model = fit_load(np.array([4000.0, 4100.0]), np.array([30.0, 32.0]))
    assert model.slope == pytest.approx(0.02, abs=1e-12)
    assert model.intercept == pytest.approx(-50.0, abs=1e-9)


def test_methods_2_5_a_load_difference_of_14_percent_hardly_shows_after_scaling() -> None:
    rng = np.random.default_rng(1)
    baseline_load = rng.normal(4000, 250, (5, 480))
    target_load = rng.normal(4000 * 1.14, 250, 480)
    baseline, target = counter(rng, baseline_load.ravel()), counter(rng, target_load)
    model = fit_load(baseline_load.ravel(), baseline)
    reference = float(np.median(baseline_load))

    def difference(of_target: Floats, of_baseline: Floats) -> float:
        """Mean relative difference of the medians of eight periods, as in the source's figures 5 and 6."""
        periods = np.median(of_target.reshape(8, -1), axis=1)
        usual = np.median(of_baseline[:480].reshape(8, -1), axis=1)
        return float(np.mean(np.abs(periods / usual - 1)))

    scaled_target = target * scaling_factors(target_load, model=model, reference=reference)
    scaled_baseline = baseline * scaling_factors(baseline_load.ravel(), model=model, reference=reference)
    assert difference(target, baseline) == pytest.approx(0.2, abs=0.02)
    assert difference(scaled_target, scaled_baseline) < 0.1


def test_a_load_that_never_varies_has_no_slope() -> None:
    assert fit_load(np.full(4, 7.0), np.array([1.0, 2.0, 3.0, 4.0])) == LinearLoad(0.0, 2.5)


def test_a_good_fit_is_said_to_be_good() -> None:
    rng = np.random.default_rng(2)
    load = rng.normal(4000, 300, 5000)
    values = counter(rng, load, noise=0.02)
    quality = fit_quality(load, values, model=fit_load(load, values))
    assert quality.r_squared == pytest.approx(float(np.corrcoef(load, values)[0, 1]) ** 2, abs=1e-9)
    assert quality.spearman == pytest.approx(float(stats.spearmanr(load, values).statistic), abs=0.02)
    assert quality.mean_error == pytest.approx(0.016, abs=0.003)


def test_a_falling_line_predicts_as_well_as_a_rising_one() -> None:
    load = np.linspace(1000, 2000, 90)
    assert fit_quality(load, 5000 - load, model=fit_load(load, 5000 - load)).spearman == pytest.approx(1.0)


def test_values_without_any_relation_to_the_load_are_said_to_have_none() -> None:
    rng = np.random.default_rng(3)
    load, values = rng.normal(4000, 300, 4000), rng.normal(50, 5, 4000)
    quality = fit_quality(load, values, model=fit_load(load, values))
    assert abs(quality.spearman) < 0.1
    assert abs(quality.r_squared) < 0.01


@pytest.mark.parametrize("values", [np.full(40, 3.0), np.zeros(40)])
def test_a_constant_counter_has_no_correlation(values: Floats) -> None:
    load = np.linspace(1, 2, 40)
    quality = fit_quality(load, values, model=fit_load(load, values))
    assert (quality.r_squared, quality.spearman, quality.mean_error) == (0.0, 0.0, 0.0)


def test_ties_get_their_mean_rank_as_in_scipy() -> None:
    rng = np.random.default_rng(4)
    load = rng.integers(0, 5, 8).astype(np.float64)
    values = load + rng.integers(0, 3, 8)
    # Eight points are too few to split, so all of them are predicted.
    quality = fit_quality(load, values, model=fit_load(load, values))
    assert quality.spearman == pytest.approx(float(stats.spearmanr(load, values).statistic), abs=1e-12)


def test_many_samples_are_tested_on_some_of_them_and_the_same_every_time() -> None:
    rng = np.random.default_rng(5)
    load = rng.normal(4000, 300, 3 * WORK_LIMITS.tested_samples)
    values = counter(rng, load)
    model = fit_load(load, values)
    assert fit_quality(load, values, model=model) == fit_quality(load, values, model=model)


def test_samples_whose_prediction_is_near_zero_or_unknown_have_no_factor() -> None:
    model = LinearLoad(0.02, -50.0)
    factors = scaling_factors(np.array([4000.0, 5000.0, 2550.0, 100.0, np.nan]), model=model, reference=4000.0)
    assert factors[:2].tolist() == [1.0, pytest.approx(0.6)]
    assert np.isnan(factors[2:]).all()


def test_nothing_can_be_scaled_to_a_load_at_which_nothing_is_predicted() -> None:
    assert np.isnan(scaling_factors(np.array([4000.0]), model=LinearLoad(0.02, -50.0), reference=2500.0)).all()
