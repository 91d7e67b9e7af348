"""The effect of stored runs' alarms on the baseline of a later run."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pytest
from msgspec.structs import replace

from perf_culprit.config.policy_settings import PolicySettings
from perf_culprit.judge.conclusion import is_flagged
from perf_culprit.judge.new_level import settled
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Verdict
from perf_culprit.model.reason import Remark
from perf_culprit.model.run import Direction, MetricKey, Run
from tests.support.noisy_counters import counter_table
from tests.support.noisy_runs import run_of

KEYS = (MetricKey("bench_00000", "time"), MetricKey("bench_00001", "time"))
CHANGES = {Verdict.REGRESSION, Verdict.IMPROVEMENT}


def run(*levels: float, flagged: Sequence[int] = ()) -> Run:
    marked = tuple(KEYS[index] for index in flagged)
    return replace(run_of([[level] * 5 for level in levels]), regressions=marked, commit="c" * 40)


def stored(*runs: Run, branched: bool = False) -> Baseline:
    return Baseline(runs=runs, source=BaselineSource.HISTORY, is_branched=branched)


def lived(
    targets: Iterable[Run], *, first_judged: int, is_suspicion_enough: bool = False, **detectors: str
) -> list[tuple[MetricKey, ...]]:
    """The metrics called worse in each run from `first_judged` on, judged against the earlier, marked runs."""
    runs: list[Run] = []
    told = []
    for number, target in enumerate(targets):
        worse: tuple[MetricKey, ...] = ()
        if number >= first_judged:
            findings = judge(stored(*runs), target, settings=PolicySettings(), **detectors).findings
            worse = tuple(f.key for f in findings if f.verdict is Verdict.REGRESSION)
            told.append(tuple(f.key for f in findings if is_flagged(f)) if is_suspicion_enough else worse)
        runs.append(replace(target, regressions=worse))
    return told


def left_out(baseline: Baseline) -> list[tuple[MetricKey, ...]]:
    return [entry.regressions for entry in baseline.runs]


def test_without_alarms_nothing_happens() -> None:
    baseline = stored(run(1, 5), run(1, 5))
    assert settled(baseline, run(1, 5)) == (baseline, ())


def test_an_alarm_that_did_not_last_leaves_nothing_out() -> None:
    baseline, notes = settled(stored(run(1, 5), run(2, 5, flagged=[0]), run(1, 5)), run(1, 5))
    assert left_out(baseline) == [(), (), ()]
    assert [(note.code, note.arguments) for note in notes] == [(Remark.PASSED_ALARM, {"count": 1})]


def test_a_level_that_lasts_is_no_baseline_on_the_branch_itself() -> None:
    runs = (run(1, 5), run(2, 5, flagged=[0]), run(2, 5), run(2, 5))
    baseline, notes = settled(stored(*runs), run(2, 5))
    assert left_out(baseline) == [(), (KEYS[0],), (KEYS[0],), (KEYS[0],)]
    assert [(note.code, note.arguments) for note in notes] == [(Remark.LASTING_LEVEL, {"count": 1})]


def test_a_pull_request_inherits_the_level_of_its_base() -> None:
    runs = (run(1, 5), run(2, 5, flagged=[0]), run(2, 5), run(2, 5))
    baseline, notes = settled(stored(*runs, branched=True), run(2, 5))
    assert left_out(baseline) == [(KEYS[0],), (), (), ()]
    assert [note.code for note in notes] == [Remark.INHERITED_LEVEL]


def test_the_pull_request_itself_is_no_witness() -> None:
    baseline, _ = settled(stored(run(1, 5), run(2, 5, flagged=[0]), run(2, 5), branched=True), run(2, 5))
    assert left_out(baseline) == [(), (), ()]


@pytest.mark.slow  # simulates whole repositories
@pytest.mark.parametrize("count", [1, 20])
def test_a_repository_that_lives_with_its_own_verdicts_stays_quiet(count: int) -> None:
    """Every benchmark is 50% slower in one run of five. Each of 38 runs is judged against the up to 30 before it."""
    alarms = judged = 0
    for seed in range(8):
        rng = np.random.default_rng([seed, count])
        runs: list[Run] = []
        for _ in range(38):
            levels = 100 * np.exp(rng.normal(0, 0.02, count) + np.log(1.5) * (rng.random(count) < 0.2))
            target = run_of(levels[:, None] * np.exp(rng.normal(0, 0.02, (count, 5))))
            if runs:
                findings = judge(stored(*runs[-30:]), target, settings=PolicySettings()).findings
                alarms += any(finding.verdict in CHANGES for finding in findings)
                judged += 1
                worse = tuple(f.key for f in findings if f.verdict is Verdict.REGRESSION)
                target = replace(target, regressions=worse)
            runs.append(target)
    # 296 judgements: at a rate of 1%, eight or more come with a probability of 1%.
    assert judged == 296
    assert alarms < 8


def test_a_step_is_told_when_it_comes_and_once_it_lasts() -> None:
    def targets() -> Iterator[Run]:
        rng = np.random.default_rng(3)
        for number in range(20):
            levels = np.array([200.0 if number >= 12 else 100.0, *[50.0] * 9]) * np.exp(rng.normal(0, 0.02, 10))
            yield run_of(levels[:, None] * np.exp(rng.normal(0, 0.02, (10, 5))))

    told = lived(targets(), first_judged=3)
    assert {key for worse in told for key in worse} == {KEYS[0]}
    assert [3 + place for place, worse in enumerate(told) if worse] == [12, *range(14, 20)]


@pytest.mark.parametrize("detector", ["anova", "median_interval", "control_chart"])
@pytest.mark.parametrize(("count", "before"), [(2, 5), (3, 20), (12, 10), (40, 12)])
def test_a_step_is_told_though_another_metric_stepped_one_push_before(detector: str, count: int, before: int) -> None:
    def targets() -> Iterator[Run]:
        rng = np.random.default_rng([count, before])
        for number in range(before + 5):
            levels = np.full(count, 100.0)
            levels[:2] *= 1 + 1.5 * (number >= before + np.arange(2))
            levels *= np.exp(rng.normal(0, 0.02, count))
            yield run_of(levels[:, None] * np.exp(rng.normal(0, 0.02, (count, 20))))

    # Few benchmarks do not show how far runs jump, so a step is only suspected and marks no new level.
    is_small = count < 10
    told = lived(targets(), first_judged=before, is_suspicion_enough=is_small, detector=detector)
    assert KEYS[0] in told[0]
    assert KEYS[1] in told[1]
    assert is_small or set(told[-1]) >= set(KEYS)


@pytest.mark.parametrize("detector", ["control_chart", "rule_ensemble"])
def test_a_counter_is_told_though_another_stepped_one_push_before(detector: str) -> None:
    names = ("cpu", "memory", "threads", "network")
    worse = dict.fromkeys(names, Direction.LOWER_IS_BETTER)

    def targets() -> Iterator[Run]:
        rng = np.random.default_rng(7)
        for number in range(13):
            levels = 50 * np.exp(rng.normal(0, 0.02, 4)) * (1 + 1.5 * (number >= np.array([8, 9, 99, 99])))
            columns = {name: rng.normal(level, 2, 60) for name, level in zip(names, levels, strict=True)}
            yield Run(counters=(counter_table(columns, directions=worse),))

    told = lived(targets(), first_judged=8, is_suspicion_enough=True, counter_detector=detector)
    cpu, memory = MetricKey("host", "cpu"), MetricKey("host", "memory")
    assert cpu in told[0]
    assert memory in told[1]
    assert cpu in told[-1]
