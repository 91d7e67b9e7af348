"""An audit made by hand, for the renderers, and small ones for tests of what surrounds an audit."""

import pytest

from perf_culprit.model.accuracy import (
    Audit,
    CounterAudit,
    DetectorAudit,
    MetricLimit,
    NoiseSources,
    Power,
    Rate,
    Recommendation,
    TrialKind,
)
from perf_culprit.model.reason import AuditReason, because, remark
from perf_culprit.model.run import MetricKey

POWER = tuple(
    Power(effect=effect, proven=proven, suspected=suspected)
    for effect, proven, suspected in ((0.02, 0.0, 0.1), (0.05, 0.31, 0.62), (0.1, 0.8, 0.97), (0.2, 1.0, 1.0))
)


def made_audit(*, suite: str = "default", benchmark: str = "parse", note: str = "a remark") -> Audit:
    anova = DetectorAudit(
        detector="anova",
        alarms=Rate(count=1, trials=28, low=0.0009, high=0.1835),
        suspicions=Rate(count=3, trials=28, low=0.0227, high=0.2823),
        metric_alarms=Rate(count=2, trials=5600, low=0.00004, high=0.0013),
        lasting=3,
        unknown=0,
        power=POWER,
        limits=(
            MetricLimit(key=MetricKey(benchmark, "time"), effect=None),
            MetricLimit(key=MetricKey("render", "time"), effect=0.124),
        ),
    )
    blind = DetectorAudit(
        detector="median_interval",
        alarms=Rate(count=0, trials=28, low=0.0, high=0.1234),
        suspicions=Rate(count=0, trials=28, low=0.0, high=0.1234),
        metric_alarms=Rate(count=0, trials=5600, low=0.0, high=0.00066),
        lasting=0,
        unknown=0,
        power=tuple(Power(effect=one.effect, proven=0.1, suspected=0.2) for one in POWER),
        limits=(),
    )
    return Audit(
        suite=suite,
        kind=TrialKind.STORED_RUNS,
        runs=30,
        metrics=200,
        samples_per_run=30,
        planted=56,
        stated=(0.01, 0.1),
        minimum_effect=0.05,
        configured="anova",
        detectors=(anova, blind),
        noise=NoiseSources(metrics=200, runs=0.021, processes=0.008, samples=0.049),
        counters=(
            CounterAudit(
                detector="control_chart",
                stated_rate=0.071,
                stated_of_counters=False,
                alarms=Rate(count=2, trials=28, low=0.0088, high=0.235),
                metric_alarms=Rate(count=2, trials=560, low=0.0004, high=0.0128),
                lasting=1,
                power=((0.1, 0.25), (0.5, None)),
            ),
        ),
        recommendation=Recommendation(
            detector="anova",
            profile="strict",
            counter_detector="control_chart",
            minimum_effect=0.1,
            reasons=(because(AuditReason.AGREES_WITH_STATED, detector="anova", count=1, trials=28, stated=0.01),),
        ),
        notes=(remark(note),),
    )


def make_audits_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the number of trials for tests that check no rate: whole audits cost a hundred times as much."""
    monkeypatch.setattr("perf_culprit.judge.detector_audit.DRAWS", 2)
