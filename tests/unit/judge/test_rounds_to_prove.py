"""Following the hint "about N rounds in all" in new simulations, with few and many other benchmarks."""

import numpy as np
import pytest

from perf_culprit.model.finding import BaselineSource, Finding, Verdict
from perf_culprit.model.reason import VerdictReason
from tests.support.noisy_runs import Floats
from tests.support.sides import compared, files, noise

CHANGE, SPREAD = 0.2, 0.05


def first(baseline: Floats, target: Floats) -> Finding:
    judgement = compared(files(baseline), files(target), source=BaselineSource.PAIRED)
    return min(judgement.findings, key=lambda finding: finding.key.benchmark)


def sides(rng: np.random.Generator, others: int, *, rounds: int, change: float) -> tuple[Floats, Floats]:
    """Both sides of rounds of A B B A, of shape (executions, benchmarks). The first benchmark changes."""
    baseline, target = (noise(rng, 2 * rounds, 1 + others, spread=SPREAD, shared=0.02) for _ in range(2))
    target[:, 0] *= 1 + change
    return baseline, target


@pytest.mark.parametrize("others", [0, 1, 5, 20])
def test_four_rounds_of_one_number_prove_a_fourfold_time_beside_any_other_benchmarks(others: int) -> None:
    rng = np.random.default_rng(4)
    assert first(*sides(rng, others, rounds=4, change=3.0)).verdict is Verdict.REGRESSION


@pytest.mark.slow  # a rate needs trials
@pytest.mark.parametrize("others", [0, 5, 20])
def test_as_many_rounds_as_the_hint_says_prove_the_change(others: int) -> None:
    rng = np.random.default_rng(2)
    proven: list[bool] = []
    while len(proven) < 24:
        before = sides(rng, others, rounds=2, change=CHANGE)
        finding = first(*before)
        if finding.reason.code is not VerdictReason.SUSPECTED_ROUNDS:
            continue
        rounds = finding.precision.rounds_to_prove
        assert rounds is not None
        assert finding.reason.arguments["rounds"] == rounds > 2
        more = sides(rng, others, rounds=rounds - 2, change=CHANGE)
        in_all = (np.vstack([here, there]) for here, there in zip(before, more, strict=True))
        proven.append(first(*in_all).verdict is Verdict.REGRESSION)
    assert np.mean(proven) >= 0.7  # fewer in 1 of 100, if the power is 90%
