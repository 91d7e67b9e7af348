import numpy as np

from perf_culprit.judge.single_values import single_values
from perf_culprit.model.finding import Baseline, BaselineSource
from perf_culprit.model.run import Run
from tests.support.counter_tables import table_of


def test_a_table_of_one_instant_is_one_value_of_each_counter() -> None:
    scrape = table_of(name="prometheus", times_s=[0], fds=[400], missing=[np.nan])
    host = table_of(name="host", times_s=[0, 1], cpu=[1, 2])
    baseline = Baseline(runs=(Run(counters=(scrape, host)),), source=BaselineSource.HISTORY)
    made, target = single_values(baseline, Run(counters=(host, scrape)))
    for run in (target, *made.runs):
        assert [(entry.name, entry.metric.name, entry.samples) for entry in run.benchmarks] == [
            ("prometheus", "fds", (400.0,))
        ]
        assert run.counters == (host,)


def test_a_single_instant_is_not_compared_with_a_series() -> None:
    series = table_of(name="host", times_s=[0, 1], cpu=[1, 2])
    baseline = Baseline(runs=(Run(counters=(series,)),), source=BaselineSource.HISTORY)
    made, target = single_values(baseline, Run(counters=(table_of(name="host", times_s=[0], cpu=[1]),)))
    assert made.runs[0].counters == (series,)
    assert not target.counters
