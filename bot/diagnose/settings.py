"""The settings of the diagnosis of a log."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadingSettings:
    """`horizon`: fewer executions of other calls than that lie between two lines of one call.

    `window_s`: the narrowest window of response time and throughput; wider ones where the log spans many.
    `squares`: keep what a comparison of two revisions needs; reading takes longer.
    """

    window_s: float = 60.0
    slowest_kept: int = 10
    horizon: int = 2_000
    squares: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class RankingSettings:
    """`fluctuation_weight`: the λ of the score. `minimum_self_ms`: None for 1% of the mean response time."""

    fluctuation_weight: float = 1.0
    minimum_self_ms: float | None = None
