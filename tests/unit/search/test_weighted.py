"""The classic engine: the commit that it tests next, and the commit that it names."""

from dataclasses import replace

import numpy as np
import pytest

from perf_culprit.model.bisection import Engine, Failure, FailureKind, Outcome, OutcomeKind, SearchSettings
from perf_culprit.model.reason import SearchReason
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.cost import forecast
from perf_culprit.search.search import Search
from tests.support.virtual_searches import planted

MERGED = "H G\nG E F\nF C\nC A\nE D\nD B\nB A\nA\n"
SETTINGS = SearchSettings(engine=Engine.WEIGHTED, repetitions=3)


def play(slow: str, broken: str = "") -> tuple[list[str], Search]:
    """The tested commits in order, and the search. Commits in `slow` take 1.5 times as long, without noise."""
    search = Search.start(cut_range(parse_parents(MERGED), good="A", bad="H"), settings=SETTINGS)
    tested: list[str] = []
    while search.outcome() is None:
        for job in search.propose():
            tested += [commit for commit in job.commits if commit not in {"A", *tested}]
            samples = {commit: [1.5 if commit in slow else 1.0] for commit in job.commits if commit not in broken}
            failures = {commit: Failure(kind=FailureKind.BUILD) for commit in job.commits if commit in broken}
            assert search.record(job.id, samples, failures)
            assert not search.record(job.id, samples, failures)
    return tested, search


def test_the_worked_example_tests_e_then_f_then_c_and_names_f() -> None:
    tested, search = play("FGH")
    outcome = search.outcome()
    assert tested == ["H", "E", "F", "C"]
    assert outcome is not None
    assert (outcome.kind, [culprit.commit for culprit in outcome.culprits]) == (OutcomeKind.CULPRIT, ["F"])
    assert outcome.executions == 5 * 2 * SETTINGS.repetitions


def test_an_improvement_is_named_as_one_and_a_regression_as_none() -> None:
    for slow, is_improvement in (("ABCDE", True), ("FGH", False)):
        outcome = play(slow)[1].outcome()
        assert outcome is not None
        assert [(culprit.commit, culprit.improvement) for culprit in outcome.culprits] == [("F", is_improvement)]


def test_equal_ends_are_not_reproduced() -> None:
    outcome = play("")[1].outcome()
    assert outcome is not None
    assert (outcome.kind, outcome.culprits) == (OutcomeKind.NOT_REPRODUCED, ())


def test_what_does_not_build_stays_a_suspect() -> None:
    outcome = play("FGH", broken="F")[1].outcome()
    assert outcome is not None
    assert outcome.kind is OutcomeKind.SUSPECT_SET
    assert "F" in {suspect.commit for suspect in outcome.suspects}
    assert set(outcome.skipped) == {"F"}


CHAIN = cut_range(parse_parents("r6 r5\nr5 r4\nr4 r3\nr3 r2\nr2 r1\nr1\n"), good="r1", bad="r6")


def searched(levels: tuple[float, ...], engine: Engine, *, noise: float = 0.01) -> Outcome:
    """The outcome of a search of the source's six revisions with the `levels` of r1 to r6."""
    rng = np.random.default_rng(5)
    of = {f"r{place}": value for place, value in enumerate(levels, start=1)}
    search = Search.start(CHAIN, settings=SearchSettings(engine=engine))
    while (outcome := search.outcome()) is None:
        for job in search.propose():
            search.record(job.id, {name: [of[name] * float(np.exp(rng.normal(0, noise)))] for name in job.commits})
    return outcome


@pytest.mark.parametrize(
    ("levels", "weighted", "bayes"),
    [
        pytest.param((10, 10, 10, 10, 15, 15), "r5", {"r5"}, id="simple regression"),
        pytest.param((10, 10, 5, 15, 15, 15), "r4", {"r3", "r4"}, id="improvement, then regression"),
        pytest.param((10, 10, 10, 20, 15, 15), "r4", {"r4", "r5"}, id="regression, then improvement"),
        pytest.param((10, 10, 15, 12, 15, 15), "r3", {"r3", "r4", "r5"}, id="oscillation"),
    ],
)
def test_the_published_comparisons_name_the_published_commits(
    levels: tuple[float, ...], weighted: str, bayes: set[str]
) -> None:
    outcome = searched(levels, Engine.WEIGHTED)
    assert [culprit.commit for culprit in outcome.culprits] == [weighted]
    assert [note.code for note in outcome.notes] == [SearchReason.CHANCE_OF_ERROR]
    assert {step.commit for step in searched(levels, Engine.BAYES).culprits} == bayes


def test_a_commit_is_judged_against_the_last_that_was_not_slower_as_published() -> None:
    levels = (10, 10, 5, 10, 10, 11.5)
    outcome = searched(levels, Engine.WEIGHTED)
    (culprit,) = outcome.culprits
    assert culprit.commit == "r4"
    assert culprit.relative_change == pytest.approx(1.0, abs=0.05)
    _, note = outcome.notes
    assert (note.code, note.arguments["before"], note.arguments["after"]) == (SearchReason.STEP_AFTER, "r4", "r6")
    assert note.arguments["change"] == pytest.approx(0.15, abs=0.05)
    assert {step.commit for step in searched(levels, Engine.BAYES).culprits} == {"r3", "r4", "r6"}


def test_a_step_after_the_named_commit_is_told() -> None:
    outcome = searched((10, 10, 11, 11, 11, 15), Engine.WEIGHTED)
    assert [culprit.commit for culprit in outcome.culprits] == ["r3"]
    _, note = outcome.notes
    assert (note.code, note.arguments["before"]) == (SearchReason.STEP_AFTER, "r3")
    assert note.arguments["change"] == pytest.approx(15 / 11 - 1, abs=0.02)


def planted_search(seed: int, noise: str, effect: float) -> tuple[Outcome, str]:
    """The outcome of a search of 64 commits with one step, and its commit."""
    virtual = replace(planted(64, effect=effect, seed=seed), noise=noise)
    (culprit,) = virtual.culprits()
    return virtual.search(seed, engine=Engine.WEIGHTED), culprit


def test_a_commit_is_named_only_if_fresh_rounds_show_it_slower_than_its_parent() -> None:
    """This noise hides the step from most tests, so the search mostly ends at a wrong commit."""
    outcomes = [planted_search(seed, "3%", 0.05) for seed in range(12)]
    named = [(outcome.culprits[0].commit, culprit) for outcome, culprit in outcomes if outcome.culprits]
    assert all(name == culprit for name, culprit in named)
    refused = [outcome for outcome, _ in outcomes if outcome.kind is OutcomeKind.SUSPECT_SET]
    assert refused
    for outcome in refused:
        (note,) = outcome.notes
        assert note.code is SearchReason.PARENT_ALIKE
        low, change, high = (float(str(note.arguments[name])) for name in ("low", "change", "high"))
        assert low < change < high
        assert [suspect.commit[:10] for suspect in outcome.suspects] == [note.arguments["commit"]]


def test_ends_that_differ_a_little_are_not_denied() -> None:
    """The interval excludes zero, but the difference is not significant at the test's level."""
    outcome = searched((10, 10, 10, 10, 10, 10.12), Engine.WEIGHTED)
    interval = outcome.confidence_interval
    assert interval is not None
    assert (interval.low > 0, outcome.kind) == (True, OutcomeKind.INCONCLUSIVE)


def test_the_plan_is_what_the_search_then_takes() -> None:
    planned = forecast(CHAIN, SearchSettings(engine=Engine.WEIGHTED))
    assert (planned.tests, planned.clear, planned.hidden) == (5, 100, 100)
    assert searched((10, 10, 10, 10, 15, 15), Engine.WEIGHTED).executions == 100
