"""The quick check of many series agrees with the gate for one series."""

import numpy as np
import pytest

from perf_culprit.arrays import Floats
from perf_culprit.stats.steps import (
    FIRST_JUDGED,
    is_quiet,
    online_alarms,
)

LENGTHS = (31, 60, 140)


def many(length: int) -> Floats:
    """Series on very different scales: noise, steps of all sizes near the end, blips, zeros, both signs, constants."""
    rng = np.random.default_rng(length)
    series = 100 + rng.normal(size=(120, length))
    for row, size in enumerate(np.linspace(0, 12, 60)):
        series[row, length - 1 - row % 10 :] += size
    series[60:70, -3] *= 10
    series[70:80] -= 100
    series[80:90] = np.round(series[80:90] / 50)
    series[90:95], series[95:100] = 5.0, 0.0
    return np.asarray(series * 10.0 ** rng.integers(-40, 40, (120, 1)))


@pytest.mark.parametrize("length", LENGTHS)
def test_what_is_quiet_has_no_alarm(length: int) -> None:
    series = many(length)
    first_judged = max(FIRST_JUDGED, length - 25)
    quiet = np.all([is_quiet(series[:, : run + 1]) for run in range(first_judged, length)], axis=0)
    alarmed = np.array([bool(online_alarms(row, first_judged=first_judged)) for row in series])
    assert not (quiet & alarmed).any()
    assert alarmed.sum() >= 10
    assert quiet.sum() >= 30
