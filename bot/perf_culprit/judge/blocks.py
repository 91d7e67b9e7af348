"""Paired measurements: executions of both sides in rounds, tested by permuting the sides within each round.

docs/detectors/anova.md, "Paired rounds", has the reasons and the measured rates.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

import numpy as np
from msgspec.structs import replace
from scipy import special

from perf_culprit.judge import summary_tests
from perf_culprit.judge.detector import DetectorOptions
from perf_culprit.judge.estimate import averaged, estimate
from perf_culprit.judge.evidence_columns import exact, relative, unbounded, untested
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.paired_executions import Executions, executions_of
from perf_culprit.judge.side import HALF_WIDTH_LEVEL, precision_notes
from perf_culprit.judge.statistic import MEAN
from perf_culprit.judge.unit_factors import is_deterministic, least_change
from perf_culprit.model.finding import Evidence, Interval, Precision, Side
from perf_culprit.model.reason import Untested, because
from perf_culprit.model.run import Benchmark
from perf_culprit.stats.block_interval import shift_interval
from perf_culprit.stats.permutation import block_test
from perf_culprit.stats.power import needed_error
from perf_culprit.stats.ragged import Floats
from perf_culprit.stats.side_blocks import Blocks

COUNT_JITTER: Final = 1e-4  # of a count that repeats itself: process ids and the clock leave a few instructions
TEST: Final = "blocks"
# What stands for a paired target: the baseline's mean, moved by the change.
PAIRED: Final = "paired"
# Of A B B A: the ways in which two of four executions can be the target's.
WAYS_PER_ROUND: Final = 6
# A number of rounds beyond this is no advice.
MOST_ROUNDS: Final = 1_000
# Standard errors of a baseline's mean from zero, below which a fraction of it says nothing.
CLEARLY_NOT_ZERO: Final = 4.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Shifted:
    """Per metric (m,), as fractions of the baseline; `low` and `high` are infinite where they are not known."""

    p_value: Floats
    change: Floats
    low: Floats
    high: Floats


def detect(pairs: Sequence[MetricPair], options: DetectorOptions) -> list[Evidence]:
    """One evidence per pair, in order. Only counts, which are exact, are judged by one execution of each side."""
    rounds = least_rounds(len(pairs), options.settings.alpha)
    evidence: dict[int, Evidence] = {}
    designs: dict[object, list[tuple[int, Executions]]] = {}
    for index, pair in enumerate(pairs):
        if pair.obstacle is not None:
            evidence.update(zip([index], summary_tests.assess([pair], options), strict=True))
            continue
        executions = executions_of(pair)
        if _is_repeatable(pair):
            evidence[index] = _exact(pair, options)
        elif executions is None or not executions.can_differ(options.settings.alpha):
            # Described only: with so few executions no difference can be told from chance, and none is excluded.
            count = min(executions.per_side) if executions is not None else 1
            reason = because(Untested.TOO_FEW_EXECUTIONS, count=count, rounds=rounds)
            evidence[index] = replace(_described(pair), evidence_reason=reason)
        elif len(_numbers((pair.target, *pair.baseline))) == 1:
            evidence[index] = _exact(pair, options)
        else:
            designs.setdefault(executions.design, []).append((index, executions))
    for rows in designs.values():
        tested = _tested([row for _, row in rows], [pairs[index] for index, _ in rows], options)
        evidence.update(zip((index for index, _ in rows), tested, strict=True))
    return [evidence[index] for index in range(len(pairs))]


def least_rounds(metrics: int, alpha: float) -> int:
    """Rounds of A B B A below which no difference, however large, could be told from chance among so many metrics."""
    return max(2, math.floor(math.log(2 * max(metrics, 1) / alpha) / math.log(WAYS_PER_ROUND)) + 1)


def rounds_needed(rounds: int, *, error: float, effect: float, alpha: float) -> int | None:
    """Rounds in all that would decide `effect` at this noise: its error falls with the square root of their number."""
    allowed = needed_error(effect, alpha=alpha)
    needed = rounds * (error / allowed) ** 2 if allowed > 0 else math.inf
    return max(math.ceil(needed), rounds + 1) if needed <= MOST_ROUNDS else None


def _is_repeatable(pair: MetricPair) -> bool:
    """Counts of which all numbers of a side are as good as equal."""
    sides = map(_numbers, ((pair.target,), pair.baseline))
    return is_deterministic(pair.metric.unit) and all(
        max(side) - min(side) <= COUNT_JITTER * abs(max(side)) for side in sides
    )


def _numbers(benchmarks: Sequence[Benchmark]) -> set[float]:
    return {number for benchmark in benchmarks for number in (benchmark.samples or (benchmark.value,))}


def _exact(pair: MetricPair, options: DetectorOptions) -> Evidence:
    targets, baselines = _numbers((pair.target,)), _numbers(pair.baseline)
    target, baseline = median(targets), median(baselines)
    is_equal = min(targets) <= max(baselines) and min(baselines) <= max(targets)
    change = 0.0 if target == baseline else relative(target, baseline)
    width = max(targets) - min(targets) + max(baselines) - min(baselines)
    spread = width / abs(baseline) if baseline else 0.0
    return exact(_described(pair), change, spread=spread, is_equal=is_equal, level=1 - options.settings.alpha)


def _described(pair: MetricPair) -> Evidence:
    baseline, target = _side(pair.baseline), _side((pair.target,))
    change = relative(target.value, baseline.value)
    return untested(pair.key, pair.metric, baseline=baseline, target=target, change=change)


def _side(benchmarks: Sequence[Benchmark]) -> Side:
    """All samples of a side, described; what they say of its mean is worth nothing before executions are counted."""
    if all(benchmark.summary is not None for benchmark in benchmarks):
        return averaged([estimate(benchmark, MEAN) for benchmark in benchmarks]).side()
    numbers = np.concatenate([benchmark.samples or (benchmark.value,) for benchmark in benchmarks])
    return Side(
        value=(mean := float(numbers.mean())),
        mean=mean,
        median=float(np.median(numbers)),
        standard_deviation=float(numbers.std(ddof=1)) if len(numbers) > 1 else None,
        count=len(numbers),
        runs=len(benchmarks),
    )


def _tested(rows: Sequence[Executions], pairs: Sequence[MetricPair], options: DetectorOptions) -> list[Evidence]:
    """Metrics of one design at once."""
    blocks = rows[0].blocks
    values = np.stack([row.values() for row in rows])
    shifted = _shifted(values, blocks, options)
    freedom = len(blocks.block) - len(blocks.rows) - 1
    quantile = float(special.stdtrit(max(freedom, 1), 1 - options.settings.alpha / 2))
    shared = Precision(
        rounds=len(blocks.rows), least_p_value=blocks.least_p_value, degrees_of_freedom=float(max(freedom, 1))
    )
    columns = (shifted.p_value, shifted.change, shifted.low, shifted.high, (shifted.high - shifted.low) / 2 / quantile)
    evidence = []
    for pair, row, own in zip(pairs, values, zip(*(column.tolist() for column in columns), strict=True), strict=True):
        p_value, change, low, high, error = own
        bounded = math.isfinite(low) and math.isfinite(high)
        described = _described(pair)
        # In units of the baseline's mean a shift may lead below zero, where no time can be, or stop before it.
        least = least_change(pair.metric.unit)
        change, low, high = (max(end, least) for end in (change, low, high))
        if described.target is not None and described.target.value == 0 > least and math.isfinite(change):
            change = low = least
        baseline = _with_half_width(described.baseline, row[~blocks.is_target])
        target = _moved(_with_half_width(described.target, row[blocks.is_target]), baseline, change)
        evidence.append(
            replace(
                described,
                test=TEST,
                baseline=baseline,
                target=target,
                relative_change=change if math.isfinite(change) else None,
                confidence_interval=Interval(low=low, high=high, level=1 - options.settings.alpha) if bounded else None,
                p_value=p_value,
                evidence_reason=None if bounded else unbounded(described.baseline, "mean"),
                precision=replace(shared, standard_error=error) if bounded else shared,
                details={"executions": float(len(blocks.block))},
                notes=() if target is None else precision_notes(target),
            )
        )
    return evidence


def _moved(target: Side | None, baseline: Side | None, change: float) -> Side | None:
    """The baseline's value with the change that was found within rounds: the two means may differ the other way."""
    if target is None or baseline is None or not math.isfinite(change):
        return target
    return replace(target, value=baseline.value + abs(baseline.value) * change, statistic=PAIRED)


def _shifted(values: Floats, blocks: Blocks, options: DetectorOptions) -> _Shifted:
    """On the logarithmic scale where all values (m, n) of a metric are positive, else in units of its baseline's mean.

    A factor is what a slow machine, or slow code, makes of a time; and it has the same noise on both sides.
    """
    positive = np.all(values > 0, axis=1)
    of_baseline = values[:, ~blocks.is_target]
    mean = of_baseline.mean(axis=1)
    error = of_baseline.std(axis=1, ddof=1) / math.sqrt(of_baseline.shape[1])
    size = np.where(mean == 0, 1.0, np.abs(mean))
    logarithms = np.log(values, out=np.zeros_like(values), where=positive[:, None])
    scaled = np.where(positive[:, None], logarithms, values / size[:, None])
    p_value = block_test(scaled, blocks).p_value
    interval = shift_interval(scaled, blocks, level=1 - options.settings.alpha)
    # One test, twice approximated: at its borders the p-value has the say whether zero is inside.
    significant = p_value < options.settings.alpha
    low = np.where(significant & (interval.shift > 0), np.maximum(interval.low, 0), interval.low)
    high = np.where(significant & (interval.shift < 0), np.minimum(interval.high, 0), interval.high)
    low, high = np.where(significant, low, np.minimum(low, 0)), np.where(significant, high, np.maximum(high, 0))
    bounded = positive | (np.abs(mean) > CLEARLY_NOT_ZERO * error)
    change, low, high = (
        np.where(positive, np.expm1(np.where(positive, end, 0.0)), np.where(bounded, end, np.nan))
        for end in (interval.shift, low, high)
    )
    return _Shifted(p_value=p_value, change=np.where(mean == 0, np.nan, change), low=low, high=high)


def _with_half_width(side: Side | None, values: Floats) -> Side | None:
    """That of the mean's 95% confidence interval, from executions, which are independent as samples are not."""
    if side is None or side.value == 0 or len(values) < 2:
        return side
    critical = float(special.stdtrit(len(values) - 1, 0.5 + HALF_WIDTH_LEVEL / 2))
    return replace(
        side, relative_half_width=critical * float(values.std(ddof=1)) / math.sqrt(len(values)) / abs(side.value)
    )
