"""Where a history's noise comes from, and the number of samples beyond which more help little."""

import numpy as np
import pytest

from bot.detect.noise_sources import noise_sources
from bot.model.run import Run
from tests.support.noisy_runs import noisy_run


def test_runs_that_differ_more_than_their_samples_say_so() -> None:
    rng = np.random.default_rng(3)
    runs = [noisy_run(rng, benchmarks=8, samples=20, spread=0.02, own_offset=0.06) for _ in range(15)]
    found = noise_sources(runs)
    assert found is not None
    assert (found.metrics, found.processes) == (8, None)
    assert found.runs == pytest.approx(0.06, rel=0.35)
    assert found.samples == pytest.approx(0.02, rel=0.15)
    assert found.enough_samples == 1


def test_runs_that_do_not_differ_ask_for_samples() -> None:
    rng = np.random.default_rng(4)
    runs = [noisy_run(rng, benchmarks=8, samples=20, spread=0.05, own_offset=0.0) for _ in range(15)]
    found = noise_sources(runs)
    assert found is not None
    assert found.runs < 0.01
    assert found.enough_samples is None or found.enough_samples > 50


def test_runs_without_samples_have_no_sources() -> None:
    assert noise_sources([Run(), Run()]) is None
    rng = np.random.default_rng(5)
    assert noise_sources([noisy_run(rng, benchmarks=3, samples=10)]) is None
