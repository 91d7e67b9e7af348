"""Correct answers at every scale: noise from 0 to 50%, steps from 0.1% to 1,000-fold, both directions, rounding."""

import numpy as np
import pytest

from benchmarks.bisect.machine import Machine, chain, levels_of, play
from benchmarks.bisect.scales import trial
from perf_culprit.model.bisection import Outcome, OutcomeKind, SearchSettings, Sought
from perf_culprit.model.run import Direction
from perf_culprit.search.search import Search
from tests.support.virtual_searches import steps

SIZE = 16
STRONG = (0.5, 1.0, 4.0, 8.0, 999.0, -0.168, -0.9)


@pytest.mark.parametrize("effect", [0.001, 0.01, 0.1, *STRONG])
@pytest.mark.parametrize("noise", ["none", "0.1%"])
def test_quiet_machines_name_every_step_in_few_executions(noise: str, effect: float) -> None:
    trials = trial(noise, effect, 1, size=SIZE)
    if noise == "none" or abs(effect) > 0.001:
        assert trials.verdict == "right"
        assert trials.executions <= (16 if abs(effect) >= 0.1 or noise == "none" else 60)
    else:
        # A step of one standard deviation is not always named, but must not be denied.
        assert trials.verdict != "denied"


@pytest.mark.parametrize("effect", STRONG)
@pytest.mark.parametrize("noise", ["1%", "3%", "modes 0.4/1%, gap 5%", "modes 2.2/6%, gap 25%"])
def test_a_strong_step_is_named_whatever_the_noise(noise: str, effect: float) -> None:
    trials = trial(noise, effect, 3, size=SIZE)
    assert trials.verdict == "right"
    assert trials.executions <= 180  # for the name, and a quarter of the budget for further steps


@pytest.mark.parametrize("effect", [4.0, 8.0, 999.0])
@pytest.mark.parametrize("noise", ["30%", "50%"])
def test_a_step_beyond_wild_noise_is_named(noise: str, effect: float) -> None:
    assert trial(noise, effect, 0, size=SIZE).verdict == "right"


@pytest.mark.slow  # whole searches
@pytest.mark.parametrize("noise", ["none", "1%", "50%", "modes 0.4/1%, gap 5%"])
def test_nothing_is_named_where_nothing_changed(noise: str) -> None:
    assert trial(noise, 0.0, 5, size=SIZE).verdict == "none"


@pytest.mark.slow  # a whole search of 130 executions in two modes
def test_a_name_that_its_own_check_contradicts_is_taken_back() -> None:
    """Three pairs on a machine with two modes agreed by chance. The parent's next execution was slow."""
    assert trial("modes 0.4/1%, gap 5%", 0.03, 25, size=64).verdict == "right"


def rounded(effect: float, *, level: float, seed: int = 0) -> Outcome:
    """A search on whole numbers around `level`, with noise of a third of a unit."""
    generator = np.random.default_rng(seed)
    commit_range = chain(SIZE)
    levels = levels_of(commit_range, {9: float(np.log1p(effect))})

    def whole() -> float:
        return float(generator.normal(0, 0.3))

    search = Search.start(commit_range, settings=SearchSettings())
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            values = {commit: [float(round(level * np.exp(levels[commit]) + whole()))] for commit in job.commits}
            search.record(job.id, values)
    return outcome


def test_whole_numbers() -> None:
    for level in (10.0, 1000.0):
        assert [culprit.commit for culprit in rounded(0.5, level=level).culprits] == ["c10"]
    assert rounded(0.0, level=10.0).kind is OutcomeKind.NOT_REPRODUCED


def test_one_and_the_same_value_is_no_change() -> None:
    search = Search.start(chain(SIZE), settings=SearchSettings())
    machine = Machine(levels=dict.fromkeys([f"c{place}" for place in range(SIZE + 1)], 0.0), noise=iter([0.0] * 400))
    outcome = play(search, machine)
    assert outcome.kind is OutcomeKind.NOT_REPRODUCED
    assert outcome.executions <= 20


@pytest.mark.parametrize(
    ("sought", "effect", "named"),
    [
        (Sought.WORSE, 0.3, True),
        (Sought.WORSE, -0.3, False),
        (Sought.BETTER, 0.3, False),
        (Sought.BETTER, -0.3, True),
        (Sought.ANY, 0.3, True),
        (Sought.ANY, -0.3, True),
    ],
)
@pytest.mark.parametrize("direction", [Direction.LOWER_IS_BETTER, Direction.HIGHER_IS_BETTER])
def test_only_the_direction_that_is_sought_is_answered(
    sought: Sought, effect: float, named: bool, direction: Direction
) -> None:
    # The same change is an improvement of a time and a regression of a rate.
    change = effect if direction is Direction.LOWER_IS_BETTER else 1 / (1 + effect) - 1
    outcome = steps(chain(SIZE), {6: change}).search(0, sought=sought, direction=direction)
    assert [culprit.commit for culprit in outcome.culprits] == (["c7"] if named else [])
    if named:
        (culprit,) = outcome.culprits
        assert culprit.improvement is (effect < 0)
        assert culprit.relative_change == pytest.approx(change, abs=0.05)
    else:
        assert outcome.kind is OutcomeKind.NOT_REPRODUCED
        # The outcome still reports the change in the other direction.
        assert outcome.relative_change == pytest.approx(change, abs=0.05)
