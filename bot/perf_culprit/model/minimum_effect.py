"""The minimum effect: no smaller change is called, however well proven. Its defaults, and the check for it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class DataKind(StrEnum):
    """The kind of data that is judged. Each kind has its own noise, and so its own default."""

    BENCHMARK = "benchmark"
    SERIES = "series"
    COUNT = "count"
    CALL_TREE = "call tree"
    SEARCHED_TIME = "searched time"


# Shares of the level, if the user sets none. A series tells smaller changes from noise than two runs do: half of the
# steps that experts labelled are smaller than the 5% of comparisons (docs/detectors/change-point.md). Below 0.5% of a
# count, a different path of a worktree or a longer file is a change, too. Many calls make tiny effects significant, so
# call trees need a minimum effect. A search by time is for one change, and nobody measures less than 0.05%.
DEFAULTS: Final[Mapping[DataKind, float]] = MappingProxyType(
    {
        DataKind.BENCHMARK: 0.05,
        DataKind.SERIES: 0.01,
        DataKind.COUNT: 0.005,
        DataKind.CALL_TREE: 0.01,
        DataKind.SEARCHED_TIME: 0.0005,
    }
)


@overload
def reaches(change: float, effect: float, *, upwards: bool = False) -> bool: ...
@overload
def reaches(
    change: "npt.NDArray[np.float64]", effect: "float | npt.NDArray[np.float64]", *, upwards: bool = False
) -> "npt.NDArray[np.bool_]": ...


def reaches(change: Any, effect: Any, *, upwards: bool = False) -> Any:
    """Return whether a change is at least the minimum effect, in either direction or `upwards`, on one scale."""
    return (change if upwards else abs(change)) >= effect
