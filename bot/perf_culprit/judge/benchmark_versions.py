"""Which runs measured the same benchmark as the target: of another version's numbers nothing follows."""

from collections.abc import Iterable
from dataclasses import replace

from msgspec import structs

from perf_culprit.judge.estimate import estimate
from perf_culprit.judge.evidence_columns import untested
from perf_culprit.judge.statistic import MEDIAN, common_statistic
from perf_culprit.model.finding import Baseline, Finding, Verdict
from perf_culprit.model.reason import Reason, Remark, Untested, because
from perf_culprit.model.run import HARNESS, Benchmark, Run

SHOWN: int = 12  # characters of a version


def of_one_version(baseline: Baseline, target: Run) -> tuple[Baseline, tuple[Finding, ...], tuple[Reason, ...]]:
    """The baseline without what measured other versions of the target's benchmarks.

    A finding for each of which that leaves nothing, and notes. A version that is not known is like any other.
    """
    now = {one.key: one for one in target.benchmarks if one.version is not None}
    notes = tuple(dict.fromkeys(_of_harness(baseline.runs)))

    def is_other(one: Benchmark) -> bool:
        return one.key in now and not one.is_version_of(now[one.key])

    older = {one.key: one for run in baseline.runs for one in run.benchmarks if is_other(one)}
    if not older:
        return baseline, (), notes
    same = [tuple(one for one in run.benchmarks if not is_other(one)) for run in baseline.runs]
    runs = tuple(structs.replace(run, benchmarks=own) for run, own in zip(baseline.runs, same, strict=True))
    kept = {one.key for own in same for one in own}
    changed = tuple(_not_comparable(older[key], now[key]) for key in older if key not in kept)
    if left := len(older) - len(changed):
        notes += (because(Remark.OLDER_VERSIONS, count=left),)
    return replace(baseline, runs=runs), changed, notes


def _of_harness(runs: Iterable[Run]) -> Iterable[Reason]:
    commits = (run.environment.components.get(HARNESS) for run in runs)
    return (because(Remark.HARNESS_OF_HEAD, commit=commit[:10]) for commit in commits if commit)


def _not_comparable(before: Benchmark, now: Benchmark) -> Finding:
    reason = because(Untested.BENCHMARK_CHANGED, before=str(before.version)[:SHOWN], now=str(now.version)[:SHOWN])
    statistic = common_statistic((before, now), preferred=MEDIAN)
    sides = [None, None] if statistic is None else [estimate(one, statistic).side() for one in (before, now)]
    same_unit = before.metric.unit == now.metric.unit
    evidence = untested(now.key, now.metric, reason, baseline=sides[0] if same_unit else None, target=sides[1])
    return Finding.judged(evidence, verdict=Verdict.UNTESTED, reason=reason)
