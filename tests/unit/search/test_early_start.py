"""When a search begins before its ends are settled, and when it goes back to them."""

from types import SimpleNamespace
from typing import cast

import pytest

from perf_culprit.search import phases
from perf_culprit.search.search_view import SearchView
from tests.unit.search.test_search_view import ENDS, searched


@pytest.mark.parametrize(("log_bf", "log_change", "begins"), [(1.1, 1.1, True), (1.0, 5.0, False), (5.0, 1.0, False)])
def test_a_search_begins_early_if_the_ends_and_all_executions_speak_for_a_change(
    log_bf: float, log_change: float, begins: bool
) -> None:
    stub = SimpleNamespace(model=SimpleNamespace(log_change=log_change))
    assert phases.begins_early(cast(SearchView, stub), log_bf) is begins


@pytest.mark.parametrize(
    ("modes", "log_change", "log_reproduced", "premature"),
    [(None, -0.2, 0.0, True), (None, -0.2, 3.0, False), (None, 0.0, 0.0, False), ("two", -0.2, 0.0, False)],
)
def test_only_ends_of_one_mode_that_speak_against_a_change_end_a_search(
    modes: str | None, log_change: float, log_reproduced: float, premature: bool
) -> None:
    """The plain form is weak evidence on a machine with two modes."""
    where = searched(ENDS)
    model = SimpleNamespace(modes=modes, log_change=log_change, log_reproduced=log_reproduced)
    stub = SimpleNamespace(model=model, samples=where.samples, reach=where.reach)
    assert phases.is_premature(cast(SearchView, stub)) is premature
