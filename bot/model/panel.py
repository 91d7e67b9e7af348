"""What a dashboard shows: the series of one suite in one environment, and what is known of their changes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bot.model.change import ChangePoint
from bot.model.finding import Acceptance
from bot.model.metric import Metric, MetricKey
from bot.model.reason import Reason

# "Lately" is this many runs.
LATELY_RUNS: Final = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelRun:
    """A stored run without its numbers. `judged`: the metrics that it was judged a regression in."""

    commit: str
    judged: tuple[MetricKey, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class PanelSeries:
    """`values` are the `statistic` of each run in the metric's unit, None where the run lacks it.

    `changes` are those that stand in the series by itself, by its first `judged` values; which of them count among all
    series is decided over all. Nothing could be judged where the runs have no `statistic` in common (""), or fewer
    values than it takes by `values_lacking`.
    """

    benchmark: str
    metric: Metric
    statistic: str
    minimum_effect: float
    values: tuple[float | None, ...] = ()
    changes: tuple[ChangePoint, ...] = ()
    judged: int = 0
    values_lacking: int = 0

    @property
    def key(self) -> MetricKey:
        return MetricKey(self.benchmark, self.metric.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Panel:
    """`environment` has the components that keep numbers apart, none where nothing is known of the machine.

    `runs` are those of one line of commits, oldest first.
    """

    suite: str
    environment: Mapping[str, str]
    runs: tuple[PanelRun, ...]
    series: tuple[PanelSeries, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedCulprit:
    """What a stored bisection named. `thread` is the number of the pull request or issue that asked for it."""

    suite: str
    key: MetricKey
    commit: str
    relative_change: float
    posterior: float | None
    thread: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Commit:
    """`seconds` since 1970 are the committer's clock's, for display. `tag`: the release that it is, if any."""

    hash: str
    subject: str = ""
    seconds: int = 0
    tag: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownChange:
    """A change of series `series` of panel `panel`, with who accepted it and which commit a bisection named."""

    panel: int
    series: int
    change: ChangePoint
    accepted: Acceptance | None = None
    culprit: NamedCulprit | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Standing:
    """`worst`: the largest change for the worse since `release` (where there is none, lately), as measured.

    None where nothing got worse. `judged` counts the series that could be judged.
    """

    release: str | None
    judged: int
    worst: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Dashboard:
    """`commits` are those that have runs or are named otherwise, oldest first. `notes` say what was left out."""

    commits: tuple[Commit, ...]
    panels: tuple[Panel, ...]
    changes: tuple[ShownChange, ...]
    standing: Standing
    repository_url: str | None = None
    notes: tuple[Reason, ...] = ()
