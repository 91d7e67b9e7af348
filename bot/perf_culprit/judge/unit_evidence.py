"""Evidence on benchmarks: the engine's result for their units, and that of the chosen detector.

docs/decision-rule.md states in words how it is used.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as replace_description
from decimal import Decimal
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.arrays import Booleans, Floats
from perf_culprit.judge.allocated_bytes import least_told, smaller_than_allocation
from perf_culprit.judge.detector import Assessed, DetectorOptions
from perf_culprit.judge.evidence_columns import EXACT, untested
from perf_culprit.judge.metric_pairs import MetricPair
from perf_culprit.judge.paired_executions import least_rounds, rounds_that_show
from perf_culprit.judge.statistic import MEDIAN
from perf_culprit.judge.suite_units import SuiteUnits, suite_units, units_of, without_copies
from perf_culprit.judge.unit_factors import least_change, milliseconds_per
from perf_culprit.model.finding import Evidence, Interval, Precision, Side, SuiteChange
from perf_culprit.model.reason import Reason, Remark, Untested, VerdictReason, because
from perf_culprit.stats.controls import exonerate
from perf_culprit.stats.conventions import LARGEST_CHANGE, LEVEL
from perf_culprit.stats.engine import judge_units
from perf_culprit.stats.ragged import Moments
from perf_culprit.stats.unit_table import SuiteShift, Tiers, UnitJudgement, UnitTable

# Statistic of a paired target: the baseline's value, moved by the change.
PAIRED: Final = "paired"


@dataclass(frozen=True, kw_only=True, slots=True)
class Description:
    """A detector's result for one benchmark in addition to the engine.

    `obstacle`: it cannot judge the benchmark at all. `objection`: its own rule sees no change, so no change is called.
    `score` and `threshold` as in `Evidence`. `half_widths`: relative, of baseline and target.
    """

    details: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    obstacle: Reason | None = None
    objection: Reason | None = None
    score: float | None = None
    threshold: float | None = None
    half_widths: tuple[float | None, float | None] = (None, None)


Describe = Callable[[Sequence[MetricPair], SuiteUnits, DetectorOptions], Sequence[Description]]


def assess(pairs: Sequence[MetricPair], options: DetectorOptions, *, test: str, describe: Describe) -> Assessed:
    """Return one evidence per pair, in order, and how far all of them moved together."""
    evidence: dict[int, Evidence] = {}
    of_pairs = [units_of(pair, paired=options.paired) if pair.obstacle is None else [] for pair in pairs]
    for index, (pair, units) in enumerate(zip(pairs, of_pairs, strict=True)):
        if len({unit.place[1] for unit in units}) < 2:
            evidence[index] = untested(pair.key, pair.metric, pair.obstacle or _without_units(options))
    places = [index for index in range(len(pairs)) if index not in evidence]
    if not places:
        return Assessed([evidence[index] for index in range(len(pairs))])
    chosen = [pairs[index] for index in places]
    of_chosen, copies = without_copies(chosen, [of_pairs[index] for index in places])
    suite = suite_units(chosen, of_chosen)
    effects = np.log1p(np.array([options.settings.of(pair.key).minimum_effect for pair in chosen]))
    effects = np.maximum(effects, least_told(chosen, suite))
    judgement = judge_units(suite.table, least_change=effects, tiers=options.tiers)
    is_control = np.array([options.settings.is_control(pair.key.benchmark) for pair in chosen])
    judgement, freed = _free(
        judgement, chosen, suite.table, is_control=is_control, effects=effects, tiers=options.tiers
    )
    described = _excuse(describe(chosen, suite, options), judgement, suite.table, is_control)
    rows = _Rows.of(suite, judgement, options, effects)
    for row, index in enumerate(places):
        evidence[index] = rows.evidence(row, chosen[row], described[row], test=test)
    notes = [*freed, *([because(Remark.SAME_CONTENT, count=copies)] if copies else [])]
    notes += [because(Remark.REDUCED, reduction=one) for one in sorted(set(suite.reduction) - {MEDIAN})]
    return Assessed(
        [evidence[index] for index in range(len(pairs))], _suite_change(judgement.suite, suite, options), tuple(notes)
    )


def _free(
    judgement: UnitJudgement,
    pairs: Sequence[MetricPair],
    table: UnitTable,
    *,
    is_control: Booleans,
    effects: Floats,
    tiers: Tiers,
) -> tuple[UnitJudgement, list[Reason]]:
    """Take out how far the controls moved, and name the one that moved furthest in each direction."""
    if not is_control.any():
        return judgement, []
    judgement, moved = exonerate(judgement, table, is_control, least_change=effects, tiers=tiers)
    slowed = moved * table.orientation
    notes = []
    furthest = int(slowed.argmax()), int(slowed.argmin())
    for row, sign, how in zip(furthest, (1, -1), ("slower", "faster"), strict=True):
        if sign * slowed[row] > 0:
            change = {how: abs(math.expm1(moved[row]))}
            notes.append(because(Remark.CONTROL_MOVED, benchmark=pairs[row].key.benchmark, **change))
    return judgement, notes


def _excuse(
    described: Sequence[Description], judgement: UnitJudgement, table: UnitTable, is_control: Booleans
) -> list[Description]:
    """Hold back what would be called of a control. A count that changed stays, because no machine does that."""
    rows = is_control & (judgement.is_suspected | judgement.differs) & (table.orientation != 0) & ~table.is_exact
    return [
        replace_description(one, objection=because(VerdictReason.CONTROL)) if held else one
        for one, held in zip(described, rows.tolist(), strict=True)
    ]


def named_numbers(columns: Mapping[str, Floats], count: int) -> list[dict[str, float]]:
    """Return each metric's numbers by name, without missing or infinite ones."""
    finite = {name: (numbers.tolist(), np.isfinite(numbers).tolist()) for name, numbers in columns.items()}
    return [{name: numbers[row] for name, (numbers, exists) in finite.items() if exists[row]} for row in range(count)]


def _without_units(options: DetectorOptions) -> Reason:
    if options.paired:
        return because(Untested.TOO_FEW_EXECUTIONS, count=1, rounds=least_rounds(options.settings.proven))
    return because(Untested.DIFFERENT_STATISTICS)


def _suite_change(shift: SuiteShift, suite: SuiteUnits, options: DetectorOptions) -> SuiteChange:
    """Convert the shift. Rounds leave it in: a difference between their sides comes from the code."""
    is_small = abs(shift.change) < math.log1p(options.settings.minimum_effect)
    return SuiteChange(
        change=math.expm1(shift.change),
        is_suspected=shift.is_suspected,
        is_left_in=shift.is_suspected or suite.table.is_in_rounds or not is_small,
        is_open=not (shift.is_suspected or suite.table.is_in_rounds or is_small),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Rows:
    """The engine's columns as numbers of the metrics, (m,)."""

    change: list[float]
    low: list[float]
    high: list[float]
    visible: tuple[list[float], list[float]]
    rate: list[float]
    p_value: list[float]
    baseline: list[Side]
    target: list[Side]
    effect: list[float]
    is_exact: list[bool]
    is_constant: list[bool]
    differs: list[bool]
    rounds: int | None
    rounds_to_prove: list[int | None]
    is_paired: bool

    @classmethod
    def of(cls, suite: SuiteUnits, judgement: UnitJudgement, options: DetectorOptions, effects: Floats) -> "_Rows":
        def ratios(logs: Floats) -> list[float]:
            with np.errstate(over="ignore"):
                return np.where(suite.is_logarithmic, np.expm1(logs), logs).tolist()  # type: ignore[no-any-return]

        moments = suite.samples.moments()
        baseline, target = _sides(suite, moments)
        constant = (moments.squares == 0).reshape(-1, 2).all(axis=1)
        rounds = int(suite.table.block.max()) + 1 if suite.table.is_in_rounds else None
        return cls(
            change=ratios(judgement.change),
            low=ratios(judgement.low),
            high=ratios(judgement.high),
            visible=(ratios(judgement.visible_change), ratios(-judgement.visible_change)),
            rate=judgement.rate.tolist(),
            p_value=judgement.p_value.tolist(),
            baseline=baseline,
            target=target,
            effect=np.expm1(effects).tolist(),
            is_exact=(suite.table.is_exact & (judgement.low == judgement.high)).tolist(),
            is_constant=constant.tolist(),
            differs=judgement.differs.tolist(),
            rounds=rounds,
            rounds_to_prove=_to_prove(judgement, rounds, options.settings.proven),
            is_paired=options.paired,
        )

    def evidence(self, row: int, pair: MetricPair, described: Description, *, test: str) -> Evidence:
        change, low, high = self.change[row], self.low[row], self.high[row]
        objection = described.objection or smaller_than_allocation(pair, self.baseline[row], self.target[row])
        if objection is not None:
            # A change that is not called may be smaller than the minimum effect.
            low, high = min(low, self.effect[row]), max(high, 1 / (1 + self.effect[row]) - 1)
        before, after = self.baseline[row], self.target[row]
        is_bounded = abs(change) < LARGEST_CHANGE and (before.value != 0 or change == 0)
        least = least_change(pair.metric.unit)
        if self.is_paired and is_bounded:
            # The change is that within rounds: the sides' own values may differ the other way.
            after = replace(after, value=before.value + abs(before.value) * max(change, least), statistic=PAIRED)
        worse = self.visible[0 if pair.metric.direction.worse_sign >= 0 else 1][row]
        coarse = self.is_constant[row] and milliseconds_per(pair.metric.unit) is not None
        too_short = _too_short(before, after, self.effect[row]) if coarse else None
        # A change from zero has no relative size, but is still a change.
        is_told = is_bounded or self.is_exact[row]
        is_judged = is_told and described.obstacle is None and too_short is None
        return Evidence.of(
            key=pair.key,
            metric=pair.metric,
            test=EXACT if self.is_exact[row] else test,
            baseline=_with_half_width(before, described.half_widths[0]),
            target=_with_half_width(after, described.half_widths[1]),
            relative_change=max(change, least) if is_bounded else None,
            confidence_interval=Interval(low=max(low, least), high=high, level=LEVEL)
            if is_bounded and high < LARGEST_CHANGE
            else None,
            p_value=self.p_value[row] if is_told else None,
            rate=self.rate[row] if is_judged else None,
            differs=self.differs[row],
            score=described.score if is_judged else None,
            threshold=described.threshold if is_judged else None,
            evidence_reason=too_short or described.obstacle or objection or _no_bounds(before, is_told),
            precision=Precision(
                visible_change=abs(worse) if math.isfinite(worse) else None,
                rounds=self.rounds,
                rounds_to_prove=self.rounds_to_prove[row],
            ),
            details=described.details,
            notes=(because(Remark.COARSE_CLOCK),) if coarse else described.notes,
        )


def _too_short(before: Side, after: Side, effect: float) -> Reason | None:
    """The reason if all samples equal one number whose last digit is more than the minimum `effect` of it."""
    if before.median != after.median or not before.median or min(before.count, after.count) < 2:
        return None
    last_digit = 10.0 ** float(Decimal(repr(before.median)).as_tuple().exponent)
    step = last_digit / abs(before.median)
    return because(Untested.TOO_SHORT, step=step) if step > effect else None


def _to_prove(judgement: UnitJudgement, rounds: int | None, proven: float) -> list[int | None]:
    """(m,): for each suspected change, the rounds of this noise that would prove it among these benchmarks."""
    if rounds is None:
        return [None] * len(judgement.change)
    alpha = proven / max(int(np.isfinite(judgement.error).sum()), 1)
    least = max(least_rounds(proven), rounds + 1)
    # A noticed change is probably smaller than it looked: subtract a standard error.
    sizes = np.expm1(np.maximum(np.abs(judgement.change) - judgement.error, 0))
    is_open = judgement.is_suspected & ~judgement.is_proven & np.isfinite(sizes)
    return [
        rounds_that_show(size, error * math.sqrt(rounds), alpha=alpha, least=least) if is_unproven else None
        for size, error, is_unproven in zip(sizes.tolist(), judgement.error.tolist(), is_open.tolist(), strict=True)
    ]


def _no_bounds(baseline: Side, is_told: bool) -> Reason | None:
    if is_told:
        return None
    return because(
        Untested.BASELINE_ZERO if baseline.value == 0 else Untested.BASELINE_NEAR_ZERO, statistic=baseline.statistic
    )


def _with_half_width(side: Side, half_width: float | None) -> Side:
    return side if half_width is None or math.isnan(half_width) else replace(side, relative_half_width=half_width)


def _sides(suite: SuiteUnits, moments: Moments) -> tuple[list[Side], list[Side]]:
    deviations = np.sqrt(moments.variance)
    columns = (moments.mean, suite.samples.medians(), deviations, moments.count)
    centers, runs = suite.centers(), suite.runs()
    return tuple(  # type: ignore[return-value]
        [
            Side(
                value=center,
                statistic=reduction,
                mean=mean,
                median=median,
                standard_deviation=deviation if count > 1 else None,
                count=int(count),
                runs=units,
            )
            for reduction, center, units, mean, median, deviation, count in zip(
                suite.reduction,
                centers[side].tolist(),
                runs[side].tolist(),
                *(column[side::2].tolist() for column in columns),
                strict=True,
            )
        ]
        for side in (0, 1)
    )
