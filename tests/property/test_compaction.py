"""Effects of a compacted history: none on most detectors; the others state it in their answer."""

import numpy as np
import pytest

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.policy import judge
from perf_culprit.model.detectors import BENCHMARK_DETECTORS
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Verdict
from perf_culprit.model.reason import Untested
from perf_culprit.model.run import Run
from perf_culprit.store.retention import compact
from tests.support.noisy_runs import Noise, noisy_run

CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
EFFECTS = (0.2, 0.6, 0.9, 1.0, 1.0, 1.0, 1.01, 1.05, 1.08, 1.2, 1.7, 6.0)
# They judge by one mean or median per run, which a compacted run keeps exactly; it does not keep its processes.
SAME = ("anova", "auto", "change_point")
# Fewer runs are judged by their pooled samples; compacted ones are pooled by their moments.
FEW = 4


def findings(detector: str, runs: list[Run], target: Run) -> dict[str, Finding]:
    baseline = Baseline(runs=tuple(runs), source=BaselineSource.HISTORY)
    judged = judge(baseline, target, detector=detector, settings=PolicySettings())
    return {finding.key.benchmark: finding for finding in judged.findings}


def compacted_and_not(
    detector: str, seed: int, *, runs: int, raw: int, processes: bool = False
) -> list[tuple[float, Finding, Finding]]:
    """Return each benchmark's true effect, and its findings with raw runs and with all but the last `raw` compacted."""
    rng = np.random.default_rng(seed)
    noise: Noise = "lognormal" if seed % 2 else "normal"
    stored = [noisy_run(rng, benchmarks=12, samples=15, noise=noise, processes=processes) for _ in range(runs)]
    effects = rng.permutation(EFFECTS)
    target = noisy_run(rng, benchmarks=12, samples=15, noise=noise, effects=effects)
    before = findings(detector, stored, target)
    after = findings(detector, [*map(compact, stored[: runs - raw]), *stored[runs - raw :]], target)
    names = (benchmark.name for benchmark in target.benchmarks)
    return [(float(effect), before[name], after[name]) for effect, name in zip(effects, names, strict=True)]


@pytest.mark.parametrize(("runs", "raw"), [(30, 0), (30, 5), (4, 0), (4, 1)])
@pytest.mark.parametrize("detector", sorted(BENCHMARK_DETECTORS))
def test_the_answer_is_the_same_or_says_why_it_is_weaker(detector: str, runs: int, raw: int) -> None:
    for seed, processes in enumerate((False, False, False, True)):
        for effect, before, after in compacted_and_not(detector, seed, runs=runs, raw=raw, processes=processes):
            if detector in SAME and runs > FEW and not processes:
                assert after.verdict is before.verdict
                continue
            if {before.verdict, after.verdict} <= CHANGES:
                assert after.verdict is before.verdict
            if effect == 1.0 and before.verdict not in CHANGES:
                assert after.verdict not in CHANGES
            if after.verdict is not before.verdict and after.verdict is not Verdict.UNTESTED:
                # Another test by its name, or fewer runs.
                assert after.test != before.test or says_fewer(after, before)


def says_fewer(after: Finding, before: Finding) -> bool:
    sides = (after.baseline, before.baseline)
    counts = [0 if side is None else (side.count or 0) for side in sides]
    return counts[0] < counts[1]


def test_a_control_chart_of_compacted_runs_says_that_it_needs_samples() -> None:
    for _, _, after in compacted_and_not("control_chart", 1, runs=6, raw=0):
        assert after.verdict is Verdict.UNTESTED
        assert after.evidence_reason is not None
        assert after.evidence_reason.code is Untested.NEEDS_SAMPLES
