"""Verdicts of paired rounds: scaling all times leaves them, swapping the sides turns them around."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.run import Run
from tests.support.noisy_runs import run_of
from tests.support.rounds import in_rounds

TURNED = {Verdict.REGRESSION: Verdict.IMPROVEMENT, Verdict.IMPROVEMENT: Verdict.REGRESSION}


def judged(baseline: Run, target: Run) -> Finding:
    paired = Baseline(runs=(in_rounds(baseline),), source=BaselineSource.PAIRED)
    (finding,) = judge(paired, in_rounds(target), detector="anova", settings=PolicySettings()).findings
    return finding


def scaled(run: Run, factor: float) -> Run:
    return replace(
        run,
        benchmarks=tuple(
            replace(benchmark, samples=tuple(factor * sample for sample in benchmark.samples))
            for benchmark in run.benchmarks
        ),
    )


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    factor=st.sampled_from([0.7, 0.93, 1.0, 1.2, 1.6]),
    modes=st.booleans(),
    unit=st.sampled_from([1e-9, 1e-3, 7.0, 1e6]),
)
def test_scaling_leaves_verdicts_and_swapping_turns_them(seed: int, factor: float, modes: bool, unit: float) -> None:
    rng = np.random.default_rng(seed)
    slow = np.where(rng.random((2, 16)) < 0.25, 1.5, 1.0) if modes else 1.0
    times = rng.lognormal(0, 0.03, (2, 16)) * slow * np.array([[1.0], [factor]])
    baseline, target = (run_of([row.tolist()]) for row in times)
    finding = judged(baseline, target)
    assert judged(scaled(baseline, unit), scaled(target, unit)).verdict is finding.verdict
    turned = judged(target, baseline)
    change, p_value = finding.relative_change, finding.p_value
    assert change is not None
    assert p_value is not None
    # Beside the borders: +5.2% is as large a change as -4.9%, and one of them is below the minimum effect.
    if abs(change) > 0.06 and p_value < 0.008:
        assert turned.verdict is TURNED[finding.verdict]
    elif abs(change) < 0.04 or p_value > 0.012:
        assert turned.verdict not in TURNED
