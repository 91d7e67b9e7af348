import numpy as np
import pytest

from perf_culprit.dispatch.local_bisection import run_spread
from perf_culprit.stats.steps import SHORTEST_LEVEL


def test_the_spread_is_that_of_one_run_whatever_steps_lie_between() -> None:
    generator = np.random.default_rng(3)
    noise = generator.normal(0, 0.03, 400)
    steps = np.where(np.arange(400) > 200, 0.5, 0.0)
    assert run_spread(np.exp(noise + steps).tolist()) == pytest.approx(0.03, rel=0.15)


def test_too_few_runs_have_no_spread() -> None:
    assert run_spread([1.0] * (SHORTEST_LEVEL - 1)) is None
    assert run_spread([1.0] * SHORTEST_LEVEL) == 0.0
