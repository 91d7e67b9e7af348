"""The minimum effect: below it no change is called, whatever its proof. Its defaults, and who reaches it."""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, overload

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Kind(StrEnum):
    """What is judged. Each has a default of its own, because each has another noise."""

    BENCHMARK = "benchmark"
    SERIES = "series"
    COUNT = "count"
    CALL_TREE = "call tree"
    SEARCHED_TIME = "searched time"


# Where the user says nothing, as a share of the level. A series tells smaller changes from noise than two runs do: of
# the steps that experts labelled, half are smaller than the 5% of comparisons (docs/detectors/change-point.md). Below
# 0.5% of a count a different path of a worktree, a longer file, is a change too. Many calls make tiny effects
# significant, so call trees have one at all. A search by time is for one change: nobody measures less than 0.05%.
DEFAULTS: Final[Mapping[Kind, float]] = MappingProxyType(
    {Kind.BENCHMARK: 0.05, Kind.SERIES: 0.01, Kind.COUNT: 0.005, Kind.CALL_TREE: 0.01, Kind.SEARCHED_TIME: 0.0005}
)


@overload
def reaches(change: float, effect: float, *, upwards: bool = False) -> bool: ...
@overload
def reaches(
    change: "npt.NDArray[np.float64]", effect: "float | npt.NDArray[np.float64]", *, upwards: bool = False
) -> "npt.NDArray[np.bool_]": ...


def reaches(change: Any, effect: Any, *, upwards: bool = False) -> Any:
    """Whether a change is at least the minimum effect: in either direction, or `upwards`. Both on one scale."""
    return (change if upwards else abs(change)) >= effect
