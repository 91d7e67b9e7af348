"""Random numbers by name: what one part of a model draws does not move what another part draws.

So two designs under one seed see the same arrivals, and differ by what differs between them: common random numbers
[Law 2015, 11.2].
"""

import math
from collections.abc import Callable, Iterator
from itertools import chain
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from bot.config.quantities import Distribution

BLOCK = 4096


class Streams:
    """Those of one replication."""

    def __init__(self, seed: int, replication: int) -> None:
        self._seed = (seed, replication)

    def generator(self, name: str) -> np.random.Generator:
        return np.random.default_rng((*self._seed, crc32(name.encode())))

    def draws(self, distribution: Distribution, name: str) -> Callable[[], float]:
        """The next number at each call."""
        if distribution.kind == "constant":
            value = distribution.first
            return lambda: value
        random = self.generator(name)
        return _endless(lambda: samples(distribution, random, BLOCK)).__next__

    def gaps(self, probability: float, name: str) -> Callable[[], float]:
        """How many trials fail before the next success, at each call: far fewer numbers than one per trial."""
        if not probability:
            return lambda: math.inf
        random = self.generator(name)
        return _endless(lambda: (random.geometric(probability, BLOCK) - 1).astype(np.float64)).__next__

    def uniform(self, name: str) -> Callable[[], float]:
        """The next number from 0 to 1 at each call."""
        return self.draws(Distribution("uniform", 0.0, 1.0), name)


def samples(distribution: Distribution, random: np.random.Generator, size: int) -> NDArray[np.float64]:
    """Shape (size,); never negative."""
    first, second = distribution.first, distribution.second
    match distribution.kind:
        case "exponential":
            return random.exponential(first, size)
        case "normal":
            return np.maximum(random.normal(first, second, size), 0.0)
        case "uniform":
            return random.uniform(first, second, size)
        case _:
            return np.full(size, first)


def _endless(block: Callable[[], NDArray[np.float64]]) -> Iterator[float]:
    return chain.from_iterable(iter(lambda: block().tolist(), None))
