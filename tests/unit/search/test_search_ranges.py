"""Small, odd or unbuildable ranges: one commit, both edges, skipped commits, excluded commits, merge bases."""

from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from benchmarks.bisect.machine import chain, play
from perf_culprit.model.bisection import Engine, FailureKind, OutcomeKind, Phase, Purpose, SearchSettings, Sought
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.search.search import Search
from tests.support.virtual_searches import NOTHING, Virtual, names, planted, steps

RUNS = 3


@pytest.mark.slow  # fifteen whole searches
def test_the_edges_of_small_ranges() -> None:
    """One commit, two commits, and the culprit first or last of eight: no wrong name, and no extreme cost."""
    spent = []
    for size, culprit in ((1, 0), (2, 0), (2, 1), (8, 0), (8, 7)):
        for seed in range(RUNS):
            outcome = steps(chain(size), {culprit: 0.1}).search(seed)
            assert names(outcome) == [f"c{culprit + 1}"], (size, culprit, seed)
            spent.append(outcome.executions)
    assert max(spent) < 5 * np.mean(spent)


@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("size", [1, 2, 5])
def test_equal_constant_values_are_no_change_and_no_nan(engine: Engine, size: int) -> None:
    outcome = Virtual(commit_range=chain(size), noise=NOTHING).search(0, engine=engine)
    assert outcome.kind is OutcomeKind.NOT_REPRODUCED
    assert outcome.culprits == ()
    numbers = (outcome.relative_change or 0.0, outcome.visible_effect or 0.0)
    assert np.isfinite(numbers).all()


def test_counts_that_differ_the_other_way_need_no_second_look() -> None:
    virtual = replace(steps(chain(32), {7: -0.5}), noise=NOTHING)
    outcome = virtual.search(0, sought=Sought.WORSE, minimum_effect=DEFAULTS[DataKind.COUNT])
    assert (outcome.kind, outcome.executions) == (OutcomeKind.NOT_REPRODUCED, 4)
    assert outcome.relative_change == pytest.approx(-0.5)


@pytest.mark.parametrize("engine", Engine)
def test_a_search_that_measured_nothing_has_a_partial_answer(engine: Engine) -> None:
    search = planted(8, effect=0.1, seed=0).start(0, engine=engine)
    assert search.partial_outcome().kind is OutcomeKind.BUDGET_SPENT
    assert search.partial_outcome().culprits == ()


def skipped_chain(seed: int, share: float) -> tuple[Virtual, set[str]]:
    """A search in which random commits do not build, and the commits that cannot be separated from the culprit."""
    generator = np.random.default_rng([seed, 11])
    virtual = planted(32, effect=0.10, seed=seed)
    (culprit,) = virtual.culprits()
    broken = {f"c{place}" for place in range(1, 32) if generator.random() < share}
    first = last = int(culprit[1:])
    while first > 1 and f"c{first - 1}" in broken:
        first -= 1
    while f"c{last}" in broken:
        last += 1
    return replace(virtual, broken=frozenset(broken)), {f"c{place}" for place in range(first, last + 1)}


@pytest.mark.slow  # eight whole searches
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_unbuildable_commits_stay_suspects(share: float) -> None:
    """The answer is the sequence of commits around the culprit that no measurable commit separates."""
    exact = 0
    for seed in range(4):
        virtual, inseparable = skipped_chain(seed, share)
        outcome = virtual.search(seed)
        answer = {*names(outcome), *(suspect.commit for suspect in outcome.suspects)}
        (culprit,) = virtual.culprits()
        assert culprit in answer
        exact += answer == inseparable
    assert exact >= 3


@pytest.mark.parametrize("culprit", [30, 8])
def test_a_block_that_does_not_run_costs_its_borders_and_a_few_samples(culprit: int) -> None:
    """One execution per commit of the block would be 39 more; 14 suffice without a block."""
    broken = frozenset(f"c{place}" for place in range(13, 52))
    virtual = replace(steps(chain(64), {culprit: 0.5}), broken=broken)
    outcome = virtual.search(0)
    answer = {*names(outcome), *(suspect.commit for suspect in outcome.suspects)}
    assert answer == ({*broken, "c52"} if culprit == 30 else {"c9"})
    assert outcome.executions <= 24


def test_one_crash_is_enough_where_all_neighbours_crash() -> None:
    """The answer and the progress count such a commit among those that do not run."""
    broken = frozenset(f"c{place}" for place in range(13, 52))
    machine = replace(steps(chain(64), {30: 0.5}), broken=broken).machine(0)
    machine.breaks = FailureKind.CRASHED
    search = steps(chain(64), {30: 0.5}).start(0)
    outcome = play(search, machine)
    tried = {commit for result in search.state.results for commit in result.failures}
    assert set(outcome.skipped) == tried
    assert search.progress().failing == len(tried) > 5


def test_an_unbuildable_culprit_is_in_the_set() -> None:
    virtual = replace(steps(chain(8), {3: 0.15}), broken=frozenset({"c4"}))
    outcome = virtual.search(2)
    assert outcome.kind is OutcomeKind.SUSPECT_SET
    assert {suspect.commit for suspect in outcome.suspects} == {"c4", "c5"}
    skipped = {suspect.commit: suspect.skipped for suspect in outcome.suspects}
    assert skipped["c4"] is not None
    assert skipped["c5"] is None


def test_ends_that_do_not_build_are_unmeasurable() -> None:
    for end in ("c0", "c8"):
        outcome = replace(steps(chain(8), {3: 0.15}), broken=frozenset({end})).search(0)
        assert outcome.kind is OutcomeKind.UNMEASURABLE


@pytest.mark.parametrize("culprit", [2, 9])
def test_what_cannot_be_the_culprit_is_never_named(culprit: int) -> None:
    """Half of the commits have a prior of zero. The culprit is in either half."""
    virtual = steps(chain(12), {culprit: 0.15})
    allowed = {f"c{place + 1}" for place in range(6)}
    prior = {commit: 1.0 if commit in allowed else 0.0 for commit in virtual.commit_range.commits}
    outcome = virtual.search(3, prior=prior)
    assert set(names(outcome)) <= allowed
    if culprit < 6:
        assert names(outcome) == virtual.culprits()


def test_a_wrong_prior_costs_a_little_and_misleads_nobody() -> None:
    """The wrong commits have 90% of the prior; all commits share 10% (docs/evidence/bisection.md)."""
    virtual = steps(chain(24), {17: 0.15})
    liked = {f"c{place}" for place in (2, 5, 11)}
    prior = {c: 0.1 / 24 + (0.3 if c in liked else 0.0) for c in virtual.commit_range.commits}
    for seed in range(3):
        assert names(virtual.search(seed, prior=prior)) == ["c18"]


def beside(*, merge_base_level: float) -> Virtual:
    """A good commit c0 on another branch: both sides start from m, and c3 of c1..c6 introduces the slowdown."""
    commit_range = structs.replace(chain(6), merge_bases=("m",))
    levels = {"c0": 0.0, "m": merge_base_level, **{f"c{place}": 0.2 * (place >= 3) for place in range(1, 7)}}
    if merge_base_level:
        levels |= {f"c{place}": merge_base_level for place in range(1, 7)}
    return Virtual(commit_range=commit_range, levels=levels)


@pytest.mark.parametrize("engine", Engine)
def test_a_good_commit_that_is_no_ancestor_asks_for_the_merge_base(engine: Engine) -> None:
    search = beside(merge_base_level=0.0).start(1, engine=engine)
    (job,) = search.propose()
    assert job.purpose is Purpose.MERGE_BASE
    assert {"c0", "m"} <= set(job.commits)


@pytest.mark.parametrize("engine", Engine)
def test_a_fast_merge_base_lets_the_search_go_on(engine: Engine) -> None:
    assert names(beside(merge_base_level=0.0).search(1, engine=engine)) == ["c3"]


@pytest.mark.parametrize("engine", Engine)
def test_a_slow_merge_base_ends_it(engine: Engine) -> None:
    outcome = beside(merge_base_level=0.2).search(1, engine=engine)
    assert outcome.kind is OutcomeKind.FIXED_ON_GOOD_SIDE
    assert outcome.culprits == ()


@pytest.mark.parametrize(("noise", "effect", "most"), [(NOTHING, DEFAULTS[DataKind.COUNT], 6), ("3%", 0.0005, 15)])
@pytest.mark.parametrize("level", [-0.3, 3.9])
def test_a_merge_base_unlike_both_ends_ends_it(noise: str, effect: float, most: int, level: float) -> None:
    """Both sides made the same change since the merge base, so the bad end is no worse than the good one."""
    levels = {"m": level, **{f"c{place}": level * (0 < place < 4) for place in range(7)}}
    virtual = Virtual(commit_range=structs.replace(chain(6), merge_bases=("m",)), levels=levels, noise=noise)
    for seed in range(3):
        outcome = virtual.search(seed, minimum_effect=effect)
        assert (outcome.kind, outcome.relative_change) == (OutcomeKind.NOT_REPRODUCED, None)
        assert outcome.executions <= most


@pytest.mark.slow  # six whole searches
def test_stored_samples_of_the_ends_save_executions() -> None:
    """Ten earlier runs of both ends, each on another machine, do not change the answer."""
    spent = {"stored": 0, "new": 0}
    for seed in range(3):
        virtual = planted(24, effect=0.08, seed=seed, offset_sd=0.06)
        machine = virtual.machine(seed + 100)
        runs = [machine.run(["c0", "c24"])[0] for _ in range(10)]
        for name, stored in (("stored", runs), ("new", [])):
            search = Search.start(virtual.commit_range, settings=SearchSettings(seed=seed), stored=stored)
            outcome = play(search, virtual.machine(seed))
            assert names(outcome) == virtual.culprits()
            spent[name] += outcome.executions
    assert spent["stored"] < spent["new"]


def test_stored_samples_alone_can_reproduce() -> None:
    virtual = steps(chain(4), {2: 0.2})
    machine = virtual.machine(0)
    stored = [machine.run(["c0", "c4"])[0] for _ in range(10)]
    search = Search.start(virtual.commit_range, settings=SearchSettings(), stored=stored)
    assert search.state.phase is Phase.SEARCH


def test_a_small_range_in_which_one_commit_alone_can_be_the_culprit() -> None:
    virtual = steps(structs.replace(chain(8), unchanged=(0, 1, 2, 4, 5, 6, 7)), {3: 0.6}, noise="1%")
    outcome = virtual.search(1)
    assert names(outcome) == ["c4"]
    assert outcome.executions <= 2 * 9 + 4  # both whole rounds and two confirming rounds


def test_while_the_change_is_reproduced_its_size_so_far_moves() -> None:
    virtual = replace(steps(chain(16), {}), noise="3%")
    search, machine = virtual.start(0), virtual.machine(0)
    seen = []
    for _ in range(6):
        for job in search.propose():
            search.record(job.id, *machine.run(job.commits))
        if search.progress().phase is Phase.REPRODUCE:
            seen.append(search.progress().relative_change)
            assert 0 < (search.progress().expected_executions or 0) <= 200, "a change that is not seen is given up"
    assert len(seen) >= 3
    assert len(set(seen)) == len(seen)
    assert None not in seen


def branched_before_good(*, level: float, size: int = 12) -> Virtual:
    """c1..c6 are a branch from x, an ancestor of good; good and c7..c9 have good's own change of `level`, as c10.. do.

    The branch is merged as c10.
    """
    parents = [(place - 1,) if place not in (0, 6) else () for place in range(9)] + [(5, 8)]
    parents += [(place - 1,) for place in range(10, size)]
    commit_range = structs.replace(chain(size), parents=tuple(parents), outside={"c1": "x"})
    levels = {"c0": level, "x": 0.0, **{f"c{place}": level * (place > 6) for place in range(1, size + 1)}}
    return Virtual(commit_range=commit_range, levels=levels)


@pytest.mark.parametrize("seed", range(3))
def test_the_first_commit_of_an_older_branch_is_not_named_for_the_change_of_good(seed: int) -> None:
    """Compared with the good end instead of its parent, c1 is 20% faster and would be named."""
    virtual = branched_before_good(level=0.2)
    levels = {**(virtual.levels or {}), **{f"c{place}": 0.0 for place in range(10, 13)}}
    outcome = replace(virtual, levels=levels).search(seed, sought=Sought.ANY)
    assert outcome.kind is OutcomeKind.CHANGE_OF_GOOD
    assert outcome.culprits == ()
    (note,) = outcome.notes
    assert note.arguments["parent"] == "x"
    assert note.arguments["change"] == pytest.approx(np.expm1(0.2), rel=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_the_first_commit_of_an_older_branch_is_confirmed_against_its_real_parent(seed: int) -> None:
    virtual = branched_before_good(level=0.0)
    levels = {**(virtual.levels or {}), **{f"c{place}": 0.2 for place in (1, 2, 3, 4, 5, 6, 10, 11, 12)}}
    search, machine = replace(virtual, levels=levels).start(seed), replace(virtual, levels=levels).machine(seed)
    outcome = play(search, machine)
    assert names(outcome) == ["c1"]
    assert outcome.culprits[0].relative_change == pytest.approx(np.expm1(0.2), rel=0.2)
    confirming = [set(job.commits) for job in search.state.jobs if job.purpose is Purpose.CONFIRM]
    assert {"x", "c1"} <= set.union(*confirming)
    assert all("x" not in job.commits for job in search.state.jobs if job.purpose is Purpose.SEARCH)


def test_a_suspect_whose_outside_parent_cannot_be_measured_is_not_named() -> None:
    virtual = branched_before_good(level=0.0)
    levels = {**(virtual.levels or {}), **{f"c{place}": 0.2 for place in (1, 2, 3, 4, 5, 6, 10, 11, 12)}}
    outcome = replace(virtual, levels=levels, broken=frozenset({"x"})).search(1)
    assert (outcome.kind, outcome.culprits) == (OutcomeKind.SUSPECT_SET, ())
    assert [suspect.commit for suspect in outcome.suspects] == ["c1"]
    assert outcome.notes[0].arguments == {"commit": "c1", "parent": "x"}
