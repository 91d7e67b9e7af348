"""Tests whether other metrics of a search's executions step at the same commit as its own metric."""

import numpy as np
import pytest
from scipy import stats

from perf_culprit.search.other_metrics import Block, StepPlace, excludes_step, place_of
from tests.support.runner_pool import chain_range, commits

SIZE = 16
CULPRIT = 9


def blocks(step: int | None, *, count: int = 10, seed: int = 1) -> list[Block]:
    """The rounds of a search for a step at `CULPRIT`: both ends and two commits around it."""
    rng, names = np.random.default_rng(seed), commits(SIZE)
    made: list[Block] = []
    for number in range(count):
        machine = np.exp(rng.normal(0, 0.2))
        chosen = (0, SIZE, 4 + number % 5, 8 + number % 4) if number < count // 2 else (0, SIZE, CULPRIT - 1, CULPRIT)
        slow = {at: 0.15 if step is not None and at >= step else 0.0 for at in chosen}
        made.append({names[at]: float(machine * np.exp(rng.normal(0, 0.03) + slow[at])) for at in chosen})
    return made


@pytest.mark.parametrize(
    ("step", "place"),
    [
        (CULPRIT, StepPlace.HERE),
        (5, StepPlace.ELSEWHERE),
        (14, StepPlace.ELSEWHERE),
        (None, StepPlace.NOWHERE),
        (1, StepPlace.ELSEWHERE),
    ],
)
def test_where_a_metric_steps(step: int | None, place: StepPlace) -> None:
    seen = [
        place_of(chain_range(SIZE), blocks(step, seed=seed), commits(SIZE)[CULPRIT], worse_sign=1) for seed in range(20)
    ]
    assert seen.count(place) >= 18, seen


def test_scaling_changes_nothing_and_an_improvement_is_no_step() -> None:
    culprit, here = commits(SIZE)[CULPRIT], blocks(CULPRIT)
    scaled = [{commit: 7 * value for commit, value in block.items()} for block in here]
    assert place_of(chain_range(SIZE), scaled, culprit, worse_sign=1) is StepPlace.HERE
    assert place_of(chain_range(SIZE), here, culprit, worse_sign=-1) is StepPlace.NOWHERE


def test_of_too_little_nothing_is_said_and_equal_numbers_are_no_step() -> None:
    culprit = commits(SIZE)[CULPRIT]
    assert place_of(chain_range(SIZE), blocks(CULPRIT, count=2), culprit, worse_sign=1) is StepPlace.UNKNOWN
    same = [dict.fromkeys(block, 2.0) for block in blocks(None)]
    assert place_of(chain_range(SIZE), same, culprit, worse_sign=1) is StepPlace.NOWHERE


@pytest.mark.parametrize(
    ("step", "expected", "is_denied"), [(None, 0.15, 20), (None, 0.02, 0), (1, 0.15, 0), (1, 0.5, 0)]
)
def test_a_step_that_was_expected_is_denied_where_half_of_it_would_show(
    step: int | None, expected: float, is_denied: int
) -> None:
    denied = [
        excludes_step(chain_range(SIZE), blocks(step, seed=seed), worse_sign=1, expected=expected) for seed in range(20)
    ]
    assert abs(sum(denied) - is_denied) <= 2, denied
    assert not excludes_step(chain_range(SIZE), blocks(None, count=5), worse_sign=1, expected=expected)


@pytest.mark.parametrize(("share", "refuted"), [(0.99, False), (1.01, True)])
def test_it_is_denied_where_students_interval_leaves_half_of_it_out(share: float, refuted: bool) -> None:
    steps = np.array([0.02, -0.02, 0.01, -0.01, 0.03, -0.03])
    whole = chain_range(SIZE)
    pairs = [{whole.good: 1.0, whole.bad: float(np.exp(step))} for step in steps]
    _, high = stats.t.interval(0.95, 5, 0, stats.sem(steps))
    assert bool(excludes_step(whole, pairs, worse_sign=1, expected=2 * share * high)) is refuted
