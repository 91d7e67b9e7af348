import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.search.cost import STOP_BITS, _missing_bits
from perf_culprit.search.search_view import SearchView
from tests.unit.search.test_search_view import ENDS, searched


@pytest.mark.parametrize(
    ("prior", "noise", "stop"),
    [
        # The ends do not locate the step, so the leader keeps its prior. A quiet machine stops at 99%, others at 80%.
        (0.25, 1, 0.99),
        (0.5, 1, 0.99),
        (0.25, 60, 0.8),
        (0.75, 60, 0.8),
        (0.9, 60, 0.8),  # its lead already exceeds the stopping point
        (0.9, 1, 0.99),
    ],
)
def test_half_of_the_bits_from_the_leading_odds_to_those_that_stop_are_missing(
    prior: float, noise: float, stop: float
) -> None:
    measured = searched(ENDS, noise=noise, levels={"g": 1.0, "c4": 2.0 if noise == 1 else 1.1})
    priors = {"c2": prior, **dict.fromkeys(("c1", "c3", "c4"), (1 - prior) / 3)}
    begun = SearchView(replace(measured.state, prior=priors), measured.reach)
    assert begun.model.is_quiet is (stop == 0.99)
    expected = (np.log2(stop / (1 - stop)) - np.log2(prior / (1 - prior))) / 2
    assert _missing_bits(begun) == pytest.approx(np.clip(expected, 0.0, STOP_BITS))
