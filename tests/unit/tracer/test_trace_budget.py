"""A trace announces the time that it will take and keeps to it."""

import pytest

from perf_culprit.explain.tracer.trace_levels import Budget


class Clock:
    """A clock that moves only during executions."""

    def __init__(self, seconds: float) -> None:
        self.now = 0.0
        self._seconds = seconds

    def __call__(self) -> float:
        return self.now

    def work(self) -> None:
        self.now += self._seconds


def run(seconds: float, budget_s: float | None, *, levels: int, repetitions: int = 10) -> tuple[Budget, int, list[str]]:
    clock, text = Clock(seconds), list[str]()
    budget = Budget(seconds=budget_s, say=text.append, clock=clock)
    budget.execute(clock.work)
    budget.plan(repetitions)
    done = 0
    while done < levels and budget.allows(1):
        for _ in range(budget.repetitions):
            budget.execute(clock.work)
        done += 1
    return budget, done, text


def test_without_a_budget_everything_is_timed() -> None:
    budget, done, text = run(100.0, None, levels=7)
    assert (done, budget.repetitions, budget.is_spent) == (7, 10, False)
    assert text[0] == "level 1: 10 executions, about 1000 s"


@pytest.mark.parametrize("seconds", [0.3, 0.5, 1.0, 3.0])
def test_the_budget_is_kept(seconds: float) -> None:
    budget, done, text = run(seconds, 60.0, levels=30)
    assert budget.spent_s <= 60.0
    assert done >= 3
    assert budget.is_spent
    assert "left out" in text[-1]


def test_the_first_level_is_timed_even_where_one_execution_is_longer_than_the_budget() -> None:
    budget, done, _ = run(90.0, 60.0, levels=30)
    assert (done, budget.repetitions, budget.is_spent) == (1, 3, True)


@pytest.mark.parametrize("seconds", [1.01, 2.0, 7.3])
def test_the_one_advice_is_enough(seconds: float) -> None:
    """The advised budget is enough to trace by levels even if the next executions take 20% longer."""
    clock, text = Clock(seconds), list[str]()
    budget = Budget(seconds=60.0, say=text.append, clock=clock)
    budget.execute(clock.work)
    assert budget.is_short
    budget.plan_samples(10)
    budget.advise()
    (advice,) = (line for line in text if "--trace-budget" in line)
    again = Budget(seconds=float(advice.split("--trace-budget ")[1].split()[0]), clock=(slower := Clock(1.2 * seconds)))
    again.execute(slower.work)
    assert not again.is_short
