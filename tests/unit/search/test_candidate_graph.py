"""Ranges cut out of histories, and the weights of their commits."""

import numpy as np
import pytest

from perf_culprit.errors import DataError, UsageError
from perf_culprit.model.bisection import CommitRange
from perf_culprit.search.candidate_graph import cut_range, parse_parents
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.weighted import split_weights

# Children first, as `git rev-list --topo-order --parents` prints: "<commit> <parent>...".
MERGED = "H G\nG E F\nF C\nC A\nE D\nD B\nB A\nA\n"


def names(commit_range: CommitRange) -> set[str]:
    return set(commit_range.commits)


def random_history(seed: int) -> str:
    """A history of 24 commits with merges of any shape."""
    rng = np.random.default_rng(seed)
    rows = ["c0"]
    for number in range(1, 24):
        count = min(number, int(rng.choice([1, 1, 2, 3])))
        parents = {number - 1, *rng.choice(number, size=count, replace=False).tolist()}
        rows.append(" ".join([f"c{number}", *(f"c{parent}" for parent in sorted(parents, reverse=True))]))
    return "\n".join(reversed(rows))


def git_weights(commit_range: CommitRange) -> list[int]:
    """The weights min(a + 1, N - (a + 1)), from plain sets of ancestors."""
    own: list[set[int]] = []
    for place, parents in enumerate(commit_range.parents):
        own.append({place}.union(*(own[parent] for parent in parents)))
    return [min(len(reached), len(own) - len(reached)) for reached in own]


def weights(commit_range: CommitRange) -> list[int]:
    everyone = np.ones(len(commit_range.commits), dtype=np.bool_)
    return [int(weight) for weight in split_weights(Descendants(commit_range), everyone)]


def test_the_worked_example_weighs_e_with_3_and_then_f_with_2() -> None:
    whole = cut_range(parse_parents(MERGED), good="A", bad="H")
    assert names(whole) == set("BCDEFGH")
    assert dict(zip(whole.commits, weights(whole), strict=True)) == {
        "B": 1,
        "C": 1,
        "D": 2,
        "E": 3,
        "F": 2,
        "G": 1,
        "H": 0,
    }
    rest = cut_range(parse_parents(MERGED), good="E", bad="H")
    assert names(rest) == set("CFGH")
    assert dict(zip(rest.commits, weights(rest), strict=True)) == {"C": 1, "F": 2, "G": 1, "H": 0}


@pytest.mark.parametrize("seed", range(20))
def test_a_uniform_posterior_gives_gits_weights(seed: int) -> None:
    commit_range = cut_range(parse_parents(random_history(seed)), good="c0", bad="c23")
    assert any(len(parents) > 1 for parents in commit_range.parents)
    reach, size = Descendants(commit_range), len(commit_range.commits)
    slow = reach.slow_mass(np.full(size, 1 / size))[1:]
    expected = git_weights(commit_range)
    assert np.minimum(slow, 1 - slow) * size == pytest.approx(expected, abs=1e-4)
    assert weights(commit_range) == expected


def test_parents_come_before_children_and_bad_is_last() -> None:
    commit_range = cut_range(parse_parents(MERGED), good="A", bad="H")
    assert commit_range.commits[-1] == "H"
    assert all(parent < place for place, own in enumerate(commit_range.parents) for parent in own)


@pytest.mark.parametrize(
    ("good", "bad", "text"),
    [
        ("A", "A", "same commit"),
        ("H", "A", "descends from the bad"),
        ("A", "Z", "no common history"),
        ("A", "Q", "Q is not in the history"),
    ],
)
def test_ends_that_make_no_range(good: str, bad: str, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        cut_range(parse_parents(MERGED + "Z\n"), good=good, bad=bad)


def test_a_good_commit_beside_the_bad_one_asks_for_the_merge_base() -> None:
    commit_range = cut_range(parse_parents(MERGED), good="E", bad="F")
    assert commit_range.merge_bases == ("A",)
    assert commit_range.commits == ("C", "F")


def test_a_criss_cross_has_two_merge_bases() -> None:
    history = parse_parents("Y B A\nX A B\nB R\nA R\nR\n")
    commit_range = cut_range(history, good="X", bad="Y")
    assert set(commit_range.merge_bases) == {"A", "B"}
    assert commit_range.commits == ("Y",)


def test_an_ancestor_needs_no_merge_base() -> None:
    assert cut_range(parse_parents(MERGED), good="A", bad="H").merge_bases == ()


def test_first_parent_keeps_the_mainline() -> None:
    commit_range = cut_range(parse_parents(MERGED), good="A", bad="H", first_parent=True)
    assert commit_range.commits == ("B", "D", "E", "G", "H")
    assert commit_range.parents == ((), (0,), (1,), (2,), (3,))


def test_the_range_is_one_commit() -> None:
    commit_range = cut_range(parse_parents(MERGED), good="G", bad="H")
    assert (commit_range.commits, commit_range.parents) == (("H",), ((),))
    assert weights(commit_range) == [0]


def test_a_revert_takes_back_what_the_reverted_commit_did() -> None:
    history = parse_parents("d c\nc b\nb a\na g\ng\n")
    messages = {"c": 'Revert "a"\n\nThis reverts commit a.', "d": "This reverts commit elsewhere."}
    commit_range = cut_range(history, good="g", bad="d", messages=messages)
    assert commit_range.reverts == ((2, 0),)
    reach = Descendants(commit_range)
    assert reach.row(0).tolist() == [False, True, True, False, False]
    assert reach.row(1).tolist() == [False, False, True, True, True]
    for commit in range(5):
        assert reach.column(commit).tolist() == [bool(reach.row(candidate)[commit]) for candidate in range(4)]


def test_a_reverted_revert_brings_the_change_back() -> None:
    history = parse_parents("d c\nc b\nb a\na g\ng\n")
    messages = {"b": "This reverts commit a.", "d": "This reverts commit b."}
    reach = Descendants(cut_range(history, good="g", bad="d", messages=messages))
    assert reach.row(0).tolist() == [False, True, False, False, True]
    assert [bool(reach.column(commit)[0]) for commit in range(5)] == reach.row(0).tolist()


def test_commits_with_their_only_parents_build_inputs_are_unchanged() -> None:
    inputs = {"A": "0", "B": "0", "D": "1", "E": "1", "C": "2", "G": "1", "H": "3"}
    commit_range = cut_range(parse_parents(MERGED), good="A", bad="H", build_inputs=inputs)
    # B has the good end's inputs. G has those of a parent but is a merge, and those of F are unknown.
    assert {commit_range.commits[place] for place in commit_range.unchanged} == {"B", "E"}


@pytest.mark.parametrize("history", ["A\nB A\n", "B A\nA A\n"])
def test_a_history_that_is_out_of_order_is_refused(history: str) -> None:
    with pytest.raises(DataError, match="topological order"):
        parse_parents(history)


@pytest.mark.slow  # the history is built, read and weighed as text
def test_a_range_of_50_000_commits() -> None:
    """Every fifth commit is a merge. The memory grows with the strands, not with the square of the commits."""
    rows = ["c0"]
    for number in range(1, 50_001):
        second = f" c{number - 2}" if number % 5 == 0 else ""
        rows.append(f"c{number} c{number - 1}{second}")
    commit_range = cut_range(parse_parents("\n".join(reversed(rows))), good="c0", bad="c50000")
    counts = Descendants(commit_range).ancestor_counts
    assert len(commit_range.commits) == 50_000
    # Every commit descends from the previous one, so the counts are those of a chain.
    assert counts[[0, 24_999, 49_999]].tolist() == [1, 25_000, 50_000]


def test_a_parent_outside_the_range_is_known_but_an_end_or_a_merge_base_is_not() -> None:
    """H merges F, whose branch left the line before good; E is on the line itself."""
    history = parse_parents("H E F\nE D\nD C\nC X\nF G\nG X\nX\n")
    older = cut_range(history, good="D", bad="H")
    assert sorted(older.commits) == ["E", "F", "G", "H"]
    assert older.outside == {"G": "X"}
    assert cut_range(history, good="X", bad="H").outside == {}
    aside = cut_range(history, good="C", bad="F")
    assert (aside.merge_bases, aside.outside) == (("X",), {})
