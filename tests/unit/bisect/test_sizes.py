"""What an answer says of a named commit's size."""

import numpy as np
import pytest
from scipy.stats import t

from bot.bisect.pairs import Size, step_size
from bot.bisect.residual import further_probability
from bot.bisect.sizes import estimates, weighed
from bot.model.bisection import Purpose
from tests.unit.bisect.test_standing import ENDS, LEVELS, searched

WHOLE = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))
PAIR = (Purpose.CONFIRM, ("c1", "c2"))
SHARP, WIDE = Size(center=0.4, spread=0.01, dof=30), Size(center=0.6, spread=0.1, dof=3)


@pytest.mark.parametrize("weight", [1.0, 0.97, 0.5, 0.0])
def test_a_weighed_estimate_leaves_a_fortieth_on_either_side(weight: float) -> None:
    parts = [(weight, SHARP), (1 - weight, WIDE)]
    estimate = weighed(parts)
    assert estimate.center == pytest.approx(0.4 * weight + 0.6 * (1 - weight))
    for end, level in ((estimate.low, 0.025), (estimate.high, 0.975)):
        below = sum(share * t(size.dof, size.center, size.spread).cdf(end) for share, size in parts)
        assert below == pytest.approx(level, abs=1e-9)


def test_an_exact_estimate_is_a_point() -> None:
    exact = Size(center=0.2, spread=0.0, dof=4)
    estimate = weighed([(0.5, exact), (0.5, exact)])
    assert (estimate.low, estimate.high) == pytest.approx((0.2, 0.2), abs=1e-9)


def test_where_nothing_else_changed_all_samples_make_a_size_sharper() -> None:
    where = searched(ENDS, ENDS, WHOLE, PAIR, named="c2", noise=40)
    own, (estimate,) = step_size(where, 1), estimates(where, further_probability(where))
    assert own is not None
    assert further_probability(where) < 0.1
    assert estimate.low < np.log(1.2) < estimate.high
    assert estimate.high - estimate.low < 0.8 * 2 * own.half


def test_where_other_commits_changed_too_a_commits_own_rounds_say_its_size() -> None:
    where = searched(ENDS, ENDS, WHOLE, PAIR, levels={**LEVELS, "c4": 2.0}, named="c2", noise=40)
    own, (estimate,) = step_size(where, 1), estimates(where, further_probability(where))
    assert own is not None
    assert further_probability(where) > 0.99
    assert (estimate.low, estimate.high) == pytest.approx((own.center - own.half, own.center + own.half), rel=0.01)


def test_of_a_quiet_machine_a_commits_own_rounds_say_its_size() -> None:
    where = searched(ENDS, WHOLE, PAIR, named="c2")
    own, (estimate,) = step_size(where, 1), estimates(where, further_probability(where))
    assert where.model.is_quiet
    assert own is not None
    assert (estimate.center, estimate.high) == pytest.approx((own.center, own.center + own.half))
