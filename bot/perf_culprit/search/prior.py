"""Prior probability of each commit to be the culprit, from its changes, before anything is measured."""

from collections.abc import Collection, Mapping, Sequence
from math import log, log2
from typing import Final

import numpy as np

from perf_culprit.arrays import Floats
from perf_culprit.model.bisection import ChangeFacts, CommitRange

# Initial odds and exponents (BISECT 2.5); to be fitted on histories with known culprits.
CHANGES_DEPENDENCY: Final = 3.0
ONLY_DOCUMENTS: Final = 1 / 50  # a culprit that changes nothing else is one in fifty
CLEAN_MERGE: Final = 1 / 20  # none of its lines differs from every parent
# Evidence from one execution of each end (docs/evidence/bisection.md: real culprits of nine Python projects). Code
# outside the functions of an executed file is no evidence.
EXECUTED_FUNCTION: Final = 8.0
CHURN_EXPONENT: Final = 0.3  # per doubling of the changed lines, in natural logarithms
# Share of the prior that facts do not affect. It limits the cost of wrong facts: log2(1 / 0.1) = 3.3 bits.
UNIFORM_SHARE: Final = 0.1


def prior_weights(facts: Sequence[ChangeFacts], *, unchanged: Collection[int] = ()) -> Floats:
    """P(c) of each candidate [N]: 0.9 w_c / sum(w) + 0.1 / (number of possible culprits); they sum to 1.

    log w = 0.3 log2(1 + churn) + ln 3 [dependency or build flags changed] - ln 50 [only documents, tests or comments]
    - ln 20 [clean merge] + ln 8 [changes a function that the benchmark executes] - ln 8 [nothing that it executes,
    and neither dependencies nor build flags].

    `unchanged` candidates (with their parent's build inputs) get exactly 0, all others more. All are 0 if none is left.
    Source: BISECT 2.5. The weights are an initial choice; the mixture makes them safe.
    """
    can_be = np.ones(len(facts), dtype=np.bool_)
    can_be[list(unchanged)] = False
    if not can_be.any():
        return np.zeros(len(facts))
    log_weight = np.array([_log_weight(one) for one in facts])
    weight = np.where(can_be, np.exp(log_weight - log_weight[can_be].max()), 0.0)
    return np.asarray((1 - UNIFORM_SHARE) * weight / weight.sum() + UNIFORM_SHARE * can_be / can_be.sum())


def _log_weight(facts: ChangeFacts) -> float:
    odds = (
        (facts.changes_dependency, CHANGES_DEPENDENCY),
        (facts.only_documents, ONLY_DOCUMENTS),
        (facts.clean_merge, CLEAN_MERGE),
        (facts.executed is not None, _of_executed(facts)),
    )
    return sum(log(ratio) for holds, ratio in odds if holds) + CHURN_EXPONENT * log2(1 + facts.churn)


def _of_executed(facts: ChangeFacts) -> float:
    """Odds from execution. Documents have theirs already; a new dependency is executed where its version is named."""
    if facts.executed:
        return EXECUTED_FUNCTION if any(one.function for one in facts.executed) else 1.0
    return 1.0 if facts.only_documents or facts.changes_dependency else 1 / EXECUTED_FUNCTION


def prior_by_commit(commit_range: CommitRange, facts: Mapping[str, ChangeFacts]) -> dict[str, float]:
    """Return the prior for `Search.start`. A commit without facts counts as one with no known effect."""
    weights = prior_weights(
        [facts.get(commit, ChangeFacts()) for commit in commit_range.commits], unchanged=commit_range.unchanged
    )
    return dict(zip(commit_range.commits, weights.tolist(), strict=True))
