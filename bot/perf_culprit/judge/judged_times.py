"""The choice between a benchmark's two times in rounds: by the processor, or by the clock."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from statistics import median
from typing import Final

from msgspec import structs

from perf_culprit.judge.unit_factors import conversion_factor
from perf_culprit.model.count import Count
from perf_culprit.model.finding import Baseline, BaselineSource, Finding
from perf_culprit.model.minimum_effect import DEFAULTS, DataKind
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import TIME, Benchmark, MetricKey, Run

CPU_TIMES: Final = ("cpu_time", Count.CPU_TIME.value)
# What computes has a processor in all of the time in which it does not wait for one. The margin is the minimum effect
# of times, so that the choice can hide no larger change of waiting.
TIME_MARGIN: Final = DEFAULTS[DataKind.BENCHMARK]


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherTime:
    """The time that is not judged, with its change between the medians of both sides."""

    key: MetricKey
    change: float


def with_one_time(
    baseline: Baseline, target: Run, *, time: str, keep: Callable[[MetricKey], bool]
) -> tuple[Baseline, Run, Mapping[MetricKey, OtherTime]]:
    """Leave one of the two times of each benchmark to be judged; return the other one by the key of the judged one.

    `time`: "wall", "cpu", or "auto": the processor's if the benchmark computes on both sides, the clock's if it waits,
    and both if nothing tells. Only rounds are asked: stored runs keep both. Times that the user `keep`s stay.
    """
    if baseline.source is not BaselineSource.PAIRED or len(baseline.runs) != 1:
        return baseline, target, {}
    before, others = baseline.runs[0], dict[MetricKey, OtherTime]()
    earlier, later = _by_key(before), _by_key(target)
    for cpu, wall in _pairs(later):
        if not {cpu, wall} <= earlier.keys() or keep(cpu) or keep(wall):
            continue
        is_cpu = time == "cpu" if time != "auto" else _computes(cpu, wall, before, target)
        if is_cpu is None:
            continue
        main, other = (cpu, wall) if is_cpu else (wall, cpu)
        level = _middle(earlier[other])
        others[main] = OtherTime(key=other, change=_middle(later[other]) / level - 1 if level else 0.0)
    hidden = {other.key for other in others.values()}
    return replace(baseline, runs=(_without(before, hidden),)), _without(target, hidden), others


def of_one_time(good: Run, bad: Run) -> tuple[Run, Run, Mapping[MetricKey, bool]]:
    """Leave one time of each benchmark that has both: the processor's if it computes in both runs, else the clock's.

    The mapping has the times that are left, and whether each of these benchmarks computes.
    """
    earlier, computes, others = _by_key(good), dict[MetricKey, bool](), set[MetricKey]()
    for cpu, wall in _pairs(_by_key(bad)):
        if {cpu, wall} <= earlier.keys():
            is_cpu = bool(_computes(cpu, wall, good, bad))
            computes[cpu if is_cpu else wall] = is_cpu
            others.add(wall if is_cpu else cpu)
    return _without(good, others), _without(bad, others), computes


def with_other_time(finding: Finding, others: Mapping[MetricKey, OtherTime]) -> Finding:
    """Add the time that was not judged to the notes."""
    other = others.get(finding.key)
    if other is None:
        return finding
    note = because(Remark.OTHER_TIME, metric=other.key.metric, change=other.change)
    return structs.replace(finding, notes=(*finding.notes, note))


def time_notes(others: Mapping[MetricKey, OtherTime]) -> Iterator[Reason]:
    """Say how many benchmarks are judged by which time."""
    by_processor = sum(key.metric in CPU_TIMES for key in others)
    if by_processor:
        yield because(Remark.JUDGED_BY_PROCESSOR, count=by_processor)
    if waiting := len(others) - by_processor:
        yield because(Remark.JUDGED_BY_CLOCK, count=waiting)


def _by_key(run: Run) -> Mapping[MetricKey, Benchmark]:
    return {entry.key: entry for entry in run.benchmarks}


def _pairs(benchmarks: Mapping[MetricKey, Benchmark]) -> Iterator[tuple[MetricKey, MetricKey]]:
    for key in benchmarks:
        wall = MetricKey(key.benchmark, TIME)
        if key.metric in CPU_TIMES and wall in benchmarks:
            yield key, wall


@dataclass(frozen=True, kw_only=True, slots=True)
class _Share:
    """The median share of an execution's time, without its wait for a processor, in which the benchmark computed.

    Unless it `is_known`, the wait is part of that time.
    """

    value: float
    is_known: bool


def _computes(cpu: MetricKey, wall: MetricKey, *sides: Run) -> bool | None:
    """Whether both sides only compute; None if nothing tells."""
    shares = [_on_processor(of[cpu], of[wall], run) for run in sides for of in (_by_key(run),)]
    values = [share.value for share in shares]
    is_near = all(1 - TIME_MARGIN <= value <= 1 + TIME_MARGIN for value in values)
    if is_near and max(values) <= (1 + TIME_MARGIN) * min(values):
        return True
    return False if all(share.is_known for share in shares) else None


def _on_processor(cpu: Benchmark, wall: Benchmark, run: Run) -> _Share:
    factor = conversion_factor(cpu.unit, wall.unit)
    times = list(zip(_levels(cpu), _levels(wall), strict=False))
    if factor is None or min((by_clock for _, by_clock in times), default=0.0) <= 0:
        return _Share(value=0.0, is_known=False)
    # The wait is that of the whole command. The kernel may not tell it, or tell of other executions than these.
    own = [one for one in run.executions if one.benchmark in {None, cpu.name} and one.seconds]
    delays = [one.delay_seconds for one in own if one.delay_seconds is not None]
    is_known = len(own) == len(times) and 2 * len(delays) > len(own)
    waits = [(one.delay_seconds or 0.0) / one.seconds for one in own] if is_known else [0.0] * len(times)
    able = [(mine, by_clock * (1 - wait)) for (mine, by_clock), wait in zip(times, waits, strict=True) if wait < 1]
    return _Share(value=median([factor * mine / seconds for mine, seconds in able] or [0.0]), is_known=is_known)


def _levels(benchmark: Benchmark) -> list[float]:
    """The median of each execution."""
    if not benchmark.samples:
        return [benchmark.value]
    ends = accumulate(benchmark.group_sizes or (len(benchmark.samples),), initial=0)
    return [median(benchmark.samples[start:end]) for start, end in pairwise(ends)]


def _middle(benchmark: Benchmark) -> float:
    return median(_levels(benchmark))


def _without(run: Run, keys: set[MetricKey]) -> Run:
    return structs.replace(run, benchmarks=tuple(entry for entry in run.benchmarks if entry.key not in keys))
