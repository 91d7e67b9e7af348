import numpy as np
import pytest

from perf_culprit.judge.detectable import detectable_effect, detectable_range, metric_limits
from perf_culprit.model.run import MetricKey

NAN, INF = np.nan, np.inf


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        pytest.param([[0.1, NAN], [0.2, NAN]], (0.1, 0.2), id="between runs"),
        pytest.param([[0.1, 0.2], [0.2, 0.1]], (0.2, 0.2), id="a run's metrics are drawn together"),
        pytest.param([[0.1], [INF]], (0.1, None), id="not found in one run"),
        pytest.param([[INF], [INF]], None, id="never found"),
        pytest.param([[NAN], [NAN]], None, id="nothing that a factor changes"),
        pytest.param([[NAN], [0.3]], (0.3, 0.3), id="draws without a number are left out"),
    ],
)
def test_the_range_is_that_of_resampled_runs(
    effects: list[list[float]], expected: tuple[float, float | None] | None
) -> None:
    assert detectable_range(np.array(effects), np.random.default_rng(1)) == expected


def test_nine_in_ten_effects_are_no_larger_than_the_detectable_one() -> None:
    assert detectable_effect(np.arange(1, 12) / 100) == 0.10
    assert detectable_effect(np.array([0.1] * 9 + [INF] * 2)) is None
    assert detectable_effect(np.array([])) is None


def test_a_metrics_limit_is_its_worst_trial_the_hardest_metric_first() -> None:
    keys = [MetricKey(name, "time") for name in "abcd"]
    effects = np.array([[0.1, 0.5, NAN, 0.2], [0.3, NAN, NAN, INF]])
    limits = [(limit.key.benchmark, limit.effect) for limit in metric_limits(keys, effects)]
    assert limits == [("d", None), ("b", 0.5), ("a", 0.3)]
