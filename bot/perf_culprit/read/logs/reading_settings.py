"""The settings of the diagnosis of a log, and of the comparison of two revisions."""

from dataclasses import dataclass

from perf_culprit.model.minimum_effect import DEFAULTS, DataKind


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadingSettings:
    """How a log is read.

    `window_s`: the narrowest window of response time and throughput; a log that spans many gets wider ones.
    `slowest_kept`: how many of the slowest calls are listed. `horizon`: a call is complete once this many executions
    of other calls follow its last line. `squares`: keep the sums that a comparison of two revisions needs, which takes
    longer. `method`: time every execution of this method, too.
    """

    window_s: float = 60.0
    slowest_kept: int = 10
    horizon: int = 2_000
    squares: bool = False
    method: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingSettings:
    """`fluctuation_weight`: the λ of the score. `minimum_self_ms`: None means 1% of the mean response time."""

    fluctuation_weight: float = 1.0
    minimum_self_ms: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparisonSettings:
    """`alpha`: the false discovery rate inside a level of the tree.

    `minimum_effect`: a path that gained less is not slower, however significant the change. `same_work`: the sampled
    profiles recorded the same work, so counts are compared, not shares.
    """

    alpha: float = 0.01
    minimum_effect: float = DEFAULTS[DataKind.CALL_TREE]
    same_work: bool = False
