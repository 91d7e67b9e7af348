"""Whether a level moved at once or gradually."""

import numpy as np

from bot.stats.ragged import Floats

# Looked at on each side of the change; a ramp's ends are tried every 8 runs, and a ramp takes 16 runs or more.
DRIFT_REACH = 80
RAMP_GRID = 8
SHORTEST_RAMP = 16


def is_drift(values: Floats) -> bool:
    """Whether one ramp between two levels explains values, shape (n,), clearly better than one step.

    Least squares over all steps and all ramps of a grid; clearly is n ln(RSS step / RSS ramp) > 2 ln n, the price of
    the ramp's second end doubled (Schwarz 1978), so that a doubtful change is a step.
    """
    count = len(values)
    position = np.arange(count)
    ends = np.arange(0, count + 1, RAMP_GRID)
    start, end = (side.ravel() for side in np.meshgrid(ends, ends, indexing="ij"))
    long_enough = end - start >= SHORTEST_RAMP
    if not long_enough.any():
        return False
    start, end = start[long_enough, None], end[long_enough, None]
    ramps = np.clip((position - start) / (end - start), 0.0, 1.0)
    steps = (position >= np.arange(1, count)[:, None]).astype(float)
    step_error, ramp_error = _least_error(values, steps), _least_error(values, ramps)
    if ramp_error <= 0:
        return step_error > 0
    return bool(count * np.log(step_error / ramp_error) > 2 * np.log(count)) if step_error > 0 else False


def _least_error(values: Floats, profiles: Floats) -> float:
    """The smallest residual sum of squares of `values` on level + size * profile, over profiles (m, n)."""
    centred = values - values.mean()
    shapes = profiles - profiles.mean(axis=1, keepdims=True)
    explained = (shapes @ centred) ** 2 / (shapes**2).sum(axis=1)
    return float(max(centred @ centred - explained.max(), 0.0))
