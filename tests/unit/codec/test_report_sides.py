"""A report says what its numbers are."""

import json

from bot.codec.report import encode_report
from bot.detect.policy import PolicySettings, judge
from bot.model.baseline import Baseline, BaselineSource
from bot.model.metric import Direction, Metric
from bot.model.run import Benchmark, Run
from bot.report.build import build_report
from tests.support.reports import SETTINGS

TIME = Metric(name="time", unit="ms", direction=Direction.LOWER_IS_BETTER)
SKEWED = (1.0, 1.0, 1.0, 1.1, 1.1, 1.2, 9.0)


def test_a_median_does_not_stand_where_a_mean_is_promised() -> None:
    run = Run(benchmarks=(Benchmark(name="a", metric=TIME, samples=SKEWED),))
    baseline = Baseline(runs=(run,), source=BaselineSource.FILES)
    for detector, value, kind in (("median_interval", 1.1, None), ("anova", 2.2, 2.2)):
        judgement = judge(baseline, run, detector=detector, settings=PolicySettings())
        report = build_report(judgement, target=run, baseline=baseline, settings=SETTINGS)
        (finding,) = json.loads(encode_report(report))["findings"]
        side = finding["target"]
        assert (round(side["value"], 6), side["mean"] and round(side["mean"], 6)) == (value, kind)
        assert side["statistic"] == ("mean" if kind else "median")
