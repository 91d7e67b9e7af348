"""BISECT 2.5 and test 16 of BISECT 5."""

import numpy as np
import pytest

from benchmarks.bisect.machine import chain
from perf_culprit.model.bisection import ChangeFacts, CommitRange, ExecutedCode, Phase
from perf_culprit.search.prior import (
    EXECUTED_FUNCTION,
    prior_by_commit,
    prior_weights,
)
from tests.support.virtual_searches import Virtual, names

PLAIN = ChangeFacts()
FUNCTION, MODULE = (ExecutedCode("a.py", "parse"),), (ExecutedCode("a.py"),)


@pytest.mark.parametrize(
    ("facts", "ratio"),
    [
        (ChangeFacts(changes_dependency=True), 3.0),
        (ChangeFacts(only_documents=True), 1 / 50),
        (ChangeFacts(clean_merge=True), 1 / 20),
        (ChangeFacts(churn=7), float(np.exp(0.9))),
        (ChangeFacts(changes_dependency=True, churn=1), float(3 * np.exp(0.3))),
        (ChangeFacts(executed=FUNCTION), EXECUTED_FUNCTION),
        (ChangeFacts(executed=(*MODULE, *FUNCTION)), EXECUTED_FUNCTION),
        (ChangeFacts(executed=MODULE), 1.0),
        (ChangeFacts(executed=()), 1 / EXECUTED_FUNCTION),
        (ChangeFacts(executed=(), changes_dependency=True), 3.0),
        (ChangeFacts(executed=(), only_documents=True), 1 / 50),
    ],
)
def test_each_fact_has_its_odds_and_a_tenth_is_uniform(facts: ChangeFacts, ratio: float) -> None:
    weights = prior_weights([facts, PLAIN])
    assert weights == pytest.approx([0.9 * ratio / (1 + ratio) + 0.05, 0.9 / (1 + ratio) + 0.05], rel=1e-12)


def test_no_facts_are_a_uniform_prior() -> None:
    assert prior_weights([PLAIN] * 8) == pytest.approx([1 / 8] * 8)


def test_unchanged_commits_get_nothing_and_the_rest_gets_all() -> None:
    weights = prior_weights([ChangeFacts(churn=10**9, changes_dependency=True), PLAIN, PLAIN], unchanged=[0])
    assert weights.tolist() == [0.0, 0.5, 0.5]
    assert prior_weights([PLAIN], unchanged=[0]).tolist() == [0.0]
    assert prior_weights([]).tolist() == []


def test_absurd_churn_leaves_the_others_their_share() -> None:
    weights = prior_weights([ChangeFacts(churn=2**2000), *[PLAIN] * 9])
    assert weights.sum() == pytest.approx(1)
    assert weights[1:] == pytest.approx([0.01] * 9)


def test_the_prior_costs_at_most_the_logarithm_of_ten() -> None:
    weights = prior_weights(
        [ChangeFacts(churn=1000, executed=FUNCTION)] * 5
        + [ChangeFacts(only_documents=True, executed=())] * 29
        + [ChangeFacts(executed=())] * 30
    )
    assert np.log2(1 / 64 / weights.min()) <= np.log2(10) + 1e-9


def suspects(commit_range: CommitRange, places: set[int]) -> dict[str, float]:
    facts = {
        commit: ChangeFacts(churn=2**14 if place in places else 0) for place, commit in enumerate(commit_range.commits)
    }
    return prior_by_commit(commit_range, facts)


@pytest.mark.slow  # two whole searches that spend their budget
def test_a_commit_without_prior_is_never_named() -> None:
    commit_range = chain(16)
    culprit = commit_range.commits[6]
    prior = {**dict.fromkeys(commit_range.commits, 1 / 15), culprit: 0.0}
    for seed in range(2):
        virtual = Virtual(commit_range=commit_range, effects={6: float(np.log(1.3))})
        assert culprit not in names(virtual.search(seed, prior=prior))


@pytest.mark.slow  # thirty whole searches of 64 commits
def test_a_culprit_outside_the_suspects_is_still_found() -> None:
    right = 0
    for seed in range(30):
        generator = np.random.default_rng([seed, 16])
        culprit, *others = generator.choice(64, size=4, replace=False).tolist()
        virtual = Virtual(commit_range=chain(64), effects={culprit: float(np.log(1.1))})
        prior = suspects(virtual.commit_range, set(others))
        right += names(virtual.search(seed, prior=prior)) == [virtual.commit_range.commits[culprit]]
    assert right >= 27


def test_a_right_prior_is_measured_first() -> None:
    commit_range = chain(512)
    virtual = Virtual(commit_range=commit_range, effects={100: float(np.log(1.3))})
    search, machine = virtual.start(0, prior=suspects(commit_range, {100})), virtual.machine(0)
    measured: set[str] = set()
    while search.state.phase in (Phase.REPRODUCE, Phase.SEARCH):
        for job in search.propose():
            measured |= set(job.commits)
            search.record(job.id, *machine.run(job.commits))
    assert search.state.suspect == commit_range.commits[100]
    assert len(measured) <= 8
