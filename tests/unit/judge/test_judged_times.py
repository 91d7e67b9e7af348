"""The judged one of two times: the processor's if a benchmark computes, the clock's if it waits."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import judge_run
from perf_culprit.flows.measured_side import paired
from perf_culprit.judge.judged_times import of_one_time
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Remark
from perf_culprit.model.report import Report
from perf_culprit.model.run import Benchmark, Execution, Run

ROUNDS = 8


def side(
    cpu: float,
    *,
    asleep: float = 0.0,
    delay: float | None = 0.0,
    noise: Sequence[float] = (0.0,),
    metric: str = "cpu-time",
) -> Run:
    """Executions with this processor time, sleep, and wait for a processor, which `noise` multiplies."""
    executions, rounds = [], tuple(1 + place // 2 for place in range(2 * ROUNDS))
    for place in range(2 * ROUNDS):
        own = cpu * (1 + 0.001 * ((place * 7) % 5))
        wait = (delay or 0.0) * (1 + noise[place % len(noise)])
        told = None if delay is None else wait
        executions.append(Execution(seconds=own + asleep + wait, cpu_seconds=own, delay_seconds=told))
    samples = {metric: [one.cpu_seconds for one in executions], "time": [one.seconds for one in executions]}
    benchmarks = tuple(
        Benchmark(
            name="command", metric_name=name, unit="s", samples=tuple(own), group_sizes=(1,) * len(own), rounds=rounds
        )
        for name, own in samples.items()
    )
    return Run(benchmarks=benchmarks, executions=tuple(executions), job="job")


def judged(baseline: Run, target: Run, *, time: str = "auto") -> tuple[Report, dict[str, Verdict]]:
    report = judge_run(paired(baseline), target, config=Config(time=time))
    return report, {finding.key.metric: finding.verdict for finding in report.findings}


LOUD = (-0.5, 0.4, 0.9, -0.3, 0.1, -0.8, 0.6)


def test_what_computes_is_judged_by_processor_time_on_a_loud_machine() -> None:
    report, verdicts = judged(side(1.0, delay=1.5, noise=LOUD), side(1.1, delay=1.5, noise=LOUD[::-1]))
    assert verdicts == {"cpu-time": Verdict.REGRESSION}
    (note,) = report.findings[0].notes
    assert (note.code, note.arguments["metric"]) == (Remark.OTHER_TIME, "time")
    assert any(note.code is Remark.JUDGED_BY_PROCESSOR for note in report.notes)
    _, by_clock = judged(side(1.0, delay=1.5, noise=LOUD), side(1.1, delay=1.5, noise=LOUD[::-1]), time="wall")
    assert by_clock == {"time": Verdict.NOT_SEEN}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(0.0, 0.1, id="the target sleeps"),
        pytest.param(0.1, 0.0, id="the baseline slept"),
        pytest.param(0.5, 0.8, id="both wait"),
    ],
)
def test_a_change_of_waiting_alone_is_found(before: float, after: float) -> None:
    report, verdicts = judged(side(1.0, asleep=before, delay=0.2), side(1.0, asleep=after, delay=0.2))
    assert verdicts == {"time": Verdict.REGRESSION if after > before else Verdict.IMPROVEMENT}
    assert any(note.code is Remark.JUDGED_BY_CLOCK for note in report.notes)


def test_a_change_of_parallelism_alone_is_found() -> None:
    serial = side(1.0)
    halved = tuple(
        replace(entry, samples=tuple(sample / 2 for sample in entry.samples)) if entry.metric_name == "time" else entry
        for entry in serial.benchmarks
    )
    parallel = replace(
        serial,
        benchmarks=halved,
        executions=tuple(replace(one, seconds=one.seconds / 2) for one in serial.executions),
    )
    assert judged(parallel, serial)[1] == {"time": Verdict.REGRESSION}


def test_both_are_judged_if_the_kernel_does_not_tell_the_wait() -> None:
    _, verdicts = judged(side(1.0, delay=None), side(1.1, delay=None))
    assert verdicts == {"cpu-time": Verdict.REGRESSION}  # it never waited
    waiting = replace(side(1.0, asleep=1.0), executions=())
    assert set(judged(waiting, waiting)[1]) == {"cpu-time", "time"}


def test_a_tool_s_own_processor_time_is_one_of_the_two() -> None:
    assert judged(side(1.0, metric="cpu_time"), side(1.1, metric="cpu_time"))[1] == {"cpu_time": Verdict.REGRESSION}


def test_a_metric_that_the_settings_name_is_always_judged() -> None:
    config = Config.model_validate({"benchmarks": [{"match": "*", "metric": "time"}]})
    report = judge_run(paired(side(1.0)), side(1.1), config=config)
    assert {finding.key.metric for finding in report.findings} == {"cpu-time", "time"}


def test_stored_runs_keep_both() -> None:
    runs = tuple(replace(side(1.0 + 0.001 * number), job=None) for number in range(6))
    report = judge_run(Baseline(runs=runs, source=BaselineSource.FILES), side(1.0), config=Config())
    assert {finding.key.metric for finding in report.findings} == {"cpu-time", "time"}


@pytest.mark.parametrize(("asleep", "metric"), [(0.0, "cpu-time"), (0.5, "time")])
def test_a_search_gets_one_of_the_two(asleep: float, metric: str) -> None:
    good, bad, computes = of_one_time(side(1.0), side(1.2, asleep=asleep))
    assert {entry.metric_name for run in (good, bad) for entry in run.benchmarks} == {metric}
    assert [(key.metric, is_cpu) for key, is_cpu in computes.items()] == [(metric, not asleep)]
