"""An ensemble of association rules between counters [F11]: docs/detectors/rule-ensemble.md has reasons and rates."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from bot.detect.counters import TablePair
from bot.detect.detector import DetectorOptions
from bot.detect.rules.ensemble import Combined, combine, in_violation, spans
from bot.detect.rules.models import Model, build_models
from bot.detect.rules.options import RuleOptions
from bot.detect.rules.series import MINIMUM_INSTANTS, Series, normalise
from bot.detect.rules.sides import change_of_medians, finite, side
from bot.detect.rules.training import Training, choose_training
from bot.detect.rules.wording import counter_names, model_votes, sentence, training_remark, violated_rules
from bot.model.finding import Evidence, Side
from bot.model.metric import Metric, MetricKey
from bot.model.rules import RuleEvidence
from bot.stats.ragged import Floats

ID: Final = "rule_ensemble"
DESCRIPTION: Final = (
    "Association rules between counters, one model per baseline run: what held in good runs and does not now"
)
DOCS: Final = "detectors/rule-ensemble.md"

UNTESTED: Final = "none"
MOST_NOTES: Final = 3
# From three runs on their spread is known well enough for the stated rate of false alarms.
ENOUGH_RUNS: Final = 3


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Ensemble:
    """Everything that the counters' evidence is made of; `series` are the training runs' and, last, the target's."""

    tables: Sequence[TablePair]
    training: Training
    series: tuple[Series, ...]
    names: tuple[str, ...]
    models: Sequence[Model]
    weights: Floats
    combined: Combined

    @property
    def target(self) -> Series:
        return self.series[-1]

    def out_of_control(self, counter: int) -> bool:
        return bool(self.combined.score[counter] > self.combined.threshold[counter])


def detect_counters(tables: Sequence[TablePair], options: DetectorOptions) -> list[Evidence]:
    """One evidence per counter of each table, in order. All tables are one system: rules join their counters."""
    return assess(tables, options.rules)


def assess(tables: Sequence[TablePair], options: RuleOptions) -> list[Evidence]:
    listed = [
        (number, key, metric, obstacle)
        for number, pair in enumerate(tables)
        for key, metric, obstacle in zip(pair.keys, pair.metrics, pair.obstacles, strict=True)
    ]
    made = _ensemble(tables, options) if listed else ""
    if isinstance(made, str):
        return [_untested(key, metric, obstacle or made) for _, key, metric, obstacle in listed]
    return [
        _untested(key, metric, obstacle) if obstacle else _evidence(made, counter, number, key, metric)
        for counter, (number, key, metric, obstacle) in enumerate(listed)
    ]


def _ensemble(tables: Sequence[TablePair], options: RuleOptions) -> _Ensemble | str:
    """Or the reason why there is none."""
    training = choose_training(tables, options)
    if not training.runs:
        return "every baseline run was judged a regression, so none may train a model"
    series = normalise(tables, training.runs, options)
    lengths = [len(entry.values) for entry in series]
    if lengths[-1] < MINIMUM_INSTANTS:
        return f"the target has {lengths[-1]} intervals that all its counters share; {MINIMUM_INSTANTS} are needed"
    if max(lengths[:-1]) < MINIMUM_INSTANTS:
        return f"no baseline run has {MINIMUM_INSTANTS} intervals that all its counters share"
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
    )


def _evidence(made: _Ensemble, counter: int, table: int, key: MetricKey, metric: Metric) -> Evidence:
    target = side([made.target.values[:, counter]])
    baseline = side([made.series[index].values[:, counter] for index in made.training.nearest])
    combined = made.combined
    reason = _reason(combined, counter, target, len(made.models))
    if reason is not None:
        return _untested(key, metric, reason, baseline=baseline, target=target)
    flagged = made.out_of_control(counter)
    violated = in_violation(made.models, made.weights, counter, instants=len(made.target.values))
    rules = violated_rules(made.models, counter, made.names)
    details = {
        "time_in_violation": float(violated.mean()),
        "models": float(combined.known[counter]),
        "flagged_by": float(combined.flagged[counter]),
    }
    if rules:
        details |= {
            "old_confidence": rules[0].old_confidence,
            "new_confidence": rules[0].new_confidence,
            "confidence_change": rules[0].change,
        }
    notes = [sentence(rule) for rule in rules[:MOST_NOTES]] if flagged else []
    start, step = made.target.starts_s[table], made.target.interval_s
    scale = made.models[made.training.nearest[-1] if len(made.models) > 1 else 0].scale
    return Evidence(
        key=key,
        metric=metric,
        test=ID,
        baseline=baseline,
        target=target,
        relative_change=change_of_medians(target, baseline),
        score=float(combined.score[counter]),
        threshold=float(combined.threshold[counter]),
        details=details,
        notes=(*notes, *(_doubts(made) if flagged else ())),
        rules=RuleEvidence(
            votes=model_votes(made.training, made.models, made.weights, counter),
            rules=tuple(rules),
            violations=tuple((start + first * step, start + last * step) for first, last in spans(violated)),
            lower_boundary=finite(scale.low[counter]),
            upper_boundary=finite(scale.high[counter]),
        )
        if flagged
        else None,
    )


def _reason(combined: Combined, counter: int, target: Side | None, models: int) -> str | None:
    if target is None:
        return "all values of the target are missing"
    if not combined.known[counter]:
        return "all values of the baseline are missing"
    if combined.able[counter] <= combined.threshold[counter]:
        of_models = "the model has no rule" if models == 1 else "too few models have a rule"
        return f"{of_models} for it that all good runs keep: its level is at chance, or differs from run to run"
    return None


def _doubts(made: _Ensemble) -> list[str]:
    doubts = []
    loads = range(len(made.names) - len(made.tables), len(made.names))
    if any(made.out_of_control(load) for load in loads):
        doubts.append("the load differs from the baseline's too")
    near = len(made.training.nearest)
    if near < ENOUGH_RUNS:
        runs = "run is" if near == 1 else "runs are"
        doubts.append(f"only {near} baseline {runs} this near in environment: {ENOUGH_RUNS} show how good runs differ")
    return doubts


def _untested(
    key: MetricKey, metric: Metric, reason: str, *, baseline: Side | None = None, target: Side | None = None
) -> Evidence:
    return Evidence(
        key=key,
        metric=metric,
        test=UNTESTED,
        baseline=baseline,
        target=target,
        relative_change=change_of_medians(target, baseline),
        reason=reason,
    )


def remarks(tables: Sequence[TablePair], options: DetectorOptions) -> list[str]:
    """Which runs trained the models: the report's reader judges by them, too."""
    training = choose_training(tables, options.rules)
    return [training_remark(training)] if training.runs else []
