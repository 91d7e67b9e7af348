"""Outcomes for handmade measurements."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.model.bisection import OutcomeKind, Phase, Purpose
from perf_culprit.search.search_answer import excludes_expected, outcome_of
from perf_culprit.search.search_view import SearchView
from tests.unit.search.test_search_view import ENDS, searched


def test_a_decay_is_told_in_stretches_between_levels() -> None:
    """c4 is slightly faster than c3, which has twice as many measurements: both are one level."""
    levels = {"g": 1.0, "c1": 1.1, "c2": 1.1, "c3": 1.32, "c4": 1.3}
    whole = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))
    outcome = outcome_of(searched(whole, (Purpose.SEARCH, ("c3",)), levels=levels), OutcomeKind.DECAY)
    first, second = outcome.decay
    assert (first.after, first.until, second.after, second.until) == ("g", "c1", "c2", "c3")
    top = np.exp((2 * np.log(1.32) + np.log(1.3)) / 3)
    assert (first.relative_change, second.relative_change) == pytest.approx((0.1, top / 1.1 - 1), abs=1.5e-3)
    assert first.share == pytest.approx(np.log(1.1) / np.log(top), abs=0.01)
    assert first.share + second.share == pytest.approx(1)


@pytest.mark.parametrize(
    ("bad", "phase", "kind"),
    [
        (1.0, Phase.SEARCH, OutcomeKind.INCONCLUSIVE),
        (1.0, Phase.CONFIRM, OutcomeKind.INCONCLUSIVE),
        (1.0, Phase.REPRODUCE, OutcomeKind.BUDGET_SPENT),
        (1.2, Phase.SEARCH, OutcomeKind.BUDGET_SPENT),
    ],
)
def test_a_spent_search_has_suspects_unless_its_ends_speak_against_a_change(
    bad: float, phase: Phase, kind: OutcomeKind
) -> None:
    measured = searched(ENDS, ENDS, levels={"g": 1.0, "c4": bad})
    outcome = outcome_of(SearchView(replace(measured.state, phase=phase), measured.reach), OutcomeKind.BUDGET_SPENT)
    assert outcome.kind is kind
    assert bool(outcome.suspects) is (bad > 1)


@pytest.mark.parametrize(
    ("bad", "rounds", "refuted"), [(1.0, 2, True), (1.0, 1, False), (1.2, 2, False), (1.05, 2, False), (0.8, 2, True)]
)
def test_an_expected_change_is_refuted_by_six_rounds_that_exclude_half_of_it(
    bad: float, rounds: int, refuted: bool
) -> None:
    measured = searched(*[ENDS] * rounds, levels={"g": 1.0, "c4": bad})
    settings = replace(measured.state.settings, expected_change=float(np.log(1.2)))
    assert excludes_expected(SearchView(replace(measured.state, settings=settings), measured.reach)) is refuted
    assert not excludes_expected(measured)


def test_a_named_commit_is_the_culprit_with_the_step_of_its_own_rounds() -> None:
    whole = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))
    outcome = outcome_of(searched(whole, (Purpose.CONFIRM, ("c1", "c2")), named="c2"), OutcomeKind.CULPRIT)
    assert outcome.kind is OutcomeKind.CULPRIT
    (culprit,) = outcome.culprits
    assert (culprit.commit, culprit.improvement) == ("c2", False)
    assert culprit.relative_change == pytest.approx(0.2, abs=2e-3)
    assert (outcome.unresolved, outcome.unresolved_part, outcome.is_open) == (0.0, None, False)
