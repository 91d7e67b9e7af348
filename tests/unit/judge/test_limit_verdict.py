from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.limit_verdict import (
    chance_notes,
    counter_findings,
    decide_by_limit,
    exceeds_threshold,
    surest,
)
from perf_culprit.judge.policy import judge
from perf_culprit.judge.verdict import Decided
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Excess, Finding, Side, Verdict
from perf_culprit.model.reason import Untested, VerdictReason, because
from perf_culprit.model.run import Direction, Metric, MetricKey, Run
from perf_culprit.model.work_limits import WORK_LIMITS
from tests.support.noisy_counters import counter_run
from tests.support.reasons import words_of

SETTINGS = PolicySettings()


def evidence(
    score: float | None = 0.5,
    threshold: float | None = 0.2,
    *,
    change: float | None = 0.3,
    direction: Direction = Direction.LOWER_IS_BETTER,
    test: str = "control_chart",
    runs: int = 10,
    excess: Excess = Excess(),  # noqa: B008  # frozen
) -> Evidence:
    target = 50 * (1 + change) if change is not None else 50.0
    return Evidence.of(
        key=MetricKey("host", "cpu"),
        metric=Metric(name="cpu", unit="%", direction=direction),
        test=test,
        baseline=Side(value=50.0, standard_deviation=1.0, count=100, runs=runs),
        target=Side(value=target, standard_deviation=1.0, count=100),
        relative_change=change,
        score=score,
        threshold=threshold,
        excess=excess,
    )


UNTOLD = because(VerdictReason.WITHIN_LIMIT)


def decided(entry: Evidence, *, q_value: float | None = None) -> Decided:
    metric = SETTINGS.of(entry.key)
    return decide_by_limit(entry, q_value=q_value, metric=metric, policy=SETTINGS)


def test_on_the_limit_is_in_control() -> None:
    on = decided(evidence(score=0.2))
    assert (on.verdict, words_of(on.reason)) == (Verdict.NOT_SEEN, "20% of samples outside, limit 20%")
    assert decided(evidence(score=0.201)).verdict is Verdict.REGRESSION


def test_a_detector_that_could_say_nothing_is_inconclusive_with_its_reason() -> None:
    silent = structs.replace(evidence(score=None, threshold=None), evidence_reason=because(Untested.TARGET_MISSING))
    assert (decided(silent).verdict, decided(silent).reason) == (Verdict.UNTESTED, silent.evidence_reason)


@pytest.mark.parametrize(("q_value", "runs", "verdict"), [
    (0.09, 10, Verdict.REGRESSION),
    (0.11, 10, Verdict.NOT_SEEN),
    (0.11, 9, Verdict.REGRESSION),
    (0.009, 1000, Verdict.REGRESSION),
    (0.011, 1000, Verdict.NOT_SEEN),
])  # fmt: skip
def test_what_chance_does_as_often_is_no_change(q_value: float, runs: int, verdict: Verdict) -> None:
    assert decided(evidence(runs=runs), q_value=q_value).verdict is verdict


def test_no_more_can_be_asked_for_than_the_runs_can_show() -> None:
    assert surest(evidence(runs=4), SETTINGS) == 0.25
    assert surest(evidence(runs=200), SETTINGS) == SETTINGS.proven


@pytest.mark.parametrize(("above", "below", "verdict"), [
    (True, False, Verdict.REGRESSION),
    (False, True, Verdict.IMPROVEMENT),
    (True, True, Verdict.REGRESSION),
])  # fmt: skip
def test_the_bad_side_counts_first(above: bool, below: bool, verdict: Verdict) -> None:
    entry = evidence(excess=Excess(above=above, below=below))
    assert decided(entry).verdict is verdict


@pytest.mark.parametrize(("change", "verdict"), [(0.1, Verdict.REGRESSION), (-0.1, Verdict.IMPROVEMENT)])
def test_without_sides_the_medians_tell_good_from_bad(change: float, verdict: Verdict) -> None:
    assert decided(evidence(change=change)).verdict is verdict
    assert words_of(decided(evidence(change=change, test="rule_ensemble")).reason) == "rule_ensemble: 0.5, limit 0.2"


def test_the_note_counts_what_was_found_and_what_chance_would_find() -> None:
    findings = [
        Finding.judged(
            evidence=evidence(score=score, runs=9, excess=Excess(chance=0.5)), verdict=Verdict.NOT_SEEN, reason=UNTOLD
        )
        for score in (0.1, 0.3, 0.5, 0.1, 0.1)
    ]
    assert words_of(chance_notes(findings)) == ("2 of 5 metrics are out of control; up to 0.5 would be by chance",)
    assert chance_notes([Finding.judged(evidence=evidence(), verdict=Verdict.NOT_SEEN, reason=UNTOLD)]) == []


def test_the_violation_is_relative_to_the_threshold() -> None:
    assert evidence(score=0.3, threshold=0.2).violation == pytest.approx(1.5)
    assert evidence(score=0.3, threshold=0.0).violation == float("inf")
    assert evidence(score=0.0, threshold=0.0).violation == 0.0
    assert not exceeds_threshold(evidence(score=None))


def test_nothing_to_judge_is_no_finding() -> None:
    assert counter_findings([], [], SETTINGS) == []


QUIET = np.random.default_rng(1).normal(100, 2, (8, 90))


def drawn(target: Run, *runs: Run, detector: str = "control_chart") -> Finding:
    baseline = Baseline(runs=runs, source=BaselineSource.FILES)
    judgement = judge(baseline, target, counter_detector=detector, settings=PolicySettings())
    return judgement.findings[0]


def runs_of(values: Floats, *, load: Floats | None = None) -> list[Run]:
    return [counter_run({"busy": each}, load=load) for each in values]


# Three runs and a target of a counter that hardly varies: most samples are within 0.02% of its level.
STEADY = np.random.default_rng(3).normal(100, 0.01, (4, 90))


@pytest.mark.parametrize("change", [0.999, 1.001])
def test_a_counter_that_moved_by_less_than_the_minimum_effect_is_not_called(change: float) -> None:
    finding = drawn(counter_run({"busy": STEADY[0] * change}), *runs_of(STEADY[1:]))
    assert exceeds_threshold(finding)
    assert (finding.verdict, finding.reason.code) == (Verdict.NOT_SEEN, VerdictReason.OVER_LIMIT_SMALL_EFFECT)
    assert drawn(counter_run({"busy": STEADY[0] * 1.06}), *runs_of(STEADY[1:])).verdict is Verdict.REGRESSION


def test_a_counter_that_spread_around_the_same_median_is_called() -> None:
    wide = STEADY[0] + np.tile([-20.0, 0.0, 20.0], 30)
    finding = drawn(counter_run({"busy": wide}), *runs_of(STEADY[1:]))
    assert abs(finding.relative_change or 0.0) < 0.01
    assert finding.verdict is Verdict.REGRESSION


@pytest.mark.parametrize("detector", ["control_chart", "rule_ensemble"])
def test_spans_beyond_the_limits_are_in_violation(detector: str) -> None:
    values = QUIET[0].copy()
    values[10:80] += 60
    finding = drawn(counter_run({"busy": values}), *runs_of(QUIET[1:]), detector=detector)
    series = finding.chart.time_series
    assert series is not None
    assert np.allclose(series.values, values)
    assert series.interval_s == 15.0
    assert series.lower < 100 < series.upper < 120
    longest = max(series.violations, key=lambda span: span[1] - span[0])
    # The ensemble's instants are medians of a little more than a row.
    assert longest == pytest.approx((150.0, 1200.0), abs=35)
    assert max(finding.chart.target_samples) > 150 > max(finding.chart.baseline_samples)


def test_a_long_test_is_drawn_in_intervals_and_a_gap_stays_one() -> None:
    long = np.tile(QUIET, (1, 20))
    values = long[0] * 1.5
    values[600:1200] = np.nan
    series = drawn(counter_run({"busy": values}), *runs_of(long[1:])).chart.time_series
    assert series is not None
    assert len(series.values) == 160
    assert np.isnan(series.values).sum() == pytest.approx(160 / 3, abs=2)
    # Two stretches, and none where nothing was measured.
    assert len(series.violations) == 2
    assert series.violations[-1][1] == pytest.approx(15.0 * 1800)


def test_too_low_beside_idle_time_is_in_violation_and_the_idle_time_is_not() -> None:
    idle = np.random.default_rng(2).normal(5, 1, 30)
    runs = [counter_run({"busy": np.concatenate([idle, each])}) for each in QUIET[1:]]
    finding = drawn(counter_run({"busy": np.concatenate([idle, QUIET[0] - 40])}), *runs)
    series = finding.chart.time_series
    assert series is not None
    assert finding.details["share_below"] == 1.0
    assert series.violations == pytest.approx(np.array([(450.0, 1800.0)]), abs=31)


def test_an_instant_that_comes_late_leaves_no_gap() -> None:
    target = counter_run({"busy": QUIET[0] * 2})
    (table,) = target.counters
    late = np.where(np.arange(90) % 7 == 3, 14.0, 0.0)
    jittered = structs.replace(target, counters=(replace(table, times_s=table.times_s + late),))
    series = drawn(jittered, *runs_of(QUIET[1:])).chart.time_series
    assert series is not None
    assert np.isfinite(series.values).all()
    assert len(series.violations) == 1


def test_what_follows_the_load_is_drawn_at_the_load_of_the_baseline() -> None:
    load = np.linspace(80, 120, 90)
    runs = runs_of(QUIET[1:] * load / 100, load=load)
    target = counter_run({"busy": QUIET[0] * load / 100 * 1.5 * 1.1}, load=load * 1.1)
    series = drawn(target, *runs).chart.time_series
    assert series is not None
    assert series.is_scaled
    assert np.median(series.values) == pytest.approx(150, rel=0.03)
    assert series.upper < 115


def test_only_the_loudest_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(WORK_LIMITS), "charts", 3)
    names = [f"c{i}" for i in range(5)]
    runs = [counter_run(dict.fromkeys(names, each)) for each in QUIET[1:]]
    target = counter_run(dict.fromkeys(names, QUIET[0] * 2))
    findings = judge(
        Baseline(runs=tuple(runs), source=BaselineSource.FILES), target, settings=PolicySettings()
    ).findings
    assert sum(finding.chart.time_series is not None for finding in findings) == 3


def test_a_single_instant_has_no_course() -> None:
    first = counter_run({"busy": [500.0]})
    finding = drawn(first, *runs_of(QUIET[1:, :1]))
    assert finding.chart.target_samples == (500.0,)
    assert finding.chart.time_series is None
