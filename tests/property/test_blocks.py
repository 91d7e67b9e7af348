"""Verdicts of paired rounds: scaling all times leaves them, swapping the sides turns them around."""

import numpy as np
import pytest
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


@settings(max_examples=8, deadline=None)
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
    assert turned.rate == pytest.approx(finding.rate, abs=0.03)
    # Labellings are drawn, so that rates beside the borders of the tiers may fall on either side.
    if not any(border / 2 < (finding.rate or 0.0) < 2 * border for border in (0.01, 0.1)):
        assert turned.verdict is TURNED.get(finding.verdict, finding.verdict)
