"""What is drawn of a counter out of control: on the scale that it was judged on, and no longer than a picture."""

from dataclasses import replace

import numpy as np
import pytest

from bot.detect.policy import PolicySettings, judge
from bot.model.baseline import Baseline, BaselineSource
from bot.model.finding import Finding
from bot.model.run import Run
from bot.stats.ragged import Floats
from tests.support.noisy_counters import counter_run

QUIET = np.random.default_rng(1).normal(100, 2, (8, 90))


def drawn(target: Run, *runs: Run, detector: str = "control_chart") -> Finding:
    baseline = Baseline(runs=runs, source=BaselineSource.FILES)
    judgement = judge(baseline, target, counter_detector=detector, settings=PolicySettings())
    return judgement.findings[0]


def runs_of(values: Floats, *, load: Floats | None = None) -> list[Run]:
    return [counter_run({"busy": each}, load=load) for each in values]


@pytest.mark.parametrize("detector", ["control_chart", "rule_ensemble"])
def test_spans_beyond_the_limits_are_in_violation(detector: str) -> None:
    values = QUIET[0].copy()
    values[10:80] += 60
    finding = drawn(counter_run({"busy": values}), *runs_of(QUIET[1:]), detector=detector)
    series = finding.time_series
    assert series is not None
    assert np.allclose(series.values, values)
    assert series.interval_s == 15.0
    assert series.lower < 100 < series.upper < 120
    longest = max(series.violations, key=lambda span: span[1] - span[0])
    # The ensemble's instants are medians of a little more than a row.
    assert longest == pytest.approx((150.0, 1200.0), abs=35)
    assert max(finding.target_samples) > 150 > max(finding.baseline_samples)


def test_a_long_test_is_drawn_in_intervals_and_a_gap_stays_one() -> None:
    long = np.tile(QUIET, (1, 20))
    values = long[0] * 1.5
    values[600:1200] = np.nan
    series = drawn(counter_run({"busy": values}), *runs_of(long[1:])).time_series
    assert series is not None
    assert len(series.values) == 160
    assert np.isnan(series.values).sum() == pytest.approx(160 / 3, abs=2)
    # Two stretches, and nothing said of what nobody measured.
    assert len(series.violations) == 2
    assert series.violations[-1][1] == pytest.approx(15.0 * 1800)


def test_too_low_beside_idle_time_is_in_violation_and_the_idle_time_is_not() -> None:
    idle = np.random.default_rng(2).normal(5, 1, 30)
    runs = [counter_run({"busy": np.concatenate([idle, each])}) for each in QUIET[1:]]
    finding = drawn(counter_run({"busy": np.concatenate([idle, QUIET[0] - 40])}), *runs)
    series = finding.time_series
    assert series is not None
    assert finding.evidence.details["share_below"] == 1.0
    assert series.violations == pytest.approx(np.array([(450.0, 1800.0)]), abs=31)


def test_an_instant_that_comes_late_leaves_no_gap() -> None:
    target = counter_run({"busy": QUIET[0] * 2})
    (table,) = target.counters
    late = np.where(np.arange(90) % 7 == 3, 14.0, 0.0)
    jittered = replace(target, counters=(replace(table, times_s=table.times_s + late),))
    series = drawn(jittered, *runs_of(QUIET[1:])).time_series
    assert series is not None
    assert np.isfinite(series.values).all()
    assert len(series.violations) == 1


def test_what_follows_the_load_is_drawn_at_the_load_of_the_baseline() -> None:
    load = np.linspace(80, 120, 90)
    runs = runs_of(QUIET[1:] * load / 100, load=load)
    target = counter_run({"busy": QUIET[0] * load / 100 * 1.5 * 1.1}, load=load * 1.1)
    series = drawn(target, *runs).time_series
    assert series is not None
    assert series.is_scaled
    assert np.median(series.values) == pytest.approx(150, rel=0.03)
    assert series.upper < 115


def test_only_the_loudest_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bot.detect.limits.MOST_CHARTS", 3)
    names = [f"c{i}" for i in range(5)]
    runs = [counter_run(dict.fromkeys(names, each)) for each in QUIET[1:]]
    target = counter_run(dict.fromkeys(names, QUIET[0] * 2))
    findings = judge(
        Baseline(runs=tuple(runs), source=BaselineSource.FILES), target, settings=PolicySettings()
    ).findings
    assert sum(finding.time_series is not None for finding in findings) == 3


def test_a_single_instant_has_no_course() -> None:
    first = counter_run({"busy": [500.0]})
    finding = drawn(first, *runs_of(QUIET[1:, :1]))
    assert finding.target_samples == (500.0,)
    assert finding.time_series is None
