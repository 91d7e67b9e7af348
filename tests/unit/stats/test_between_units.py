import numpy as np
import pytest
from scipy import stats

from perf_culprit.stats.between_units import between_units
from perf_culprit.stats.ragged import Ragged


def ragged(*rows: list[float]) -> Ragged:
    return Ragged(np.array([value for row in rows for value in row]), np.array([len(row) for row in rows]))


def test_one_metric_is_the_prediction_interval_of_a_new_run() -> None:
    runs = [10.0, 10.4, 9.7, 10.1, 9.9]
    test = between_units(ragged([11.0]), ragged(runs), families=np.zeros(1, dtype=np.intp))
    logs = np.log(runs)
    statistic = (np.log(11.0) - logs.mean()) / (logs.std(ddof=1) * np.sqrt(1 + 1 / 5))
    assert test.result.statistic[0] == pytest.approx(statistic)
    assert test.result.p_value[0] == pytest.approx(2 * stats.t.sf(statistic, 4))


def test_several_units_on_both_sides_are_a_t_test_of_their_means() -> None:
    target, baseline = [10.0, 10.4, 9.7], [9.1, 9.3, 9.0, 9.6]
    test = between_units(ragged(target), ragged(baseline), families=np.zeros(1, dtype=np.intp))
    assert test.result.p_value[0] == pytest.approx(stats.ttest_ind(np.log(target), np.log(baseline)).pvalue)


def test_values_that_are_not_all_positive_are_compared_as_they_are() -> None:
    target, baseline = [1.0, 1.4, 0.7], [0.1, -0.3, 0.2, 0.6]
    test = between_units(ragged(target), ragged(baseline), families=np.zeros(1, dtype=np.intp))
    assert test.result.p_value[0] == pytest.approx(stats.ttest_ind(target, baseline).pvalue)


def test_metrics_of_one_family_share_their_spread_and_others_do_not() -> None:
    rng = np.random.default_rng(8)
    rows = [rng.normal(100, 3, 4).tolist() for _ in range(100)]
    target = ragged(*[[100.0]] * 100)
    together = between_units(target, ragged(*rows), families=np.zeros(100, dtype=np.intp))
    alone = between_units(target, ragged(*rows), families=np.arange(100))
    assert together.result.degrees_of_freedom.min() > 20
    assert alone.result.degrees_of_freedom.tolist() == [3] * 100


def test_fewer_target_samples_than_a_run_has_widen_the_target_error() -> None:
    runs = ragged([10.0, 10.4, 9.7, 10.1])
    families = np.zeros(1, dtype=np.intp)
    plain = between_units(ragged([11.0]), runs, families=families)
    fewer = between_units(ragged([11.0]), runs, families=families, target_allowance=np.array([0.5]))
    assert fewer.target_error == pytest.approx(plain.target_error + 0.5)


def test_false_alarms_keep_to_alpha_with_shared_and_own_offsets() -> None:
    # 400 suites of 40 benchmarks against 4 runs, half of the offset shared by all: 16,000 dependent tests at 1%.
    rng, alarms = np.random.default_rng(9), 0
    for _ in range(400):
        offsets = 100 * (1 + rng.normal(0, 0.02, (40, 5)) + rng.normal(0, 0.02, 5))
        target, runs = offsets[:, :1], offsets[:, 1:]
        test = between_units(ragged(*target.tolist()), ragged(*runs.tolist()), families=np.zeros(40, dtype=np.intp))
        alarms += int((test.result.p_value < 0.01).sum())
    assert alarms / 16_000 < 0.015
