"""The next rounds in each phase of the default engine, by the measured rounds and those under way."""

import pytest

from benchmarks.bisect.machine import chain
from perf_culprit.model.bisection import CommitRange, Job, Phase, Purpose, Result
from perf_culprit.search.bayes import next_rounds
from tests.unit.search.test_search_view import CHAIN, standing

LONG = chain(20)
BESIDE = CommitRange(good="g", bad="b", commits=("a", "b"), parents=((), (0,)), merge_bases=("m", "n"))


@pytest.mark.parametrize(
    ("commit_range", "measured", "pending", "k", "rounds"),
    [
        (LONG, 0, 0, 9, [(0, 20), (20, 0), (0, 20), (20, 0)]),
        (LONG, 0, 0, 2, [(0, 20), (20, 0)]),
        (LONG, 0, 1, 9, [(20, 0), (0, 20), (20, 0)]),
        (LONG, 0, 4, 9, []),
        (LONG, 3, 0, 9, [(20, 0), (0, 20), (20, 0), (0, 20)]),
        (LONG, 6, 0, 9, [(0, 20), (20, 0)] * 3),  # doubles the number of rounds
        (LONG, 6, 2, 9, [(0, 20), (20, 0)] * 2),
        (CHAIN, 0, 0, 9, [(0, 1, 2, 3, 4)] * 2),
        (CHAIN, 1, 0, 9, [(0, 1, 2, 3, 4), (0, 4)]),
        (CHAIN, 2, 0, 9, [(0, 4), (4, 0)]),
        (CHAIN, 0, 1, 9, [(0, 1, 2, 3, 4)]),
    ],
)
def test_reproduction_alternates_the_ends_and_doubles(
    commit_range: CommitRange, measured: int, pending: int, k: int, rounds: list[tuple[int, ...]]
) -> None:
    ends = (commit_range.good, commit_range.bad)
    jobs = tuple(Job(id=f"{i}", commits=ends, purpose=Purpose.REPRODUCE) for i in range(measured + pending))
    results = [Result(job_id=f"{i}", values=dict.fromkeys(ends, (1.0,))) for i in range(measured)]
    begun = standing(commit_range, *results, jobs=jobs, phase=Phase.REPRODUCE)
    assert list(next_rounds(begun, k)) == [(Purpose.REPRODUCE, commits) for commits in rounds]


@pytest.mark.parametrize(("pending", "k", "count"), [(0, 9, 5), (0, 2, 2), (3, 9, 2), (5, 9, 0)])
def test_every_merge_base_is_measured_beside_both_ends(pending: int, k: int, count: int) -> None:
    jobs = tuple(Job(id=f"{i}", commits=("g", "m", "n", "b"), purpose=Purpose.MERGE_BASE) for i in range(pending))
    begun = standing(BESIDE, jobs=jobs, phase=Phase.MERGE_BASE)
    assert list(next_rounds(begun, k)) == [(Purpose.MERGE_BASE, (0, -1, -2, 2))] * count


@pytest.mark.parametrize(
    ("measured", "pending", "k", "count"),
    [(0, 0, 9, 2), (0, 0, 1, 1), (0, 1, 9, 1), (0, 2, 9, 0), (3, 0, 9, 3), (6, 1, 9, 3)],
)
def test_a_suspect_is_measured_beside_its_parent_in_as_many_rounds_as_may_be_the_last(
    measured: int, pending: int, k: int, count: int
) -> None:
    """The minimum on a stable machine is two rounds. Then their number doubles, by at most four at once."""
    commits = ("c4", "c5")
    jobs = tuple(Job(id=f"{i}", commits=commits, purpose=Purpose.CONFIRM) for i in range(measured + pending))
    results = [Result(job_id=f"{i}", values={"c4": (1.0,), "c5": (1.1,)}) for i in range(measured)]
    ends = [Result(job_id="e", values={"c0": (1.0, 1.3, 0.9), "c20": (1.2, 1.0, 1.5)})]
    begun = standing(LONG, *ends, *results, jobs=jobs, since=1, phase=Phase.CONFIRM, suspect="c5")
    assert list(next_rounds(begun, k)) == [(Purpose.CONFIRM, (4, 5))] * count
