"""METHODS 4: association rules between counters, one model per baseline run."""

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from msgspec import structs
from scipy import stats

from perf_culprit.arrays import Floats
from perf_culprit.config.policy_settings import PolicySettings, RuleEnsembleConfig
from perf_culprit.judge.counter_pairs import pair_counters
from perf_culprit.judge.detector import DetectorOptions, detector_of
from perf_culprit.judge.policy import judge
from perf_culprit.judge.rule_ensemble import assess_tables
from perf_culprit.judge.rule_options import RuleOptions, rule_options
from perf_culprit.judge.rule_series import normalise
from perf_culprit.judge.rule_training import choose_training, similarity
from perf_culprit.model.finding import Baseline, BaselineSource, Evidence, Verdict
from perf_culprit.model.reason import Remark, Untested, because
from perf_culprit.model.run import CounterTable, Direction, Environment, Metric, MetricKey, Run
from perf_culprit.stats.common_rate import FEWEST_ROWS
from tests.support.counter_runs import counter_run, counter_table, noisy_counters
from tests.support.reasons import words_of

SEED = 4


def evidence(target: Run, *runs: Run, options: RuleOptions | None = None) -> list[Evidence]:
    tables = pair_counters(Baseline(runs=runs, source=BaselineSource.HISTORY), target).tables
    return assess_tables(tables, options or RuleOptions())


def good_runs(rng: np.random.Generator, count: int, **noise: float) -> list[Run]:
    return [
        counter_run(counter_table(noisy_counters(rng, own_offset=noise.get("own_offset", 0.0))), commit=f"{index:040x}")
        for index in range(count)
    ]


def with_shift(rng: np.random.Generator, counter: int, factor: float) -> Run:
    values = noisy_counters(rng)
    values[:, counter] *= factor
    return counter_run(counter_table(values))


def flagged(entries: list[Evidence]) -> list[str]:
    return [
        entry.metric.name
        for entry in entries
        if entry.score is not None and entry.threshold is not None and entry.score > entry.threshold
    ]


def test_rule_ensemble_silent() -> None:
    rng = np.random.default_rng(SEED)
    entries = evidence(counter_run(counter_table(noisy_counters(rng))), *good_runs(rng, 5))
    assert flagged(entries) == []
    assert {entry.score for entry in entries} == {0.0}
    assert all(entry.notes == () and entry.rules is None for entry in entries)


def test_rule_ensemble_fires() -> None:
    rng = np.random.default_rng(SEED)
    entries = evidence(with_shift(rng, 2, 1.15), *good_runs(rng, 5))
    assert flagged(entries) == ["c2"]
    entry = entries[2]
    assert (entry.score, entry.threshold, entry.test) == (1.0, 0.5, "rule_ensemble")
    assert entry.relative_change == pytest.approx(0.15, abs=0.02)
    assert entry.excess.time_in_violation > 0.9
    assert (entry.details["models"], entry.details["flagged_by"]) == (5, 5)
    assert entry.details["confidence_change"] > 0.25
    assert "c2 is medium" in words_of(entry.notes)[0]
    assert entry.rules is not None
    assert [vote.flagged for vote in entry.rules.votes] == [True] * 5
    assert [vote.run for vote in entry.rules.votes] == [f"{index:012x}" for index in [0] * 5]
    assert entry.rules.lower_boundary < 102 < entry.rules.upper_boundary


def test_it_is_registered_and_takes_its_options_from_the_detectors() -> None:
    rng = np.random.default_rng(SEED)
    tables = pair_counters(
        Baseline(runs=tuple(good_runs(rng, 4)), source=BaselineSource.HISTORY), with_shift(rng, 1, 1.1)
    ).tables
    ensemble = detector_of("rule_ensemble")
    assert flagged(ensemble.detect_counters(tables, DetectorOptions())) == ["c1"]
    deaf = DetectorOptions(settings=PolicySettings(rule_ensemble=RuleEnsembleConfig(confidence_change=0.999)))
    assert flagged(ensemble.detect_counters(tables, deaf)) == []


def test_methods_4_7_the_report_ranks_by_votes_then_by_time_in_violation() -> None:
    rng = np.random.default_rng(SEED)
    values = noisy_counters(rng)
    values[:, 4] *= 0.8
    values[20:, 2] *= 1.15
    runs = tuple(good_runs(rng, 5))
    judgement = judge(
        Baseline(runs=runs, source=BaselineSource.HISTORY),
        counter_run(counter_table(values)),
        counter_detector="rule_ensemble",
        settings=PolicySettings(),
    )
    regressions = [finding for finding in judgement.findings if finding.verdict is Verdict.REGRESSION]
    assert [finding.metric.name for finding in regressions] == ["c4", "c2"]
    assert [finding.score for finding in regressions] == [1.0, 1.0]


def follows(rng: np.random.Generator, *, broken: bool = False) -> Run:
    """A run whose load has three steps that `cpu` follows. If broken, `cpu` is high at every load."""
    load = np.repeat(rng.permutation(np.repeat([10.0, 20.0, 30.0], 8)), 4)
    cpu = np.where(broken, 30.0, load) + rng.normal(0, 0.5, len(load))
    disk = rng.normal(5, 1, len(load))
    values = np.column_stack([load + rng.normal(0, 0.5, len(load)), cpu, disk])
    return counter_run(counter_table(values, names=("load", "cpu", "disk")))


@pytest.mark.parametrize(("share", "is_found"), [(0.35, True), (0.15, False)])
def test_a_counter_that_is_four_times_as_high_for_a_third_of_the_time_is_flagged(
    share: float, *, is_found: bool
) -> None:
    rng = np.random.default_rng(SEED)
    runs, values = good_runs(rng, 5), noisy_counters(rng)
    start = int(0.3 * len(values))
    values[start : start + round(share * len(values)), 1] *= 4
    entries = evidence(counter_run(counter_table(values)), *runs)
    assert flagged(entries) == (["c1"] if is_found else [])
    if is_found:
        excess = entries[1].excess
        assert (excess.above, excess.below) == (True, False)
        assert excess.time_in_violation > 0.35


def test_a_counter_that_no_longer_follows_another_is_flagged_with_the_rule() -> None:
    rng = np.random.default_rng(SEED)
    runs = [follows(rng) for _ in range(4)]
    assert flagged(evidence(follows(rng), *runs)) == []
    entries = evidence(follows(rng, broken=True), *runs)
    assert "cpu" in flagged(entries)
    cpu = entries[1]
    assert words_of(cpu.notes)[0].startswith("when load is low, cpu is low: 100% before, 0% now")
    # The level is wrong only while the load is low or medium, in two thirds of the instants.
    assert cpu.excess.time_in_violation == pytest.approx(2 / 3, abs=0.1)


def test_methods_4_4_a_premise_that_never_holds_in_the_target_flags_nothing() -> None:
    rng = np.random.default_rng(SEED)
    runs = [follows(rng) for _ in range(4)]
    values = follows(rng, broken=True).counters[0].values
    values[:, 0] = 99.0  # a load that no baseline run had
    pairs_only = RuleOptions(confidence="90%")
    entries = evidence(counter_run(counter_table(values, names=("load", "cpu", "disk"))), *runs, options=pairs_only)
    assert "cpu" not in flagged(entries)


def test_methods_4_5_time_in_violation_is_the_share_of_mismatching_instants() -> None:
    values = np.ones((101, 3)) * [5.0, 6.0, 7.0]
    runs = [counter_run(counter_table(values)) for _ in range(3)]
    changed = values.copy()
    changed[40:, 1] = 9.0
    options = RuleOptions(warm_up="0%", cool_down="0%", interval_s=60.0)
    entries = evidence(counter_run(counter_table(changed)), *runs, options=options)
    assert flagged(entries) == ["c1"]
    # 101 instants make 100 intervals, the last with two instants: 40 are medium, 60 high.
    assert entries[1].excess.time_in_violation == pytest.approx(0.6)
    assert entries[1].rules is not None
    assert entries[1].rules.violations == ((40 * 60.0, 100 * 60.0),)


LAB_A = {"cpu": "a", "memory": "2 GB", "database": "1", "os": "64 bit"}
LAB_B = {"cpu": "b", "memory": "1 GB", "database": "2", "os": "32 bit"}


def test_a_test_is_cut_into_no_more_intervals_than_wanted() -> None:
    rng = np.random.default_rng(3)
    target, *runs = (counter_run(counter_table(noisy_counters(rng, instants=400))) for _ in range(3))
    tables = pair_counters(Baseline(runs=tuple(runs), source=BaselineSource.HISTORY), target).tables
    coarse = normalise(tables, runs, RuleOptions(intervals=50))
    usual = normalise(tables, runs, RuleOptions())
    assert {len(entry.values) for entry in coarse} == {50}
    assert {len(entry.values) for entry in usual} == {144}


def test_methods_4_6_weights_follow_the_environments() -> None:
    target = Environment(components={"cpu": "2 GHz", "memory": "2 GB", "database": "1", "os": "64 bit"})
    one = Environment(components={"cpu": "2 GHz", "memory": "2 GB", "database": "1", "os": "32 bit"})
    two = Environment(components={"cpu": "2 GHz", "memory": "1 GB", "database": "2", "os": "64 bit"})
    assert sorted(similarity(one, target)) == [0, 1, 1, 1]
    assert sorted(similarity(two, target)) == [0, 0, 1, 1]
    assert similarity(Environment(components={"cpu": "2 GHz"}), Environment(components={"os": "64 bit"})) == (0, 0)
    run = counter_run(counter_table(np.ones((20, 2))))
    tables = pair_counters(
        Baseline(
            runs=(structs.replace(run, environment=one), structs.replace(run, environment=two)),
            source=BaselineSource.HISTORY,
        ),
        structs.replace(run, environment=target),
    ).tables
    assert choose_training(tables, RuleOptions()).weights == pytest.approx([0.5505, 0.4495], abs=5e-5)


def test_custom_weights_replace_the_environments() -> None:
    rng = np.random.default_rng(SEED)
    runs = good_runs(rng, 3)
    tables = pair_counters(Baseline(runs=tuple(runs), source=BaselineSource.HISTORY), runs[0]).tables
    weights = {f"{1:040x}": 2.0, f"{2:040x}": 0.0}
    assert choose_training(tables, RuleOptions(weights=weights)).weights == pytest.approx([1 / 3, 2 / 3, 0])


def lab_run(rng: np.random.Generator, lab: dict[str, str], *, level: float, fault: float = 1.0) -> Run:
    values = noisy_counters(rng)
    values[:, 1] *= level * fault
    return counter_run(counter_table(values), environment=lab)


@pytest.mark.parametrize(("ensemble", "false_alarm"), [("stacking", False), ("bagging", True)])
def test_stacking_trusts_the_runs_of_the_targets_environment(ensemble: str, false_alarm: bool) -> None:
    rng = np.random.default_rng(SEED)
    runs = [lab_run(rng, LAB_A, level=1.0) for _ in range(2)] + [lab_run(rng, LAB_B, level=2.0) for _ in range(4)]
    options = RuleOptions(ensemble="stacking" if ensemble == "stacking" else "bagging")
    assert (flagged(evidence(lab_run(rng, LAB_A, level=1.0), *runs, options=options)) == ["c1"]) is false_alarm
    assert "c1" in flagged(evidence(lab_run(rng, LAB_A, level=1.0, fault=1.3), *runs, options=options))


@pytest.mark.parametrize("shift", [1.0, 1.15])
def test_methods_4_6_equal_environments_stack_as_they_bag(shift: float) -> None:
    rng = np.random.default_rng(SEED)
    runs, target = good_runs(rng, 5, own_offset=0.5), with_shift(rng, 3, shift)
    stacked = evidence(target, *runs, options=RuleOptions(ensemble="stacking"))
    bagged = evidence(target, *runs, options=RuleOptions(ensemble="bagging"))
    assert [entry.score for entry in stacked] == [entry.score for entry in bagged]


def test_a_single_model_learns_from_all_runs_at_once() -> None:
    rng = np.random.default_rng(SEED)
    runs = good_runs(rng, 4)
    entries = evidence(with_shift(rng, 2, 1.15), *runs, options=RuleOptions(ensemble="single"))
    assert flagged(entries) == ["c2"]
    assert entries[2].details["models"] == 1
    assert entries[2].rules is not None
    assert len(entries[2].rules.votes) == 1


def test_equal_widths_find_a_move_between_the_levels_of_several_environments() -> None:
    rng = np.random.default_rng(SEED)
    runs = [lab_run(rng, LAB_A, level=1.0) for _ in range(3)] + [lab_run(rng, LAB_B, level=6.0) for _ in range(3)]
    options = RuleOptions(discretisation="equal_width", prefer_near_duplicates=False)
    entries = evidence(lab_run(rng, LAB_A, level=1.0, fault=3.0), *runs, options=options)
    assert "c1" in flagged(entries)
    assert any("c1 is at level" in note for note in words_of(entries[1].notes))
    assert flagged(evidence(lab_run(rng, LAB_A, level=1.0), *runs, options=options)) == []


def test_runs_judged_regressions_train_nothing() -> None:
    rng = np.random.default_rng(SEED)
    runs = good_runs(rng, 4)
    bad = structs.replace(with_shift(rng, 2, 1.15), regressions=(MetricKey("host", "c2"),))
    assert flagged(evidence(with_shift(rng, 2, 1.15), *runs, bad)) == ["c2"]
    only_bad = evidence(with_shift(rng, 2, 1.15), bad)
    assert {words_of(entry.evidence_reason) for entry in only_bad} == {
        "every baseline run was judged a regression, so none may train a model"
    }


def test_near_duplicates_of_the_environment_train_alone_and_are_named() -> None:
    rng = np.random.default_rng(SEED)
    near = [structs.replace(lab_run(rng, LAB_A, level=1.0), commit=f"{n}" * 40) for n in range(3)]
    far = [structs.replace(lab_run(rng, LAB_B, level=2.0), commit=f"{n}" * 40) for n in range(5, 9)]
    entry = evidence(lab_run(rng, LAB_A, level=1.0, fault=1.3), *far, *near)[1]
    assert entry.rules is not None
    assert [vote.run for vote in entry.rules.votes] == ["0" * 12, "1" * 12, "2" * 12]


def test_a_single_near_duplicate_must_agree_with_the_others() -> None:
    rng = np.random.default_rng(SEED)
    runs = [lab_run(rng, LAB_A, level=1.0)] + [lab_run(rng, LAB_B, level=2.0) for _ in range(4)]
    assert flagged(evidence(lab_run(rng, LAB_A, level=1.0), *runs)) == []
    assert "c1" in flagged(evidence(lab_run(rng, LAB_A, level=1.0, fault=1.3), *runs))
    as_in_the_source = RuleOptions(prefer_near_duplicates=False)
    near_labs = [lab_run(rng, {**LAB_A, "os": "32 bit"}, level=2.0) for _ in range(4)]
    target = lab_run(rng, LAB_A, level=1.0)
    assert flagged(evidence(target, runs[0], *near_labs)) == []
    assert flagged(evidence(target, runs[0], *near_labs, options=as_in_the_source)) == ["c1"]


def test_a_counter_that_differs_from_run_to_run_has_no_rule() -> None:
    rng = np.random.default_rng(SEED)
    runs = []
    for level in (1.0, 1.5, 2.0, 3.0, 5.0):
        values = noisy_counters(rng)
        values[:, 0] *= level
        runs.append(counter_run(counter_table(values)))
    entry = evidence(with_shift(rng, 0, 2.5), *runs)[0]
    assert entry.score is None
    assert entry.evidence_reason is not None
    assert "differs from run to run" in words_of(entry.evidence_reason)


def test_counters_of_several_tables_and_rates_join_in_rules() -> None:
    rng = np.random.default_rng(SEED)

    def run(*, broken: bool = False, start_s: float = 0.0) -> Run:
        values = follows(rng, broken=broken).counters[0].values
        fast = counter_table(
            np.repeat(values[:, :1], 6, axis=0), name="driver", step_s=10.0, names=("load",), start_s=start_s + 3.0
        )
        slow = counter_table(values[:, 1:], name="server", names=("cpu", "disk"), start_s=start_s)
        return counter_run(fast, slow)

    runs = [run(start_s=1e9 + 1e5 * index) for index in range(4)]
    assert flagged(evidence(run(), *runs)) == []
    entries = evidence(run(broken=True), *runs)
    assert "cpu" in flagged(entries)
    assert "when driver load is low, server cpu is low" in " ".join(words_of(entries[1].notes))


def test_duplicate_counters_are_all_reported() -> None:
    rng = np.random.default_rng(SEED)

    def doubled(run: Run) -> Run:
        values = run.counters[0].values
        return counter_run(counter_table(np.hstack([values, 1024 * values])))

    entries = evidence(doubled(with_shift(rng, 2, 1.15)), *map(doubled, good_runs(rng, 4)))
    assert flagged(entries) == ["c2", "c8"]
    assert "c8 is medium" in words_of(entries[8].notes)[0]


@pytest.mark.parametrize("unit", [1e-9, 1e9, -1.0])
def test_the_answer_does_not_depend_on_the_unit(unit: float) -> None:
    rng = np.random.default_rng(SEED)

    def scaled(run: Run) -> Run:
        return counter_run(counter_table(unit * run.counters[0].values))

    runs, target = good_runs(rng, 4), with_shift(rng, 2, 1.15)
    assert [entry.score for entry in evidence(scaled(target), *map(scaled, runs))] == [
        entry.score for entry in evidence(target, *runs)
    ]


def with_load(run: Run, level: float) -> Run:
    (table,) = run.counters
    load = level * np.linspace(0.95, 1.05, len(table.times_s))
    return structs.replace(run, counters=(replace(table, load=load, load_name="requests"),))


def test_a_load_that_differs_is_said_beside_the_counters() -> None:
    rng = np.random.default_rng(SEED)
    runs = [with_load(run, 100.0) for run in good_runs(rng, 4)]
    same = evidence(with_load(with_shift(rng, 2, 1.15), 100.0), *runs)[2]
    other = evidence(with_load(with_shift(rng, 2, 1.15), 150.0), *runs)[2]
    assert "the load differs from the baseline's too" in words_of(other.notes)
    assert "the load differs from the baseline's too" not in words_of(same.notes)


def test_a_fault_is_not_blamed_on_the_counters_that_it_predicted() -> None:
    """c5 follows the load as c4 does: when c5 is always high, "when c5 is high, c4 is high" breaks too."""
    rng = np.random.default_rng(SEED)
    runs = good_runs(rng, 5)
    for _ in range(10):
        assert flagged(evidence(with_shift(rng, 5, 1.2), *runs)) == ["c5"]


def noise_run(values: Floats) -> Run:
    return counter_run(counter_table(values))


# Forty ensembles of six models each.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("own_offset", "noise"), [(0.0, "normal"), (0.0, "bimodal"), (1.0, "heavy-tailed"), (3.0, "bimodal")]
)
def test_false_alarms_stay_at_the_stated_rate(own_offset: float, noise: str) -> None:
    """Unchanged runs flag at most alpha of their counters, with three or more baseline runs."""
    rng = np.random.default_rng(SEED)
    alarms, counters, trials = 0, 20, 40

    def run() -> Run:
        return noise_run(noisy_counters(rng, counters=counters, own_offset=own_offset, noise=noise))

    for _ in range(trials):
        alarms += len(flagged(evidence(run(), *(run() for _ in range(6)))))
    assert stats.binomtest(alarms, trials * counters, RuleOptions().alpha, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("count", [1, 2, 3])
def test_too_few_baseline_runs_to_see_their_spread_are_a_doubt(count: int) -> None:
    rng = np.random.default_rng(SEED)
    entries = evidence(with_shift(rng, 2, 1.15), *good_runs(rng, count))
    assert "c2" in flagged(entries)
    doubts = [note for note in entries[2].notes if note.code is Remark.FEW_NEAR_RUNS]
    assert doubts == ([because(Remark.FEW_NEAR_RUNS, count=count, wanted=3)] if count < 3 else [])


def altered(run: Run, values: Floats | float) -> Run:
    (table,) = run.counters
    copy = table.values.copy()
    copy[:, 1] = values
    return structs.replace(run, counters=(replace(table, values=copy),))


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        pytest.param(5.0, 5.0, "same", id="constant"),
        pytest.param(5.0, 6.0, "flagged", id="constant that changes"),
        pytest.param(0.0, 0.0, "same", id="zero"),
        pytest.param(0.0, 3.0, "flagged", id="from zero"),
        pytest.param(-5.0, -5.0, "same", id="negative"),
        pytest.param(-5.0, -4.0, "flagged", id="negative that changes"),
        pytest.param(1e100, -1e100, "flagged", id="huge"),
        pytest.param(5.0, math.nan, "all values of the target are missing", id="target missing"),
        pytest.param(math.nan, 5.0, "all values of the baseline are missing", id="baseline missing"),
        pytest.param(5.0, 1e300, "all values of the target are missing", id="too large to calculate with"),
        pytest.param(math.inf, math.inf, "all values of the target are missing", id="infinite"),
    ],
)
def test_a_counter_that_never_varies_has_an_answer(before: float, now: float, expected: str) -> None:
    rng = np.random.default_rng(SEED)
    runs = [altered(run, before) for run in good_runs(rng, 3)]
    entries = evidence(altered(with_shift(rng, 0, 1.0), now), *runs)
    if expected in {"same", "flagged"}:
        assert flagged(entries) == (["c1"] if expected == "flagged" else [])
        assert entries[1].score == (1.0 if expected == "flagged" else 0.0)
    else:
        assert (entries[1].score, words_of(entries[1].evidence_reason)) == (None, expected)
        assert all(entry.score == 0 for entry in entries if entry.metric.name != "c1")


def test_two_counters_are_enough() -> None:
    rng = np.random.default_rng(SEED)
    runs = [noise_run(noisy_counters(rng, counters=2)) for _ in range(4)]
    values = noisy_counters(rng, counters=2)
    values[:, 1] *= 1.2
    assert flagged(evidence(noise_run(values), *runs)) == ["c1"]


def test_a_target_with_other_counters_is_judged_by_the_common_ones() -> None:
    rng = np.random.default_rng(SEED)
    runs = good_runs(rng, 4)
    values = noisy_counters(rng)
    values[:, 2] *= 1.15
    names = ("c0", "other", "c2", "c3")
    target = counter_run(counter_table(values[:, [0, 1, 2, 3]], names=names))
    entries = evidence(target, *runs)
    assert [entry.metric.name for entry in entries] == ["c0", "c2", "c3"]
    assert flagged(entries) == ["c2"]
    assert evidence(counter_run(counter_table(values, names=[f"n{index}" for index in range(6)])), *runs) == []


def test_a_counter_that_some_runs_lack_is_judged_by_the_others() -> None:
    rng = np.random.default_rng(SEED)
    runs = good_runs(rng, 5)
    short = [counter_run(counter_table(run.counters[0].values[:, :2])) for run in runs[:2]]
    entry = evidence(with_shift(rng, 2, 1.15), *short, *runs[2:])[2]
    assert (entry.score, entry.details["models"]) == (1.0, 3)


@pytest.mark.parametrize("instants", [1, 2, 9])
def test_a_target_that_is_too_short_says_so(instants: int) -> None:
    rng = np.random.default_rng(SEED)
    target = noise_run(noisy_counters(rng, instants=instants))
    for entry in evidence(target, *good_runs(rng, 3)):
        assert entry.score is None
        assert entry.evidence_reason is not None
        assert "10 are needed" in words_of(entry.evidence_reason)


def test_baseline_runs_that_are_too_short_say_so() -> None:
    rng = np.random.default_rng(SEED)
    runs = [noise_run(noisy_counters(rng, instants=2)) for _ in range(3)]
    assert {words_of(entry.evidence_reason) for entry in evidence(with_shift(rng, 0, 1.0), *runs)} == {
        "no baseline run has 10 intervals that all its counters share"
    }


def test_gaps_are_no_violations() -> None:
    rng = np.random.default_rng(SEED)
    values = noisy_counters(rng)
    values[rng.random(values.shape) < 0.5] = np.nan
    values[20:60] = np.nan
    assert flagged(evidence(noise_run(values), *good_runs(rng, 4))) == []


def test_a_changed_unit_is_an_obstacle() -> None:
    rng = np.random.default_rng(SEED)
    runs, target = good_runs(rng, 3), with_shift(rng, 0, 1.0)
    (table,) = target.counters
    metrics = (structs.replace(table.metrics[0], unit="pages"), *table.metrics[1:])
    entries = evidence(structs.replace(target, counters=(replace(table, metrics=metrics),)), *runs)
    assert entries[0].score is None
    assert words_of(entries[0].evidence_reason) == "the unit changed from none to pages"
    assert entries[1].score == 0.0


def test_no_tables_are_no_evidence() -> None:
    assert assess_tables((), RuleOptions()) == []


def thesis_and_guarded(target: Run, *runs: Run) -> tuple[set[str], set[str]]:
    """The counters that each profile calls."""
    baseline = Baseline(runs=runs, source=BaselineSource.FILES)

    def called(profile: str) -> set[str]:
        settings = PolicySettings(rule_ensemble=RuleEnsembleConfig(profile=profile))
        findings = judge(baseline, target, counter_detector="rule_ensemble", settings=settings).findings
        return {entry.metric.name for entry in findings if entry.verdict is Verdict.REGRESSION}

    return called("thesis"), called("guarded")


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_the_thesis_calls_what_few_runs_show_and_our_conditions_wait(count: int) -> None:
    """The published method ignores how good runs differ: it calls 1.6 times the disk writes from one run on."""
    rng = np.random.default_rng(SEED)
    runs, target = good_runs(rng, count), with_shift(rng, 1, 1.6)
    thesis, guarded = thesis_and_guarded(target, *runs)
    assert "c1" in thesis
    assert ("c1" in guarded) == (count >= 3)


def test_the_thesis_flags_good_runs_that_differ() -> None:
    rng = np.random.default_rng(SEED)
    thesis = rule_options(RuleEnsembleConfig(profile="thesis"))
    assert not thesis.prefer_near_duplicates
    runs, target = good_runs(rng, 5, own_offset=3.0), good_runs(rng, 1, own_offset=3.0)[0]
    assert flagged(evidence(target, *runs, options=thesis))
    assert not flagged(evidence(target, *runs))


def test_the_thesis_has_no_minimum_effect() -> None:
    """4% are more than one deviation of this counter, and less than what readers of the guarded profile want."""
    rng = np.random.default_rng(SEED)
    runs = good_runs(rng, 5)
    thesis, guarded = thesis_and_guarded(with_shift(rng, 1, 1.04), *runs)
    assert "c1" in thesis - guarded


def test_the_thesis_knows_no_load() -> None:
    """[F11, figure 5-6] reports the counters of a test under more load."""
    rng = np.random.default_rng(SEED)
    runs = [with_load(run, 100.0) for run in good_runs(rng, 5)]
    thesis, guarded = thesis_and_guarded(with_load(with_shift(rng, 2, 1.15), 115.0), *runs)
    assert "c2" in thesis - guarded


def idling(seed: int, *, factor: float = 1.0) -> Run:
    """A tenth of the rows have one counter without work."""
    rng = np.random.default_rng(seed)
    values = rng.normal(1, 0.04, (240, 2)) * (45.0, 100.0)
    values[:, 0] *= factor
    values[rng.choice(240, 24, replace=False), 0] = rng.uniform(0.5, 2, 24)
    return counter_run(counter_table(values))


@pytest.mark.parametrize("count", [3, 5, 8])
def test_idle_time_does_not_hide_a_change(count: int) -> None:
    runs = [idling(seed) for seed in range(count)]
    assert flagged(evidence(idling(99, factor=1.25), *runs)) == ["c0"]
    assert flagged(evidence(idling(99), *runs)) == []


@pytest.mark.parametrize(
    ("discretisation", "setting"),
    [("equal_width", "rule-ensemble.discretisation: three_level"), ("three_level", "counter-detector: control_chart")],
)
def test_a_counter_without_a_rule_names_the_setting_that_tests_it(discretisation: str, setting: str) -> None:
    rng = np.random.default_rng(SEED)
    runs = good_runs(rng, 4, own_offset=8.0)
    options = RuleOptions(discretisation=discretisation)
    untested = [entry for entry in evidence(good_runs(rng, 1)[0], *runs, options=options) if entry.score is None]
    assert {entry.evidence_reason for entry in untested} == {because(Untested.WITHOUT_RULES, setting=setting)}


def test_premises_of_two_find_what_one_does_not() -> None:
    """The cpu is high when exactly one of two jobs runs. Neither job alone predicts it."""
    rng = np.random.default_rng(SEED)

    def run(*, broken: bool = False) -> Run:
        jobs = rng.integers(0, 2, (140, 2)) * 2.0
        cpu = 10.0 + 10.0 * (jobs.sum(axis=1) == 2.0)
        cpu = 30.0 - cpu if broken else cpu
        table = counter_table(np.column_stack([jobs + 1.0, cpu]), names=("one", "two", "cpu"))
        return counter_run(table)

    runs = [run() for _ in range(4)]
    wide = RuleOptions(premises=2, interval_s=60.0, warm_up="0%", cool_down="0%")
    narrow = wide.model_copy(update={"premises": 1})
    broken = run(broken=True)
    assert "cpu" in flagged(evidence(broken, *runs, options=wide))
    assert flagged(evidence(run(), *runs, options=wide)) == []
    assert flagged(evidence(broken, *runs, options=narrow)) == []


def test_tables_whose_clocks_have_nothing_in_common_start_together() -> None:
    rng = np.random.default_rng(SEED)

    def run(*, broken: bool = False) -> Run:
        values = follows(rng, broken=broken).counters[0].values
        dated = counter_table(values[:, :1], name="driver", names=("load",), start_s=1.7e9)
        return counter_run(dated, counter_table(values[:, 1:], name="server", names=("cpu", "disk")))

    cpu = evidence(run(broken=True), *(run() for _ in range(4)))[1]
    assert flagged([cpu]) == ["cpu"]
    assert cpu.rules is not None
    # Spans are on the clock of the counter's own table.
    assert all(0 <= start < end <= 96 * 60 for start, end in cpu.rules.violations)


def test_a_run_without_one_of_the_tables_has_no_vote_on_its_counters() -> None:
    rng = np.random.default_rng(SEED)

    def run(*, shift: float = 1.0, both: bool = True) -> Run:
        first = counter_table(noisy_counters(rng), name="one")
        second = counter_table(shift * noisy_counters(rng), name="two")
        return counter_run(first, second) if both else counter_run(first)

    runs = [run(both=False), *(run() for _ in range(4))]
    entries = evidence(run(shift=1.2), *runs)
    assert {entry.key.benchmark for entry in entries if flagged([entry])} == {"two"}
    assert {entry.details["models"] for entry in entries if entry.key.benchmark == "two"} == {4}
    assert {entry.details["models"] for entry in entries if entry.key.benchmark == "one"} == {5}


def test_the_newest_runs_train_where_there_are_too_many() -> None:
    rng = np.random.default_rng(SEED)
    start = datetime(2026, 1, 1, tzinfo=UTC)
    runs = [structs.replace(run, time=start + timedelta(days=day)) for day, run in enumerate(good_runs(rng, 4))]
    mixed = [runs[2], runs[0], runs[3], runs[1]]
    tables = pair_counters(Baseline(runs=tuple(mixed), source=BaselineSource.HISTORY), runs[0]).tables
    assert choose_training(tables, RuleOptions(most_models=2)).runs == (runs[2], runs[3])


def test_the_report_names_the_runs_that_trained_the_rules() -> None:
    def run(seed: int, commit: str) -> Run:
        values = np.random.default_rng(seed).normal(50, 2, (60, 3))
        metrics = tuple(Metric(name=name, unit="", direction=Direction.UNKNOWN) for name in ("a", "b", "c"))
        table = CounterTable(name="host", metrics=metrics, times_s=np.arange(60.0) * 10, values=values)
        return Run(counters=(table,), commit=commit)

    baseline = Baseline(runs=tuple(run(seed, f"{seed}" * 40) for seed in (1, 2, 3)), source=BaselineSource.FILES)
    judgement = judge(baseline, run(4, "4" * 40), counter_detector="rule_ensemble", settings=PolicySettings())
    assert "the rules come from 3 runs: 333333333333, 222222222222, 111111111111" in words_of(judgement.notes)


def cut(run: Run, instants: int) -> Run:
    (table,) = run.counters
    return structs.replace(
        run, counters=(replace(table, times_s=table.times_s[:instants], values=table.values[:instants]),)
    )


def test_one_long_run_is_enough_and_a_short_target_or_only_short_runs_are_not() -> None:
    rng = np.random.default_rng(SEED)
    target, runs = counter_run(counter_table(noisy_counters(rng))), good_runs(rng, 3)
    short = [cut(run, FEWEST_ROWS - 1) for run in runs]
    codes = {"one long": evidence(target, *short[:2], runs[2]), "only short": evidence(target, *short)}
    assert {entry.score is None for entry in codes["one long"]} == {False}
    for entries, code in (
        (codes["only short"], Untested.TOO_FEW_BASELINE_INTERVALS),
        (evidence(cut(target, FEWEST_ROWS - 1), *runs), Untested.TOO_FEW_TARGET_INTERVALS),
    ):
        assert {entry.evidence_reason and entry.evidence_reason.code for entry in entries} == {code}
