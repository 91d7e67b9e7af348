import numpy as np
import pytest

from perf_culprit.dispatch.alarms import gated_steps
from perf_culprit.stats.steps import FIRST_JUDGED, NEWEST, online_alarms, steps
from tests.unit.stats.test_change_point import noise, with_step


def test_a_step_raises_one_alarm_soon() -> None:
    (alarm,) = online_alarms(with_step(6.0))
    assert 150 <= alarm.index <= 150 + NEWEST
    assert abs(alarm.change.index - 150) <= NEWEST
    assert alarm.change.relative_change == pytest.approx(0.06, abs=0.03)


def test_an_alarm_does_not_depend_on_the_future() -> None:
    series = with_step(6.0)
    series[200:] -= 9.0
    whole = online_alarms(series)
    assert len(whole) == 2
    for end in (149, 155, 160, 199, 206, 215):
        assert online_alarms(series[:end]) == tuple(alarm for alarm in whole if alarm.index < end)


def test_no_alarm_for_blips() -> None:
    series = with_step(0.0)
    for start in (60, 150, 240):
        series[start : start + 3] *= 3
    assert online_alarms(series) == ()


def test_no_alarm_before_enough_history() -> None:
    assert online_alarms(with_step(20.0, at=10)[:FIRST_JUDGED]) == ()


@pytest.mark.parametrize("kind", ["white", "heavy tails"])
def test_pure_noise_raises_less_than_one_alarm_in_1000_runs(kind: str) -> None:
    rng = np.random.default_rng(12)
    runs = 20 * 300
    assert sum(len(online_alarms(100 + 2 * noise(kind, rng))) for _ in range(20)) <= runs / 1000


def test_a_positive_factor_changes_nothing() -> None:
    series = with_step(6.0)
    assert [a.index for a in online_alarms(7 * series)] == [a.index for a in online_alarms(series)]


def test_missing_values_keep_their_places() -> None:
    series = with_step(6.0)
    series[[20, 80, 81]] = np.nan
    (alarm,) = online_alarms(series)
    assert 150 <= alarm.index <= 150 + NEWEST


@pytest.mark.parametrize("size", [4.0, -8.0, 30.0])
def test_everyone_names_the_same_run(size: float) -> None:
    """The whole series (`changes`, dashboard), the gate (alerts, the detector) and tracking issues."""
    series = with_step(size)
    (whole,), (alarm,) = steps(series, minimum_effect=0.01), online_alarms(series, minimum_effect=0.01)
    sign = 1 if size > 0 else -1
    gated = gated_steps(series[: alarm.index + 1].tolist(), worse_sign=sign, window=30, minimum_effect=0.01)
    assert whole.index == alarm.change.index
    assert alarm.change.index in {since for since, _ in gated}
