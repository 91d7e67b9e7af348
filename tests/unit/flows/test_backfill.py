"""The order in which old commits are measured: useful early, and every commit once."""

from math import ceil, log2

from perf_culprit.flows.backfill import LevelByMetric, next_place
from perf_culprit.model.run import MetricKey

KEY = MetricKey("sort", "time")


def measured(places: int, level: dict[int, float], *, failing: frozenset[int] = frozenset()) -> list[int]:
    levels: dict[int, LevelByMetric] = {}
    failed: set[int] = set()
    order = []
    while (place := next_place(places, levels, failed)) is not None:
        order.append(place)
        if place in failing:
            failed.add(place)
        else:
            levels[place] = {KEY: level[place]}
    return order


def test_both_ends_come_first_then_the_middles_of_the_widest_gaps() -> None:
    order = measured(17, dict.fromkeys(range(17), 100.0))
    assert order[:3] == [16, 0, 8]
    assert set(order[3:5]) == {4, 12}
    assert sorted(order) == list(range(17))


def test_a_step_is_closed_in_on_as_by_bisection() -> None:
    places, step = 256, 100
    order = measured(places, {place: 100.0 if place < step else 130.0 for place in range(places)})
    needed = max(order.index(step - 1), order.index(step)) + 1
    assert needed <= 2 * ceil(log2(places))
    assert sorted(order) == list(range(places))


def test_what_failed_is_not_tried_again_and_stops_nothing() -> None:
    order = measured(9, dict.fromkeys(range(9), 1.0), failing=frozenset({8, 0, 4}))
    assert order[:4] == [8, 7, 0, 1]
    assert sorted(order) == list(range(9))


def test_nothing_to_compare_is_no_step() -> None:
    levels: dict[int, LevelByMetric] = {0: {}, 2: {KEY: 0.0}, 9: {KEY: -1.0}}
    assert next_place(10, levels, set()) == 6
