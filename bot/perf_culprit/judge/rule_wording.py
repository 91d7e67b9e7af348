"""The reader's view of the models: rules in words ("when load is high, cpu is high"), and votes by run."""

from collections.abc import Sequence

from perf_culprit.arrays import ABSENT, Floats
from perf_culprit.judge.counter_pairs import TablePair
from perf_culprit.judge.rule_models import RuleModel
from perf_culprit.judge.rule_training import Training
from perf_culprit.model.finding import ModelVote, ViolatedRule
from perf_culprit.model.reason import Reason, Remark, because
from perf_culprit.model.run import Run
from perf_culprit.model.work_limits import WORK_LIMITS

THREE_LEVELS = ("low", "medium", "high")


def counter_names(tables: Sequence[TablePair]) -> tuple[str, ...]:
    """Names of the columns of `Series.values`, prefixed by the table's name if there are several."""
    counters = [(pair.name, metric.name) for pair in tables for metric in pair.metrics]
    loads = [(pair.name, pair.target.load_name or "load") for pair in tables]
    return tuple(name if len(tables) == 1 else f"{table} {name}" for table, name in (*counters, *loads))


def violated_rules(models: Sequence[RuleModel], counter: int, names: Sequence[str]) -> list[ViolatedRule]:
    """Return the counter's violated rules of all models by falling confidence change; each once, at its largest."""
    strongest: dict[tuple[tuple[str, ...], str], ViolatedRule] = {}
    for model in models:
        of_counter = model.items.counters[model.violated.rules.consequents] == model.merged[counter]
        for index in of_counter.nonzero()[0][: WORK_LIMITS.listed_rules].tolist():
            rule = _rule(model, index, counter, names)
            previous = strongest.get((rule.premise, rule.consequent))
            if previous is None or rule.change > previous.change:
                strongest[rule.premise, rule.consequent] = rule
    return sorted(strongest.values(), key=lambda rule: (-rule.change, rule.premise))[: WORK_LIMITS.listed_rules]


def broken_rule(rule: ViolatedRule) -> Reason:
    return because(
        Remark.BROKEN_RULE,
        premise=rule.premise or None,
        consequent=rule.consequent,
        before=rule.old_confidence,
        now=rule.new_confidence,
    )


def model_votes(
    training: Training, models: Sequence[RuleModel], weights: Floats, counter: int
) -> tuple[ModelVote, ...]:
    if len(models) < len(training.runs):
        together = ", ".join(run_name(run, number) for number, run in enumerate(training.runs, 1))
        return (ModelVote(run=together, weight=1.0, flagged=bool(models[0].flagged[counter])),)
    return tuple(
        ModelVote(run=run_name(run, number), weight=float(weight), flagged=bool(model.flagged[counter]))
        for number, (run, weight, model) in enumerate(zip(training.runs, weights, models, strict=True), 1)
    )


def training_remark(training: Training) -> Reason:
    """Report the runs that the models learned from, newest first, and how many were left out."""
    names = [run_name(run, number) for number, run in enumerate(training.runs, 1)]
    return because(
        Remark.RULES_LEARNED_FROM, count=len(names), runs=tuple(reversed(names)), left_out=training.left_out or None
    )


def run_name(run: Run, number: int) -> str:
    if run.commit is not None:
        return run.commit[:12]
    return f"run {number}" if run.time is None else run.time.isoformat()


def _rule(model: RuleModel, index: int, counter: int, names: Sequence[str]) -> ViolatedRule:
    rules = model.violated.rules
    premise = [item for item in rules.premises[index].tolist() if item != ABSENT]
    return ViolatedRule(
        premise=tuple(_words(model, item, int(model.kept[model.items.counters[item]]), names) for item in premise),
        consequent=_words(model, int(rules.consequents[index]), counter, names),
        old_confidence=float(rules.confidence[index]),
        new_confidence=float(model.violated.new_confidence[index]),
        change=float(model.violated.change[index]),
    )


def _words(model: RuleModel, item: int, counter: int, names: Sequence[str]) -> str:
    level, bins = model.items.level(item), int(model.scale.bins[counter])
    if bins == 1:
        return f"{names[counter]} is {THREE_LEVELS[level]}"
    return f"{names[counter]} is at level {level} of {bins}"
