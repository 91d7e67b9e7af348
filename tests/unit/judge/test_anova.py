"""METHODS 1: ANOVA, Welch beside it where variances differ, precision warnings; and the levels above samples."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from perf_culprit.judge import anova
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.metric_pairs import pair_metrics
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence
from perf_culprit.model.run import Benchmark, Metric, Run, Summary
from perf_culprit.stats.ragged import Ragged
from perf_culprit.stats.serial import serial_factor
from tests.support.noisy_runs import TIME, Floats, noisy_run, run_of
from tests.support.reasons import words_of

RNG_SEED = 11
ALLOCATIONS = replace(TIME, name="allocations", unit="allocs/op")


def evidence(target: Run, *runs: Run, paired: bool = False) -> Sequence[Evidence]:
    pairs = pair_metrics(Baseline(runs=runs, source=BaselineSource.FILES), target).pairs
    return anova.detect(pairs, DetectorOptions(paired=paired))


def one(target: Sequence[float], *runs: Sequence[float], metric: Metric = TIME) -> Evidence:
    return evidence(run_of([target], metric=metric), *(run_of([run], metric=metric) for run in runs))[0]


def grouped(values: Floats) -> Run:
    groups, size = values.shape
    benchmark = Benchmark.of(
        name="bench_00000", metric=TIME, samples=tuple(values.ravel().tolist()), group_sizes=(size,) * groups
    )
    return Run(benchmarks=(benchmark,))


def stored_and_target(effect: float) -> Sequence[Evidence]:
    rng = np.random.default_rng(RNG_SEED)
    runs = [noisy_run(rng, benchmarks=20, samples=30, spread=0.03) for _ in range(12)]
    return evidence(noisy_run(rng, benchmarks=20, samples=30, spread=0.03, effects=effect), *runs)


def test_anova_silent() -> None:
    entry = stored_and_target(1.0)[0]
    assert entry.p_value is not None
    assert entry.p_value > 0.01
    assert entry.confidence_interval is not None
    assert entry.confidence_interval.low < 0 < entry.confidence_interval.high


def test_anova_fires() -> None:
    entry = stored_and_target(1.3)[0]
    assert entry.test == "anova_between_runs"
    assert entry.p_value is not None
    assert entry.p_value < 0.01 / 20
    assert entry.relative_change == pytest.approx(0.3, abs=0.03)
    assert entry.confidence_interval is not None
    assert 0 < entry.confidence_interval.low < 0.3 < entry.confidence_interval.high


def test_stalls_of_a_lone_run_are_no_change_however_far_they_move_its_mean() -> None:
    rng = np.random.default_rng(RNG_SEED)
    quiet, stalled = rng.normal(100, 1, 100), rng.normal(100, 1, 100)
    stalled[::10] *= 100 * rng.uniform(0.5, 1.5, 10)
    for before, after in ((quiet, stalled), (stalled, quiet)):
        p_value = one(after.tolist(), before.tolist()).p_value
        assert p_value is not None
        assert p_value > 0.1
    p_slower = one((quiet * 10).tolist(), quiet.tolist()).p_value
    assert p_slower is not None
    assert p_slower < 0.001


def test_methods_1_p_value_is_that_of_one_way_anova() -> None:
    target, run = [11.0, 12.5, 11.7, 12.1], [10.1, 10.4, 9.9, 10.6, 10.2]
    entry = one(target, run)
    assert entry.details["p_anova"] == pytest.approx(stats.f_oneway(target, run).pvalue, rel=1e-9)
    assert entry.details["f"] == pytest.approx(stats.f_oneway(target, run).statistic, rel=1e-9)


def test_methods_1_welch_is_reported_where_variances_differ() -> None:
    rng = np.random.default_rng(RNG_SEED)
    calm, wild = rng.normal(100, 1, 30).tolist(), rng.normal(103, 9, 30).tolist()
    entry = one(wild, calm)
    assert entry.details["p_welch"] == pytest.approx(stats.ttest_ind(wild, calm, equal_var=False).pvalue, rel=1e-9)
    assert "p_welch" not in one(rng.normal(100, 1, 30).tolist(), calm).details


def test_methods_1_a_mean_known_worse_than_10_percent_is_said_with_the_repetitions() -> None:
    rng = np.random.default_rng(RNG_SEED)
    wild = (100 * rng.lognormal(0, 0.6, 12)).tolist()
    entry = one(wild, wild)
    assert entry.target is not None
    assert entry.target.relative_half_width is not None
    assert entry.target.relative_half_width > 0.1
    deviation = np.std(wild, ddof=1) / np.mean(wild)
    needed = int(words_of(entry.notes)[0].split("; ")[1].split()[0])
    assert stats.t.ppf(0.975, needed - 1) * deviation / np.sqrt(needed) <= 0.1


def test_an_offset_of_a_run_is_no_change_when_runs_have_offsets() -> None:
    rng = np.random.default_rng(RNG_SEED)
    runs = [noisy_run(rng, benchmarks=50, samples=30, spread=0.01, own_offset=0.03) for _ in range(6)]
    entries = evidence(noisy_run(rng, benchmarks=50, samples=30, spread=0.01, own_offset=0.03), *runs)
    assert sum(entry.details["p_anova"] < 0.01 for entry in entries) > 15
    assert sum((entry.p_value or 0.0) < 0.01 for entry in entries) <= 2
    assert {entry.test for entry in entries} == {"anova_between_runs"}
    assert {entry.samples_needed for entry in entries} == {None}


def test_a_change_beyond_the_runs_offsets_is_found() -> None:
    rng = np.random.default_rng(RNG_SEED)
    effects = np.ones(50)
    effects[3] = 1.4
    runs = [noisy_run(rng, benchmarks=50, samples=30, spread=0.01, own_offset=0.03) for _ in range(10)]
    entries = evidence(noisy_run(rng, benchmarks=50, samples=30, spread=0.01, own_offset=0.03, effects=effects), *runs)
    assert (entries[3].p_value or 1.0) < 0.01 / 50
    assert min(entry.p_value or 0.0 for entry in (*entries[:3], *entries[4:])) > 0.01 / 50


def test_paired_runs_are_no_units_of_their_own() -> None:
    rng = np.random.default_rng(RNG_SEED)
    runs = [noisy_run(rng, benchmarks=1, samples=30) for _ in range(2)]
    (entry,) = evidence(noisy_run(rng, benchmarks=1, samples=30), *runs, paired=True)
    assert "p_between_runs" not in entry.details


def test_processes_that_differ_are_doubted_over_their_samples() -> None:
    rng = np.random.default_rng(RNG_SEED)
    levels = rng.normal(100, 5, (2, 4, 1))
    target, run = (grouped(side + rng.normal(0, 0.1, (4, 20))) for side in levels)
    (entry,) = evidence(target, run)
    assert entry.details["p_anova"] < 1e-3 < entry.details["p_between_processes"] <= (entry.p_value or 0.0)
    means = np.log([np.reshape(side.benchmarks[0].samples, (4, 20)).mean(axis=1) for side in (target, run)])
    # Processes one after the other drift; a second mode is next to nothing after four on each side.
    drift = serial_factor(*(Ragged(side, np.array([4])) for side in means))[0]
    expected = 2 * stats.t.sf(abs(stats.ttest_ind(*means).statistic) / np.sqrt(drift), 6)
    assert entry.details["p_between_processes"] == pytest.approx(expected, rel=0.02)


def test_older_runs_that_kept_only_their_mean_count_as_runs() -> None:
    rng = np.random.default_rng(RNG_SEED)
    target, run = (noisy_run(rng, benchmarks=1, samples=30) for _ in range(2))
    means = [
        Run(benchmarks=(Benchmark.of(name="bench_00000", metric=TIME, summary=Summary(value=value, statistic="mean")),))
        for value in (99.0, 101.0, 100.5)
    ]
    (entry,) = evidence(target, *means, run)
    assert entry.baseline is not None
    assert entry.baseline.runs == 4
    assert entry.details["p_between_runs"] > 0.01


@pytest.mark.parametrize(
    ("target", "run", "p_value", "change"),
    [
        pytest.param([3.0] * 4, [3.0] * 4, 1.0, 0.0, id="all equal"),
        pytest.param([3.0] * 4, [2.0] * 4, 0.0, 0.5, id="two constants"),
        pytest.param([0.0] * 4, [0.0] * 4, 1.0, None, id="all zero"),
        pytest.param([2.0] * 4, [0.0] * 4, 0.0, None, id="from zero"),
        pytest.param([0.0] * 4, [2.0] * 4, 0.0, -1.0, id="to zero"),
        pytest.param([-3.0] * 4, [-2.0] * 4, 0.0, -0.5, id="negative constants"),
    ],
)
def test_constants_are_exact(target: list[float], run: list[float], p_value: float, change: float | None) -> None:
    entry = one(target, run, metric=ALLOCATIONS)
    assert (entry.test, entry.p_value, entry.relative_change) == ("exact", p_value, change)


def test_constant_times_are_those_of_one_run_each() -> None:
    """A clock too coarse to see any noise says nothing about how much runs differ."""
    entry = one([3.0] * 4, [2.0] * 4)
    assert (entry.test, entry.relative_change) == ("anova_between_runs", 0.5)
    assert (entry.p_value or 0.0) > 0.01
    assert words_of(entry.notes) == ("all samples are equal: the clock may be too coarse for this benchmark",)
    assert (one([12.0] * 4, [2.0] * 4).p_value or 1.0) < 0.01


def test_one_run_per_side_differs_as_runs_do_however_many_samples_it_has() -> None:
    rng = np.random.default_rng(RNG_SEED)
    run, target = (noisy_run(rng, benchmarks=1, samples=300, spread=0.01, effects=effect) for effect in (1.0, 1.3))
    (entry,) = evidence(target, run)
    assert entry.details["p_anova"] < 1e-100
    assert (entry.p_value or 0.0) > 0.01
    (sixfold,) = evidence(noisy_run(rng, benchmarks=1, samples=300, spread=0.01, effects=6.0), run)
    assert (sixfold.p_value or 1.0) < 1e-4


@pytest.mark.parametrize(("after", "differs"), [(10_050, False), (10_500, True)])
def test_one_run_of_a_count_is_nearly_proof(after: int, differs: bool) -> None:
    """Addresses and hash seeds move bytes by about half a percent; no machine and no second mode does."""
    size = replace(TIME, name="memory", unit="B")
    entry = one([after - 1, after, after + 1, after], [9_999, 10_000, 10_001, 10_000], metric=size)
    assert ((entry.p_value or 0.0) < 0.01) is differs


@pytest.mark.parametrize(
    ("target", "run"),
    [
        pytest.param([3.0] * 4, [3.0, 3.1, 2.9], id="constant target"),
        pytest.param([1e-9, -1e-9, 2e-9], [1e-9, -2e-9, 0.0], id="around zero"),
        pytest.param([-5.0, -5.1, -5.2], [-5.0, -5.3, -5.1], id="negative"),
        pytest.param([1.0, 2.0], [1.0], id="one baseline sample"),
    ],
)
def test_strange_numbers_have_a_defined_answer(target: list[float], run: list[float]) -> None:
    entry = one(target, run)
    assert entry.p_value is None or 0 <= entry.p_value <= 1
    numbers = [entry.relative_change, *entry.details.values()]
    if entry.confidence_interval is not None:
        numbers += [entry.confidence_interval.low, entry.confidence_interval.high]
    assert np.isfinite([number for number in numbers if number is not None]).all()


def test_many_metrics_give_the_answers_of_single_ones() -> None:
    rng = np.random.default_rng(RNG_SEED)
    rows = [
        (rng.normal(100, 5, rng.integers(3, 9)).tolist(), rng.normal(100, 5, rng.integers(3, 9)).tolist())
        for _ in range(20)
    ]
    together = evidence(run_of([target for target, _ in rows]), run_of([run for _, run in rows]))
    for entry, (target, run) in zip(together, rows, strict=True):
        assert entry.details["p_anova"] == pytest.approx(stats.f_oneway(target, run).pvalue, rel=1e-9)


def test_one_wild_sample_is_no_regression() -> None:
    rng = np.random.default_rng(RNG_SEED)
    quiet: dict[str, Any] = {"benchmarks": 20, "samples": 30, "noise": "lognormal", "spread": 0.03, "own_offset": 0.01}
    runs = [noisy_run(rng, **quiet) for _ in range(10)]
    target = noisy_run(rng, **quiet)
    first = target.benchmarks[0]
    wild = replace(first, samples=(*first.samples[:-1], first.samples[-1] * 8))
    p_value = evidence(replace(target, benchmarks=(wild, *target.benchmarks[1:])), *runs)[0].p_value
    assert p_value is not None
    assert p_value > 0.05
    slow = replace(first, samples=tuple(sample * (1 + 7 / 30) for sample in first.samples))
    p_value = evidence(replace(target, benchmarks=(slow, *target.benchmarks[1:])), *runs)[0].p_value
    assert p_value is not None
    assert p_value < 0.01 / 20
