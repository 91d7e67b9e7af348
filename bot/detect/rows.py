"""Values that are made when they are read: of a million metrics few are, and as objects all of them take gigabytes."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Final, TypeVar, overload

T = TypeVar("T")
BLOCK: Final = 10_000


class Rows(Sequence[T]):
    """`count` values; `make(start, end)` makes those of this range whenever they are asked for."""

    __slots__ = ("_count", "_last", "_make")

    def __init__(self, count: int, make: Callable[[int, int], list[T]]) -> None:
        self._count, self._make = count, make
        self._last: tuple[int, list[T]] = (-1, [])

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        starts = range(0, self._count, BLOCK)
        return chain.from_iterable(self._make(start, min(start + BLOCK, self._count)) for start in starts)

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            start, end, step = index.indices(self._count)
            return self._make(start, max(start, end))[::step]
        place = range(self._count)[index]
        # A writer of files asks for one value's fields one after the other.
        if self._last[0] != place:
            self._last = place, self._make(place, place + 1)
        return self._last[1][0]
