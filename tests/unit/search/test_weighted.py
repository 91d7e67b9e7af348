"""The classic engine: which commit it tests next, and what it names."""

from perf_culprit.model.bisection import Engine, Failure, FailureKind, OutcomeKind, SearchSettings
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.search import Search

MERGED = "H G\nG E F\nF C\nC A\nE D\nD B\nB A\nA\n"
SETTINGS = SearchSettings(engine=Engine.WEIGHTED, repetitions=3)


def play(slow: str, broken: str = "") -> tuple[list[str], Search]:
    """The commits tested, in order; `slow` ones take 1.5 times as long, without noise."""
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
    assert outcome.executions == 4 * 2 * SETTINGS.repetitions


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
