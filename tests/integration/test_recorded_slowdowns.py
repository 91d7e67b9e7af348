"""The order of suspects holds on recorded slowdowns that no rule was chosen on (docs/evidence/diagnosis.md)."""

from functools import cache

from benchmarks.diagnose.replay import SETS, Ranked, first, in_three, pairs, ranked, unchanged
from perf_culprit.model.report import Answer


@cache
def visible() -> list[Ranked]:
    return [one for one in map(ranked, pairs(SETS)) if one.is_visible]


def test_the_changed_function_or_its_caller_is_first() -> None:
    assert len(visible()) == 38
    assert first(visible()) >= 0.6 * len(visible())
    assert in_three(visible()) >= 0.85 * len(visible())


def test_two_profilers_have_it_first_in_fewer_than_three_of_five() -> None:
    """The goal is none. Compilers put C's and Rust's functions into their callers, and two pairs are few."""
    by_profiler: dict[str, list[Ranked]] = {}
    for one in visible():
        by_profiler.setdefault(one.pair.profiler, []).append(one)
    assert {name for name, results in by_profiler.items() if first(results) < 0.6 * len(results)} == {"perf", "pprof"}


def test_no_slower_pair_is_denied() -> None:
    assert [one.pair.name for one in visible() if one.answer is Answer.NOT_SLOWER] == []


def test_repeated_recordings_of_one_side_have_no_suspect() -> None:
    repeated = unchanged(pairs(SETS))
    assert len(repeated) == 34
    assert [one for one in repeated.values() if one] == []
