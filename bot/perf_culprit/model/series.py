"""Series over commits, builds or releases: where they changed, and what a dashboard shows of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

import msgspec

from perf_culprit.model.finding import Acceptance, Interval
from perf_culprit.model.json_files import encode, explicit_default
from perf_culprit.model.reason import Reason
from perf_culprit.model.run import Metric, MetricKey, Run


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """`values`: one per run, oldest first; NaN where a run lacks it. `notes` tell how they were processed.

    `minimum_effect`: relative changes smaller than this are ignored.
    """

    name: str
    values: tuple[float, ...]
    unit: str = ""
    minimum_effect: float = 0.0
    notes: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesTable:
    """Series of the same runs. `labels` name the runs (commits, builds, times); "" for a run without a name.

    `label_name` is the kind of labels. `notes` are about the table: what was omitted.
    """

    place: str
    series: tuple[Series, ...]
    labels: tuple[str, ...]
    label_name: str | None = None
    notes: tuple[Reason, ...] = ()


class ChangePoint(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`index` (from 0) and `label` are those of the first run of the new level; of a drift, of its steepest place.

    `before` and `after` are medians of up to 40 runs on each side, in the series' unit; `relative_change` is None from
    zero. `q_value` is `p_value` times the candidates of the series [Bonferroni].
    """

    index: int
    label: str = ""
    kind: Literal["step", "drift"]
    before: float
    after: float
    relative_change: float | None
    p_value: float
    q_value: float
    strength: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesAlarm:
    """An alarm at run `index` of a bot that sees only the runs up to it. The level before started with run `since`."""

    index: int
    label: str = ""
    change: ChangePoint
    since: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Detectable:
    """The smallest rise that would have been detected: by `size`, in the series' unit, for `rows` rows.

    `relative_change` is relative to the series' median, None if that is zero. A `size` of 0 is any rise at all.
    """

    size: float
    relative_change: float | None
    rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesChanges:
    """The changes of one series. `alarms` is None if they were not requested.

    If nothing could be judged, `values_lacking` is the number of missing values. If nothing was detected, `detectable`
    is the smallest detectable change, and `detectable_alarm` that of an alarm. None there: no step of any size would
    raise one.
    """

    series: Series
    changes: tuple[ChangePoint, ...] = ()
    alarms: tuple[SeriesAlarm, ...] | None = None
    detectable: Detectable | None = None
    detectable_alarm: Detectable | None = None
    rows_lacking_online: int = 0
    values_lacking: int = 0


class Outcome(StrEnum):
    """The comparison of two versions' medians by a test and by their confidence intervals [B17, section V]."""

    DEVIATION = "deviation"  # significantly different, and the intervals do not overlap
    SIGNIFICANT_OVERLAP = "significant_overlap"  # significantly different, but the intervals overlap
    OVERLAP = "overlap"


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """A version's name with the run that measured it."""

    name: str
    run: Run


class Cell(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The comparison of one version with the previous version that measured the metric.

    `gap` is the distance between the two intervals as a fraction of the earlier median, 0 if they overlap. It is null,
    like `relative_change`, if that median is zero. `verdict` is `no_change` for deviations below the minimum effect,
    and if the metric's direction is unknown. `mean_verdict` applies the same conditions to the means.
    """

    version: str
    outcome: Outcome
    verdict: Literal["regression", "improvement", "no_change"]
    median: float
    interval: Interval
    relative_change: float | None
    gap: float | None
    mean_verdict: Literal["regression", "improvement", "no_change"] = "no_change"


class Level(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measured median and mean of one version, each with its 95% confidence interval."""

    version: str
    median: float
    interval: Interval
    mean: float
    mean_interval: Interval


class TransientRegression(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A regression at version `start` that version `end` undid: the level before `start` was reached again."""

    start: str
    end: str


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One metric over all versions. The first cell is compared with version `first`.

    Versions that lack the metric have no cell. `levels` has every version that measured the metric. `too_few` are
    versions with fewer samples than a median's confidence interval needs.
    """

    key: MetricKey
    metric: Metric
    first: str | None
    cells: tuple[Cell, ...] = ()
    transient_regressions: tuple[TransientRegression, ...] = ()
    too_few: tuple[str, ...] = ()
    levels: tuple[Level, ...] = ()


class DeviationMatrix(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-releases",
):
    """The comparison of `versions`, oldest first. `rows` are in the order in which their metrics first appear."""

    version: Literal[1] = explicit_default(1)
    versions: tuple[str, ...]
    rows: tuple[Row, ...]
    minimum_effect: float


def encode_releases(matrix: DeviationMatrix) -> bytes:
    return encode(matrix, indent=1)


# "Lately" is this many runs.
LATELY_RUNS: Final = 30


class PanelRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A stored run without its numbers. `judged`: the metrics in which it was judged a regression.

    `seconds`: the machine's time for it, 0 if unknown.
    """

    commit: str
    judged: tuple[MetricKey, ...] = ()
    seconds: float = 0.0


class PanelSeries(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`values` are the `statistic` of each run in the metric's unit, None where the run lacks it.

    `changes` are significant in the series by itself, within its first `judged` values; the control over all series
    comes later. Nothing could be judged if the runs have no common `statistic` ("") or `values_lacking` values are
    missing. `category_limits`: names of response-time categories with their bounds.
    """

    benchmark: str
    metric: Metric
    statistic: str
    minimum_effect: float
    values: tuple[float | None, ...] = ()
    changes: tuple[ChangePoint, ...] = ()
    judged: int = 0
    values_lacking: int = 0
    category_limits: tuple[tuple[str, float], ...] = ()

    @property
    def key(self) -> MetricKey:
        return MetricKey(self.benchmark, self.metric.name)


class Panel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`environment` has the components that separate measurements; it is empty if the machine is unknown.

    `runs` are those of one line of commits, oldest first.
    """

    suite: str
    environment: Mapping[str, str]
    runs: tuple[PanelRun, ...]
    series: tuple[PanelSeries, ...]


class KeptPanel(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`panel` without values, and the names of the chunks with the values, in its order."""

    panel: Panel
    chunks: tuple[str, ...]
    series_per_chunk: int


class Manifest(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    forbid_unknown_fields=True,
    tag_field="format",
    tag="perf-culprit-dashboard",
):
    """The content of a dashboard's folder. `program` is the version that built it, `files` all that it wrote."""

    version: Literal[1] = explicit_default(1)
    program: str
    files: tuple[str, ...]
    panels: tuple[KeptPanel, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesCulprit:
    """The culprit of a stored bisection. `thread` is the number of the pull request or issue that requested it."""

    suite: str
    key: MetricKey
    commit: str
    relative_change: float
    posterior: float | None
    thread: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesCommit:
    """`seconds` since 1970 are from the committer's clock, for display. `tag`: its release, if any."""

    hash: str
    subject: str = ""
    seconds: int = 0
    tag: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownChange:
    """A change in series `series` of panel `panel`, with its acceptance and the commit that a bisection named.

    It came with the commit `since`. If the runs leave that open, it came with one of the commits after `after`.
    """

    panel: int
    series: int
    change: ChangePoint
    since: str
    after: str | None = None
    accepted: Acceptance | None = None
    culprit: SeriesCulprit | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseStanding:
    """`worst`: the largest worsening since `release` (without a release, in the latest runs), as measured.

    None if nothing got worse. `judged` counts the series that could be judged.
    """

    release: str | None
    judged: int
    worst: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Dashboard:
    """`commits` are those with runs or named elsewhere, oldest first. `notes` tell what was omitted.

    `name`: the repository's, such as octo/parser.
    """

    commits: tuple[SeriesCommit, ...]
    panels: tuple[Panel, ...]
    changes: tuple[ShownChange, ...]
    standing: ReleaseStanding
    name: str = ""
    repository_url: str | None = None
    notes: tuple[Reason, ...] = ()
