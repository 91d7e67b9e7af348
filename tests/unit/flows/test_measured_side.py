"""A side of a measurement: new rounds are added to its rounds, which were measured now or read from its file."""

from pathlib import Path

import numpy as np
import pytest

from perf_culprit.errors import UsageError
from perf_culprit.flows.measured_side import MeasuredSide, new_job, resume_sides
from perf_culprit.model.run import Benchmark, CounterTable, Direction, Environment, Metric, Run, Summary

TIME = Metric(name="time", unit="s", direction=Direction.LOWER_IS_BETTER)
FACTS = {"--run": "./bench", "--build": None}


def sides(folder: Path, **environment: str) -> list[MeasuredSide]:
    run = Run(suite="s", job=new_job("measure", FACTS), environment=Environment(components=environment))
    return [MeasuredSide(file=folder / f"{name}.json", commit=name * 4, run=run) for name in ("baseline", "target")]


def add(side: MeasuredSide, *benchmarks: Benchmark) -> None:
    side.add([(Path(f"{number}.json"), Run(benchmarks=(one,))) for number, one in enumerate(benchmarks)], seconds=2.0)


def sampled(*samples: float) -> Benchmark:
    return Benchmark.of(name="a", metric=TIME, samples=samples)


def summed(value: float) -> Benchmark:
    return Benchmark.of(name="a", metric=TIME, summary=Summary(value=value, statistic="mean"))


@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("of_value", [summed, sampled])
def test_a_round_more_is_two_groups_more(tmp_path: Path, of_value: object, *, is_resumed: bool) -> None:
    """Cover a tool that gives samples and a tool that gives one summary per execution."""
    both = sides(tmp_path)
    for side in both:
        add(side, of_value(1.0), of_value(2.0))  # type: ignore[operator]
        side.write()
    if is_resumed:
        both = sides(tmp_path)
        resume_sides(both, FACTS)
    for side in both:
        add(side, of_value(3.0), of_value(4.0))  # type: ignore[operator]
        (benchmark,) = side.run.benchmarks
        assert (benchmark.samples, benchmark.rounds) == ((1.0, 2.0, 3.0, 4.0), (1, 1, 2, 2))
        assert benchmark.group_sizes == (1,) * 4
        assert (side.rounds, side.run.cost.executions, side.run.cost.seconds) == (2, 4, 4.0)
        assert (side.run.commit, side.run.suite) == (side.commit, "s")
    assert both[0].run.job == both[1].run.job


def test_tables_of_counters_stay_apart(tmp_path: Path) -> None:
    side, _ = sides(tmp_path)
    table = CounterTable(name="t", metrics=(TIME,), times_s=np.array([0.0]), values=np.array([[1.0]]))
    run = Run(benchmarks=(sampled(1.0),), counters=(table,))
    for _ in range(2):
        side.add([(Path("result"), run), (Path("result"), run)], seconds=1.0)
    assert [one.name for one in side.run.counters] == ["t (result)", "t (result 2)", "t (result 3)", "t (result 4)"]


def test_an_end_between_the_two_files_repeats_the_round_of_one(tmp_path: Path) -> None:
    baseline, target = sides(tmp_path)
    for side in (baseline, target):
        add(side, sampled(1.0), sampled(2.0))
        side.write()
    add(baseline, sampled(3.0), sampled(4.0))
    baseline.write()
    resumed = sides(tmp_path)
    resume_sides(resumed, FACTS)
    for side in resumed:
        add(side, sampled(5.0), sampled(6.0))
        assert side.run.benchmarks[0].rounds == (1, 1, 2, 2)
        assert side.run.benchmarks[0].samples == (1.0, 2.0, 5.0, 6.0)


def test_another_machine_does_not_go_on(tmp_path: Path) -> None:
    for side in sides(tmp_path, cpu="one"):
        add(side, sampled(1.0), sampled(2.0))
        side.write()
    resume_sides(sides(tmp_path, cpu="one"), FACTS)
    with pytest.raises(UsageError, match="different: cpu of the machine"):
        resume_sides(sides(tmp_path, cpu="another"), FACTS)
