"""A search must not depend on the unit, the direction's sign, the commits' names or the order of arrival."""

from collections.abc import Callable, Mapping, Sequence

import pytest
from msgspec.structs import replace

from benchmarks.bisect.machine import merge_dag
from perf_culprit.model.bisection import CommitRange, Engine, Outcome, SearchSettings
from perf_culprit.model.run import Direction
from perf_culprit.search.search import Search
from tests.support.virtual_searches import Virtual, names, reproduced

Samples = Mapping[str, Sequence[float]]
SIZE, CULPRIT = 18, 10


def virtual(seed: int) -> Virtual:
    return Virtual(commit_range=merge_dag(SIZE, seed), effects={CULPRIT: 0.12}, offset_sd=0.06)


def play(
    seed: int,
    *,
    engine: Engine = Engine.BAYES,
    change: Callable[[Samples], Samples] = dict,
    direction: Direction = Direction.LOWER_IS_BETTER,
    rename: Callable[[str], str] = str,
) -> tuple[list[list[str]], Outcome]:
    """Return all rounds in order, and the outcome; `change` maps a round's samples to those that are recorded."""
    one = virtual(seed)
    commit_range = renamed(one.commit_range, rename)
    search = Search.start(commit_range, settings=SearchSettings(engine=engine, seed=seed, direction=direction))
    original = {rename(name): name for name in ("c0", *one.commit_range.commits)}
    machine = one.machine(seed)
    rounds = []
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            rounds.append([original[commit] for commit in job.commits])
            samples, _ = machine.run(rounds[-1])
            told = change({rename(commit): values for commit, values in samples.items()})
            search.record(job.id, told)
    return rounds, outcome


def renamed(commit_range: CommitRange, rename: Callable[[str], str]) -> CommitRange:
    return replace(
        commit_range,
        good=rename(commit_range.good),
        bad=rename(commit_range.bad),
        commits=tuple(rename(commit) for commit in commit_range.commits),
    )


def change_of(outcome: Outcome) -> float:
    (culprit,) = outcome.culprits
    return culprit.relative_change


@pytest.mark.slow  # whole searches
@pytest.mark.parametrize("engine", Engine)
@pytest.mark.parametrize("seed", range(2))
def test_what_changes_nothing(engine: Engine, seed: int) -> None:
    rounds, outcome = play(seed, engine=engine)
    expected = names(outcome)
    assert expected == [virtual(seed).commit_range.commits[CULPRIT]]

    other_unit = play(seed, engine=engine, change=lambda samples: {c: [7 * v for v in vs] for c, vs in samples.items()})
    assert other_unit[0] == rounds
    assert names(other_unit[1]) == expected
    assert change_of(other_unit[1]) == pytest.approx(change_of(outcome))

    reverse = play(seed, engine=engine, change=lambda samples: dict(reversed(list(samples.items()))))
    assert reverse == (rounds, outcome)

    rates = play(
        seed,
        engine=engine,
        change=lambda samples: {c: [1 / v for v in vs] for c, vs in samples.items()},
        direction=Direction.HIGHER_IS_BETTER,
    )
    assert rates[0] == rounds
    assert names(rates[1]) == expected
    assert 1 / (1 + change_of(rates[1])) == pytest.approx(1 + change_of(outcome))

    other_names = play(seed, engine=engine, rename=lambda name: f"{sum(name.encode()) % 7}" + name[::-1].rjust(12, "f"))
    assert other_names[0] == rounds


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_arrival_changes_nothing(seed: int) -> None:
    """Four pending rounds, recorded in either order, give the same leader with the same probability."""
    matches = []
    for backwards in (False, True):
        search, machine = reproduced(virtual(seed), seed), virtual(seed).machine(seed + 50)
        jobs = search.propose(4)
        results = [(job.id, machine.run(job.commits)) for job in jobs]
        for job_id, (samples, failures) in reversed(results) if backwards else results:
            search.record(job_id, samples, failures)
        matches.append(search.progress().suspects[0])
    assert matches[0].commit == matches[1].commit
    assert matches[0].posterior == pytest.approx(matches[1].posterior, rel=1e-6)


def test_a_repeated_result_is_one_result() -> None:
    search, machine = reproduced(virtual(0), 0), virtual(0).machine(1)
    (job,) = search.propose()
    samples, failures = machine.run(job.commits)
    assert search.record(job.id, samples, failures)
    before = search.state
    assert not search.record(job.id, {commit: [99.0] for commit in samples})
    assert search.state == before


def test_numbers_of_one_execution_count_by_their_median() -> None:
    one, several = (reproduced(virtual(0), 0) for _ in range(2))
    (job,) = one.propose()
    assert several.propose() == (job,)
    samples, _ = virtual(0).machine(1).run(job.commits)
    one.record(job.id, samples)
    several.record(job.id, {commit: [v / 2, v, v * 9] for commit, (v,) in samples.items()})
    assert one.state == several.state
