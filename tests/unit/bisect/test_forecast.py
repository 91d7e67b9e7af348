from bot.bisect.forecast import forecast
from bot.model.bisection import CommitRange, SearchSettings


def line(count: int, *, unchanged: int = 0) -> CommitRange:
    names = tuple(f"c{number}" for number in range(count))
    parents = tuple((number - 1,) if number else () for number in range(count))
    return CommitRange(good="g", bad=names[-1], commits=names, parents=parents, unchanged=tuple(range(unchanged)))


def test_more_noise_and_more_commits_cost_more() -> None:
    small, large = forecast(line(8), SearchSettings()), forecast(line(512), SearchSettings())
    assert small.clear < small.hidden
    assert small.clear < large.clear
    assert small.hidden < large.hidden
    # 64 commits and a step of four standard deviations took 40 to 148 executions on real culprits (BISECT 6).
    assert 40 <= forecast(line(64), SearchSettings()).clear <= 148


def test_commits_that_change_nothing_cost_nothing() -> None:
    assert forecast(line(64, unchanged=56), SearchSettings()) == forecast(line(8), SearchSettings())
