"""The closed form against quadrature, and its invariances."""

import numpy as np
import numpy.typing as npt
import pytest
from scipy import integrate
from scipy.stats import norm, rankdata

from perf_culprit.search.pattern_evidence import (
    LAMBDAS,
    Fit,
    PatternDesign,
    fit,
    lambda_weights,
    log_difference,
    log_further_steps,
    log_no_step,
    log_one_step,
    log_sets,
    mid_ranks,
    wide_g,
)
from perf_culprit.search.round_samples import Samples

Floats = npt.NDArray[np.float64]
ONE_MACHINE = (0.0,)  # no offsets between rounds
G = 16.0

ALONE = np.array([[0]])


def samples_of(y: Floats, commit: list[int], block: list[int] | None = None) -> Samples:
    blocks = np.zeros(len(y), dtype=np.intp) if block is None else np.array(block, dtype=np.intp)
    return Samples(y=y, commit=np.array(commit, dtype=np.intp), block=blocks, weight=np.ones(len(y)))


def quadrature(y: Floats, x: Floats) -> float:
    """Log BF of a positive step over none, integrated over delta / sigma and log sigma, with mu in closed form."""
    n = len(y)
    start = np.log(np.std(y))

    def likelihood(effect: float, log_sigma: float) -> float:
        sigma = np.exp(log_sigma)
        rest = y - effect * sigma * x
        squares = float(np.sum((rest - rest.mean()) ** 2))
        return float(np.exp(-(n - 1) * (log_sigma - start) - squares / (2 * sigma**2)))

    def half_normal(effect: float, log_sigma: float) -> float:
        return likelihood(effect, log_sigma) * 2 * float(norm.pdf(effect, scale=np.sqrt(G)))

    some, _ = integrate.dblquad(half_normal, start - 4, start + 4, 0, 12, epsabs=1e-10, epsrel=1e-7)
    none, _ = integrate.quad(lambda log_sigma: likelihood(0.0, log_sigma), start - 4, start + 4, limit=200)
    return float(np.log(some / none))


def closed_form(y: Floats, x: Floats) -> float:
    design = PatternDesign(samples_of(y, [0] * len(y)), ONE_MACHINE)
    return float(log_one_step(design, x[None])[0]) - log_no_step(design)


def normal_form(y: Floats, x: Floats) -> float:
    """The closed form with the normal cdf instead of Student's."""
    n, yc, xc = len(y), y - y.mean(), x - x.mean()
    d, sxy = xc @ xc + 1 / G, xc @ yc
    sse = yc @ yc - sxy**2 / d
    tail = np.log(2 * norm.cdf(sxy / np.sqrt(d * sse / (n - 1))))
    return float(-0.5 * np.log1p(G * (xc @ xc)) + 0.5 * (n - 1) * np.log(yc @ yc / sse) + tail)


def made(seed: int, step: float, n: int = 8) -> tuple[Floats, Floats]:
    x = np.repeat([0.0, 1.0], [n // 2, n - n // 2])
    return np.random.default_rng(seed).normal(0, 0.03, n) + step * x, x


@pytest.mark.slow  # a double integral by adaptive quadrature for each case
@pytest.mark.parametrize(("seed", "step"), [(0, 0.0), (1, 0.05), (2, -0.03)])
def test_the_closed_form_is_the_integral(seed: int, step: float) -> None:
    y, x = made(seed, step)
    assert closed_form(y, x) == pytest.approx(quadrature(y, x), abs=2e-4)


@pytest.mark.slow  # a double integral by adaptive quadrature
def test_students_cdf_is_exact_and_the_normal_one_is_near() -> None:
    x = np.repeat([0.0, 1.0], 6)
    y = np.random.default_rng(0).normal(0, 1, 12) + x
    assert closed_form(y, x) == pytest.approx(quadrature(y, x), abs=2e-4)
    assert closed_form(y, x) == pytest.approx(0.4136, abs=5e-4)
    assert normal_form(y, x) == pytest.approx(0.427, abs=1e-3)


def test_a_partial_effect_enters_the_same_formula() -> None:
    y, x = made(5, 0.05)
    half = x * 0.5 + 0.25
    n, syy = len(y), float(np.sum((y - y.mean()) ** 2))
    sxx, sxy = float(np.sum((half - half.mean()) ** 2)), float(np.sum((half - half.mean()) * y))
    design = PatternDesign(samples_of(y, [0] * n), ONE_MACHINE)
    # The two-sided form is the average of the positive and the negative half.
    both = np.exp([log_one_step(design, part[None])[0] for part in (half, 1 - half)])
    expected = -0.5 * np.log1p(G * sxx) - 0.5 * (n - 1) * np.log(syy - sxy**2 / (sxx + 1 / G))
    expected += 0.5 * (n - 1) * np.log(syy) + log_no_step(design)
    assert np.log(both.mean()) == pytest.approx(expected)
    assert log_sets(design, half[None], ALONE)[0] == pytest.approx(expected)


@pytest.fixture(name="blocks")
def _blocks() -> Samples:
    rng = np.random.default_rng(11)
    commit = [0, 4, 2, 3] * 6
    block = np.repeat(np.arange(6), 4).tolist()
    offset = np.repeat(rng.normal(0, 0.06, 6), 4)
    return samples_of(rng.normal(0, 0.03, 24) + offset + 0.1 * (np.array(commit) >= 3), commit, block)


def patterns(samples: Samples) -> Floats:
    return np.stack([(samples.commit >= first).astype(np.float64) for first in (1, 3, 4)])


def odds(samples: Samples) -> Floats:
    log_m = log_one_step(PatternDesign(samples), patterns(samples))
    return np.asarray(log_m - log_no_step(PatternDesign(samples)))


def test_a_unit_of_time_changes_nothing(blocks: Samples) -> None:
    scaled = blocks.with_values(blocks.y + np.log(7))
    assert odds(scaled) == pytest.approx(odds(blocks), abs=1e-8)


def test_the_order_of_samples_changes_nothing(blocks: Samples) -> None:
    # The number of blocks is read from the last sample, so the last one stays.
    order = np.concatenate([np.random.default_rng(0).permutation(blocks.count - 1), [blocks.count - 1]])
    mixed = Samples(y=blocks.y[order], commit=blocks.commit[order], block=blocks.block[order], weight=blocks.weight)
    assert odds(mixed) == pytest.approx(odds(blocks), abs=1e-8)


def test_offsets_of_rounds_cancel(blocks: Samples) -> None:
    """Constant offsets within rounds cancel if only the widest spread of offsets is allowed."""
    wide = (1000.0,)
    moved = blocks.with_values(blocks.y + np.array([0.0, 3.0, -2.0, 1.0, 0.5, -1.0])[blocks.block])
    before, after = (
        log_one_step(PatternDesign(some, wide), patterns(some)) - log_no_step(PatternDesign(some, wide))
        for some in (blocks, moved)
    )
    assert after == pytest.approx(before, abs=0.05)


def test_the_true_step_wins_under_offsets_of_twice_the_noise(blocks: Samples) -> None:
    assert int(np.argmax(odds(blocks))) == 1
    assert odds(blocks)[1] > 3


def test_equal_values_say_nothing_and_are_no_nan() -> None:
    samples = samples_of(np.full(8, 0.7), [0, 1] * 4, [0, 0, 1, 1, 2, 2, 3, 3])
    design = PatternDesign(samples)
    x = (samples.commit == 1).astype(np.float64)
    log_m = log_one_step(design, x[None])
    assert np.isfinite(log_m).all()
    assert log_m[0] < log_no_step(design)
    assert np.isfinite(log_sets(design, x[None], ALONE)).all()
    fitted: Fit = fit(design, x[None])
    assert fitted.delta[0] == pytest.approx(0.0, abs=1e-9)
    assert np.isfinite(fitted.covariance).all()


def test_further_steps_are_sets_of_steps(blocks: Samples) -> None:
    design, x = PatternDesign(blocks), patterns(blocks)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        expected, swapped = log_sets(design, x, np.array([[first, second], [second, first]]))
        assert swapped == pytest.approx(expected)
        assert log_further_steps(design, x[[first]], x[[second]])[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("size", "scale", "share"),
    [(0.0, 1, 0.8), (4.0, 1, 0.8), (4.1, 4, 0.2 / 2), (8.0, 4, 0.2 / 2), (9.0, 16, 0.2 / 6), (60.0, 256, 0.2 / 20)],
)
def test_the_prior_is_wide_enough_for_the_step_at_the_price_of_its_scale(size: float, scale: int, share: float) -> None:
    """Standard deviations 4, 8, 16, …: wider ones get 1 / (j (j + 1)) of the weight that the usual one leaves."""
    assert wide_g(size) == pytest.approx((G * scale, np.log(share)))


@pytest.mark.parametrize(("step", "sign"), [(1.0, 1), (0.2, 1), (0.0, -1), (-1.0, -1)])
def test_the_difference_of_two_sides_is_the_mean_of_what_values_and_ranks_say(step: float, sign: int) -> None:
    x = np.tile([0.0, 1.0, 1.0, 0.0], 5)
    samples = samples_of(np.random.default_rng(6).normal(0, 0.05, 20) + step * x, [0] * 20, [b // 4 for b in range(20)])

    def bayes_factor(values: Samples, *scales: tuple[float, float]) -> float:
        some = [log_one_step(PatternDesign(values, g=g), x[None])[0] + log_share for g, log_share in scales]
        return float(np.logaddexp.reduce(some) - log_no_step(PatternDesign(values)))

    shown = fit(PatternDesign(samples), x[None])
    scales = {wide_g(0.0), wide_g(abs(shown.delta[0]) / shown.sigma)}
    ranks = samples.with_values(norm.ppf((rankdata(samples.y) - 0.5) / 20))
    result = log_difference(samples, x)
    assert result == pytest.approx((bayes_factor(samples, *scales) + bayes_factor(ranks, (G, 0.0))) / 2)
    assert np.sign(result) == sign
    # A change of unit has no effect, and one outlier does not outweigh all other executions.
    assert log_difference(samples.with_values(samples.y + 7), x) == pytest.approx(result)
    if step == 1.0:
        wild = samples.with_values(np.where(np.arange(20) == 3, 50.0, samples.y))
        assert log_difference(wild, x) > 0 > bayes_factor(wild, *scales)


def test_the_weight_of_a_spread_of_rounds_is_its_likelihood_by_itself_times_its_prior(blocks: Samples) -> None:
    x = patterns(blocks)[1]
    alone = [
        log_sets(PatternDesign(blocks, (spread,)), x[None], ALONE)[0] - 0.5 * np.log1p(spread**2) for spread in LAMBDAS
    ]
    weights = lambda_weights(PatternDesign(blocks), x)
    assert weights == pytest.approx(np.exp(alone - np.logaddexp.reduce(alone)))
    assert int(np.argmax(weights)) in (3, 4)  # the planted spread: twice the noise


def test_a_fit_is_least_squares() -> None:
    y, x = made(3, 0.2, n=20)
    fitted = fit(PatternDesign(samples_of(y, [0] * 20), ONE_MACHINE), x[None])
    assert fitted.delta[0] == pytest.approx(y[x == 1].mean() - y[x == 0].mean(), abs=1e-6)
    pooled = (y[x == 1].var() + y[x == 0].var()) * 10 / 18
    assert fitted.dof == 18
    assert fitted.sigma == pytest.approx(np.sqrt(pooled), abs=1e-6)
    assert fitted.covariance[0, 0] == pytest.approx(pooled * 2 / 10, abs=1e-7)


@pytest.mark.parametrize("seed", range(6))  # in 0, 2, 3 and 5 the best-fitting steps would choose another spread
def test_a_fit_takes_the_spread_of_rounds_that_is_likeliest_with_level_and_steps_integrated_out(seed: int) -> None:
    generator = np.random.default_rng(seed)
    commit = np.concatenate([generator.permutation(6)[:3] for _ in range(8)])
    y = generator.normal(0, 0.03, 24) + np.repeat(generator.normal(0, 0.02, 8), 3)
    samples = samples_of(y, commit.tolist(), np.repeat(np.arange(8), 3).tolist())
    x = np.stack([(commit == one).astype(np.float64) for one in range(1, 6)])
    design = np.vstack([np.ones(24), x]).T

    def dense(spread: float) -> tuple[float, float, Floats]:
        """Log of prior times likelihood, sigma, and the steps by Patterson & Thompson (1971), with full matrices."""
        inverse = np.linalg.inv(np.eye(24) + spread**2 * (samples.block[:, None] == samples.block))
        gram = design.T @ inverse @ design
        levels = np.linalg.solve(gram, design.T @ inverse @ y)
        squares = float((y - design @ levels) @ inverse @ (y - design @ levels))
        volume = np.linalg.slogdet(inverse)[1] - np.linalg.slogdet(gram)[1] - np.log1p(spread**2)
        return float(volume - 18 * np.log(squares)), float(np.sqrt(squares / 18)), levels[1:]

    _, sigma, steps = max((dense(spread) for spread in LAMBDAS), key=lambda one: one[0])
    fitted = fit(PatternDesign(samples), x)
    assert fitted.sigma == pytest.approx(sigma, rel=1e-5)
    assert fitted.delta == pytest.approx(steps, abs=1e-6)


def test_ties_share_their_mean_rank() -> None:
    values = np.array([3.0, 1.0, 3.0, 2.0, 3.0, 1.0])
    assert mid_ranks(values).tolist() == (rankdata(values) - 0.5).tolist()
