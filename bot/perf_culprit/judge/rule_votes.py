"""The models' answers combined into one per counter: votes, threshold, and violations (METHODS 4.5 and 4.6)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.judge.rule_models import RuleModel
from perf_culprit.judge.rule_options import RuleOptions
from perf_culprit.stats.items import to_instants
from perf_culprit.stats.model_votes import bagging_threshold, normalised, votes


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Combined:
    """The result for m counters, shapes (m,): `score` is the weight of the models that flag it, limited by `threshold`.

    `able` is the weight of the models that could flag it, because good runs keep one of their rules. `models` and
    `flagged` count models. NaN if no model knows the counter.
    """

    score: Floats
    threshold: Floats
    able: Floats
    models: Integers
    flagged: Integers


def combine(models: Sequence[RuleModel], weights: Floats, options: RuleOptions, *, decisive: Sequence[int]) -> Combined:
    """Combine the models; `weights` (models,) sum to 1, and models that do not know a counter have no vote on it.

    The score is at most that of the `decisive` models alone. A counter that is normal for the target's own environment
    has not changed, whatever runs of other environments show.
    """
    is_measured = np.array([model.measured for model in models])
    flagged = np.array([model.flagged for model in models]) & is_measured
    counts = is_measured.sum(axis=0)
    if options.ensemble == "bagging":
        thresholds = np.array([bagging_threshold(count) for count in range(len(models) + 1)])[counts]
    else:
        thresholds = np.full(len(counts), 0.5)  # of the weights [F11, 6.1.4.2]
    score = votes(flagged, weights, is_measured)
    if decisive:
        chosen = list(decisive)
        score = np.fmin(score, votes(flagged[chosen], normalised(weights[chosen]), is_measured[chosen]))
    return Combined(
        score=score,
        threshold=thresholds,
        able=votes(np.array([model.ruled for model in models]), weights, is_measured),
        models=counts,
        flagged=flagged.sum(axis=0),
    )


def in_violation(models: Sequence[RuleModel], weights: Floats, counter: int, *, instants: int) -> Booleans:
    """Instants (n,) at which models with at least half of the flagging weight see a broken rule of the counter.

    The source counts mismatches for one model; with several, the majority decides, as for the flag itself (our choice).
    """
    flagging = [(model, weight) for model, weight in zip(models, weights, strict=True) if model.flagged[counter]]
    if not flagging:
        return np.zeros(instants, dtype=bool)
    wrong = np.array([to_instants(model.wrong[counter], instants) for model, _ in flagging])
    of_flagging = np.array([weight for _, weight in flagging])
    violated: Booleans = of_flagging @ wrong >= of_flagging.sum() / 2 - 1e-12
    return violated


def true_stretches(instants: Booleans) -> list[tuple[int, int]]:
    """Stretches of true values: first instant and the one after the last."""
    steps = np.diff(np.concatenate([[False], instants, [False]]).astype(np.int8))
    return list(zip(np.flatnonzero(steps == 1).tolist(), np.flatnonzero(steps == -1).tolist(), strict=True))
