"""The commits that a confirmation compares: the nearest measurable ones."""

from collections.abc import Mapping

import numpy as np
import pytest

from perf_culprit.model.bisection import (
    CommitRange,
    Failure,
    FailureKind,
    Job,
    NamedStep,
    Purpose,
    Result,
    SearchSettings,
    SearchState,
)
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.further_steps import contradicted, stretches
from perf_culprit.search.level_sizes import round_differences, step_size
from perf_culprit.search.round_samples import Samples
from perf_culprit.search.search_view import SearchView

# Two branches start at c1 and meet in c4. c6 merges a branch that does not contain c1.
RANGE = CommitRange(
    good="g",
    bad="c6",
    commits=("c1", "c2", "c3", "c4", "c5", "c6"),
    parents=((), (0,), (0,), (1, 2), (), (3, 4)),
)


def standing(commit_range: CommitRange, *results: Result, **state: object) -> SearchView:
    whole = SearchState(commit_range=commit_range, settings=SearchSettings(), results=results, **state)  # type: ignore[arg-type]  # named in each test
    return SearchView(whole, Descendants(commit_range))


@pytest.mark.parametrize(
    ("broken", "candidate", "before", "after"),
    [
        ((), 3, (2, 3), 4),
        (("c2",), 3, (1, 3), 4),
        (("c2", "c3"), 3, (1,), 4),
        (("c1", "c2", "c3"), 3, (0,), 4),
        ((), 5, (4, 5), 6),
        (("c5",), 5, (0, 4), 6),
        (("c4", "c5"), 5, (2, 3), 6),
        (("c4",), 3, (2, 3), 6),
    ],
)
def test_the_nearest_measurable_commits_of_every_side_of_a_merge(
    broken: tuple[str, ...], candidate: int, before: tuple[int, ...], after: int
) -> None:
    failures = {commit: Failure(kind=FailureKind.BUILD) for commit in broken}
    assert standing(RANGE, Result(job_id="1", failures=failures)).edges(candidate) == (before, after)


def test_only_rounds_that_hold_both_commits_give_a_difference() -> None:
    samples = Samples(
        y=np.array([1.0, 3.0, 2.0, 7.0, 5.0, 9.0]),
        commit=np.array([0, 2, 0, 1, 0, 2]),
        block=np.array([0, 0, 0, 1, 2, 2]),
        weight=np.ones(6),
    )
    assert round_differences(samples, 0, 2) == pytest.approx([1.5, 4.0])
    assert round_differences(samples, 2, 0) == pytest.approx([-1.5, -4.0])
    assert round_differences(samples, 1, 2).size == 0


CHAIN = CommitRange(good="g", bad="c4", commits=("c1", "c2", "c3", "c4"), parents=((), (0,), (1,), (2,)))
LEVELS = {"g": 1.0, "c1": 1.0, "c2": 1.2, "c3": 1.2, "c4": 1.2}
NOISE = (1.0, 1.001, 0.999, 1.0005, 0.9995)


def searched(
    *rounds: tuple[Purpose, tuple[str, ...]], levels: Mapping[str, float] = LEVELS, named: str = "", noise: float = 1
) -> SearchView:
    """The standing after three repetitions of these rounds, with noise of about `noise` thousandths."""
    jobs = tuple(Job(id=f"{i}", commits=one[1], purpose=one[0]) for i, one in enumerate(rounds * 3))
    results = [
        Result(job_id=job.id, values={c: (levels[c] * NOISE[(i + k) % 5] ** noise,) for k, c in enumerate(job.commits)})
        for i, job in enumerate(jobs)
    ]
    steps = (NamedStep(commit=named, posterior=1.0, log_bayes_factor=9.0),) if named else ()
    return standing(CHAIN, *results, jobs=jobs, named=steps)


ENDS = (Purpose.REPRODUCE, ("g", "c4"))


@pytest.mark.parametrize(
    ("further", "high"), [({}, None), ({"c4": 1.5}, ("c3", "c4")), ({"c3": 1.5, "c4": 1.5}, ("c2", "c3"))]
)
def test_a_commit_that_the_named_step_surely_does_not_explain_contradicts_it(
    further: Mapping[str, float], high: tuple[str, str] | None
) -> None:
    whole = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))
    where = searched(ENDS, whole, (Purpose.CONFIRM, ("c1", "c2")), levels={**LEVELS, **further}, named="c2")
    stretch = contradicted(where)
    assert (stretch and (where.name(stretch.low), where.name(stretch.high))) == high
    if stretch:
        # The rest of the whole change of 1.5, within the error of three executions.
        assert stretch.upper == pytest.approx(np.log(1.25) / np.log(1.5), abs=0.03)
        assert stretch.probability == 1.0


def test_a_further_step_is_likelier_beside_a_named_one_and_not_less_likely_elsewhere() -> None:
    assert searched(ENDS).model.prior == pytest.approx([1 / 4, 1 / 4, 1 / 4, 1 / 4])
    assert searched(ENDS, named="c2").model.prior == pytest.approx([1 / 3 + 1 / 2, 0, 1 / 3 + 1 / 2, 1 / 3])


def test_what_lies_beside_the_named_steps_is_bounded_by_its_ends() -> None:
    whole = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))
    before, after = stretches(searched(whole, named="c2"))
    assert [(one.low, one.high, one.samples) for one in (before, after)] == [(0, 1, 3), (2, 4, 3)]
    for one in (before, after):
        assert one.probability < 0.01
        assert 0 < one.upper < 0.05
        assert one.distance > 10
    (unseen, _) = stretches(searched((Purpose.REPRODUCE, ("g", "c2", "c3", "c4")), named="c2"))
    assert (unseen.probability, unseen.upper, unseen.samples) == (0.5, 1.0, 0)
    (_, further) = stretches(searched(whole, levels={**LEVELS, "c4": 1.4}, named="c2"))
    assert further.probability > 0.99
    assert further.upper > np.log(1.4 / 1.2) / np.log(1.4) > 0.4
    assert further.distance > 10


def test_a_stretch_is_as_sure_as_its_rarer_end_and_falls_count_too() -> None:
    whole = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))
    twice = (Purpose.SEARCH, ("g", "c2"))
    before, after = stretches(searched(whole, twice, named="c2"))
    assert [(one.low, one.high, one.samples) for one in (before, after)] == [(0, 1, 3), (2, 4, 3)]
    (_, fallen) = stretches(searched(whole, levels={**LEVELS, "c4": 1.0}, named="c2"))
    assert fallen.probability > 0.99
    assert 1 < fallen.upper < 2  # as a share of the named step, since the ends do not differ


def test_more_executions_of_a_commit_contradict_the_named_step_more_surely() -> None:
    rounds = (ENDS, (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4")), (Purpose.CONFIRM, ("c1", "c2")))
    where = searched(*rounds, levels={**LEVELS, "c4": 1.5}, named="c2", noise=8)
    stretch = contradicted(where)
    assert stretch is not None
    size = step_size(where, 1)
    assert size is not None
    # The uncertainty of the step's own size is no contradiction either.
    allowance = 3 * where.model.spread_bound / np.sqrt(6) + size.half
    good, bad = (where.samples.y[where.samples.commit == end].mean() for end in (0, 4))
    left, whole = bad - good - size.center, where.model.step.delta[0]
    assert left / whole == pytest.approx(np.log(1.25) / np.log(1.5), abs=0.02)
    assert stretch.upper == pytest.approx((left - allowance) / whole, abs=1e-6)
