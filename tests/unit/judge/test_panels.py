"""Panels of a dashboard: the reuse of an earlier build, and the reasons to start over."""

from collections.abc import Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.judge import panels
from perf_culprit.judge.panels import PanelGrowth, StatisticChangedError
from perf_culprit.judge.series_changes import judge_one
from perf_culprit.model.run import Benchmark, MetricKey, Run, Summary
from perf_culprit.model.series import Panel, Series, SeriesChanges
from perf_culprit.model.work_limits import WORK_LIMITS
from tests.support.measurements import SECONDS, measured

COMMITS = [f"{number:040x}" for number in range(60)]
LINE = {commit: place for place, commit in enumerate(reversed(COMMITS))}


def run(number: int) -> Run:
    return measured({"sort": 1.3 if number >= 30 else 1.0, "parse": 2.0}, seed=number, commit=COMMITS[number])


def effect(_: MetricKey) -> float:
    return 0.01


def grown(numbers: range, earlier: Panel | None = None) -> Panel:
    growth = PanelGrowth("api", {}, LINE, earlier)
    if earlier:
        growth.keep([entry.commit for entry in earlier.runs])
    for number in reversed(numbers):
        growth.add(run(number))
    return growth.panel(effect)


def test_a_panel_that_grew_is_the_panel_of_all_runs_whatever_was_added_where() -> None:
    whole = grown(range(60))
    assert [len(one.changes) for one in whole.series] == [0, 1]
    assert grown(range(50, 60), grown(range(50))) == whole
    # Add the runs of older commits that were measured later.
    assert grown(range(10), grown(range(10, 60))) == whole


def test_series_without_new_values_are_not_judged_again(monkeypatch: pytest.MonkeyPatch) -> None:
    earlier = grown(range(59))
    judged = []

    def counted(series: Series, labels: Sequence[str]) -> SeriesChanges:
        judged.append(series)
        return judge_one(series, labels)

    monkeypatch.setattr(panels, "judge_one", counted)
    growth = PanelGrowth("api", {}, LINE, earlier)
    growth.keep(COMMITS)
    growth.add(replace(run(59), benchmarks=run(59).benchmarks[:1]))
    assert growth.panel(effect).series[0].values[-1] is None
    assert len(judged) == 1


def test_many_series_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(WORK_LIMITS), "panel_series", 1)
    panels = [grown(range(30))]
    for number in range(30, 60):
        panels.append(grown(range(number, number + 1), panels[-1]))
    assert panels[-1] == grown(range(60))
    lengths = [[one.judged for one in panel.series] for panel in panels[1:]]
    assert all(len(COMMITS[:31]) + i - length in range(4) for i, pair in enumerate(lengths) for length in pair)


def test_another_statistic_than_before_starts_over() -> None:
    mean = Benchmark.of(name="sort", metric=SECONDS, summary=Summary(value=1.0, statistic="mean"))
    growth = PanelGrowth("api", {}, LINE, grown(range(30)))
    with pytest.raises(StatisticChangedError):
        growth.add(replace(run(30), benchmarks=(mean,)))
    # The series continues if the mean comes with its median.
    growth.add(replace(run(30), benchmarks=(replace(mean, summary=Summary(value=1.0, statistic="mean", median=0.9)),)))
    anew = PanelGrowth("api", {}, LINE)
    anew.add(replace(run(31), benchmarks=(mean,)))
    anew.add(run(30))
    series = anew.panel(effect).series[1]
    assert series.statistic == "mean"
    assert series.values[0] == pytest.approx(np.mean(run(30).benchmarks[0].samples), rel=1e-5)
