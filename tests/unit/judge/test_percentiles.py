"""Percentiles that the configuration names: computed for each unit, and judged by how units vary."""

import numpy as np
import pytest

from perf_culprit.config.reader import parse_config
from perf_culprit.config.settings import Config
from perf_culprit.flows.compare import judge_run
from perf_culprit.flows.measured_side import paired
from perf_culprit.judge.percentiles import with_percentiles
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Remark
from perf_culprit.model.report import Report
from perf_culprit.model.run import Benchmark, MetricKey, Run, Summary

ROUNDS = 4


def config(*entries: str) -> Config:
    return parse_config("\n".join(entries).encode(), place="test")


P99 = config("benchmarks: [{match: req*, metric: p99}]")


def latencies(seed: int, *, tail: float = 5.0, count: int = 1_000) -> Run:
    """Eight executions: 3% of the requests take `tail` times as long as the others."""
    random = np.random.default_rng(seed)
    times = random.normal(10, 0.3, (2 * ROUNDS, count)) * np.where(random.random((2 * ROUNDS, count)) < 0.03, tail, 1.0)
    request = Benchmark(
        name="request",
        unit="ms",
        samples=tuple(times.ravel().tolist()),
        group_sizes=(count,) * (2 * ROUNDS),
        rounds=tuple(number for number in range(1, ROUNDS + 1) for _ in "ab"),
    )
    return Run(benchmarks=(request,), job="j")


def verdicts(report: Report) -> dict[str, Verdict]:
    return {finding.key.metric: finding.verdict for finding in report.findings}


def test_a_slower_tail_is_called_on_the_percentile_and_not_on_the_median() -> None:
    report = judge_run(paired(latencies(1)), latencies(2, tail=8.0), config=P99)
    assert verdicts(report) == {"time": Verdict.UNCHANGED, "p99": Verdict.REGRESSION}
    assert verdicts(judge_run(paired(latencies(1)), latencies(2, tail=8.0), config=Config())) == {
        "time": Verdict.UNCHANGED
    }


def test_an_equal_tail_is_silent() -> None:
    report = judge_run(paired(latencies(1)), latencies(2), config=P99)
    assert verdicts(report) == {"time": Verdict.UNCHANGED, "p99": Verdict.UNCHANGED}


@pytest.mark.parametrize(("metric", "count", "minimum"), [("p99", 999, 1_000), ("p99.9", 9_999, 10_000)])
def test_too_few_samples_are_told_with_the_number_that_is_needed(metric: str, count: int, minimum: int) -> None:
    chosen = config(f"benchmarks: [{{match: req*, metric: {metric}}}]")
    report = judge_run(paired(latencies(1, count=minimum)), latencies(2, count=count), config=chosen)
    assert set(verdicts(report)) == {"time"}
    assert not report.missing
    (note,) = [note for note in report.notes if note.code is Remark.TOO_FEW_FOR_PERCENTILE]
    assert (note.arguments["count"], note.arguments["minimum"]) == (count, minimum)
    assert all(note.code is not Remark.PATTERN_UNUSED for note in report.notes)


def test_a_budget_of_a_percentile_is_checked() -> None:
    limits = config("budgets: [{match: req*, metric: p99, limit: 60 ms, because: of the promise}]")
    slow, fast = (judge_run(paired(latencies(1)), latencies(2, tail=tail), config=limits) for tail in (8.0, 5.0))
    assert ([check.state.value for check in slow.budgets], slow.failed) == (["over"], True)
    assert [check.state.value for check in fast.budgets] == ["within"]


def test_a_group_of_a_percentile_has_its_mean() -> None:
    chosen = config("groups: [{name: tails, match: req*, metric: p99}]")
    report = judge_run(paired(latencies(1)), latencies(2, tail=8.0), config=chosen)
    (group,) = report.groups
    assert (group.name, group.count) == ("tails", 1)
    assert group.change == pytest.approx(0.6, abs=0.1)


def test_a_run_without_executions_is_one_unit_and_an_older_summary_has_none() -> None:
    raw = Run(benchmarks=(Benchmark(name="request", unit="s", samples=tuple(float(one) for one in range(1, 1002))),))
    old = Run(benchmarks=(Benchmark(name="request", unit="s", summary=Summary(value=1.0)),))
    baseline, target, notes = with_percentiles(Baseline(runs=(old, raw), source=BaselineSource.HISTORY), raw, P99)
    assert [len(run.benchmarks) for run in baseline.runs] == [1, 2]
    assert target.benchmarks[1].key == MetricKey("request", "p99")
    assert target.benchmarks[1].samples == (991.0,)
    assert not notes


@pytest.mark.parametrize("metric", ["p99", "p100", "p5", "p99*", "time"])
def test_only_a_percentile_of_a_matching_benchmark_is_computed(metric: str) -> None:
    chosen = config(f"benchmarks: [{{match: {'other' if metric == 'p99' else 'req*'}, metric: '{metric}'}}]")
    run = latencies(1)
    assert with_percentiles(paired(run), run, chosen)[1] == run
