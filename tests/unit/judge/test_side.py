import numpy as np
import pytest
from scipy import stats

from perf_culprit.judge.side import describe_sides
from perf_culprit.stats.ragged import Moments


def test_a_side_is_its_samples_in_the_metrics_unit_with_the_interval_of_their_mean() -> None:
    rows = [[8.0, 9.0, 13.0], [-16.0, -32.0, -48.0, -64.0], [3.0], [2.0, -2.0]]
    count, mean = np.array([float(len(row)) for row in rows]), np.array([np.mean(row) for row in rows])
    squares = np.array([np.var(row) * len(row) for row in rows])
    sides = describe_sides(
        Moments(count, mean, squares),
        np.array([np.median(row) for row in rows]),
        means=mean,
        runs=np.array([1.0, 2.0, 1.0, 1.0]),
    )
    assert [(side.value, side.mean, side.median, side.count, side.runs) for side in sides] == [
        (10.0, 10.0, 9.0, 3, 1),
        (-40.0, -40.0, -40.0, 4, 2),
        (3.0, 3.0, 3.0, 1, 1),
        (0.0, 0.0, 0.0, 2, 1),
    ]
    first, second, single, around_zero = sides
    for side, row in ((first, rows[0]), (second, rows[1])):
        assert side.standard_deviation == pytest.approx(np.std(row, ddof=1))
        low, high = stats.t.interval(0.95, len(row) - 1, np.mean(row), stats.sem(row))
        assert side.relative_half_width == pytest.approx((high - low) / 2 / abs(np.mean(row)))
    # The deviation of one sample and the width around zero are not known.
    assert (single.standard_deviation, single.relative_half_width) == (None, None)
    assert around_zero.standard_deviation == pytest.approx(2 * np.sqrt(2))
    assert around_zero.relative_half_width is None
