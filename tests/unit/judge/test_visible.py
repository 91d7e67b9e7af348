"""The change that would have been seen is seen."""

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.judge.verdict import decide
from perf_culprit.judge.visible_change import detectable_effect
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Finding, Interval, Precision, Side, Verdict
from perf_culprit.model.reason import VerdictReason
from perf_culprit.model.run import Direction, Metric, MetricKey
from tests.support.noisy_runs import noisy_run

TIME = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)
RATE = Metric(name="rate", unit="ops/s", direction=Direction.HIGHER_IS_BETTER)


def evidence(low: float, high: float, *, metric: Metric = TIME, **precision: float) -> Evidence:
    return Evidence.of(
        key=MetricKey("x", metric.name),
        metric=metric,
        test="anova",
        baseline=None,
        target=None,
        confidence_interval=Interval(low=low, high=high, level=0.99),
        precision=Precision(**precision),  # type: ignore[arg-type]  # floats, all that a test gives
    )


def test_it_is_the_power_analysis_of_the_interval() -> None:
    quantiles = stats.norm.ppf(0.995), stats.norm.ppf(1 - 1e-3 / 2) + stats.norm.ppf(0.9)
    expected = np.expm1(np.log1p(0.05) / quantiles[0] * quantiles[1])
    interval = evidence(1 / 1.05 - 1, 0.05)
    assert detectable_effect(interval, minimum_effect=0.01, critical_p=1e-3) == pytest.approx(expected)
    assert detectable_effect(interval, minimum_effect=0.3, critical_p=1e-3) == 0.3


def test_fewer_degrees_of_freedom_see_less() -> None:
    few, many = (evidence(-0.05, 0.05, degrees_of_freedom=freedom) for freedom in (4.0, 400.0))
    # The interval says the same; a smaller p-value is further away for few.
    effects = [detectable_effect(entry, minimum_effect=0.0, critical_p=1e-4) or 0.0 for entry in (few, many)]
    assert effects[0] > 1.5 * effects[1]


def test_nothing_can_fall_by_more_than_everything() -> None:
    wide = evidence(-0.9, 9.0, metric=RATE)
    assert 0.9 < (detectable_effect(wide, minimum_effect=0.0, critical_p=1e-4) or 0.0) < 1.0
    assert (detectable_effect(evidence(-1.5, 2.0), minimum_effect=0.0, critical_p=1e-4) or 0.0) > 5


@pytest.mark.parametrize("low", [-1.0, -1.5])
def test_of_a_possible_loss_of_everything_the_interval_itself_counts(low: float) -> None:
    shift = (3.0 - low) / 2 / stats.norm.ppf(0.995) * (stats.norm.ppf(1 - 1e-4 / 2) + stats.norm.ppf(0.9))
    seen = detectable_effect(evidence(low, 3.0), minimum_effect=0.0, critical_p=1e-4)
    assert seen == pytest.approx(np.expm1(shift), rel=1e-3)


def test_a_detector_that_needs_a_wider_change_sees_no_less_than_that_with_the_power() -> None:
    interval = evidence(1 / 1.05 - 1, 0.05, critical_half_width=0.4)
    expected = np.expm1(0.4 + stats.norm.ppf(0.9) * np.log1p(0.05) / stats.norm.ppf(0.995))
    assert detectable_effect(interval, minimum_effect=0.01, critical_p=1e-3) == pytest.approx(expected)


def test_where_nothing_can_be_calculated_nothing_is_seen() -> None:
    hopeless = evidence(-0.5, 0.5, degrees_of_freedom=1.0)
    assert (detectable_effect(hopeless, minimum_effect=0.0, critical_p=1e-5) or 0.0) > 1000
    exact = evidence(0.0, 0.0)
    assert detectable_effect(exact, minimum_effect=0.05, critical_p=0.01) == 0.05
    assert detectable_effect(evidence(0, 0, degrees_of_freedom=1.0), minimum_effect=0.05, critical_p=1e-9) == 0.05


def first_of(effect: float, rng: np.random.Generator, *, stored: int) -> Finding:
    effects = np.array([effect, *[1.0] * 4])
    runs = tuple(noisy_run(rng, benchmarks=5, samples=5, spread=0.03, own_offset=0.02) for _ in range(stored))
    target = noisy_run(rng, benchmarks=5, samples=5, spread=0.03, own_offset=0.02, effects=effects)
    baseline = Baseline(runs=runs, source=BaselineSource.FILES)
    judgement = judge(baseline, target, settings=PolicySettings(minimum_effect="1%"))
    return next(finding for finding in judgement.findings if finding.key.benchmark == "bench_00000")


@pytest.mark.parametrize(("stored", "at_most"), [(1, 4.0), (40, 0.5)])
def test_nine_of_ten_changes_are_found_that_would_have_been_seen(stored: int, at_most: float) -> None:
    """Of one run, all are: a second mode is the doubt there, and its tail is thinner than Student's."""
    rng = np.random.default_rng(8)
    effects = [effect for _ in range(30) if (effect := first_of(1.0, rng, stored=stored).detectable_effect) is not None]
    assert len(effects) >= 25
    assert np.median(effects) < at_most
    total = sum(first_of(1 + effect, rng, stored=stored).verdict is Verdict.REGRESSION for effect in effects)
    assert total / len(effects) >= 0.78


def test_a_metric_in_which_nothing_would_have_been_seen_was_not_tested() -> None:
    side = Side(value=1.0, standard_deviation=0.5, count=4)
    vague = replace(
        evidence(-0.3, 0.4, degrees_of_freedom=1.0), baseline=side, target=side, relative_change=0.02, p_value=0.6
    )
    policy = PolicySettings()
    for critical_p, code in ((1e-3, VerdictReason.BLIND), (0.05, VerdictReason.NOTHING_SEEN)):
        decided = decide(
            vague, q_value=0.6, metric=policy.of(vague.key), policy=policy, critical_p=critical_p, paired=True
        )
        assert decided.reason.code is code
        finding = Finding.judged(evidence=vague, verdict=decided.verdict, reason=decided.reason)
        assert finding.is_untested is (code is VerdictReason.BLIND)


def test_between_runs_the_detector_says_how_far_a_change_must_reach() -> None:
    rng = np.random.default_rng(10)
    runs = [noisy_run(rng, benchmarks=20, samples=10, spread=0.02, own_offset=0.03) for _ in range(6)]
    for source, is_asked in ((BaselineSource.HISTORY, True), (BaselineSource.PAIRED, False)):
        judgement = judge(Baseline(runs=tuple(runs[:5]), source=source), runs[5], settings=PolicySettings())
        for finding in judgement.findings:
            width = finding.precision.critical_half_width
            assert (width is not None) is is_asked
            if width is not None and finding.detectable_effect is not None:
                assert finding.detectable_effect > np.expm1(width)
