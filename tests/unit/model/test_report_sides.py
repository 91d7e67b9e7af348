"""A report states which statistic each number is."""

import json

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.report import encode_report
from perf_culprit.model.run import Benchmark, Direction, Metric, Run
from perf_culprit.say.report_parts import build_report
from tests.support.reports import SETTINGS

TIME = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)
SKEWED = (1.0, 1.0, 1.0, 1.1, 1.1, 1.2, 9.0)


def test_a_median_does_not_stand_where_a_mean_is_promised() -> None:
    run = Run(benchmarks=(Benchmark.of(name="a", metric=TIME, samples=SKEWED),))
    baseline = Baseline(runs=(run,), source=BaselineSource.FILES)
    for detector in ("median_interval", "anova"):
        judgement = judge(baseline, run, detector=detector, settings=PolicySettings())
        report = build_report(judgement, target=run, baseline=baseline, settings=SETTINGS)
        (finding,) = json.loads(encode_report(report))["findings"]
        side = finding["target"]
        assert (side["statistic"], round(side["value"], 6)) == ("median", 1.1)
        assert (round(side["mean"], 6), round(side["median"], 6)) == (2.2, 1.1)
