"""When a step in addition to the named one is spurious or too small to matter."""

import pytest
from msgspec.structs import replace

from perf_culprit.model.bisection import Phase, Purpose
from perf_culprit.search.descendants import Descendants
from perf_culprit.search.further_steps import is_explained, is_small
from perf_culprit.search.phases import advance
from perf_culprit.search.search_view import SearchView
from tests.unit.search.test_search_view import ENDS, LEVELS, searched

WHOLE = (Purpose.REPRODUCE, ("g", "c1", "c2", "c3", "c4"))


@pytest.mark.parametrize(("last", "explained"), [(1.2, True), (1.5, False)])
def test_the_named_step_explains_all_once_fresh_rounds_speak_against_another(last: float, explained: bool) -> None:
    measured = searched(WHOLE, ENDS, levels={**LEVELS, "c4": last}, named="c2")
    assert is_explained(measured) is explained
    nothing_fresh = replace(measured.state, since=len(measured.state.results))
    assert not is_explained(SearchView(nothing_fresh, measured.reach))


@pytest.mark.parametrize(
    ("last", "noise", "small"),
    [(1.224, 1, True), (1.26, 1, False), (1.224, 30, False), (1.18, 1, True), (1.1, 1, False)],
)
def test_a_further_step_is_small_where_all_of_its_interval_is_below_a_fifth_of_the_largest(
    last: float, noise: float, small: bool
) -> None:
    pairs = ((Purpose.CONFIRM, ("c1", "c2")), *3 * ((Purpose.CONFIRM, ("c3", "c4")),))
    levels = {**LEVELS, "c4": last}
    assert is_small(searched(ENDS, *pairs, levels=levels, named="c2", noise=noise), 3) is small


@pytest.mark.parametrize(("last", "withdrawn"), [(1.2, ("c4",)), (1.5, ())])
def test_a_further_suspect_that_all_samples_speak_against_is_withdrawn(last: float, withdrawn: tuple[str, ...]) -> None:
    """A slow spell made c4 a suspect. Its pair then measures equal, which alone is not evidence against it."""
    whole = searched(WHOLE, ENDS, levels={**LEVELS, "c4": last}, named="c2", noise=20).state
    confirming = replace(whole, phase=Phase.CONFIRM, suspect="c4", since=len(whole.results) - 3)
    assert advance(SearchView(confirming, Descendants(whole.commit_range))).withdrawn == withdrawn
