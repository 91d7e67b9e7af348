"""An ensemble of association rules between counters [F11]; docs/detectors/rule-ensemble.md has reasons and rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np
from msgspec.structs import replace

from perf_culprit.arrays import Floats
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.detector import Detector, DetectorOptions, LimitRule, Sweep
from perf_culprit.judge.evidence_columns import relative, untested
from perf_culprit.judge.families import in_families
from perf_culprit.judge.one_load import load_as_cause, table_loads, without_load
from perf_culprit.judge.rule_models import RuleModel, build_models
from perf_culprit.judge.rule_options import RuleOptions, rule_options
from perf_culprit.judge.rule_series import CounterSeries, normalise
from perf_culprit.judge.rule_training import Training, choose_training
from perf_culprit.judge.rule_votes import Combined, combine, in_violation, true_stretches
from perf_culprit.judge.rule_wording import broken_rule, counter_names, model_votes, training_remark, violated_rules
from perf_culprit.judge.run_medians import RunMedians, level_chances, median_allowance
from perf_culprit.model.finding import Evidence, Excess, RuleEvidence, Side
from perf_culprit.model.reason import Reason, Remark, Untested, because
from perf_culprit.model.run import Metric, MetricKey
from perf_culprit.model.work_limits import WORK_LIMITS
from perf_culprit.stats.common_rate import FEWEST_ROWS
from perf_culprit.stats.conventions import FEW_RUNS, RARE
from perf_culprit.stats.unit_table import Tiers

# The settings that test counters without a rule.
EQUAL_WIDTH: Final = "equal_width"
THREE_LEVEL_KEY: Final = "rule-ensemble.discretisation: three_level"
CHART: Final = "counter-detector: control_chart"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Ensemble:
    """The input of the counters' evidence; `series` are those of the training runs and, last, of the target.

    `unusual` is each table's difference of an unusual load, 0 in the thesis: it knows no load.
    """

    tables: Sequence[TablePair]
    training: Training
    series: tuple[CounterSeries, ...]
    names: tuple[str, ...]
    models: Sequence[RuleModel]
    weights: Floats
    combined: Combined
    options: RuleOptions
    unusual: tuple[float, ...]

    @property
    def target(self) -> CounterSeries:
        return self.series[-1]

    def out_of_control(self, counter: int) -> bool:
        return bool(self.combined.score[counter] > self.combined.threshold[counter])


def _detect_counters(tables: Sequence[TablePair], options: DetectorOptions) -> list[Evidence]:
    """Return one evidence per counter of each table, in order. All tables are one system: rules join them."""
    return assess_tables(tables, rule_options(options.settings.rule_ensemble), tiers=options.tiers)


def assess_tables(tables: Sequence[TablePair], options: RuleOptions, *, tiers: Tiers | None = None) -> list[Evidence]:
    listed = [
        (number, key, metric, obstacle)
        for number, pair in enumerate(tables)
        for key, metric, obstacle in zip(pair.keys, pair.metrics, pair.obstacles, strict=True)
    ]
    made = _ensemble(tables, options) if listed else because(Untested.BASELINE_MISSING)
    if isinstance(made, Reason):
        return [untested(key, metric, obstacle or made) for _, key, metric, obstacle in listed]
    evidence = [
        untested(key, metric, obstacle) if obstacle else _evidence(made, counter, number, key, metric)
        for counter, (number, key, metric, obstacle) in enumerate(listed)
    ]
    return _with_levels(made, evidence, loads=[made.unusual[number] for number, *_ in listed], tiers=tiers or Tiers())


def _with_levels(
    made: _Ensemble, evidence: Sequence[Evidence], *, loads: Sequence[float], tiers: Tiers
) -> list[Evidence]:
    """Add the probability of the target's median among those of the nearest runs.

    A counter is inconclusive if, after accounting for an unusual load, it differs no more than such runs do.
    """
    counters = [counter for counter, entry in enumerate(evidence) if entry.score is not None]
    medians = [_medians(made, counter) for counter in counters]
    rests = [without_load(entry, loads[counter]) for entry, counter in zip(medians, counters, strict=True)]
    metrics = [evidence[counter].metric for counter in counters]
    completed = list(evidence)
    unsettled = {key for pair in made.tables for key in pair.unsettled}
    chances, unexplained = (
        in_families(
            list(zip(entries, metrics, strict=True)),
            partial(level_chances, tiers=tiers),
            alone=(evidence[counter].key in unsettled for counter in counters),
        )
        for entries in (medians, rests)
    )
    for counter, chance, rest in zip(counters, chances, unexplained, strict=True):
        entry = evidence[counter]
        reason = entry.evidence_reason
        # After an unusual load is accounted for, the rest is no change if runs differ as much more often.
        if reason is None and loads[counter] and made.out_of_control(counter) and rest.p_value > RARE:
            reason = because(Untested.UNUSUAL_LOAD, change=loads[counter])
        completed[counter] = replace(
            entry, evidence_reason=reason, excess=replace(entry.excess, level_chance=chance.rate)
        )
    return completed


def _medians(made: _Ensemble, counter: int) -> RunMedians:
    target = made.target.values[:, counter]
    every = [made.series[index].values[:, counter] for index in made.training.nearest]
    runs = [run for run in every if np.isfinite(run).any()]
    return RunMedians(
        target=float(np.nanmedian(target)),
        runs=np.array([np.nanmedian(run) for run in runs]),
        allowance=median_allowance(target, runs, longer=False),
    )


def _ensemble(tables: Sequence[TablePair], options: RuleOptions) -> _Ensemble | Reason:
    """Build the ensemble, or return the reason why there is none."""
    training = choose_training(tables, options)
    if not training.runs:
        return because(Untested.ONLY_REGRESSIONS)
    series = normalise(tables, training.runs, options)
    lengths = [len(entry.values) for entry in series]
    if lengths[-1] < FEWEST_ROWS:
        return because(Untested.TOO_FEW_TARGET_INTERVALS, count=lengths[-1], minimum=FEWEST_ROWS)
    if max(lengths[:-1]) < FEWEST_ROWS:
        return because(Untested.TOO_FEW_BASELINE_INTERVALS, minimum=FEWEST_ROWS)
    models = build_models([entry.values for entry in series[:-1]], series[-1].values, training.groups, options)
    weights = training.weights if len(models) > 1 else np.ones(1)
    return _Ensemble(
        tables=tables,
        training=training,
        series=series,
        names=counter_names(tables),
        models=models,
        weights=weights,
        combined=combine(models, weights, options, decisive=training.decisive),
        options=options,
        unusual=tuple(0.0 if options.is_published else table_loads(pair).unusual for pair in tables),
    )


def _evidence(made: _Ensemble, counter: int, table: int, key: MetricKey, metric: Metric) -> Evidence:
    target = side([made.target.values[:, counter]])
    baseline = side([made.series[index].values[:, counter] for index in made.training.nearest])
    combined = made.combined
    if (reason := _reason(combined, counter, target, made.options)) is not None:
        return untested(
            key, metric, reason, baseline=baseline, target=target, change=change_of_medians(target, baseline)
        )
    flagged = made.out_of_control(counter)
    change = change_of_medians(target, baseline)
    violated = in_violation(made.models, made.weights, counter, instants=len(made.target.values))
    rules = violated_rules(made.models, counter, made.names)
    details = {"models": float(combined.models[counter]), "flagged_by": float(combined.flagged[counter])}
    if rules:
        details |= {
            "old_confidence": rules[0].old_confidence,
            "new_confidence": rules[0].new_confidence,
            "confidence_change": rules[0].change,
        }
    notes = [broken_rule(rule) for rule in rules[: WORK_LIMITS.noted_rules]] if flagged else []
    start, step = made.target.starts_s[table], made.target.interval_s
    scale = made.models[made.training.nearest[-1] if len(made.models) > 1 else 0].scale
    return Evidence.of(
        key=key,
        metric=metric,
        test="rule_ensemble",
        baseline=baseline,
        target=target,
        relative_change=change,
        score=float(combined.score[counter]),
        threshold=float(combined.threshold[counter]),
        evidence_reason=load_as_cause(change, made.unusual[table]) if flagged else None,
        excess=Excess(
            time_in_violation=float(violated.mean()),
            above=any(model.beyond[counter] > 0 for model in made.models),
            below=any(model.beyond[counter] < 0 for model in made.models),
        ),
        details=details,
        notes=(*notes, *(_doubts(made) if flagged else ())),
        rules=RuleEvidence(
            votes=model_votes(made.training, made.models, made.weights, counter),
            rules=tuple(rules),
            violations=tuple((start + first * step, start + last * step) for first, last in true_stretches(violated)),
            lower_boundary=finite(scale.low[counter]),
            upper_boundary=finite(scale.high[counter]),
        )
        if flagged
        else None,
    )


def _reason(combined: Combined, counter: int, target: Side | None, options: RuleOptions) -> Reason | None:
    if target is None:
        return because(Untested.TARGET_MISSING)
    if not combined.models[counter]:
        return because(Untested.BASELINE_MISSING)
    if combined.able[counter] <= combined.threshold[counter]:
        return because(
            Untested.WITHOUT_RULES, setting=THREE_LEVEL_KEY if options.discretisation == EQUAL_WIDTH else CHART
        )
    return None


def _doubts(made: _Ensemble) -> list[Reason]:
    doubts = []
    loads = range(len(made.names) - len(made.tables), len(made.names))
    if any(made.out_of_control(load) for load in loads):
        doubts.append(because(Remark.LOAD_OUT_OF_CONTROL))
    near = len(made.training.nearest)
    if near < FEW_RUNS:
        doubts.append(because(Remark.FEW_NEAR_RUNS, count=near, wanted=FEW_RUNS))
    return doubts


def _remarks(tables: Sequence[TablePair], options: DetectorOptions) -> list[Reason]:
    """Report the runs that trained the models, so that readers can judge the result."""
    training = choose_training(tables, rule_options(options.settings.rule_ensemble))
    return [training_remark(training)] if training.runs else []


def side(runs: Sequence[Floats]) -> Side | None:
    """Summarize the intervals' medians over runs; None without any value."""
    present_by_run = [present for values in runs if len(present := values[np.isfinite(values)])]
    if not present_by_run:
        return None
    values = np.concatenate(present_by_run)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, deviation = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None
    usable = deviation is not None and np.isfinite(deviation)
    return Side(
        value=(median := float(np.median(values))),
        statistic="median",
        mean=finite(mean),
        median=median,
        standard_deviation=deviation if usable else None,
        count=len(values),
        runs=len(present_by_run),
    )


def change_of_medians(target: Side | None, baseline: Side | None) -> float | None:
    if target is None or baseline is None:
        return None
    return 0.0 if target.value == baseline.value else relative(target.value, baseline.value)


def finite(value: float) -> float:
    return float(np.nan_to_num(value))


DETECTOR: Final = Detector(
    detect_counters=_detect_counters,
    remarks=_remarks,
    limit=LimitRule(
        is_published=lambda policy: policy.rule_ensemble.profile == "thesis",
        alarms=(0.14, 0.90),  # by the runs' offsets: docs/evidence/rule-ensemble.md#the-thesis
    ),
    sweep=Sweep(option="confidence_change", values=(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7)),
)
