from datetime import UTC, datetime

import pytest
from msgspec.structs import replace

from perf_culprit.dispatch.bisection_view import diagnosed_step, report_of
from perf_culprit.model.bisection import Culprit, Outcome, OutcomeKind, SearchSettings
from perf_culprit.model.count import Count
from perf_culprit.model.counted_metric import key_of, metric_of
from perf_culprit.model.dispatch import BisectCommands, Bisection
from perf_culprit.model.finding import Interval
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.search.search import Search
from tests.support.bisections import RANGE


@pytest.mark.parametrize(("change", "notes"), [(0.0002, 1), (-0.977, 0)])
def test_ends_of_the_same_count_are_said_to_count_the_same(change: float, notes: int) -> None:
    """Ends that differ in the direction opposite to the sought one get no such note."""
    state = Search.start(RANGE, settings=SearchSettings(minimum_effect=DEFAULTS[DataKind.COUNT])).state
    bisection = Bisection(
        id="1",
        key=key_of(Count.INSTRUCTIONS),
        metric=metric_of(Count.INSTRUCTIONS),
        commands=BisectCommands(run="./bench", count=Count.INSTRUCTIONS),
        search=replace(state, outcome=Outcome(kind=OutcomeKind.NOT_REPRODUCED, relative_change=change)),
        started_at=datetime(2026, 11, 23, tzinfo=UTC),
    )
    assert len(report_of(bisection).outcome.notes) == notes


def test_the_largest_regression_is_diagnosed_and_an_improvement_where_counts_show_its_functions() -> None:
    def culprit(name: str, change: float, *, improvement: bool = False) -> Culprit:
        interval = Interval(low=change, high=change, level=0.95)
        return Culprit(
            commit=name, posterior=1.0, relative_change=change, confidence_interval=interval, improvement=improvement
        )

    culprits = (culprit("a", 0.1), culprit("b", 0.3), culprit("c", -0.5, improvement=True))
    largest = diagnosed_step(Outcome(kind=OutcomeKind.SEVERAL_CULPRITS, culprits=culprits), None)
    assert largest is not None
    assert largest.commit == "b"
    assert diagnosed_step(Outcome(kind=OutcomeKind.CULPRIT, culprits=culprits[2:]), None) is None
    counted = diagnosed_step(Outcome(kind=OutcomeKind.CULPRIT, culprits=culprits[2:]), Count.INSTRUCTIONS)
    assert counted == culprits[2]
