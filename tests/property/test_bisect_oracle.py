"""Searches with an oracle that never errs: on every history they end with the culprit."""

from typing import Final

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.bisect.machine import levels_of
from perf_culprit.model.bisection import CommitRange, Engine, OutcomeKind, SearchSettings
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.search import Search

LARGEST: Final = 30
# Log noise: the classic engine's test is exact without any; the other learns the noise from the ends and has some.
NOISE_SD: Final = {Engine.BAYES: 1e-5, Engine.WEIGHTED: 0.0}


@st.composite
def histories(draw: st.DrawFn) -> CommitRange:
    """Draw any range: chains, forks, merges of up to three, side branches that began before the good end."""
    size = draw(st.integers(1, LARGEST))
    rows = ["c0"]
    for number in range(1, size + 1):
        before = st.integers(max(0, number - 6), number - 1)
        parents = draw(st.lists(before, min_size=1, max_size=3, unique=True))
        rows.append(" ".join(f"c{commit}" for commit in (number, *sorted(parents, reverse=True))))
    return cut_range(parse_parents("\n".join(reversed(rows))), good="c0", bad=f"c{size}")


def searched(commit_range: CommitRange, culprit: int, *, engine: Engine, effect: float, seed: int) -> Search:
    levels = levels_of(commit_range, {culprit: effect})
    generator = np.random.default_rng(seed)
    search = Search.start(commit_range, settings=SearchSettings(engine=engine, seed=seed, repetitions=3))
    while search.outcome() is None:
        for job in search.propose():
            logs = {c: levels[c] + generator.normal(0, NOISE_SD[engine]) for c in job.commits}
            search.record(job.id, {commit: [float(np.exp(log))] for commit, log in logs.items()})
    return search


@pytest.mark.slow  # dozens of whole searches
@pytest.mark.parametrize("engine", Engine)
@settings(derandomize=True, deadline=None, max_examples=40)
@given(commit_range=histories(), data=st.data())
def test_the_culprit_is_found_on_any_history(engine: Engine, commit_range: CommitRange, data: st.DataObject) -> None:
    culprit = data.draw(st.integers(0, len(commit_range.commits) - 1), label="culprit")
    effect = data.draw(st.sampled_from([0.01, 0.1, 1.0]), label="effect")
    search = searched(commit_range, culprit, engine=engine, effect=effect, seed=culprit)
    outcome = search.outcome()
    assert outcome is not None
    assert outcome.kind is OutcomeKind.CULPRIT
    assert [one.commit for one in outcome.culprits] == [commit_range.commits[culprit]]
    assert outcome.culprits[0].relative_change == pytest.approx(np.expm1(effect), rel=0.01)
    # Ends, one suspect per bit and a confirmation; or one test per bit of the classic engine.
    bits = int(np.ceil(np.log2(len(commit_range.commits)))) + 1
    assert outcome.executions <= (60 + 8 * bits if engine is Engine.BAYES else 6 * (bits + 3))
