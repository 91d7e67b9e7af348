"""The lower bound for any search: the information in one execution, and the mean number of executions needed.

C = I(X; Y) in bits, X uniform on {fast, slow}, Y one execution. A search knows both distributions and errs with
probability e. By Fano's inequality it needs at least `(log2 N - h(e) - e log2(N - 1)) / C` executions; the ends are
free. Jobs' offsets only remove information.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from scipy.stats import exponnorm, norm

from perf_culprit.search.next_rounds import binary_entropy

Floats = npt.NDArray[np.float64]
Density = Callable[[Floats], Floats]
ERROR = 0.05


def _lognormal(cv: float) -> Density:
    return lambda y: np.asarray(norm.pdf(y, scale=np.sqrt(np.log1p(cv**2))))


def _bimodal(y: Floats) -> Floats:
    return np.asarray(0.75 * norm.pdf(y, scale=0.02) + 0.25 * norm.pdf(y - np.log(1.15), scale=0.02))


def _heavy(y: Floats) -> Floats:
    return np.asarray(0.95 * norm.pdf(y, scale=0.03) + 0.05 * exponnorm.pdf(y, 0.3 / 0.03, scale=0.03))


# The densities of `machine.NOISES`, of natural logarithms.
DENSITIES: Mapping[str, Density] = {
    "1%": _lognormal(0.01),
    "3%": _lognormal(0.03),
    "10%": _lognormal(0.10),
    "bimodal": _bimodal,
    "heavy": _heavy,
}


def capacity_bits(noise: str, effect: float) -> float:
    """Return C of one execution for a relative change `effect`."""
    density, step = DENSITIES[noise], float(np.log1p(effect))
    grid = np.linspace(-1.0, 4.0, 200_001)
    fast, slow = density(grid), density(grid - step)
    mixed = (fast + slow) / 2
    width = grid[1] - grid[0]
    return float((_bits(mixed) - (_bits(fast) + _bits(slow)) / 2) * width)


def _bits(density: Floats) -> float:
    return float(-(density * np.log2(np.maximum(density, 1e-300))).sum())


def fano_executions(size: int, bits: float, *, error: float = ERROR) -> float:
    """Return the bound for `size` candidates at C = `bits`."""
    needed = np.log2(size) - float(binary_entropy(error)) - error * np.log2(max(size - 1, 1))
    return float(max(needed, 0.0) / bits)
