"""A benchmark that leaves its response-time category is a finding, however small the steps [H13]."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from msgspec import structs

from perf_culprit.config.policy_settings import CATEGORIES, BenchmarkConfig, LevelsConfig, PolicySettings
from perf_culprit.flows.record import judged_run
from perf_culprit.judge.categories import category_limits
from perf_culprit.judge.conclusion import confirmed
from perf_culprit.judge.policy import judge
from perf_culprit.model.finding import Baseline, BaselineSource, Finding, Level, Severity, Verdict
from perf_culprit.model.reason import Remark, VerdictReason
from perf_culprit.model.report import Judgement, Report
from perf_culprit.model.run import CI_RUN, Environment, Origin, Run
from tests.support.noisy_runs import THROUGHPUT, TIME, run_of

MILLISECONDS = structs.replace(TIME, unit="ms")
DEFAULTS = PolicySettings(categories=CATEGORIES)
PROMISED = PolicySettings(benchmarks=(BenchmarkConfig(match="*0", category="fast"),))
COMMITS = 14


def measured(level: float, rng: np.random.Generator, *, others: int = 10, noise: float = 0.01) -> Run:
    levels = [level, *[5.0] * others]
    samples = [(mean * np.exp(rng.normal(0, noise)) * np.exp(rng.normal(0, noise, 10))).tolist() for mean in levels]
    return run_of(samples, metric=MILLISECONDS)


def after(levels: Sequence[float], settings: PolicySettings = DEFAULTS, *, branched: bool = False) -> list[Judgement]:
    """Judge and record each commit. `branched` judges the last one as the head of a branch."""
    rng, stored, judgements = np.random.default_rng(1), list[Run](), list[Judgement]()
    for number, level in enumerate(levels, start=1):
        run = measured(level, rng)
        baseline = Baseline(
            runs=tuple(stored), source=BaselineSource.HISTORY, is_branched=branched and number == len(levels)
        )
        judgements.append(judge(baseline, run, settings=settings))
        stored.append(judged_run(run, cast("Report", SimpleNamespace(findings=judgements[-1].findings))))
    return judgements


def first(judgement: Judgement) -> Finding:
    return next(finding for finding in judgement.findings if finding.key.benchmark == "bench_00000")


def crept(count: int = COMMITS) -> list[float]:
    """Levels in ms that rise by 3% per commit, from 7.6 to 11.2 in 14 commits."""
    return [7.6 * 1.03**number for number in range(count)]


def codes(judgement: Judgement) -> set[Any]:
    return {note.code for note in judgement.notes}


def test_creeping_out_of_a_category_is_a_major_regression_that_fails() -> None:
    judgements = after(crept())
    finding = first(judgements[-1])
    assert (finding.verdict, finding.severity, finding.level) == (Verdict.REGRESSION, Severity.MAJOR, Level.FAIL)
    assert finding.reason.code is VerdictReason.LEFT_CATEGORY
    assert (finding.category, finding.category_now, finding.category_limit) == ("fast", "medium", 10.0)
    assert judgements[-1].failed
    # No step was called, nor anything while the level was inside its category.
    assert all(first(one).verdict is not Verdict.REGRESSION for one in judgements[1:10])


def test_the_exit_code_follows_the_fail_level() -> None:
    lenient = PolicySettings(categories=CATEGORIES, levels=LevelsConfig(warn="5%", fail="50%"))
    last = after(crept(), lenient)[-1]
    assert (first(last).verdict, first(last).level, last.failed) == (Verdict.REGRESSION, Level.WARN, False)


def test_it_is_reported_until_somebody_acts() -> None:
    verdicts = [first(one).verdict for one in after(crept(20))[COMMITS - 1 :]]
    assert verdicts == [Verdict.REGRESSION] * 7


def test_one_run_beyond_the_bound_leaves_nothing() -> None:
    last = after([9.9] * 13 + [10.15])[-1]
    assert first(last).verdict is not Verdict.REGRESSION
    assert Remark.CATEGORY_UNSURE in codes(last)


@pytest.mark.parametrize("level", [10.02, 9.98])
def test_a_level_at_its_bound_is_not_called(level: float) -> None:
    assert first(after([level] * 12, PROMISED)[-1]).verdict is not Verdict.REGRESSION


def test_a_promise_counts_where_the_first_measurement_was_beyond_it() -> None:
    levels = [12.0] * 12
    assert first(after(levels)[-1]).verdict is not Verdict.REGRESSION
    finding = first(after(levels, PROMISED)[-1])
    assert (finding.verdict, finding.severity, finding.category) == (Verdict.REGRESSION, Severity.MAJOR, "fast")


def test_a_pull_request_is_not_blamed_for_what_the_base_had_left() -> None:
    last = after([12.0] * 12, PROMISED, branched=True)[-1]
    assert first(last).verdict is not Verdict.REGRESSION
    assert Remark.CATEGORY_LEFT_BEFORE in codes(last)


def test_a_second_measurement_of_two_commits_does_not_refute_what_many_did() -> None:
    rng = np.random.default_rng(2)
    earlier = first(after(crept())[-1])
    base, head = measured(10.9, rng), measured(11.2, rng)
    again = judge(Baseline(runs=(base,), source=BaselineSource.PAIRED), head, settings=DEFAULTS)
    assert first(again).verdict is not Verdict.REGRESSION
    promised = structs.replace(first(again), category_now="medium")
    assert confirmed([earlier], [promised]) == (earlier,)
    (kept,) = confirmed([earlier], [structs.replace(first(again), verdict=Verdict.UNCHANGED, category_now="fast")])
    assert kept.reason.code is VerdictReason.REFUTED


def test_bounds_are_in_the_metrics_unit_and_of_times_only() -> None:
    seconds = structs.replace(TIME, unit="s")
    assert category_limits(seconds, DEFAULTS.categories) == (("fast", 0.01), ("medium", 0.1))
    assert category_limits(THROUGHPUT, DEFAULTS.categories) == ()


@pytest.mark.parametrize("jobs", [1, 6])
def test_files_of_one_job_are_one_level_that_proves_nothing(jobs: int) -> None:
    rng = np.random.default_rng(4)
    files = [measured(level, rng) for level in [7.0] * 6 + [14.0] * 6]
    machines = [f"{'base' if at < len(files) // 2 else 'head'} {at * jobs // 6}" for at in range(len(files))]
    before = tuple(
        structs.replace(run, environment=Environment(components={CI_RUN: job}))
        for run, job in zip(files[:6], machines, strict=False)
    )
    names = {one.name: [run.benchmarks[at] for run in files[6:]] for at, one in enumerate(files[6].benchmarks)}
    target = structs.replace(
        files[6],
        benchmarks=tuple(
            structs.replace(
                own[0],
                samples=tuple(sample for one in own for sample in one.samples),
                group_sizes=(10,) * 6,
                rounds=tuple(range(1, 7)),
            )
            for own in names.values()
        ),
        origins=tuple(Origin((None, None, job), None) for job in machines[6:]),
    )
    judgement = judge(Baseline(runs=before, source=BaselineSource.FILES), target, settings=DEFAULTS)
    assert first(judgement).category_now == "medium"
    assert (first(judgement).verdict is Verdict.REGRESSION) is (jobs > 1)
