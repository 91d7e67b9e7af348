"""Histories beyond a plain step: the source's four, several culprits, decay, merges, reverts, side branches."""

from collections.abc import Mapping

import pytest
from msgspec.structs import replace

from benchmarks.bisect.machine import chain
from perf_culprit.model.bisection import (
    CommitRange,
    Engine,
    Job,
    NamedStep,
    Outcome,
    OutcomeKind,
    Purpose,
    Result,
    SearchSettings,
)
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.search import Search
from perf_culprit.search.search_answer import outcome_of
from perf_culprit.search.search_view import SearchView
from tests.support.virtual_searches import Virtual, names, steps

LEVEL = 0.2  # the log change of "slow" in tests where only the history's shape matters


def revisions(**changes: float) -> Virtual:
    """The source's histories of six revisions r1 (good) to r6 (bad), with a relative change at some of them."""
    commits = tuple(f"r{number}" for number in range(2, 7))
    commit_range = CommitRange(good="r1", bad="r6", commits=commits, parents=((), (0,), (1,), (2,), (3,)))
    return steps(commit_range, {commits.index(name): change for name, change in changes.items()}, noise="1%")


def regressions(outcome: Outcome) -> set[str]:
    return {culprit.commit for culprit in outcome.culprits if not culprit.improvement}


def improvements(outcome: Outcome) -> set[str]:
    return {culprit.commit for culprit in outcome.culprits if culprit.improvement}


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    ("changes", "culprit"),
    [
        pytest.param({"r5": 0.1}, "r5", id="a step at r5"),
        pytest.param({"r3": -0.1, "r4": 0.25}, "r4", id="improvement at r3, regression at r4"),
        pytest.param({"r4": 0.25, "r5": -0.1}, "r4", id="regression at r4, improvement at r5"),
    ],
)
def test_one_regression_in_a_reference_history(engine: Engine, changes: Mapping[str, float], culprit: str) -> None:
    """METHODS 5, histories 1 to 3."""
    for seed in range(2):
        outcome = revisions(**changes).search(seed, engine=engine)
        assert regressions(outcome) == {culprit}
        assert improvements(outcome) <= {name for name, change in changes.items() if change < 0}


def test_improvements_are_named_as_such() -> None:
    outcome = revisions(r3=-0.1, r4=0.25).search(0)
    assert improvements(outcome) == {"r3"}
    changes = {culprit.commit: culprit.relative_change for culprit in outcome.culprits}
    assert changes == pytest.approx({"r3": -0.1, "r4": 0.25}, abs=0.02)


@pytest.mark.parametrize("last", [0.2, 0.3])
def test_an_oscillation_is_named_whole(last: float) -> None:
    """METHODS 5, history 4. The ends cannot tell up, down, up from one step, so a small range is measured whole."""
    for seed in range(4):
        outcome = revisions(r3=0.2, r4=-0.15, r5=last).search(seed)
        assert regressions(outcome) == {"r3", "r5"}
        assert improvements(outcome) == {"r4"}


def test_the_weighted_engine_finds_one_regression_of_an_oscillation() -> None:
    outcome = revisions(r3=0.2, r4=-0.15, r5=0.2).search(0, engine=Engine.WEIGHTED)
    assert len(names(outcome)) == 1
    assert regressions(outcome) <= {"r3", "r5"}


@pytest.mark.slow  # a dozen whole searches and more
@pytest.mark.parametrize(
    ("changes", "least"),
    [
        pytest.param({12: 0.10, 40: 0.10}, 4, id="+10% and +10%"),
        # The smaller of two such steps is often left to a second search (docs/evidence/bisection.md).
        pytest.param({12: 0.05, 40: 0.15}, 1, id="+5% and +15%"),
        pytest.param({12: -0.10, 40: 0.20}, 4, id="-10%, then +20%"),
    ],
)
def test_several_steps_are_named_and_no_other(changes: Mapping[int, float], least: int) -> None:
    virtual = steps(chain(64), changes)
    outcomes = [virtual.search(seed, budget_executions=600) for seed in range(6)]
    exact = [set(names(outcome)) == set(virtual.culprits()) for outcome in outcomes]
    assert sum(exact) >= least
    assert all(set(names(outcome)) <= set(virtual.culprits()) for outcome in outcomes)


@pytest.mark.slow  # whole searches
@pytest.mark.parametrize(("noise", "seed"), [("10%", 7), ("heavy", 11)])
def test_a_neighbour_of_the_named_step_is_found(noise: str, seed: int) -> None:
    """A uniform prior names the large step alone in both searches."""
    virtual = steps(chain(165), {66: 0.2, 67: 0.6}, noise=noise)
    assert names(virtual.search(seed)) == virtual.culprits()


@pytest.mark.slow  # whole searches
def test_three_even_steps_are_named_and_are_no_decay() -> None:
    virtual = steps(chain(64), {8: 0.08, 30: 0.08, 51: 0.08})
    for seed in (0, 6):  # both looked like a decay after 20 executions
        outcome = virtual.search(seed, budget_executions=600)
        assert names(outcome) == virtual.culprits()


@pytest.mark.slow  # whole searches
def test_a_slow_decay_has_no_single_culprit() -> None:
    """64 commits share +15%. The shares of the parts add up to 1."""
    virtual = steps(chain(64), dict.fromkeys(range(64), 1.15 ** (1 / 64) - 1))
    outcomes = [virtual.search(seed) for seed in range(4)]
    assert sum(outcome.kind is OutcomeKind.DECAY for outcome in outcomes) >= 3
    for outcome in outcomes:
        assert not outcome.culprits
        assert outcome.executions <= 300
        assert sum(part.share for part in outcome.decay) == pytest.approx(1.0 if outcome.decay else 0.0)


def merged(messages: Mapping[str, str] | None = None) -> CommitRange:
    """g <- (a1 a2 a3), (b1 b2 b3) <- m <- t1 <- t2. s1 and s2 branch off before g and are merged in t2."""
    text = "t2 t1 s2\nt1 m\nm a3 b3\nb3 b2\nb2 b1\nb1 g\na3 a2\na2 a1\na1 g\ns2 s1\ns1 o\ng o\no\n"
    return cut_range(parse_parents(text), good="g", bad="t2", messages=messages)


def slow(commit_range: CommitRange, *commits: str) -> Virtual:
    levels = {commit: LEVEL * (commit in commits) for commit in (commit_range.good, *commit_range.commits)}
    levels |= dict.fromkeys(commit_range.outside.values(), 0.0)
    return Virtual(commit_range=commit_range, levels=levels)


def test_the_history_of_these_tests_has_the_side_branch_in_its_range() -> None:
    assert set(merged().commits) == {"a1", "a2", "a3", "b1", "b2", "b3", "m", "t1", "t2", "s1", "s2"}


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize(
    ("slow_commits", "culprit"),
    [
        pytest.param("m t1 t2", "m", id="both parents are fast, the merge is slow"),
        pytest.param("b2 b3 m t1 t2", "b2", id="on one of two branches"),
        pytest.param("s1 s2 t2", "s1", id="on a branch that was forked before the good end"),
        pytest.param("t2", "t2", id="at the second merge"),
    ],
)
def test_a_culprit_in_a_merged_history(engine: Engine, slow_commits: str, culprit: str) -> None:
    for seed in range(2):
        virtual = slow(merged(), *slow_commits.split())
        assert names(virtual.search(seed, engine=engine)) == [culprit]


@pytest.mark.parametrize("engine", Engine)
def test_a_side_branch_without_the_change_does_not_mislead(engine: Engine) -> None:
    """s1 and s2 lack the change of a1, and t2 has it."""
    virtual = slow(merged(), "a1", "a2", "a3", "m", "t1", "t2")
    assert names(virtual.search(1, engine=engine)) == ["a1"]


def reverted(**extra: float) -> Virtual:
    """c4 reverts c2's change, and c7 restores it by reverting the revert."""
    commit_range = replace(chain(8), reverts=((3, 1), (6, 3)))
    levels = {f"c{place}": LEVEL * (place in {2, 3, 7, 8}) for place in range(10)}
    return Virtual(commit_range=commit_range, levels={**levels, **extra})


def test_a_reverted_revert_blames_the_first_commit() -> None:
    for seed in range(2):
        assert "c2" in names(reverted().search(seed))


def test_a_reverted_change_does_not_hide_a_later_culprit() -> None:
    """c4 reverts c2. c6 is slow for another reason."""
    commit_range = replace(chain(8), reverts=((3, 1),))
    levels = {f"c{place}": LEVEL * (place in {2, 3, 6, 7, 8}) for place in range(10)}
    outcome = Virtual(commit_range=commit_range, levels=levels).search(0)
    assert "c6" in names(outcome)
    assert set(names(outcome)) <= {"c2", "c4", "c6"}


def test_the_same_change_on_both_sides_of_a_merge() -> None:
    """The named side keeps its own size. The other side is left over, with the ends for a further search."""
    text = "c9 c8\nc8 c7\nc7 c6 c3\nc6 c5\nc5 c4\nc4 c1\nc3 c2\nc2 c1\nc1 c0\nc0\n"
    commit_range = cut_range(parse_parents(text), good="c0", bad="c9")
    values = {f"c{place}": (2.0 if place in {3, 6, 7, 8, 9} else 100.0,) for place in (0, 9, 1, 8, 5, 6, 2, 3)}
    commits = list(values)
    pairs = [commits[:2], commits[2:4], commits[4:6], commits[:2], commits[6:]]
    start = Search.start(commit_range, settings=SearchSettings(minimum_effect=DEFAULTS[DataKind.COUNT])).state
    state = replace(
        start,
        jobs=tuple(
            Job(id=str(n), commits=tuple(pair), purpose=Purpose.CONFIRM if n == 4 else Purpose.SEARCH)
            for n, pair in enumerate(pairs)
        ),
        results=tuple(
            Result(job_id=str(n), values={commit: values[commit] for commit in pair}) for n, pair in enumerate(pairs)
        ),
        named=(NamedStep(commit="c3", posterior=0.999, log_bayes_factor=9.0, rounds=5, withdrawn=0),),
    )
    outcome = outcome_of(SearchView(state, Descendants(commit_range)), OutcomeKind.CULPRIT)
    (named,) = outcome.culprits
    assert (named.confidence_interval.low, named.confidence_interval.high) == pytest.approx((-0.98, -0.98), abs=0.001)
    assert outcome.unresolved == pytest.approx(1.0, abs=0.01)
    assert outcome.unresolved_part == ("c5", "c6")
