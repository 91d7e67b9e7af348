from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.config.policy_settings import PolicySettings, RulerConfig
from perf_culprit.judge.machine_speed import scale_by_ruler
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import QUIET_VERDICTS, Baseline, BaselineSource
from perf_culprit.model.report import Conclusion
from perf_culprit.model.run import Benchmark, Direction, Metric, MetricKey, Run, Summary
from tests.support.reasons import words_of

RULER = MetricKey("ruler", "time")
TIME = Metric(name="time", unit="ns", direction=Direction.LOWER_IS_BETTER)
RATE = Metric(name="rate", unit="ops/s", direction=Direction.HIGHER_IS_BETTER)
COUNT = Metric(name="allocations", unit="allocs/op", direction=Direction.LOWER_IS_BETTER)


def run(seed: int, *, slowness: float, effect: float = 1.0, ruler: bool = True) -> Run:
    """Two timed benchmarks, a rate and a count on a machine that is `slowness` times slower."""
    rng = np.random.default_rng(seed)

    def samples(level: float) -> tuple[float, ...]:
        return tuple((level * rng.normal(1, 0.01, 20)).tolist())

    benchmarks = [
        Benchmark.of(name="sort", metric=TIME, samples=samples(100 * slowness * effect)),
        Benchmark.of(name="parse", metric=TIME, samples=samples(700 * slowness)),
        Benchmark.of(name="serve", metric=RATE, samples=samples(50 / slowness)),
        Benchmark.of(name="sort", metric=COUNT, samples=(12.0,) * 5),
    ]
    if ruler:
        benchmarks.append(Benchmark.of(name="ruler", metric=TIME, samples=samples(10 * slowness)))
    return Run(benchmarks=tuple(benchmarks))


SLOWNESS = (1.0, 1.2, 0.9, 1.1, 1.3, 0.95)
BASELINE = Baseline(
    runs=tuple(run(seed, slowness=slowness) for seed, slowness in enumerate(SLOWNESS)), source=BaselineSource.HISTORY
)
LONG = replace(BASELINE, runs=tuple(run(100 + n, slowness=slowness) for n, slowness in enumerate(SLOWNESS * 5)))


def test_the_ruler_takes_the_machine_out_of_times_and_rates() -> None:
    baseline, target, scaled = scale_by_ruler(BASELINE, run(9, slowness=1.25), RULER)
    assert scaled.arguments["spearman"] == pytest.approx(0.97, abs=0.05)
    assert scaled.arguments["factor"] == pytest.approx(1.05 / 1.25, rel=0.02)
    assert words_of(scaled).startswith("scaled by the ruler ruler: the target's times by 0.8")
    for index, level in enumerate((105, 735, 50 / 1.05, 12)):
        for of_run in (*baseline.runs, target):
            assert of_run.benchmarks[index].value == pytest.approx(level, rel=0.03)


def test_the_ruler_itself_is_not_judged() -> None:
    for of_target in (run(9, slowness=1.25), run(9, slowness=1.25, ruler=False)):
        baseline, target, _ = scale_by_ruler(BASELINE, of_target, RULER)
        assert all(entry.key != RULER for of_run in (*baseline.runs, target) for entry in of_run.benchmarks)


def test_a_slow_machine_is_no_regression_and_a_slow_program_is_one() -> None:
    settings = PolicySettings(ruler=RulerConfig(benchmark="ruler"))
    machine = judge(LONG, run(9, slowness=1.5), settings=settings)
    assert {finding.verdict for finding in machine.findings} <= QUIET_VERDICTS
    assert words_of(machine.notes)[0].startswith("scaled by the ruler")
    program = judge(LONG, run(9, slowness=1.5, effect=1.2), settings=settings)
    assert [f.key.benchmark for f in program.findings if f.verdict not in QUIET_VERDICTS] == ["sort"]
    assert program.conclusion is Conclusion.SUSPECTED
    without = judge(LONG, run(9, slowness=1.5), settings=PolicySettings())
    assert any(finding.verdict not in QUIET_VERDICTS for finding in without.findings)


def test_runs_without_the_ruler_are_left_out() -> None:
    runs = (run(20, slowness=1.0, ruler=False), *BASELINE.runs)
    baseline, _, scaled = scale_by_ruler(replace(BASELINE, runs=runs), run(9, slowness=1.0), RULER)
    assert len(baseline.runs) == 6
    assert words_of(scaled).endswith("; 1 baseline run without it left out")


def test_a_summary_of_the_ruler_and_another_unit_are_read_too() -> None:
    target = run(9, slowness=1.25, ruler=False)
    seconds = Metric(name="time", unit="us", direction=Direction.LOWER_IS_BETTER)
    ruler = Benchmark.of(name="ruler", metric=seconds, summary=Summary(value=0.0125))
    _, _, scaled = scale_by_ruler(BASELINE, structs.replace(target, benchmarks=(*target.benchmarks, ruler)), RULER)
    assert scaled.arguments["factor"] == pytest.approx(1.05 / 1.25, rel=0.02)


def shuffled() -> Baseline:
    """A baseline whose ruler times are from other machines than its benchmarks."""
    wrong = (1.1, 0.95, 1.2, 1.3, 0.9, 1.0)
    rulers = [run(50 + n, slowness=slowness).benchmarks[-1] for n, slowness in enumerate(wrong)]
    runs = (
        structs.replace(old, benchmarks=(*old.benchmarks[:-1], ruler))
        for old, ruler in zip(BASELINE.runs, rulers, strict=True)
    )
    return replace(BASELINE, runs=tuple(runs))


@pytest.mark.parametrize(("baseline", "target", "reason"), [
    (BASELINE, run(9, slowness=1.0, ruler=False), "the target did not measure it"),
    (replace(BASELINE, runs=BASELINE.runs[:4]), run(9, slowness=1.0), "4 baseline runs measured it, 5 are needed"),
    (
        replace(BASELINE, runs=tuple(Run(benchmarks=of_run.benchmarks[3:]) for of_run in BASELINE.runs)),
        run(9, slowness=1.0),
        "no benchmark of time is in all baseline runs",
    ),
    (BASELINE, run(9, slowness=0.01), "its times differ too much for a straight line"),
])  # fmt: skip
def test_where_it_cannot_scale_it_says_why_and_changes_nothing(baseline: Baseline, target: Run, reason: str) -> None:
    kept, same, scaled = scale_by_ruler(baseline, target, RULER)
    assert words_of(scaled) == f"not scaled by the ruler: {reason}"
    assert len(kept.runs) == len(baseline.runs)
    assert same.benchmarks == tuple(entry for entry in target.benchmarks if entry.key != RULER)


def test_a_ruler_that_the_benchmarks_do_not_follow_is_refused() -> None:
    baseline, _, scaled = scale_by_ruler(shuffled(), run(9, slowness=1.25), RULER)
    assert words_of(scaled) == "not scaled by the ruler: the benchmarks do not follow it (Spearman -0.60)"
    assert baseline.runs[0].benchmarks == BASELINE.runs[0].benchmarks[:-1]
