"""What two modes leave of the samples: the mode taken out, commit by commit."""

import numpy as np
import pytest

from bot.bisect.modes import fit_modes
from bot.bisect.noise import cleaned
from bot.bisect.samples import Samples
from bot.bisect.shape import Modes


def test_each_commit_keeps_its_level_when_its_mode_is_taken_out() -> None:
    modes = Modes(gap=0.5, slow_share=0.5, slow_sd=0.02, fast_sd=0.0125)
    noise, is_fast = np.tile([0.0, 0.0, 0.01, -0.01], 2), np.tile([False, True], 4)
    level = np.repeat([0.0, 0.1], 4)
    samples = Samples(
        y=level + noise - 0.5 * is_fast,
        commit=np.repeat([0, 3], 4),
        block=np.zeros(8, dtype=np.intp),
        weight=np.ones(8),
    )
    found = cleaned(samples, modes)
    assert found.y == pytest.approx(level + noise, abs=1e-3)
    # The fast mode is narrower, so that its samples say more.
    assert found.weight == pytest.approx(np.where(is_fast, (0.02 / 0.0125) ** 2, 1.0), rel=1e-2)


def test_two_modes_the_step_and_the_rounds_offsets_are_recovered() -> None:
    rng = np.random.default_rng(8)
    rounds, slow_share = 120, 0.3
    block = np.repeat(np.arange(rounds), 4)
    x = np.tile([0.0, 1.0, 1.0, 0.0], rounds)
    slow = rng.random(len(x)) < slow_share
    noise = np.where(slow, rng.normal(0.4, 0.03, len(x)), rng.normal(0, 0.015, len(x)))
    y = noise + 0.1 * x + rng.normal(0, 0.05, rounds)[block]
    modes = fit_modes(y, x, block)
    assert modes is not None
    assert (modes.gap, modes.step) == pytest.approx((0.4, 0.1), abs=0.01)
    assert modes.slow_share == pytest.approx(slow_share, abs=0.05)
    assert (modes.slow_sd, modes.fast_sd, modes.offset_sd) == pytest.approx((0.03, 0.015, 0.05), rel=0.2)
    assert modes.level == pytest.approx(0.4, abs=0.02)
    one = fit_modes(np.where(slow, noise - 0.4, noise) + 0.1 * x, x, block)
    assert one is None or one.gap < 0.05
