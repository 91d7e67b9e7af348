"""What two modes leave of the samples: the mode taken out, commit by commit."""

import numpy as np
import pytest

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
