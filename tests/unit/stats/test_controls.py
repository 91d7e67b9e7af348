"""Controls make results milder, never more certain."""

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.stats.controls import exonerate
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.unit_table import Tiers, UnitJudgement, UnitTable, log_change

ROUNDS = 7
IN_TURN = np.tile([False, True, True, False], ROUNDS)
BLOCKS = np.repeat(np.arange(ROUNDS), 4)
LEAST = log_change(0.05)
TIERS = Tiers()


def table(*changes: float, noise: float = 0.02, seed: int = 1) -> UnitTable:
    """Benchmarks of one kind, measured in turn, that changed by these factors."""
    rng = np.random.default_rng(seed)
    y = rng.normal(0, noise, (len(changes), len(IN_TURN))) + np.log1p(changes)[:, None] * IN_TURN
    return UnitTable.of(y, IN_TURN, block=BLOCKS)


def freed(units: UnitTable, *controls: int) -> tuple[UnitJudgement, UnitJudgement, Floats]:
    """The results without and with these controls, and how far those moved that count."""
    size = len(units.location)
    is_control: Booleans = np.isin(np.arange(size), controls)
    before = judge_units(units, least_change=LEAST, tiers=TIERS)
    after, moved = exonerate(before, units, is_control, least_change=np.full(size, LEAST), tiers=TIERS)
    return before, after, moved


def assert_same(one: UnitJudgement, other: UnitJudgement) -> None:
    for field in fields(UnitJudgement):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_what_a_control_shares_is_the_machines() -> None:
    before, after, moved = freed(table(0.2, 0.2, 0.2), 2)
    assert before.is_proven.all()
    assert not (after.is_suspected | after.differs)[:2].any()
    assert np.abs(after.change[:2]).max() < LEAST
    assert np.expm1(moved) == pytest.approx([0, 0, 0.2], abs=0.03)


def test_what_is_left_is_still_proven() -> None:
    _, after, moved = freed(table(0.5, 0.2, 0.2), 2)
    assert after.is_proven[:2].tolist() == [True, False]
    assert np.expm1(after.change[0]) == pytest.approx(0.25, abs=0.04)
    assert moved[2] > 0


@pytest.mark.parametrize("change", [0.0, -0.2], ids=["unmoved", "faster"])
def test_a_control_that_did_not_move_as_well_changes_nothing(change: float) -> None:
    before, after, moved = freed(table(0.2, 0.0, change), 2)
    assert after.is_proven[:2].tolist() == [True, False]
    assert not moved.any()
    assert_same(before, after)


def test_a_control_of_another_kind_says_nothing() -> None:
    units = replace(table(0.2, 0.2), kind=np.array([0, 1]))
    assert freed(units, 1)[1].is_proven.tolist() == [True, True]


def test_a_rate_that_falls_is_slower_too() -> None:
    units = table(0.25, -0.2)
    units = replace(units, orientation=np.array([1.0, -1.0]))
    _, after, moved = freed(units, 1)
    assert not after.is_suspected[0]
    assert moved[1] < 0


def test_a_count_tells_nothing_of_the_machine() -> None:
    units = replace(table(0.2, 0.2), is_exact=np.array([False, True]), orientation=np.array([1.0, 0.0]))
    assert freed(units, 1)[1].is_proven[0]


def test_the_whole_suite_moves_with_its_controls() -> None:
    """Four jobs a side, twenty benchmarks: without a control their common shift is suspected."""
    rng = np.random.default_rng(3)
    sides = np.arange(12) >= 6
    units = UnitTable.of(rng.normal(0, 0.01, (20, 12)) + np.log(1.4) * sides, sides)
    before, after, moved = freed(units, 0)
    assert before.suite.is_suspected
    assert not after.suite.is_suspected
    assert np.expm1(moved[0]) == pytest.approx(0.4, abs=0.05)


@given(
    changes=st.lists(st.floats(-0.5, 1.0), min_size=2, max_size=8),
    controls=st.sets(st.integers(0, 7)),
    noise=st.sampled_from([0.005, 0.05, 0.3]),
    seed=st.integers(0, 5),
)
def test_nothing_gets_more_certain(changes: list[float], controls: set[int], noise: float, seed: int) -> None:
    before, after, _ = freed(table(*changes, noise=noise, seed=seed), *controls)
    assert (after.rate >= before.rate).all()
    assert not (after.is_proven & ~before.is_proven).any()
    assert not (after.is_suspected & ~before.is_suspected).any()
    assert not (after.differs & ~before.differs & ~before.is_suspected).any()
    assert after.suite.rate >= before.suite.rate
