"""Audits of recorded counters."""

import dataclasses

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge import audit_counters
from perf_culprit.judge.audit_counters import sweep_labels, sweep_thresholds
from perf_culprit.judge.detector_audit import audit
from perf_culprit.model.accuracy import Audit, CounterAudit
from perf_culprit.model.reason import AuditReason
from perf_culprit.model.run import Run
from perf_culprit.store.baseline import baseline_then
from tests.support.counter_runs import counter_run, counter_table, noisy_counters
from tests.support.noisy_runs import noisy_run

SEED = 62


def history(count: int, *, shifted: tuple[int, ...] = (), counters: int = 6) -> list[Run]:
    """Runs of counters. In those of `shifted`, one counter is 15% higher, which is five noise deviations."""
    rng = np.random.default_rng(SEED)
    tables = [noisy_counters(rng, counters=counters) for _ in range(count)]
    for index in shifted:
        tables[index][:, 1] *= 1.15
    return [counter_run(counter_table(table)) for table in tables]


def audited(runs: list[Run]) -> Audit:
    """The audit with one detector for benchmarks, if there are any. test_detector_audit.py audits those."""
    rng = np.random.default_rng(SEED)
    return audit(runs, settings=PolicySettings(), rng=rng, choose=baseline_then, detectors=["anova"])


@pytest.fixture
def _chart_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the rules, which learn again for each run and each injected change, from tests of the chart alone."""
    monkeypatch.setattr(audit_counters, "COUNTER_DETECTORS", ("control_chart",))


def by_name(result: Audit, name: str) -> CounterAudit:
    return next(entry for entry in result.counters if entry.detector == name)


def test_counters_without_a_change_are_quiet_and_changes_are_found() -> None:
    rates = audited(history(10))
    assert rates.detectors == ()
    assert [entry.detector for entry in rates.counters] == ["control_chart", "rule_ensemble"]
    chart = by_name(rates, "control_chart")
    assert (chart.alarms.trials, chart.metric_alarms.trials) == (9, 54)
    assert chart.stated_rate == pytest.approx(np.mean([1 / runs for runs in range(1, 10)]))
    assert by_name(rates, "rule_ensemble").stated_of_counters
    for entry in rates.counters:
        assert entry.is_quiet
        assert dict(entry.power)[0.5] == 1
    assert rates.recommendation.counter_detector == "control_chart"
    reason = rates.recommendation.reasons[0]
    assert (reason.code, reason.arguments["detector"]) == (AuditReason.COUNTER_RUNS_AGREE, "control_chart")


@pytest.mark.usefixtures("_chart_alone")
def test_a_counter_that_jumps_is_wrong_and_one_that_stays_is_right() -> None:
    jumped = by_name(audited(history(12, shifted=(7, 10))), "control_chart")
    # The first false alarm stays in the baseline, so the second jump is not new.
    assert (jumped.alarms.count, jumped.lasting) == (1, 0)
    stayed = by_name(audited(history(10, shifted=(7, 8, 9))), "control_chart")
    assert stayed.alarms.count == 0
    assert stayed.lasting >= 1


@pytest.mark.slow  # a whole history, run by run
def test_benchmarks_and_counters_of_one_history_are_audited_apart() -> None:
    rng = np.random.default_rng(SEED)
    runs = [replace(run, benchmarks=noisy_run(rng, benchmarks=4, samples=12).benchmarks) for run in history(5)]
    rates = audited(runs)
    assert {entry.metric_alarms.trials for entry in rates.detectors if entry.detector == "anova"} == {12}
    assert by_name(rates, "control_chart").metric_alarms.trials == 24


@pytest.mark.usefixtures("_chart_alone")
def test_of_thousands_of_counters_some_are_drawn_the_same_in_every_run() -> None:
    chart = by_name(audited(history(5, counters=130)), "control_chart")
    assert chart.metric_alarms.trials == 400


def test_a_higher_threshold_is_more_precise_and_finds_less(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perf_culprit.judge.audit_counters.INJECTED_EFFECTS", (0.05,))
    swept = sweep_thresholds(
        history(8, counters=20), settings=PolicySettings(), choose=baseline_then, rng=np.random.default_rng(SEED)
    )
    recalls = [one.recall for one in swept if one.threshold is not None]
    assert recalls == sorted(recalls, reverse=True)
    assert (recalls[0], recalls[-1] < 1) == (1.0, True)
    by_threshold = {one.threshold: one for one in swept}
    low, high = by_threshold[0.05].precision, by_threshold[0.3].precision
    assert low is not None
    assert high is not None
    assert low < 0.3 < high
    own = by_threshold[None]
    assert own.precision is not None
    assert own.precision > low


def test_labelled_runs_give_precision_recall_and_f_of_charts_and_rules_by_threshold() -> None:
    """Own computation: a run is called if any counter's ratio against the good runs exceeds the threshold."""
    rng = np.random.default_rng(SEED)
    runs = [counter_run(counter_table(noisy_counters(rng, counters=4))) for _ in range(9)]
    bad = [False] * 6 + [True] * 3
    runs[6:] = [with_factor(run, 1.3) for run in runs[6:]]
    points = sweep_labels(runs, bad, settings=PolicySettings(), rng=np.random.default_rng(SEED))
    charts = {one.threshold: one for one in points if one.detector == "control_chart"}
    rules = {one.threshold: one for one in points if one.detector == "rule_ensemble"}
    assert (len(charts), len(rules)) == (13, 9)
    worst = [_largest_ratio(run, [one for one in runs[:6] if one is not run]) for run in runs]
    for threshold, point in charts.items():
        if threshold is None:
            continue
        called = [ratio > threshold for ratio in worst]
        right = sum(a and b for a, b in zip(called, bad, strict=True))
        assert point.recall == right / 3
        assert point.precision == (pytest.approx(right / sum(called)) if any(called) else None)
        assert point.f == (pytest.approx(2 * right / (sum(called) + 3)) if any(called) else None)
    assert (charts[0.02].precision, charts[0.5].precision, charts[0.5].f) == (3 / 9, 1.0, 1.0)
    assert (rules[0.25].recall, rules[0.25].precision) == (1.0, 1.0)


def with_factor(run: Run, factor: float) -> Run:
    (table,) = run.counters
    values = table.values.copy()
    values[:, 0] *= factor
    return replace(run, counters=(dataclasses.replace(table, values=values),))


def _largest_ratio(run: Run, good: list[Run]) -> float:
    own, others = run.counters[0].values, np.vstack([one.counters[0].values for one in good])
    low, high = np.percentile(others, (5, 95), axis=0)
    return float(((own < low) | (own > high)).mean(axis=0).max())


def test_runs_without_counters_have_no_thresholds_to_sweep() -> None:
    with pytest.raises(DataError, match="fewer than two runs have counters"):
        sweep_thresholds([], settings=PolicySettings(), choose=baseline_then, rng=np.random.default_rng(SEED))


@pytest.mark.slow  # a whole history, run by run
def test_too_few_runs_say_nothing_of_counters() -> None:
    rng = np.random.default_rng(SEED)
    runs = [replace(run, benchmarks=noisy_run(rng, benchmarks=3, samples=20).benchmarks) for run in history(3)]
    assert audited(runs).counters == ()
