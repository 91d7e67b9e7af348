"""Properties that hold for any numbers: symmetries of the verdicts, and error rates on unchanged runs."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from scipy import stats

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge import anova
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Verdict
from perf_culprit.model.report import Judgement
from perf_culprit.model.run import Run
from perf_culprit.stats.multiplicity import benjamini_hochberg
from tests.support.noisy_runs import Noise, noisy_run, run_of

DEFAULTS = PolicySettings()
CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}
MIRRORED = {
    Verdict.REGRESSION: Verdict.IMPROVEMENT,
    Verdict.IMPROVEMENT: Verdict.REGRESSION,
    Verdict.UNCHANGED: Verdict.UNCHANGED,
}
seeds = st.integers(0, 2**32 - 1)
seeded = settings(derandomize=True, deadline=None, max_examples=25)


def judged(target: Run, *runs: Run, source: BaselineSource = BaselineSource.FILES) -> Judgement:
    return judge(Baseline(runs=runs, source=source), target, settings=DEFAULTS)


def verdicts(judgement: Judgement) -> dict[str, Verdict]:
    return {finding.key.benchmark: finding.verdict for finding in judgement.findings}


def evidence(target: Run, *runs: Run) -> Sequence[Evidence]:
    pairs = pair_metrics(Baseline(runs=runs, source=BaselineSource.FILES), target).pairs
    return anova.DETECTOR.detect(pairs, DetectorOptions()).evidence


def a_suite(seed: int, *, runs: int = 1) -> tuple[Run, ...]:
    """Return a target, with some changes far above or below the minimum effect, and its baseline."""
    rng = np.random.default_rng(seed)
    effects = rng.choice([0.2, 0.6, 1.0, 1.0, 1.01, 1.7, 6.0], 12)
    target = noisy_run(rng, benchmarks=12, samples=15, noise="lognormal", effects=effects, processes=True)
    stored = (noisy_run(rng, benchmarks=12, samples=15, noise="lognormal", processes=True) for _ in range(runs))
    return target, *stored


def scaled(run: Run, factor: float) -> Run:
    return replace(
        run,
        benchmarks=tuple(
            replace(entry, samples=tuple(sample * factor for sample in entry.samples)) for entry in run.benchmarks
        ),
    )


@seeded
@given(seeds, st.sampled_from([1e-9, 1e-3, 0.5, 60.0, 1e12]), st.sampled_from([1, 4]))
def test_scaling_all_times_leaves_verdicts(seed: int, factor: float, runs: int) -> None:
    suite = a_suite(seed, runs=runs)
    assert verdicts(judged(*suite)) == verdicts(judged(*(scaled(run, factor) for run in suite)))


@seeded
@given(seeds, st.sampled_from([BaselineSource.FILES, BaselineSource.PAIRED]))
def test_swapping_sides_flips_changes(seed: int, source: BaselineSource) -> None:
    target, run = a_suite(seed)
    forward, backward = verdicts(judged(target, run, source=source)), verdicts(judged(run, target, source=source))
    changed = {name for name, verdict in forward.items() if verdict in CHANGES}
    assert changed == {name for name, verdict in backward.items() if verdict in CHANGES}
    assert {name: MIRRORED[forward[name]] for name in changed} == {name: backward[name] for name in changed}


@seeded
@given(seeds, st.sampled_from([1, 4]))
def test_permuting_samples_changes_nothing(seed: int, runs: int) -> None:
    rng = np.random.default_rng(seed)
    suite = a_suite(seed, runs=runs)
    permuted = tuple(
        run_of([rng.permutation(np.array(entry.samples)).tolist() for entry in run.benchmarks]) for run in suite
    )
    assert verdicts(judged(*suite)) == verdicts(judged(*permuted))


@seeded
@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_q_values_are_above_p_values_and_keep_their_order(p_values: list[float]) -> None:
    p, q = np.array(p_values), benjamini_hochberg(np.array(p_values))
    assert (q >= p).all()
    assert (q <= 1).all()
    assert (np.diff(q[np.argsort(p, kind="stable")]) >= 0).all()


@seeded
@given(seeds)
def test_vectorised_answers_are_scipys_scalar_ones(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [[rng.lognormal(3, 0.2, rng.integers(2, 40)).tolist() for _ in range(2)] for _ in range(8)]
    entries = evidence(run_of([row[0] for row in rows]), run_of([row[1] for row in rows]))
    for entry, row in zip(entries, rows, strict=True):
        assert entry.details["p_anova"] == pytest.approx(stats.f_oneway(*row).pvalue, rel=1e-9)
        assert entry.details["p_levene"] == pytest.approx(stats.levene(*row).pvalue, rel=1e-9)


@seeded
@given(
    st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=6), min_size=2, max_size=6)
)
def test_any_finite_numbers_have_a_finite_answer(rows: list[list[float]]) -> None:
    target, *runs = (run_of([row]) for row in rows)
    for finding in judged(target, *runs).findings:
        numbers = [finding.p_value, finding.rate, finding.relative_change, *finding.details.values()]
        if finding.confidence_interval is not None:
            numbers += [finding.confidence_interval.low, finding.confidence_interval.high]
        assert np.isfinite([number for number in numbers if number is not None]).all()


@pytest.mark.parametrize(
    ("noise", "runs", "own", "shared"),
    [
        ("lognormal", 1, 0.0, 0.0),
        ("bimodal", 1, 0.0, 0.0),
        ("heavy_tailed", 4, 0.03, 0.0),
        ("bimodal", 8, 0.02, 0.02),
    ],
)
@pytest.mark.slow  # 25 whole suites of 60 benchmarks against up to 8 runs each; benchmarks/detect.py has the full size
def test_nothing_changed_is_nothing_said(noise: Noise, runs: int, own: float, shared: float) -> None:
    rng = np.random.default_rng([runs, len(noise)])
    alarms, trials = 0, 25
    for _ in range(trials):
        target, *stored = (
            noisy_run(rng, benchmarks=60, samples=30, noise=noise, own_offset=own, shared_offset=shared)
            for _ in range(runs + 1)
        )
        alarms += bool(CHANGES & set(verdicts(judged(target, *stored, source=BaselineSource.HISTORY)).values()))
    assert alarms <= stats.binom.ppf(0.999, trials, 0.01)


def test_single_tests_reject_as_often_as_alpha_says() -> None:
    rng = np.random.default_rng(12)
    target, *runs = (noisy_run(rng, benchmarks=3000, samples=10, own_offset=0.03) for _ in range(6))
    rejected = sum((entry.p_value or 0.0) < 0.01 for entry in evidence(target, *runs))
    assert rejected <= stats.binom.ppf(0.999, 3000, 0.01)
    alone = evidence(target, runs[0])
    assert sum(entry.details["p_anova"] < 0.01 for entry in alone) > 300
    assert sum((entry.p_value or 0.0) < 0.01 for entry in alone) <= stats.binom.ppf(0.999, 3000, 0.01)


def test_a_slowdown_of_10_percent_is_found() -> None:
    rng = np.random.default_rng(13)
    run, target = (
        noisy_run(rng, benchmarks=150, samples=30, spread=0.03, effects=effect, processes=True) for effect in (1.0, 1.1)
    )
    judgement = judged(target, run, source=BaselineSource.PAIRED)
    total = sum(verdict is Verdict.REGRESSION for verdict in verdicts(judgement).values())
    assert total / 150 > 0.99


@pytest.mark.parametrize(("factor", "verdict"), [(1.2, Verdict.SUSPECTED), (3.0, Verdict.REGRESSION)])
def test_a_planted_slowdown_stands_out_among_200(factor: float, verdict: Verdict) -> None:
    rng = np.random.default_rng(14)
    effects = np.ones(200)
    effects[17] = factor
    stored = [noisy_run(rng, benchmarks=200, samples=30, spread=0.03, own_offset=0.02) for _ in range(10)]
    target = noisy_run(rng, benchmarks=200, samples=30, spread=0.03, own_offset=0.02, effects=effects)
    judgement = judged(target, *stored, source=BaselineSource.HISTORY)
    first = judgement.findings[0]
    assert (first.key.benchmark, first.verdict) == ("bench_00017", verdict)
    assert {name for name, other in verdicts(judgement).items() if other in CHANGES} <= {"bench_00017"}
