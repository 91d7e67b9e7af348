"""The default engine on seeded noise: it names the planted commit, resumes from its state, and ends when sure."""

import numpy as np
import pytest

from perf_culprit.model.bisection import Outcome, OutcomeKind, Purpose, SearchSettings
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.search import Search

SIZE = 16
CHAIN = "".join(f"c{place} c{place - 1}\n" for place in range(SIZE, 0, -1)) + "c0\n"
NAMES = tuple(f"c{place}" for place in range(1, SIZE + 1))


def play(
    *, slow_from: int, seed: int, effect: float = 0.15, prior: dict[str, float] | None = None, again: bool = False
) -> tuple[Outcome, int]:
    """Search with 3% noise and a random level (6%) per round. With `again`, each job resumes from the stored state."""
    commit_range = cut_range(parse_parents(CHAIN), good="c0", bad=f"c{SIZE}")
    search = Search.start(commit_range, settings=SearchSettings(seed=seed, budget_executions=400), prior=prior)
    rng = np.random.default_rng(seed)
    executions = 0
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            level = rng.normal(0, 0.06)
            samples = {
                commit: [float(np.exp(level + rng.normal(0, 0.03) + effect * (int(commit[1:]) >= slow_from)))]
                for commit in job.commits
            }
            executions += len(samples)
            search.record(job.id, samples)
        search = Search(search.state) if again else search
    return outcome, executions


@pytest.mark.slow  # whole searches
def test_the_planted_commit_is_named_and_never_another() -> None:
    for seed in range(8):
        slow_from = 2 + seed * 2 % (SIZE - 1)
        outcome, executions = play(slow_from=slow_from, seed=seed)
        assert [culprit.commit for culprit in outcome.culprits] == [f"c{slow_from}"], seed
        assert executions < 300


@pytest.mark.slow  # whole searches
def test_nothing_is_named_where_nothing_changed() -> None:
    for seed in range(6):
        outcome, _ = play(slow_from=SIZE + 1, seed=seed)
        assert not outcome.culprits
        assert outcome.kind in {OutcomeKind.NOT_REPRODUCED, OutcomeKind.INCONCLUSIVE}


def test_a_state_is_all_there_is_to_a_search() -> None:
    assert play(slow_from=7, seed=3) == play(slow_from=7, seed=3, again=True)


def test_one_possible_commit_is_confirmed_once() -> None:
    prior = dict.fromkeys(NAMES, 0.0) | {"c5": 1.0}
    outcome, executions = play(slow_from=5, seed=1, prior=prior)
    assert [culprit.commit for culprit in outcome.culprits] == ["c5"]
    assert executions < 120


def test_two_executions_bound_no_change() -> None:
    search = Search.start(cut_range(parse_parents(CHAIN), good="c0", bad=f"c{SIZE}"), settings=SearchSettings(seed=0))
    intervals, ends = [], 0
    while search.outcome() is None:
        (job, *_) = search.propose()
        search.record(job.id, {commit: [1.7 if commit == f"c{SIZE}" else 1.0] for commit in job.commits})
        partial = search.partial_outcome()
        assert partial.relative_change == pytest.approx(0.7)
        ends += sum(commit in {"c0", f"c{SIZE}"} for commit in job.commits)
        intervals.append((ends >= 4, partial.confidence_interval is not None))
    assert set(intervals) == {(False, False), (True, True)}
    # Executions of commits between the ends do not count for the interval of the ends.
    assert intervals.count((False, False)) > 2


@pytest.mark.parametrize(("confirmed", "culprits"), [(0.10, ["c5", "c12"]), (0.02, ["c5"])])
def test_a_further_step_that_its_own_rounds_show_to_be_small_is_not_named(
    confirmed: float, culprits: list[str]
) -> None:
    """c12 looks like +10% in the search. Next to its parent it is +10%, or about a tenth of the first step."""
    search = Search.start(cut_range(parse_parents(CHAIN), good="c0", bad=f"c{SIZE}"), settings=SearchSettings(seed=0))
    rng = np.random.default_rng(0)
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            level = rng.normal(0, 0.06)
            further = confirmed if search.state.named and job.purpose is Purpose.CONFIRM else 0.10
            steps = {c: 0.18 * (int(c[1:]) >= 5) + further * (int(c[1:]) >= 12) for c in job.commits}
            search.record(
                job.id, {c: [float(np.exp(level + rng.normal(0, 0.005) + step))] for c, step in steps.items()}
            )
    assert [culprit.commit for culprit in outcome.culprits] == culprits


def test_a_budget_that_no_round_fits_into_ends_the_search_as_it_stands() -> None:
    commit_range = cut_range(parse_parents("b x y z\ng x y z\nx\ny\nz\n"), good="g", bad="b")
    search = Search.start(commit_range, settings=SearchSettings(seed=0, budget_executions=4))
    assert search.propose() == ()
    outcome = search.outcome()
    assert outcome is not None
    assert (outcome.kind, outcome.executions) == (OutcomeKind.BUDGET_SPENT, 0)
    assert (search.state.commit_range, search.state.jobs) == (commit_range, ())
