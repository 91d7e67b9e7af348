"""The shift's interval covers as often as it says, is as narrow as the noise allows, and is exact without noise."""

from collections.abc import Callable

import numpy as np
import pytest

from perf_culprit.stats.block_interval import shift_interval
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.side_blocks import Blocks

SHIFT = 0.1
TRIALS = 300


def rounds(count: int) -> Blocks:
    return Blocks(np.tile([False, True, True, False], count), np.repeat(np.arange(count), 4))


def correlated(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    noise = rng.standard_normal(shape)
    for place in range(1, shape[1]):
        noise[:, place] = 0.5 * noise[:, place - 1] + np.sqrt(0.75) * noise[:, place]
    return 0.05 * noise


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: 0.05 * rng.standard_normal(shape),
    "lognormal": lambda rng, shape: 0.1 * rng.lognormal(0, 0.7, shape),
    "heavy tails": lambda rng, shape: 0.03 * rng.standard_t(1.5, shape),
    "two modes": lambda rng, shape: 0.02 * rng.standard_normal(shape) + 0.4 * (rng.random(shape) < 0.25),
    "neighbours alike": correlated,
}


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("levels", [0.0, 0.15])
def test_coverage(noise: str, levels: float) -> None:
    rng = np.random.default_rng(1)
    blocks = rounds(6)
    values = NOISES[noise](rng, (TRIALS, 24)) + SHIFT * blocks.is_target
    values += np.repeat(levels * rng.standard_normal((TRIALS, 6)), 4, axis=1)
    shift = shift_interval(values, blocks, level=0.95)
    covered = (shift.low <= SHIFT) & (shift.high >= SHIFT)
    # 300 trials: a standard error of 1.3 points.
    assert covered.mean() >= 0.95 - 0.04
    assert covered.mean() <= 0.99
    assert np.median(shift.shift) == pytest.approx(SHIFT, abs=0.02)


def test_as_narrow_as_normal_noise_allows() -> None:
    rng = np.random.default_rng(2)
    blocks = rounds(12)
    shift = shift_interval(0.05 * rng.standard_normal((200, 48)), blocks, level=0.95)
    best = 2 * 2.01 * 0.05 * np.sqrt(2 / 24)
    assert np.median(shift.high - shift.low) <= 1.2 * best


def test_modes_far_apart_widen_nothing() -> None:
    rng = np.random.default_rng(3)
    blocks = rounds(12)
    one = 0.02 * rng.standard_normal((200, 48))
    two = one + 0.4 * (rng.random((200, 48)) < 0.25)
    widths = [
        np.median(entry.high - entry.low) for entry in (shift_interval(x, blocks, level=0.95) for x in (one, two))
    ]
    assert widths[1] <= 1.6 * widths[0]


def test_without_noise_the_shift_is_known_exactly() -> None:
    blocks = rounds(5)
    values = np.stack(
        [3 + 0.25 * blocks.is_target, np.repeat(np.arange(5.0), 4) + 0.25 * blocks.is_target, np.full(20, 7.0)]
    )
    shift = shift_interval(values, blocks, level=0.99)
    for end in (shift.low, shift.high, shift.shift):
        assert end == pytest.approx([0.25, 0.25, 0.0], abs=1e-8)


def test_too_few_rounds_bound_nothing() -> None:
    blocks = rounds(2)
    shift = shift_interval(np.random.default_rng(4).standard_normal((3, 8)), blocks, level=0.99)
    assert np.isneginf(shift.low).all()
    assert np.isposinf(shift.high).all()
    assert np.isfinite(shift.shift).all()


def test_swapping_the_sides_turns_the_interval_around() -> None:
    rng = np.random.default_rng(5)
    blocks = rounds(6)
    values = rng.standard_t(3, (10, 24)) + blocks.is_target
    shift = shift_interval(values, blocks, level=0.95)
    other = shift_interval(values, Blocks(~blocks.is_target, blocks.block), level=0.95)
    assert -other.high == pytest.approx(shift.low, abs=0.15)
    assert -other.low == pytest.approx(shift.high, abs=0.15)


def test_scaling_the_values_scales_the_interval() -> None:
    rng = np.random.default_rng(6)
    blocks = rounds(6)
    values = rng.standard_t(3, (10, 24)) + blocks.is_target
    result, scaled = (shift_interval(x, blocks, level=0.95) for x in (values, 64 * values))
    assert scaled.low == pytest.approx(64 * result.low, rel=1e-3, abs=1e-6)
