"""How much a named commit changes: what its own rounds say, and what all samples say if nothing else changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from scipy.special import stdtr, stdtrit

from bot.bisect import evidence
from bot.bisect.noise import SMALLEST_SPREAD
from bot.bisect.pairs import LEVEL, Size, sizes_of, step_size
from bot.bisect.standing import Standing

HALVINGS: Final = 60


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A step in logarithms: the posterior mean, and the interval at `LEVEL`."""

    center: float
    low: float
    high: float


def estimates(standing: Standing, further: float) -> tuple[Estimate, ...]:
    """Of each named step, in topological order: two estimates weighed by the probability of a `further` step.

    The fit of the named steps over all samples is the sharper one, but mixes in what nobody named; the rounds that
    confirmed a step do not, but are few. Of a quiet machine these are sharp, and alone count: that other commits
    change a little would be the fit's whole noise. A step without such rounds (an edge that cannot be measured any
    more) has the fit alone.
    """
    fitted = sizes_of(evidence.fit(standing.model.design, standing.model.named_columns))
    share = 1.0 if standing.model.is_quiet else further
    pairs = [(size, step_size(standing, candidate)) for size, candidate in zip(fitted, standing.named, strict=True)]
    return tuple(weighed([(1.0, size)] if own is None else [(1 - share, size), (share, own)]) for size, own in pairs)


def weighed(parts: Sequence[tuple[float, Size]]) -> Estimate:
    """The mixture of these t distributions; weights sum to 1."""
    tail = (1 - LEVEL) / 2
    counted = [(weight, size) for weight, size in parts if weight]
    center = sum(weight * size.center for weight, size in counted)
    return Estimate(center=center, low=_quantile(counted, tail), high=_quantile(counted, 1 - tail))


def _quantile(parts: Sequence[tuple[float, Size]], level: float) -> float:
    """Lies between those of the parts."""
    own = [float(size.center + size.spread * stdtrit(size.dof, level)) for _, size in parts]
    low, high = min(own), max(own)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        below = sum(
            weight * float(stdtr(size.dof, (middle - size.center) / max(size.spread, SMALLEST_SPREAD)))
            for weight, size in parts
        )
        low, high = (middle, high) if below < level else (low, middle)
    return (low + high) / 2
