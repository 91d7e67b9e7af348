"""Response times of one service's calls: moments, slowest calls, windows. Mergeable in any grouping."""

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from bot.diagnose.settings import ReadingSettings
from bot.model.call_tree import ServiceStatistics, SlowCall, Window

MAX_WINDOWS: Final = 1_440
# Digits alone: seconds since 1970 up to the year 5138, milliseconds above.
_FIRST_MILLISECONDS: Final = 1e11
_LAST_SECONDS: Final = 253_402_300_800.0  # the year 10000
_UNKNOWN_TIME: Final = -1.0
_Total: TypeAlias = tuple[int, float, float]


@dataclass(frozen=True, slots=True, order=True)
class TimedCall:
    """Ordered so that the slowest come first, and equal ones always in the same order."""

    negative_ms: float
    time_s: float
    call: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponseTimes:
    """`deviations`: sum of squares around the mean. `windows`: number -> calls, time, longest time.

    A window is `window_s · 2^doublings` wide: doubled until the log has at most MAX_WINDOWS of them.
    """

    calls: int = 0
    mean_ms: float = 0.0
    deviations: float = 0.0
    min_ms: float = math.inf
    max_ms: float = 0.0
    slowest: tuple[TimedCall, ...] = ()
    doublings: int = 0
    windows: tuple[tuple[int, _Total], ...] = ()


def response_times(calls: Iterable[tuple[float, float | None, bytes]], *, settings: ReadingSettings) -> ResponseTimes:
    """From (response time in ms, time in seconds, name) of each call."""
    timed = [(elapsed_ms, _UNKNOWN_TIME if time_s is None else time_s, call) for elapsed_ms, time_s, call in calls]
    if not timed:
        return ResponseTimes()
    times = [entry[0] for entry in timed]
    mean = math.fsum(times) / len(times)
    windows: dict[int, _Total] = {}
    for elapsed_ms, time_s, _ in timed:
        if time_s != _UNKNOWN_TIME:
            _add_window(windows, int(time_s // settings.window_s), (1, elapsed_ms, elapsed_ms))
    doublings, windows = _coarsened(windows, 0)
    return ResponseTimes(
        calls=len(times),
        mean_ms=mean,
        deviations=math.fsum((time - mean) ** 2 for time in times),
        min_ms=min(times),
        max_ms=max(times),
        slowest=_slowest((TimedCall(-entry[0], entry[1], entry[2]) for entry in timed), settings=settings),
        doublings=doublings,
        windows=tuple(sorted(windows.items())),
    )


def merged(one: ResponseTimes, other: ResponseTimes, *, settings: ReadingSettings) -> ResponseTimes:
    """As if computed from all calls at once (Chan, Golub & LeVeque 1979 for the moments)."""
    if not one.calls or not other.calls:
        return one if one.calls else other
    calls = one.calls + other.calls
    difference = other.mean_ms - one.mean_ms
    doublings = max(one.doublings, other.doublings)
    windows: dict[int, _Total] = {}
    for part in (one, other):
        for number, total in part.windows:
            _add_window(windows, number >> (doublings - part.doublings), total)
    doublings, windows = _coarsened(windows, doublings)
    return ResponseTimes(
        calls=calls,
        mean_ms=one.mean_ms + difference * other.calls / calls,
        deviations=one.deviations + other.deviations + difference**2 * one.calls * other.calls / calls,
        min_ms=min(one.min_ms, other.min_ms),
        max_ms=max(one.max_ms, other.max_ms),
        slowest=_slowest((*one.slowest, *other.slowest), settings=settings),
        doublings=doublings,
        windows=tuple(sorted(windows.items())),
    )


def statistics(service: str, times: ResponseTimes, *, settings: ReadingSettings) -> ServiceStatistics:
    width_s = settings.window_s * 2.0**times.doublings
    return ServiceStatistics(
        service=service,
        calls=times.calls,
        min_ms=times.min_ms if times.calls else 0.0,
        max_ms=times.max_ms,
        mean_ms=times.mean_ms,
        standard_deviation_ms=math.sqrt(times.deviations / times.calls) if times.calls else 0.0,
        slowest=tuple(
            SlowCall(
                call=slow.call.decode("utf-8", "replace"),
                elapsed_ms=-slow.negative_ms,
                time_s=None if slow.time_s == _UNKNOWN_TIME else slow.time_s,
            )
            for slow in times.slowest
        ),
        windows=tuple(
            Window(
                start_s=number * width_s, width_s=width_s, calls=calls, mean_ms=total_ms / calls, longest_ms=longest_ms
            )
            for number, (calls, total_ms, longest_ms) in times.windows
        ),
    )


def seconds_since_1970(text: bytes) -> float | None:
    """ISO 8601 or digits; UTC where no zone is given. None for any other text: the call is then in no window."""
    try:
        number = float(text)
    except ValueError:
        try:
            moment = datetime.fromisoformat(text.decode("ascii"))
        except ValueError:
            return None
        number = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    else:
        number = number / 1000 if number >= _FIRST_MILLISECONDS else number
    return number if 0 <= number < _LAST_SECONDS else None


def _slowest(calls: Iterable[TimedCall], *, settings: ReadingSettings) -> tuple[TimedCall, ...]:
    return tuple(heapq.nsmallest(settings.slowest_kept, calls))


def _add_window(windows: dict[int, _Total], number: int, total: _Total) -> None:
    calls, total_ms, longest_ms = windows.get(number, (0, 0.0, 0.0))
    windows[number] = (calls + total[0], total_ms + total[1], max(longest_ms, total[2]))


def _coarsened(windows: dict[int, _Total], doublings: int) -> tuple[int, dict[int, _Total]]:
    while len(windows) > MAX_WINDOWS:
        doublings += 1
        wider: dict[int, _Total] = {}
        for number, total in windows.items():
            _add_window(wider, number >> 1, total)
        windows = wider
    return doublings, windows
