"""The choice of the next rounds: the batch rule, pending jobs, and the same picks from a stored state."""

from itertools import groupby

import numpy as np
import pytest

from benchmarks.bisect.machine import chain, merge_dag
from perf_culprit.model.bisection import Engine, Job, Phase, Purpose
from perf_culprit.model.bisection_files import BisectSession, decode_session, encode_session
from perf_culprit.model.run import Direction, Metric, MetricKey
from perf_culprit.search.search import Search
from tests.support.virtual_searches import Virtual, names, reproduced, steps, suspects_of


def numbers(search: Search, jobs: int) -> list[list[int]]:
    """The suspects of the next rounds, as numbers of commits in a chain."""
    return [sorted(int(commit[1:]) for commit in suspects_of(search, job.commits)) for job in search.propose(jobs)]


def clear(size: int) -> Virtual:
    """A step of fifty standard deviations, so that one execution answers without error."""
    return steps(chain(size), {size // 3: 0.65}, noise="1%")


def test_a_round_holds_both_ends_once_and_at_most_three_suspects() -> None:
    for suspects in (1, 2, 3):
        search = reproduced(steps(chain(64), {21: 0.10}, noise="3%", offset_sd=0.06), 0, suspects_per_round=suspects)
        for job in search.propose(4):
            assert job.purpose is Purpose.SEARCH
            assert len(set(job.commits)) == len(job.commits)
            assert {"c0", "c64"} <= set(job.commits)
            assert 1 <= len(suspects_of(search, job.commits)) <= suspects


def test_a_quiet_machine_measures_suspects_alone() -> None:
    """Ends with noise of a fiftieth of the step are not measured again, except with several machines."""
    (job,) = reproduced(clear(64), 0).propose()
    assert job.commits == ("c32",)
    (job,) = reproduced(clear(64), 0, one_machine=False).propose()
    assert {"c0", "c64"} < set(job.commits)


def test_a_stable_machine_measures_at_most_three_suspects_in_a_row_without_ends() -> None:
    virtual = steps(chain(64), {21: 0.10}, noise="3%")
    search, machine = reproduced(virtual, 0), virtual.machine(1)
    has_ends = []
    while search.state.phase is Phase.SEARCH:
        (job,) = search.propose()
        has_ends.append({"c0", "c64"} <= set(job.commits))
        search.record(job.id, *machine.run(job.commits))
    in_a_row = [len(list(same)) for both, same in groupby(has_ends) if not both]
    assert in_a_row
    assert max(in_a_row) <= 3
    (job,) = reproduced(virtual, 0, one_machine=False).propose()
    assert {"c0", "c64"} < set(job.commits)


def test_a_machine_that_turns_unstable_gets_its_ends_back() -> None:
    """The level starts to jump between rounds after the ends were measured. The next round with both ends shows it."""
    virtual = steps(chain(64), {21: 0.10}, noise="1%")
    searched: list[Job] = []
    for seed in range(3):
        search, machine = reproduced(virtual, seed), virtual.machine(1)
        jumping = np.random.default_rng(seed)
        while (outcome := search.outcome()) is None:
            for job in search.propose():
                level = float(np.exp(jumping.normal(0, 0.1)))
                values, _ = machine.run(job.commits)
                search.record(job.id, {commit: [level * value for value in own] for commit, own in values.items()})
        assert [culprit.commit for culprit in outcome.culprits] == ["c22"]
        searched += [job for job in search.state.jobs if job.purpose is Purpose.SEARCH]
    assert sum({"c0", "c64"} <= set(job.commits) for job in searched) >= len(searched) / 3


def test_the_first_suspect_splits_the_range_in_half() -> None:
    assert numbers(reproduced(clear(64), 0, suspects_per_round=1), 1) == [[32]]


def test_three_rounds_at_once_quarter_the_range() -> None:
    """BISECT 5.15: three executions without error give two bits, so they test the quarters."""
    chosen = [one for round_ in numbers(reproduced(clear(64), 0, suspects_per_round=1), 3) for one in round_]
    assert sorted(chosen) == [pytest.approx(quarter, abs=2) for quarter in (16, 32, 48)]


def test_pending_suspects_are_not_picked_again() -> None:
    search = reproduced(clear(64), 0, suspects_per_round=1)
    chosen = [numbers(search, 1)[0][0] for _ in range(3)]
    assert len(set(chosen)) == 3
    assert sorted(chosen) == [pytest.approx(quarter, abs=2) for quarter in (16, 32, 48)]


def test_two_commits_left_are_told_apart_by_repetition() -> None:
    """Only c1 separates c1 from c2, however many rounds run at once."""
    search = reproduced(steps(chain(2), {1: 0.05}), 0, suspects_per_round=1)
    rounds = numbers(search, 3)
    assert rounds
    assert all(round_ == [1] for round_ in rounds)


def test_an_abandoned_round_is_asked_for_again() -> None:
    search = reproduced(clear(64), 0, suspects_per_round=1)
    (job,) = search.propose()
    search.abandon(job.id)
    assert numbers(search, 1) == [[32]]


def test_the_classic_engine_repeats_the_heaviest_commit() -> None:
    search = clear(64).start(0, engine=Engine.WEIGHTED, repetitions=4)
    machine = clear(64).machine(0)
    for job in search.propose(4):
        search.record(job.id, *machine.run(job.commits))
    rounds = search.propose(8)
    assert [set(job.commits) for job in rounds] == [{"c0", "c32"}] * 4


def stored_and_read(search: Search) -> Search:
    """The search as another process reads it, through the file's bytes."""
    session = BisectSession(
        run="./bench",
        build=None,
        key=MetricKey("parse", "time"),
        metric=Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER),
        search=search.state,
    )
    return Search(decode_session(encode_session(session), place="state.json").search)


@pytest.mark.slow  # every proposal of whole searches is made twice
@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("seed", range(2))
def test_a_state_from_the_disk_makes_the_same_picks(engine: Engine, seed: int) -> None:
    """Compare after every proposal and result, with rounds under way, an unbuildable commit and a lost job."""
    commit_range = merge_dag(20, seed)
    virtual = Virtual(
        commit_range=commit_range, effects={11: 0.15}, offset_sd=0.06, broken=frozenset({commit_range.commits[9]})
    )
    search, machine = virtual.start(seed, engine=engine), virtual.machine(seed)
    turn = 0
    while search.outcome() is None:
        other = stored_and_read(search)
        jobs = search.propose(2)
        assert other.propose(2) == jobs
        search = stored_and_read(search)
        for job in search.pending:
            turn += 1
            if turn == 7:
                search.abandon(job.id)
            else:
                search.record(job.id, *machine.run(job.commits))
    again = stored_and_read(search)
    assert again.outcome() == search.outcome()
    assert again.state == search.state
    assert commit_range.commits[11] in {
        *names(search.partial_outcome()),
        *(suspect.commit for suspect in search.partial_outcome().suspects),
    }
