"""When a search begins before its ends are settled, and when it goes back to them."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest

from perf_culprit.model.bisection import Purpose
from perf_culprit.search import early_start
from perf_culprit.search.search_view import Standing
from tests.unit.search.test_standing import ENDS, searched

DEAR = 100  # executions: more than a fifth of the budget


@pytest.mark.parametrize(
    ("rounds", "log_bf", "begins"),
    [
        ([("g", "c4")] * 2, 5.0, True),
        ([("g", "c4")] * 2, 4.5, False),
        ([("g", "c4"), ("g",)], 5.0, False),
        ([("g", "c4"), ("c4",)], 5.0, False),
    ],
)
def test_a_dear_search_begins_early_by_overwhelming_evidence_of_both_ends(
    monkeypatch: pytest.MonkeyPatch, rounds: Sequence[tuple[str, ...]], log_bf: float, begins: bool
) -> None:
    monkeypatch.setattr(early_start, "expected_executions", lambda *_, **__: DEAR)
    where = searched(*((Purpose.REPRODUCE, commits) for commits in rounds))
    assert bool(early_start.begins_early(where, log_bf)) is begins


def test_a_search_that_cannot_be_paid_does_not_begin_early(monkeypatch: pytest.MonkeyPatch) -> None:
    where = searched(ENDS, ENDS)
    for needed, begins in ((where.left, True), (where.left + 1, False)):
        monkeypatch.setattr(early_start, "expected_executions", lambda *_, needed=needed, **__: needed)
        assert early_start.begins_early(where, 5.0) is begins


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
    assert early_start.is_premature(cast(Standing, stub)) is premature
