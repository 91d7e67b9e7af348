"""The geometric mean of a group's changes: its benchmarks, and its interval's coverage if they are dependent."""

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.config.policy_settings import GroupConfig
from perf_culprit.judge.group_means import group_means
from perf_culprit.model.finding import Finding, Interval
from tests.support.reports import TIME_MS, finding

ALL = GroupConfig(name="all")
OTHER = replace(TIME_MS, name="memory")


def changed(name: str, change: float, half_width: float = 0.01) -> Finding:
    interval = Interval(low=change - half_width, high=change + half_width, level=0.99)
    return replace(finding(name, 100.0, 100.0 * (1 + change)), relative_change=change, confidence_interval=interval)


def test_it_is_the_geometric_mean_of_those_that_match() -> None:
    findings = [changed("parse_a", 1.0), changed("parse_b", -0.5), changed("render", 0.2)]
    (mean,) = group_means(findings, [GroupConfig(name="parser", match="parse_*")])
    assert (mean.name, mean.metric, mean.count, mean.total) == ("parser", "time", 2, 2)
    assert mean.change == pytest.approx(0.0)
    (mean,) = group_means(findings, [ALL])
    assert mean.change == pytest.approx(1.2 ** (1 / 3) - 1)


def test_metrics_of_different_names_have_no_mean() -> None:
    findings = [changed("a", 0.1), replace(changed("a", 0.5), metric_name="memory"), changed("b", 0.1)]
    assert [(mean.metric, mean.count) for mean in group_means(findings, [ALL])] == [("time", 2), ("memory", 1)]
    (only,) = group_means(findings, [GroupConfig(name="memory", metric="mem*")])
    assert only.change == pytest.approx(0.5)


def test_what_has_no_change_is_counted_and_what_has_no_interval_leaves_none() -> None:
    gone = replace(changed("b", 0.0), relative_change=None, confidence_interval=None)
    (mean,) = group_means([changed("a", 0.1), gone], [ALL])
    assert (mean.count, mean.total, mean.confidence_interval is None) == (1, 2, False)
    unsure = replace(changed("b", 0.1), confidence_interval=None)
    (mean,) = group_means([changed("a", 0.1), unsure], [ALL])
    assert (mean.count, mean.confidence_interval) == (2, None)
    assert group_means([gone], [ALL]) == ()


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_the_interval_covers_however_the_benchmarks_depend(shared: float) -> None:
    """Errors of logarithms are normal, with the share `shared` from the machine. 95% bounds cover at least 95%."""
    rng = np.random.default_rng(5)
    sigma, benchmarks, covered, trials = 0.02, 8, 0, 600
    for _ in range(trials):
        errors = np.sqrt(shared) * rng.normal() + np.sqrt(1 - shared) * rng.normal(size=benchmarks)
        seen = 0.05 + sigma * errors
        findings = [
            replace(
                changed(f"b{index}", float(np.expm1(value))),
                confidence_interval=Interval(
                    low=float(np.expm1(value - 1.96 * sigma)), high=float(np.expm1(value + 1.96 * sigma)), level=0.95
                ),
            )
            for index, value in enumerate(seen)
        ]
        (mean,) = group_means(findings, [ALL])
        assert mean.confidence_interval is not None
        covered += mean.confidence_interval.low <= np.expm1(0.05) <= mean.confidence_interval.high
    assert covered / trials >= 0.93
