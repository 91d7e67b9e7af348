import numpy as np
import pytest
from scipy import stats

from perf_culprit.arrays import Floats
from perf_culprit.judge.counter_samples import idle_boundaries
from perf_culprit.stats.density import idle_boundary, shape_of


def mixture(rng: np.random.Generator, count: int) -> Floats:
    """Processor use that mixes idle-time work at a few percent and load at some tens [N12, figures 7 and 8]."""
    idle = rng.binomial(count, rng.uniform(0.05, 0.5))
    low = rng.normal(rng.uniform(1, 8), rng.uniform(0.5, 2), idle)
    high = rng.normal(rng.uniform(25, 60), rng.uniform(3, 6), count - idle)
    return np.sort(np.concatenate([low, high]))


@pytest.mark.parametrize("count", [60, 240, 1000])
def test_methods_2_6_at_least_91_percent_of_non_normal_mixtures_become_normal(count: int) -> None:
    rng = np.random.default_rng(count)
    non_normal = normal_after = 0
    for _ in range(300):
        samples = mixture(rng, count)
        if stats.shapiro(samples).pvalue >= 0.05:
            continue
        non_normal += 1
        boundary = idle_boundary(samples)
        normal_after += boundary is not None and stats.shapiro(samples[samples >= boundary]).pvalue > 0.05
    assert non_normal > 250
    assert normal_after / non_normal >= 0.91


def test_the_boundary_is_between_the_modes() -> None:
    rng = np.random.default_rng(1)
    samples = np.sort(np.concatenate([rng.normal(5, 1, 300), rng.normal(40, 4, 700)]))
    boundary = idle_boundary(samples)
    assert boundary is not None
    assert 8 < boundary < 28


@pytest.mark.parametrize("kind", ["normal", "lognormal", "uniform", "integers", "heavy tail"])
def test_a_single_mode_has_no_boundary(kind: str) -> None:
    rng = np.random.default_rng(2)
    for count in (60, 500, 5000):
        samples = {
            "normal": rng.normal(50, 5, count),
            "lognormal": rng.lognormal(3, 0.5, count),
            "uniform": rng.uniform(0, 100, count),
            "integers": rng.poisson(5, count).astype(np.float64),
            "heavy tail": 50 + rng.standard_t(3, count),
        }[kind]
        assert idle_boundary(np.sort(samples)) is None, count


def test_a_few_spikes_above_what_a_counter_mostly_does_are_not_the_load() -> None:
    rng = np.random.default_rng(3)
    assert idle_boundary(np.sort(np.concatenate([rng.normal(20, 2, 900), rng.normal(80, 2, 100)]))) is None


def test_one_outlier_does_not_hide_the_modes() -> None:
    rng = np.random.default_rng(4)
    samples = np.concatenate([rng.normal(5, 1, 300), rng.normal(40, 4, 700), [1e9]])
    boundary = idle_boundary(np.sort(samples))
    assert boundary is not None
    assert 8 < boundary < 28


@pytest.mark.parametrize(
    "samples",
    [
        np.arange(10.0),
        np.full(100, 3.0),
        np.repeat([0.0, 50.0], 50),
        np.repeat([1e9, np.nextafter(1e9, 2e9)], [999, 1]),
    ],
)
def test_too_few_constant_or_two_valued_samples_have_no_boundary(samples: Floats) -> None:
    assert idle_boundary(samples) is None


def two_modes(idle: int, load: int) -> Floats:
    """The quantiles of two normal distributions around 0 and 20."""
    low, high = (stats.norm.ppf((np.arange(count) + 0.5) / count) for count in (idle, load))
    return np.sort(np.concatenate([low, 20 + high]))


def test_between_modes_of_one_shape_it_is_the_middle() -> None:
    assert idle_boundary(two_modes(200, 200)) == pytest.approx(10, abs=0.3)


def test_in_an_empty_stretch_it_is_as_far_from_both_modes() -> None:
    samples = two_modes(40, 360)
    assert idle_boundary(np.where(samples > 10, samples + 980, samples)) == pytest.approx(500, abs=5)


@pytest.mark.parametrize(
    ("idle", "load", "bounded"),
    [(4, 396, False), (12, 388, True), (296, 104, True), (310, 90, False), (6, 14, True), (6, 13, False)],
)
def test_idle_time_is_a_fiftieth_at_least_and_load_a_quarter(idle: int, load: int, bounded: bool) -> None:
    assert (idle_boundary(two_modes(idle, load)) is not None) is bounded


@pytest.mark.parametrize(("two", "one", "bounded"), [(3, 2, True), (2, 2, False), (1, 0, True), (0, 0, False)])
def test_runs_are_split_where_most_of_them_have_two_modes(two: int, one: int, bounded: bool) -> None:
    runs = [two_modes(200, 200)] * two + [np.sort(stats.norm.ppf((np.arange(400) + 0.5) / 400))] * one
    boundaries = idle_boundaries(runs)
    assert (boundaries is not None) is bounded
    if boundaries:
        assert [boundary is None for boundary in boundaries] == [False] * two + [True] * one


@pytest.mark.parametrize(
    ("kind", "modes", "is_skewed", "is_normal"),
    [("normal", 1, False, True), ("lognormal", 1, True, False), ("two", 2, False, False), ("outliers", 1, True, False)],
)
def test_b17_figure_3_the_shape_of_fifty_samples(kind: str, modes: int, *, is_skewed: bool, is_normal: bool) -> None:
    rng = np.random.default_rng(5)
    for size in (1e-9, 1e9):
        samples = {
            "normal": rng.normal(10, 1, 50),
            "lognormal": rng.lognormal(3, 0.6, 50),
            "two": np.concatenate([rng.normal(10, 1, 25), rng.normal(16, 1, 25)]),
            "outliers": np.concatenate([rng.normal(10, 1, 47), rng.normal(60, 1, 3)]),
        }[kind]
        shape = shape_of(np.sort(size * samples))
        assert shape is not None
        assert shape.modes == modes
        assert shape.skewness == pytest.approx(stats.skew(samples, bias=False))
        assert (shape.skewness > 0.8) is is_skewed
        assert (shape.normal_p > 0.05) is is_normal


@pytest.mark.parametrize("samples", [np.arange(19.0), np.full(50, 2.5)])
def test_few_or_equal_samples_have_no_shape(samples: Floats) -> None:
    assert shape_of(samples) is None
