"""Which runs that were called regressions really began a new level: those at which later runs stay."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from perf_culprit.stats.ragged import Booleans, Floats

# Later runs that tell whether a level lasts, and how many of them have to stay at it. A benchmark that is in a second
# mode in one run of five stays there by chance in 4% of cases with the fewest, in 1% with all.
FEWEST_FOLLOWERS: Final = 2
FOLLOWERS: Final = 5
STAYING_SHARE: Final = 0.8
# From this factor on a level that did not last was a change that somebody undid: as noise it would hide even tenfold
# changes for as long as it is in the window. What comes twice is noise.
UNDONE_FACTOR: Final = 10.0


@dataclass(frozen=True, kw_only=True, slots=True)
class NewLevels:
    """`lasting` (n,): the runs at a level that stays worse. `since`: where the one begins that still holds.

    `is_open`: a flagged run has too few followers to tell whether its level lasts. `undone` (n,): the runs at the one
    level that was `UNDONE_FACTOR` away and did not stay.
    """

    lasting: Booleans
    undone: Booleans
    since: int | None = None
    is_open: bool = False


def new_levels(values: Floats, *, flagged: Booleans, confirmed: Booleans) -> NewLevels:
    """One metric's runs from oldest to newest, the newest being the target, which is not flagged itself.

    `values` (n,) are NaN where a run lacks the metric. A `flagged` run counts if it was `confirmed` by a second
    measurement or if later runs are nearer to its level than to the one before. What did not last stays among the
    others, unless it was undone: to leave out whatever was called would take the variance from them, and the next
    ordinary run would be called too.
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
    """1 where there is none."""
    return max(level / usual, usual / level) if level > 0 < usual else 1.0


def nearer(values: npt.ArrayLike, *, to: float, than: float) -> Booleans:
    """Which values are at the one level rather than at the other; by ratio where all are positive."""
    given = np.asarray(values, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        if to > 0 and than > 0:
            given, to, than = np.log(given), float(np.log(to)), float(np.log(than))
        return np.asarray(np.abs(given - to) < np.abs(given - than))


def _end(staying: Booleans, *, finite: Booleans) -> int:
    """How many runs the level holds for: until two in a row are back."""
    places = np.flatnonzero(finite)
    back = ~staying[places]
    ends = np.flatnonzero(back[1:] & back[:-1])
    return int(places[ends[0]]) if len(ends) else len(staying)
