"""Every documented way of use holds its stated rate of false alarms: the quick part of `python -m benchmarks.truth`."""

from collections.abc import Iterator, Mapping
from functools import cache

import pytest

from benchmarks.truth.cells import Cell, chosen_cells, run_cells
from benchmarks.truth.quick import (
    QUICK,
    QUICK_FIND_TRIALS,
    QUICK_FINDS,
    QUICK_FOUND,
    QUICK_POWER,
    QUICK_WAYS,
    is_quick,
)
from benchmarks.truth.recorded import RECORDED, read_series

pytestmark = pytest.mark.slow  # a rate needs trials


@cache
def quick_cells(way: str, noise: str) -> Mapping[str, Cell]:
    (chosen,) = [entry for entry in chosen_cells([way, noise]) if next(iter(entry[0].rows)) == way]
    return run_cells(*chosen, trials=QUICK, power_trials=QUICK_POWER, series=[read_series(RECORDED)])


def quick_parameters() -> Iterator[object]:
    for way, noise in (entry for entry in chosen_cells([]) if is_quick(*entry)):
        for row in way.rows:
            yield pytest.param(next(iter(way.rows)), row, noise, id=f"{row}, {noise}")


@pytest.mark.parametrize(("way", "row", "noise"), list(quick_parameters()))
def test_a_stated_rate_is_kept(way: str, row: str, noise: str) -> None:
    cell = quick_cells(way, noise)[row]
    assert cell.trials
    assert cell.judged, "nothing was compared, which is no proof of quiet"
    assert not cell.is_broken, f"{cell.counted}: from {cell.bounds[0]:.2%} on"


@pytest.mark.parametrize(("way", "noise", "effect"), QUICK_FINDS)
def test_a_change_that_the_data_holds_is_found(way: str, noise: str, effect: float) -> None:
    (chosen,) = [entry for entry in chosen_cells([way, noise]) if next(iter(entry[0].rows)) == way]
    cell = run_cells(*chosen, trials=QUICK_FIND_TRIALS, power_trials=QUICK_FIND_TRIALS, planted=[effect])[way]
    tried, result = cell.hits[effect]
    assert result >= QUICK_FOUND * tried


def test_all_quick_ways_exist() -> None:
    assert sum(is_quick(*entry) for entry in chosen_cells([])) == len(QUICK_WAYS)
