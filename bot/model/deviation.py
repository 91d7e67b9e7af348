"""How the numbers of released versions differ from one to the next [B17, section V]."""

from dataclasses import dataclass
from enum import StrEnum

from bot.model.finding import Interval, Verdict
from bot.model.metric import Metric, MetricKey
from bot.model.run import Run


class Outcome(StrEnum):
    """What two intervals say about their medians."""

    DEVIATION = "deviation"  # significantly different, and the intervals do not overlap
    SIGNIFICANT_OVERLAP = "significant_overlap"  # significantly different, but the intervals overlap
    OVERLAP = "overlap"


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """A version's name with the run that measured it."""

    name: str
    run: Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Cell:
    """One version against the one before it that measured the metric.

    `gap` is the distance between the two intervals as a fraction of the earlier median, 0 where they overlap; it is
    None, as `relative_change` is, where that median is zero. `verdict` is `no_change` for deviations below the minimum
    effect, and where the metric's direction is unknown.
    """

    version: str
    outcome: Outcome
    verdict: Verdict
    median: float
    interval: Interval
    relative_change: float | None
    gap: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class TransientRegression:
    """A regression at `start` that was undone at `end`: the level before `start` is reached again."""

    start: str
    end: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """`first` is the version that the first cell is compared with. Versions that lack the metric have no cell.

    `too_few` are versions with fewer samples than the interval of a median needs.
    """

    key: MetricKey
    metric: Metric
    first: str | None
    cells: tuple[Cell, ...] = ()
    transient_regressions: tuple[TransientRegression, ...] = ()
    too_few: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class DeviationMatrix:
    """`versions` from oldest to newest; `rows` in the order in which their metrics first appear."""

    versions: tuple[str, ...]
    rows: tuple[Row, ...]
    minimum_effect: float
