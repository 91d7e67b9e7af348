"""The types of arrays, the mark of what is absent, and steps that keep a table in memory small."""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]
Booleans = NDArray[np.bool_]

ABSENT: Final = -1  # the place of what an array does not hold
CELLS_AT_ONCE: Final = 200_000  # of a table in between: it fits into the processor's cache


def row_blocks(rows: int, *, cells: int) -> Iterator[slice]:
    """Yield slices of `rows`, which have `cells` each in a table in between, so that it stays small."""
    step = max(CELLS_AT_ONCE // max(cells, 1), 1)
    return (slice(start, min(start + step, rows)) for start in range(0, rows, step))
