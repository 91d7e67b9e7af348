"""The rule at its very limits, on evidence made by hand: what is not proven, and what would decide it."""

from math import isnan, nan
from typing import Any

import pytest

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.verdict import SUSPICION, Decided, decide
from perf_culprit.model.finding import Evidence, Interval, Precision, Side, Verdict
from perf_culprit.model.reason import VerdictReason
from perf_culprit.model.run import MetricKey
from tests.support.noisy_runs import TIME

CRITICAL_P = 1.6e-3
EFFECT = PolicySettings().minimum_effect
ALPHA = PolicySettings().alpha


def side(count: int = 10, *, runs: int = 3) -> Side:
    return Side(value=1.0, count=count, runs=runs)


def decided(
    *,
    change: float = EFFECT,
    p: float = 0.02,
    q: float = SUSPICION,
    paired: bool = False,
    target: Side | None = None,
    baseline: Side | None = None,
    policy: PolicySettings | None = None,
    **precision: Any,
) -> Decided:
    """Of an interval that excludes nothing; NaN is a number that there is none of."""
    evidence = Evidence.of(
        key=MetricKey("x", "time"),
        metric=TIME,
        test="anova",
        baseline=side() if baseline is None else baseline,
        target=side() if target is None else target,
        relative_change=None if isnan(change) else change,
        p_value=None if isnan(p) else p,
        confidence_interval=Interval(low=-0.3, high=0.3, level=0.99),
        precision=Precision(**precision),
    )
    policy = policy or PolicySettings()
    metric = policy.of(evidence.key)
    return decide(evidence, q_value=q, metric=metric, policy=policy, critical_p=CRITICAL_P, paired=paired)


@pytest.mark.parametrize(
    ("change", "p", "code"),
    [
        (EFFECT, ALPHA * 0.99, VerdictReason.LOOKS_WORSE_ROUNDS),
        (EFFECT, ALPHA, VerdictReason.TOO_FEW_ROUNDS),
        (EFFECT * 0.99, ALPHA * 0.99, VerdictReason.TOO_FEW_ROUNDS),
    ],
)
def test_too_few_rounds_look_worse_where_one_metric_alone_would_be_called(
    change: float, p: float, code: VerdictReason
) -> None:
    outcome = decided(change=change, p=p, q=0.5, paired=True, rounds=2, least_p_value=1.01 * CRITICAL_P)
    assert (outcome.verdict, outcome.reason.code) == (Verdict.INCONCLUSIVE, code)
    # 2 of the 6 ways of each round: 2 / 6^4 is below the critical p-value, 3 / 6^4 is not.
    assert outcome.reason.arguments == {"rounds": 4} | (
        {} if code is VerdictReason.LOOKS_WORSE_ROUNDS else {"count": 2}
    )
    assert outcome.worsening == (change if code is VerdictReason.LOOKS_WORSE_ROUNDS else 0.0)


def test_as_many_rounds_as_can_prove_a_change_are_enough() -> None:
    assert decided(q=0.5, least_p_value=CRITICAL_P).reason.code is VerdictReason.NOTHING_SEEN


@pytest.mark.parametrize(
    ("change", "q", "suspect"),
    [(EFFECT, SUSPICION, True), (EFFECT * 0.99, SUSPICION, False), (EFFECT, SUSPICION * 1.01, False)],
)
def test_what_is_suspected_has_the_minimum_effect_and_a_small_q_value(change: float, q: float, suspect: bool) -> None:
    outcome = decided(change=change, q=q)
    expected = (Verdict.INCONCLUSIVE, VerdictReason.LOOKS_WORSE) if suspect else None
    assert (outcome.verdict, outcome.reason.code) == (expected or (Verdict.NO_CHANGE, VerdictReason.NOTHING_SEEN))


def test_a_change_larger_than_what_would_have_been_seen_is_never_nothing() -> None:
    """A detector's doubt, such as a median that stood still, may keep it from being called."""
    seen = decided(q=0.9).detectable_effect
    assert seen is not None
    larger, smaller = (decided(change=seen * part, q=0.9) for part in (1.01, 0.99))
    assert (larger.verdict, larger.reason.code) == (Verdict.INCONCLUSIVE, VerdictReason.LOOKS_WORSE)
    assert smaller.verdict is Verdict.NO_CHANGE


def test_a_larger_false_discovery_rate_suspects_more() -> None:
    policy = PolicySettings(false_discovery_rate="30%")
    assert decided(q=0.3, policy=policy).verdict is Verdict.INCONCLUSIVE


NOISY = {"standard_error": 0.03, "target_samples_error": 0.03}
# The part that samples of the target cannot lessen is too large.
FIXED = {"standard_error": 0.03, "target_samples_error": 0.001}


@pytest.mark.parametrize(
    ("paired", "runs", "precision", "code", "count"),
    [
        (True, 3, NOISY, VerdictReason.LOOKS_WORSE_SAMPLES, "samples"),
        (True, 1, NOISY, VerdictReason.LOOKS_WORSE_SAMPLES, "samples"),
        (False, 3, NOISY, VerdictReason.LOOKS_WORSE_SAMPLES, "samples"),
        (False, 1, NOISY, VerdictReason.LONE_RUN, ""),
        (True, 3, {**FIXED, "rounds": 6}, VerdictReason.LOOKS_WORSE_ROUNDS, "rounds"),
        (True, 3, {"standard_error": 0.03, "rounds": 6}, VerdictReason.LOOKS_WORSE_ROUNDS, "rounds"),
        (True, 3, {"rounds": 6}, VerdictReason.LOOKS_WORSE, ""),
        (False, 3, {**FIXED, "rounds": 6}, VerdictReason.LOOKS_WORSE_BETWEEN_RUNS, ""),
        (True, 3, FIXED, VerdictReason.LOOKS_WORSE_ROUNDS, ""),
        (False, 3, {"standard_error": 0.03}, VerdictReason.LOOKS_WORSE, ""),
    ],
)
def test_what_looks_worse_is_told_what_would_decide(
    paired: bool, runs: int, precision: dict[str, Any], code: VerdictReason, count: str
) -> None:
    outcome = decided(paired=paired, baseline=side(runs=runs), **precision)
    assert (outcome.verdict, outcome.reason.code) == (Verdict.INCONCLUSIVE, code)
    assert (outcome.more_samples is not None) is (count == "samples")
    assert set(outcome.reason.arguments) == ({count} if count else set())
    if count == "samples":
        # (3.155 + 1.28) errors of the mean are to fit into 5%: 7.1 times the ten samples.
        assert outcome.more_samples == outcome.reason.arguments["samples"] == pytest.approx(10 * 6.09, rel=0.05)
    if count == "rounds":
        assert outcome.reason.arguments["rounds"] == pytest.approx(6 * 7.09, rel=0.05)


@pytest.mark.parametrize(("of_target", "of_baseline", "more"), [(3, 4, 1), (1, 9, 3), (3, 3, None), (4, 3, None)])
def test_samples_of_the_target_are_asked_for_where_only_they_are_missing(
    of_target: int, of_baseline: int, more: int | None
) -> None:
    outcome = decided(target=side(of_target), baseline=side(of_baseline))
    assert outcome.reason.code is VerdictReason.TOO_FEW_SAMPLES
    assert outcome.reason.arguments["count"] == (of_target if of_target < 4 else of_baseline)
    assert outcome.more_samples == more


@pytest.mark.parametrize(
    ("change", "p", "code"),
    [(nan, 0.02, VerdictReason.NO_RELATIVE_CHANGE), (0.1, nan, VerdictReason.NOTHING_TESTED)],
)
def test_without_a_test_or_a_relative_change_nothing_is_decided(change: float, p: float, code: VerdictReason) -> None:
    outcome = decided(change=change, p=p)
    assert (outcome.verdict, outcome.reason.code) == (Verdict.INCONCLUSIVE, code)
