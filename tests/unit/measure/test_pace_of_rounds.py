import math

import pytest

from perf_culprit.measure.worktree_executor import Pace


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [1000.0]
    monkeypatch.setattr("perf_culprit.measure.worktree_executor.time.monotonic", lambda: now[0])
    return now


def test_a_round_that_would_end_late_does_not_begin(clock: list[float]) -> None:
    limited = Pace(deadline=1100.0)
    for seconds in (20.0, 30.0):
        limited.add(seconds)
    clock[0] = 1070.0
    assert limited.allows_a_round
    clock[0] = 1071.0
    assert not limited.allows_a_round


def test_a_first_round_begins_whatever_the_deadline(clock: list[float]) -> None:
    late = Pace(deadline=clock[0] - 1)
    assert late.allows_a_round
    late.add(1.0)
    assert not late.allows_a_round


@pytest.mark.parametrize(
    ("seconds", "deadline", "words"),
    [
        ([], math.inf, ""),
        ([20.0, 40.0], math.inf, ", about 5 minutes to go"),
        ([6.0], math.inf, ", about 1 minute to go"),
        ([1.0], math.inf, ", less than a minute to go"),
        ([20.0, 40.0], 1120.0, ", about 2 minutes to go"),
        ([20.0, 40.0], 900.0, ", less than a minute to go"),
    ],
)
@pytest.mark.usefixtures("clock")
def test_ten_rounds_take_ten_times_what_one_took_and_no_longer_than_allowed(
    seconds: list[float], deadline: float, words: str
) -> None:
    measured = Pace(deadline=deadline)
    for each in seconds:
        measured.add(each)
    assert measured.to_go(10) == words


@pytest.mark.usefixtures("clock")
def test_a_guess_serves_until_there_is_a_round() -> None:
    measured = Pace()
    measured.guess = 60.0
    assert measured.to_go(3) == ", about 3 minutes to go"
    measured.add(120.0)
    assert measured.to_go(3) == ", about 6 minutes to go"
