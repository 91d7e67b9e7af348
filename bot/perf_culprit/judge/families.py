"""Groups of metrics that share an estimate of their noise."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any, TypeVar

import numpy as np

from perf_culprit.arrays import Integers

Item = TypeVar("Item")
FamilyResult = TypeVar("FamilyResult")


def families(kinds: Iterable[Hashable], *, alone: Iterable[bool]) -> Integers:
    """Number the metrics, shape (m,): metrics of one kind share a number; one that is `alone` has its own.

    A metric is alone while a level that it was called for may be a new one. Treated as noise, its step would hide that
    of every other metric which follows it a run later.
    """
    numbers: dict[Hashable, int] = {}
    pairs = zip(kinds, alone, strict=True)
    keys = ((kind, index if single else None) for index, (kind, single) in enumerate(pairs))
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.intp)


def by_kind(
    items: Sequence[Item],
    kinds: Sequence[Hashable],
    assess: Mapping[Any, Callable[[Sequence[Item]], Sequence[FamilyResult]]],
) -> Sequence[FamilyResult]:
    """Apply the function of each kind to all its items, and return the results in order."""
    if len(set(kinds)) == 1:
        return assess[kinds[0]](items)
    results: dict[int, FamilyResult] = {}
    for kind in dict.fromkeys(kinds):
        rows = [row for row, other in enumerate(kinds) if other == kind]
        results.update(zip(rows, assess[kind]([items[row] for row in rows]), strict=True))
    return [results[row] for row in range(len(items))]


def in_families(
    items: Sequence[Item], assess: Callable[[Sequence[Item]], Sequence[FamilyResult]], *, alone: Iterable[bool]
) -> list[FamilyResult]:
    """Apply `assess` to the items of each family, and return the results in order."""
    numbers = families(repeat(None, len(items)), alone=alone).tolist()
    return list(by_kind(items, numbers, dict.fromkeys(numbers, assess)))
