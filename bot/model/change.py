"""Series over commits or builds, and where they changed."""

from dataclasses import dataclass
from typing import Literal

from bot.model.reason import Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """`values`: one per run, oldest first; NaN where a run lacks it. `notes` say what was done to them.

    `minimum_effect`: relative changes smaller than this are not looked for.
    """

    name: str
    values: tuple[float, ...]
    unit: str = ""
    minimum_effect: float = 0.0
    notes: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesTable:
    """Series of the same runs. `labels` name the runs (commits, builds, times), "" where nothing does.

    `label_name` says what the labels are. `notes` are about the table: what was left out of it.
    """

    place: str
    series: tuple[Series, ...]
    labels: tuple[str, ...]
    label_name: str | None = None
    notes: tuple[Reason, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePoint:
    """`index` (from 0) and `label` are those of the first run of the new level; of a drift, of its steepest place.

    `before` and `after` are medians in the series' unit. `q_value` is over all changes of the table.
    """

    index: int
    label: str
    kind: Literal["step", "drift"]
    before: float
    after: float
    relative_change: float | None
    p_value: float
    q_value: float
    strength: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesAlarm:
    """Raised with run `index` by a bot that sees only the runs up to it, for a change at `change_index`."""

    index: int
    label: str
    change_index: int
    change_label: str
    relative_change: float | None
    strength: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Detectable:
    """What would have been found: a rise by `size`, in the series' unit, that lasts `rows` rows.

    `relative_change` is of the series' median, None where that is zero. A `size` of 0 is any rise at all.
    """

    size: float
    relative_change: float | None
    rows: int


@dataclass(frozen=True, kw_only=True, slots=True)
class SeriesChanges:
    """What was found in one series. `alarms` is None where nobody asked.

    Where nothing could be judged, `values_lacking` says how many more values it takes. Where nothing was found,
    `detectable` says what would have been, and `detectable_alarm` what would have raised an alarm; None there: no step
    of any size.
    """

    series: Series
    changes: tuple[ChangePoint, ...] = ()
    alarms: tuple[SeriesAlarm, ...] | None = None
    detectable: Detectable | None = None
    detectable_alarm: Detectable | None = None
    rows_lacking_online: int = 0
    values_lacking: int = 0
