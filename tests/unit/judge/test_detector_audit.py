"""Audits of histories whose noise and whose changes are known."""

from collections.abc import Collection, Sequence
from functools import cache, partial

import numpy as np
import pytest
from msgspec.structs import replace
from scipy import stats

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.errors import DataError
from perf_culprit.judge.detector_audit import audit, noise_sources
from perf_culprit.judge.policy import judge
from perf_culprit.judge.trials import PLANTED, Judge, replay, split_trials
from perf_culprit.model.accuracy import Audit, TrialKind
from perf_culprit.model.detectors import BENCHMARK_DETECTORS
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import AuditReason
from perf_culprit.model.run import Environment, Metric, Run
from perf_culprit.store.baseline import baseline_then
from tests.support.noisy_runs import THROUGHPUT, TIME, Noise, noisy_run, run_of
from tests.support.reasons import words_of

SEED = 61
SETTINGS = PolicySettings()
SIZE = replace(TIME, name="memory", unit="B")
ANOVA = ("anova",)
BOTH = (*ANOVA, "median_interval")


def history(count: int, *, benchmarks: int = 10, samples: int = 20, noise: Noise = "normal") -> list[Run]:
    rng = np.random.default_rng(SEED)
    return [
        noisy_run(rng, benchmarks=benchmarks, samples=samples, noise=noise, spread=0.02, own_offset=0.005)
        for _ in range(count)
    ]


@cache
def audited_quiet() -> Audit:
    """The audit of twelve runs without a change between them."""
    return audited(history(12), planted=6)


def audited(runs: Sequence[Run], detectors: Collection[str] = BOTH, *, planted: int = 1) -> Audit:
    """The audit without the sources of noise, which have their own tests below, and with few planted changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(audit.__globals__, "noise_sources", lambda _: None)
        patch.setitem(audit.__globals__, "PLANTED_CHANGES", planted)
        return audit(
            runs, settings=SETTINGS, rng=np.random.default_rng(SEED), choose=baseline_then, detectors=detectors
        )


@cache
def quiet_histories() -> list[list[Run]]:
    rng = np.random.default_rng(SEED)
    noises: tuple[Noise, ...] = ("lognormal", "bimodal", "heavy_tailed")
    return [
        [noisy_run(rng, benchmarks=15, samples=20, noise=noise, own_offset=0.02) for _ in range(6)]
        for noise in noises
        for _ in range(30)
    ]


@pytest.mark.slow  # ninety judgements per detector: a rate needs trials
@pytest.mark.parametrize("detector", BENCHMARK_DETECTORS)
def test_a_a_false_alarms_hold_the_stated_rate(detector: str) -> None:
    alarms, trials = 0, 0
    for target, *earlier in quiet_histories():
        baseline = Baseline(runs=tuple(earlier), source=BaselineSource.HISTORY)
        judgement = judge(baseline, target, detector=detector, settings=SETTINGS)
        alarms += any(f.verdict in {Verdict.REGRESSION, Verdict.IMPROVEMENT} for f in judgement.findings)
        trials += 1
    assert alarms <= stats.binom.ppf(0.999, trials, SETTINGS.proven)


def test_audit_silent() -> None:
    rates = audited_quiet()
    assert rates.kind is TrialKind.STORED_RUNS
    assert (rates.runs, rates.metrics, rates.samples_per_run) == (12, 10, 20)
    for entry in rates.detectors:
        assert (entry.alarms.count, entry.alarms.trials) == (0, 11)
        assert entry.metric_alarms.trials == 110
        assert entry.alarms.high == pytest.approx(0.285, abs=1e-3)
    assert words_of(rates.recommendation.reasons)[0].startswith("anova would have been wrong in 0 of 11 runs")


def jumping() -> list[Run]:
    """Runs in which one benchmark at a time jumps up thirtyfold and back, after a quiet past."""
    runs = history(12)
    rng = np.random.default_rng(SEED)
    for index in (6, 8, 10):
        effects = np.where(np.arange(10) == index - 6, 30.0, 1.0)
        runs[index] = noisy_run(rng, benchmarks=10, samples=20, spread=0.02, own_offset=0.005, effects=effects)
    return runs


@cache
def audited_jumping() -> Audit:
    return audited(jumping(), ANOVA)


def test_audit_fires_on_a_history_that_jumps() -> None:
    """The alarms do not last, so they are false alarms."""
    entry = audited_jumping().detectors[0]
    assert entry.alarms.count == 2
    assert entry.lasting == 0


def test_a_change_that_stays_is_no_false_alarm() -> None:
    runs = history(7)
    rng = np.random.default_rng(SEED)
    effects = np.where(np.arange(10) == 4, 30.0, 1.0)
    runs += [
        noisy_run(rng, benchmarks=10, samples=20, spread=0.02, own_offset=0.005, effects=effects) for _ in range(5)
    ]
    entry = audited(runs, ANOVA).detectors[0]
    assert entry.lasting >= 1
    assert entry.alarms.count == 0


@pytest.mark.slow  # a whole history, run by run
def test_what_was_stored_as_a_regression_is_judged_all_the_same() -> None:
    """The audit ignores the bot's stored verdicts: if it removed the flagged runs, it would only confirm itself."""
    runs = jumping()
    stored = [replace(run, regressions=tuple(entry.key for entry in run.benchmarks)) for run in runs]
    assert audited(stored, ANOVA).detectors == audited_jumping().detectors


def test_later_runs_find_stored_what_the_replay_said() -> None:
    """The baseline of each trial follows from the verdicts of earlier trials, as it does for the bot."""
    told = []

    def choose(earlier: Sequence[Run], target: Run) -> Baseline:
        told.append([len(run.regressions) for run in earlier])
        return baseline_then(earlier, target)

    judge_all = Judge(detector="anova", counter_detector="control_chart", settings=SETTINGS)
    trials = replay(jumping(), judge=judge_all, choose=choose)
    assert [len(trial.trial.baseline.runs) for trial in trials] == list(range(1, 12))
    assert sum(told[-1]) == 2
    assert [sum(f.verdict is Verdict.REGRESSION for f in trial.findings) for trial in trials] == [*told[-1][1:], 0]


def test_of_runs_before_the_trials_the_stored_verdict_counts() -> None:
    runs = history(8)
    key = runs[0].benchmarks[3].key
    runs[2] = replace(runs[2], regressions=(key,))
    seen = []

    def choose(earlier: Sequence[Run], target: Run) -> Baseline:
        seen.append([bool(run.regressions) for run in earlier])
        return baseline_then(earlier, target)

    judge_all = Judge(detector="anova", counter_detector="control_chart", settings=SETTINGS)
    assert len(replay(runs, judge=judge_all, choose=choose, first=5)) == 3
    assert seen[0] == [False, False, True, False, False]


def test_an_alarm_of_the_newest_run_is_neither_right_nor_wrong_yet() -> None:
    runs = history(7)
    rng = np.random.default_rng(SEED)
    effects = np.where(np.arange(10) == 4, 30.0, 1.0)
    runs.append(noisy_run(rng, benchmarks=10, samples=20, spread=0.02, own_offset=0.005, effects=effects))
    rates = audited(runs, ANOVA)
    entry = rates.detectors[0]
    assert (entry.alarms.count, entry.alarms.trials, entry.lasting, entry.unknown) == (0, 6, 0, 1)
    assert AuditReason.NOT_YET_REFUTED in {note.code for note in rates.notes}


def test_an_alarm_that_returns_once_does_not_last() -> None:
    """Two consecutive runs in the slow mode are not a new level if the next run is back."""
    runs = history(12)
    rng = np.random.default_rng(SEED)
    effects = np.where(np.arange(10) == 4, 30.0, 1.0)
    for index in (6, 7):
        runs[index] = noisy_run(rng, benchmarks=10, samples=20, spread=0.02, own_offset=0.005, effects=effects)
    entry = audited(runs, ANOVA).detectors[0]
    assert entry.lasting == 0
    assert entry.suspicions.count >= 1


def test_only_runs_of_the_same_hardware_and_within_the_window_are_baseline() -> None:
    runs = history(8)
    other = Environment(components={"cpu": "B"})
    runs = [
        replace(run, environment=other if index % 2 else Environment(components={"cpu": "A"}))
        for index, run in enumerate(runs)
    ]
    judge_all = Judge(detector="anova", counter_detector="control_chart", settings=SETTINGS)
    trials = [entry.trial for entry in replay(runs, judge=judge_all, choose=partial(baseline_then, window=2))]
    assert [len(trial.baseline.runs) for trial in trials] == [1, 1, 2, 2, 2, 2]
    for trial in trials:
        assert {run.environment.components["cpu"] for run in trial.baseline.runs} == {
            trial.target.environment.components["cpu"]
        }
    assert trials[0].following == (runs[4], runs[6])
    assert trials[-1].following == ()


@pytest.mark.slow  # a whole history, run by run
def test_few_runs_are_split_within() -> None:
    rates = audited(history(2, benchmarks=4), ANOVA)
    assert rates.kind is TrialKind.SPLIT_RUNS
    assert rates.detectors[0].alarms.trials == 20
    assert rates.notes[0].code is AuditReason.SPLIT_AT_RANDOM


def test_halves_share_no_sample_and_miss_none() -> None:
    run = history(1)[0]
    (trial,) = split_trials([run], count=1, rng=np.random.default_rng(SEED))
    assert trial.baseline.source is BaselineSource.PAIRED
    for whole, first, second in zip(
        run.benchmarks, trial.baseline.runs[0].benchmarks, trial.target.benchmarks, strict=True
    ):
        assert sorted(first.samples + second.samples) == sorted(whole.samples)
        assert len(first.samples) == len(second.samples) == 10


@pytest.mark.parametrize("runs", [[], history(2, samples=9)])
def test_too_little_to_audit_is_an_error(runs: list[Run]) -> None:
    with pytest.raises(DataError, match="too little to audit"):
        audited(runs)


def test_the_same_seed_gives_the_same_audit() -> None:
    runs = history(6, benchmarks=4)
    assert audited(runs) == audited(runs)


def test_larger_planted_changes_are_called_more_often_and_the_noisiest_metric_comes_first() -> None:
    rng = np.random.default_rng(SEED)
    spreads = np.array([[0.002], [0.01], [0.1]])
    runs = [run_of(100 * rng.lognormal(0, spreads, (3, 5))) for _ in range(12)]
    entry = audited(runs, ANOVA, planted=6).detectors[0]
    assert entry.limits[0].key.benchmark == "bench_00002"
    effects = [limit.effect or np.inf for limit in entry.limits]
    assert effects == sorted(effects, reverse=True)
    assert [one.effect for one in entry.power] == list(PLANTED)
    suspected = [one.suspected for one in entry.power]
    assert suspected == sorted(suspected)
    assert suspected[0] < 0.5
    assert suspected[-1] >= 0.9
    assert all(one.proven <= one.suspected for one in entry.power)


@pytest.mark.parametrize("metric", [TIME, THROUGHPUT])
def test_a_planted_change_is_a_worsening_whatever_way_is_worse(metric: Metric) -> None:
    rng = np.random.default_rng(SEED)
    runs = [noisy_run(rng, benchmarks=4, samples=5, spread=0.01, metric=metric) for _ in range(8)]
    assert audited(runs, ANOVA, planted=6).detectors[0].power[-1].suspected == 1.0


def test_constant_benchmarks_have_defined_answers() -> None:
    for metric in (SIZE, TIME):
        entry = audited([run_of([[0.0] * 12, [5.0] * 12], metric=metric) for _ in range(6)], ANOVA).detectors[0]
        assert (entry.alarms.count, entry.suspicions.count) == (0, 0)
        assert "bench_00001" in {limit.key.benchmark for limit in entry.limits}


def test_a_detector_that_never_finds_what_the_configuration_takes_gets_no_minimum_effect() -> None:
    levels = np.random.default_rng(SEED).lognormal(0, 1.0, 8)
    result = audited([run_of([[level] * 12]) for level in levels.tolist()], ANOVA, planted=6)
    assert result.detectors[0].detectable_effect is None
    assert result.recommendation.minimum_effect is None


def test_the_recommendation_takes_a_quiet_detector_and_an_effect_that_it_finds() -> None:
    rates = audited_quiet()
    effects = {entry.detector: entry.detectable_effect or np.inf for entry in rates.detectors}
    assert rates.recommendation.profile is None
    assert rates.recommendation.minimum_effect is not None
    assert rates.recommendation.minimum_effect >= effects[rates.recommendation.detector or ""]


def test_a_loud_detector_asks_for_a_stricter_profile() -> None:
    runs = history(12)
    rng = np.random.default_rng(SEED)
    # Each jump is much larger than all earlier ones, so that they do not make it look usual.
    for index in range(4, 12):
        effects = np.where(np.arange(10) == index - 4, 4.0 ** (2 ** (index - 4)), 1.0)
        runs[index] = noisy_run(rng, benchmarks=10, samples=20, spread=0.02, own_offset=0.005, effects=effects)
    advice = audited(runs).recommendation
    assert advice.profile == "strict"
    assert "more than the stated 1% allows, but fewer than any other detector" in words_of(advice.reasons)[0]


def test_runs_that_differ_more_than_their_samples_say_so() -> None:
    rng = np.random.default_rng(3)
    runs = [noisy_run(rng, benchmarks=8, samples=20, spread=0.02, own_offset=0.06) for _ in range(15)]
    sources = noise_sources(runs)
    assert sources is not None
    assert (sources.metrics, sources.processes) == (8, None)
    assert sources.runs == pytest.approx(0.06, rel=0.35)
    assert sources.samples == pytest.approx(0.02, rel=0.15)
    assert sources.enough_samples == 1


def test_runs_that_do_not_differ_ask_for_samples() -> None:
    rng = np.random.default_rng(4)
    runs = [noisy_run(rng, benchmarks=8, samples=20, spread=0.05, own_offset=0.0) for _ in range(15)]
    sources = noise_sources(runs)
    assert sources is not None
    assert sources.runs < 0.01
    assert sources.enough_samples is None or sources.enough_samples > 50


def test_runs_without_samples_have_no_sources() -> None:
    assert noise_sources([Run(), Run()]) is None
    rng = np.random.default_rng(5)
    assert noise_sources([noisy_run(rng, benchmarks=3, samples=10)]) is None
