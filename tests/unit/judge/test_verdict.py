"""The rule exactly at its limits, on handmade evidence."""

from math import inf
from typing import Any

import pytest

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.evidence_columns import EXACT
from perf_culprit.judge.verdict import Decided, decide
from perf_culprit.model.finding import Evidence, Interval, Precision, Side, Verdict
from perf_culprit.model.reason import Untested, VerdictReason, because
from perf_culprit.model.run import MetricKey
from tests.support.noisy_runs import TIME

POLICY = PolicySettings()
WIDE, NARROW = Interval(low=-0.3, high=0.3, level=0.95), Interval(low=-0.04, high=0.04, level=0.95)
ABOVE = 1 + 1e-9


def decided(*, change: float | None = 0.1, rate: float | None = 1.0, baseline: float = 1.0, **others: Any) -> Decided:
    target = baseline * (1 + change) if change is not None else 2.0
    count = others.pop("count", 10)
    evidence = Evidence.of(
        key=MetricKey("x", "time"),
        metric=TIME,
        test=others.pop("test", "anova"),
        baseline=Side(value=baseline, count=count),
        target=Side(value=target, count=count),
        relative_change=change,
        rate=rate,
        **others,
    )
    return decide(evidence, metric=POLICY.of(evidence.key), policy=POLICY)


@pytest.mark.parametrize(
    ("change", "rate", "verdict"),
    [
        (0.1, POLICY.proven, Verdict.REGRESSION),
        (-0.1, POLICY.proven, Verdict.IMPROVEMENT),
        (0.1, POLICY.proven * ABOVE, Verdict.SUSPECTED),
        (-0.1, POLICY.suspected, Verdict.SUSPECTED),
        (0.1, POLICY.suspected * ABOVE, Verdict.NOT_SEEN),
    ],
)
def test_the_rate_tells_the_tier(change: float, rate: float, verdict: Verdict) -> None:
    outcome = decided(change=change, rate=rate, precision=Precision(visible_change=0.2), confidence_interval=WIDE)
    assert (outcome.verdict, outcome.worsening) == (verdict, change)


@pytest.mark.parametrize(("rate", "verdict"), [(1.0, Verdict.DIFFERS), (POLICY.suspected, Verdict.SUSPECTED)])
def test_what_differs_is_no_missing_change_and_no_suspicion(rate: float, verdict: Verdict) -> None:
    outcome = decided(rate=rate, differs=True, confidence_interval=WIDE, precision=Precision(visible_change=0.2))
    assert (outcome.verdict, outcome.detectable_effect) == (verdict, None)


def test_a_known_explanation_keeps_a_difference_from_being_told() -> None:
    explained = because(VerdictReason.SMALLER_THAN_ALLOCATION, bytes=8.0)
    assert decided(differs=True, evidence_reason=explained, confidence_interval=WIDE).verdict is Verdict.NOT_SEEN


@pytest.mark.parametrize(("count", "of_ten"), [(10, (1, 4)), (1, (3, 8))])
def test_how_often_unchanged_benchmarks_differ_depends_on_the_samples(count: int, of_ten: tuple[int, int]) -> None:
    outcome = decided(differs=True, confidence_interval=WIDE, count=count)
    assert (outcome.reason.arguments["quiet"], outcome.reason.arguments["shared"]) == of_ten


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        (NARROW, Verdict.UNCHANGED),
        (WIDE, Verdict.NOT_SEEN),
        (Interval(low=-0.04, high=0.05, level=0.95), Verdict.NOT_SEEN),
        (Interval(low=1 / 1.05 - 1, high=0.04, level=0.95), Verdict.NOT_SEEN),
    ],
)
def test_unchanged_is_what_excludes_the_minimum_effect_both_ways(interval: Interval, verdict: Verdict) -> None:
    outcome = decided(change=0.0, confidence_interval=interval, precision=Precision(visible_change=0.2))
    assert (outcome.verdict, outcome.detectable_effect) == (verdict, 0.2)


def test_what_no_change_would_show_in_was_not_tested() -> None:
    assert decided(confidence_interval=WIDE).reason.code is VerdictReason.BLIND
    untested = decided(rate=None, evidence_reason=because(Untested.TOO_FEW_EXECUTIONS))
    assert (untested.verdict, untested.reason.code) == (Verdict.UNTESTED, Untested.TOO_FEW_EXECUTIONS)
    assert decided(rate=None).reason == because(VerdictReason.NOTHING_TESTED)


def test_an_objection_of_the_detector_holds_a_proof_back() -> None:
    objection = because(VerdictReason.INTERVALS_MEET)
    outcome = decided(
        rate=0.0, evidence_reason=objection, confidence_interval=WIDE, precision=Precision(visible_change=0.2)
    )
    assert (outcome.verdict, outcome.reason, outcome.detectable_effect) == (Verdict.NOT_SEEN, objection, None)


def test_an_exact_count_is_equal_only_where_it_is() -> None:
    equal = Interval(low=0.0, high=0.0, level=0.95)
    less = Interval(low=0.02, high=0.02, level=0.95)
    assert decided(change=0.0, test=EXACT, confidence_interval=equal).reason.code is VerdictReason.EXACTLY_EQUAL
    assert decided(change=0.02, test=EXACT, confidence_interval=less).reason.code is VerdictReason.EXCLUDED
    assert decided(change=0.1, rate=0.0, test=EXACT).reason == because(VerdictReason.EXACT_DIFFERENCE)


def test_from_zero_to_something_is_a_change_of_any_size() -> None:
    outcome = decided(change=None, baseline=0.0, rate=0.0, test=EXACT)
    assert (outcome.verdict, outcome.worsening) == (Verdict.REGRESSION, inf)


@pytest.mark.parametrize("rounds", [7, None])
def test_a_suspicion_of_paired_rounds_says_how_many_would_decide(rounds: int | None) -> None:
    outcome = decided(change=0.15, rate=0.05, precision=Precision(rounds=4, rounds_to_prove=rounds))
    assert outcome.reason == because(VerdictReason.SUSPECTED_ROUNDS, rate=0.05, rounds=rounds)


@pytest.mark.parametrize(("done", "rounds"), [(None, 4), (3, None)])
def test_what_is_too_noisy_names_the_rounds_from_which_on_a_change_can_be_proven(
    done: int | None, rounds: int | None
) -> None:
    outcome = decided(confidence_interval=WIDE, precision=Precision(rounds=done))
    assert outcome.reason == because(VerdictReason.BLIND, rounds=rounds)
