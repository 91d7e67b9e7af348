"""Which metrics share what they know of their noise."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import repeat
from typing import TypeVar

import numpy as np

from bot.stats.ragged import Integers

Item = TypeVar("Item")
Result = TypeVar("Result")


def families(kinds: Iterable[Hashable], *, alone: Iterable[bool]) -> Integers:
    """A number per metric, shape (m,): those of one kind share one, and who is `alone` has a number to itself.

    A metric is alone as long as a level that it was called for may be a new one: as noise, its step would hide that of
    every other metric which follows it a run later.
    """
    numbers: dict[Hashable, int] = {}
    pairs = zip(kinds, alone, strict=True)
    keys = ((kind, index if single else None) for index, (kind, single) in enumerate(pairs))
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def in_families(
    items: Sequence[Item], assess: Callable[[Sequence[Item]], Sequence[Result]], *, alone: Iterable[bool]
) -> list[Result]:
    """What `assess` gives for each item beside those of its family, in order."""
    numbers = families(repeat(None, len(items)), alone=alone)
    results: dict[int, Result] = {}
    for number in np.unique(numbers):
        rows = np.flatnonzero(numbers == number).tolist()
        results.update(zip(rows, assess([items[row] for row in rows]), strict=True))
    return [results[row] for row in range(len(items))]
