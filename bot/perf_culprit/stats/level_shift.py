"""Find the flagged regressions that began a new level: later runs stay at it."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from perf_culprit.arrays import Booleans, Floats

# Number of later runs that show whether a level lasts, and the share that must stay. With one run in five in a second
# mode, chance alone keeps it there in 4% of cases with the fewest followers, in 1% with all.
FEWEST_FOLLOWERS: Final = 2
FOLLOWERS: Final = 5
STAYING_SHARE: Final = 0.8
# A level at least this factor away that did not last was a change that somebody reverted. Treated as noise, it would
# hide even tenfold changes while it is in the window. A level that occurs twice is noise.
UNDONE_FACTOR: Final = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class NewLevels:
    """`lasting` (n,): the runs at a level that stays worse. `since`: the first run of the one that still holds.

    `is_open`: a flagged run has too few followers to decide whether its level lasts. `undone` (n,): the runs at the
    only level that was at least `UNDONE_FACTOR` away and did not stay.
    """

    lasting: Booleans
    undone: Booleans
    since: int | None = None
    is_open: bool = False


def new_levels(values: Floats, *, flagged: Booleans, confirmed: Booleans) -> NewLevels:
    """Find new levels in one metric's runs, oldest to newest; the newest is the target and not flagged itself.

    `values` (n,) are NaN where a run lacks the metric. A `flagged` run counts if a second measurement `confirmed` it or
    if later runs stay nearer to its level than to the previous one. Runs at a level that did not last stay in the
    baseline, unless the change was undone. Excluding every flagged run would reduce the variance, and the next ordinary
    run would be flagged too.
    """
    lasting = np.zeros(len(values), dtype=np.bool_)
    since, is_open = None, False
    excursions: list[Booleans] = []
    for start in np.flatnonzero(flagged & np.isfinite(values)).tolist():
        before = values[:start][~lasting[:start] & np.isfinite(values[:start])]
        if lasting[start] or not len(before):
            continue
        level, usual = float(values[start]), float(np.median(before))
        staying = nearer(values[start:], to=level, than=usual)
        end = _end(staying, finite=np.isfinite(values[start:]))
        followers = staying[1:][np.isfinite(values[start + 1 :])][:FOLLOWERS]
        stays = len(followers) >= FEWEST_FOLLOWERS and followers.mean() >= STAYING_SHARE
        if not stays and not confirmed[start]:
            is_open |= followers.sum() + FOLLOWERS - len(followers) >= STAYING_SHARE * FOLLOWERS
            is_back = start + end < len(values)
            if is_back and _factor(level, usual) >= UNDONE_FACTOR and not any(runs[start] for runs in excursions):
                excursions.append(np.zeros_like(lasting))
                excursions[-1][start : start + end] = staying[:end]
            continue
        lasting[start : start + end] |= staying[:end]
        since = start if start + end == len(values) else None
    undone = excursions[0] & ~lasting if len(excursions) == 1 else np.zeros_like(lasting)
    return NewLevels(lasting=lasting, undone=undone, since=since, is_open=bool(is_open))


def _factor(level: float, usual: float) -> float:
    """Ratio of the two levels, at least 1; also 1 if one of them is not positive."""
    return max(level / usual, usual / level) if level > 0 < usual else 1.0


def nearer(values: npt.ArrayLike, *, to: float, than: float) -> Booleans:
    """Return whether each value is nearer to `to` than to `than`; compared by ratio where both levels are positive."""
    numbers = np.asarray(values, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        if to > 0 and than > 0:
            numbers, to, than = np.log(numbers), float(np.log(to)), float(np.log(than))
        return np.asarray(np.abs(numbers - to) < np.abs(numbers - than))


def _end(staying: Booleans, *, finite: Booleans) -> int:
    """Number of runs for which the level holds: until two in a row are back."""
    places = np.flatnonzero(finite)
    back = ~staying[places]
    ends = np.flatnonzero(back[1:] & back[:-1])
    return int(places[ends[0]]) if len(ends) else len(staying)
