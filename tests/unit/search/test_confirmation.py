"""The evidence from rounds of a commit and its parent, and the rounds that count."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.model.bisection import Job, Phase, Purpose, Result
from perf_culprit.search.confirmation import _difference_shape, log_pair
from perf_culprit.search.search_view import SearchView
from tests.unit.search.test_search_view import CHAIN, ENDS, NOISE, searched, standing

PAIR = ("c1", "c2")


def confirming(search: float, confirm: float, *, rounds: int = 4, before: int = 6) -> SearchView:
    """The ends and the pair in `before` search rounds with c2 at the level `search`, then confirming rounds."""
    levels = [{"g": 1.0, "c4": 1.2, "c1": 1.0, "c2": search}] * before + [{"c1": 1.0, "c2": confirm}] * rounds
    jobs = [
        Job(id=f"{i}", commits=tuple(own), purpose=Purpose.SEARCH if i < before else Purpose.CONFIRM)
        for i, own in enumerate(levels)
    ]
    results = [
        Result(
            job_id=f"{i}",
            values={c: (level * NOISE[(2 * i + k) % 5] ** 20,) for k, (c, level) in enumerate(own.items())},
        )
        for i, own in enumerate(levels)
    ]
    return standing(CHAIN, *results, jobs=tuple(jobs), since=before, phase=Phase.CONFIRM, suspect="c2")


def test_only_the_confirming_rounds_tell_a_commit_from_its_parent() -> None:
    assert log_pair(confirming(1.2, 1.2), 1) > 2
    assert log_pair(confirming(1.2, 1.0, rounds=8), 1) < -2
    assert log_pair(confirming(1.2, 1.2, rounds=0), 1) == 0.0


def test_counts_are_never_in_one_of_two_states() -> None:
    """Times in so few rounds cannot exclude that the machine was in one of two states."""
    times = confirming(1.2, 1.2, before=2)
    counts = SearchView(replace(times.state, settings=replace(times.state.settings, minimum_effect=0.01)), times.reach)
    assert log_pair(counts, 1) > log_pair(times, 1) + 0.5


@pytest.mark.parametrize("candidate", [1, 3])
def test_on_a_quiet_machine_the_step_is_taken_as_seen(candidate: int) -> None:
    """A fit with a single step at one commit would assign both steps to it."""
    levels = {"g": 1.0, "c1": 1.0, "c2": 1.2, "c3": 1.2, "c4": 1.5}
    whole = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))
    measured = searched(ENDS, whole, levels=levels)
    assert measured.model.is_quiet
    expected = float(np.log(1.2 if candidate == 1 else 1.25))
    assert _difference_shape(measured, candidate).step == pytest.approx(expected, abs=0.002)
    # If one of the two commits was not measured, only the fit is left.
    unseen = _difference_shape(searched(ENDS, (Purpose.SEARCH, ("c2",)), levels=levels), candidate).step
    assert unseen > expected + 0.01


def test_the_noise_of_a_pair_is_the_robust_one_of_the_ends_within_rounds() -> None:
    measured = searched(ENDS, (Purpose.REPRODUCE, ("c4", "g")), noise=60)
    pairs = [np.log(result.values["c4"][0] / result.values["g"][0]) for result in measured.state.results]
    robust = np.median(np.abs(pairs - np.median(pairs))) / 0.674489750196
    assert robust > 0.01
    assert _difference_shape(measured, 1).width == pytest.approx(robust)
