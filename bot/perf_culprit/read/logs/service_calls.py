"""Service calls whose lines are complete: call trees, variants and response times."""

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final, TypeAlias

import numpy as np

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.errors import DataError
from perf_culprit.model.call_tree import LineFault, ServiceStatistics, SlowCall, Window
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs.log_pattern import CALL, ELAPSED, LABEL, METHOD, SERVICE, THREAD, TIME, Row
from perf_culprit.read.logs.log_rows import Rows
from perf_culprit.read.logs.merged_tree import MergedTree, Shape, Squares, shape_of
from perf_culprit.read.logs.reading_settings import ReadingSettings

# Above this number the count is an estimate with a standard error of 1 / sqrt(4,096 - 2) = 1.6%.
KEPT: Final = 4_096
_DIGESTS: Final = 2**64


def smallest(digests: Iterable[bytes]) -> frozenset[bytes]:
    """Keep the KEPT smallest digests, which suffice to count and merge (Bar-Yossef et al. 2002, k minimum values)."""
    chosen = frozenset(digests)
    return chosen if len(chosen) <= KEPT else frozenset(sorted(chosen)[:KEPT])


def count(digests: frozenset[bytes]) -> int:
    """Count the different digests, exactly below KEPT. Assumes uniformly distributed 8-byte digests."""
    if len(digests) < KEPT:
        return len(digests)
    return round((KEPT - 1) / (int.from_bytes(max(digests), "big") / _DIGESTS))


# A time in digits counts seconds since 1970 up to the year 5138, and milliseconds above.
_FIRST_MILLISECONDS: Final = 1e11
_LAST_SECONDS: Final = 253_402_300_800.0  # the year 10000
_UNKNOWN_TIME: Final = -1.0
_Total: TypeAlias = tuple[int, float, float]


@dataclass(frozen=True, slots=True, order=True)
class TimedCall:
    """One timed call. The slowest calls sort first, and ties always sort the same."""

    negative_ms: float
    time_s: float
    call: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class ResponseTimes:
    """`deviations`: the sum of squares around the mean. `windows`: (number, (calls, total time, longest time)).

    A window is `window_s · 2^doublings` wide: its width doubles until the log has at most FILE_LIMITS.windows windows.
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
    """Summarize the (response time in ms, time in seconds, name) of each call."""
    timed = [(elapsed_ms, _UNKNOWN_TIME if time_s is None else time_s, call) for elapsed_ms, time_s, call in calls]
    if not timed:
        return ResponseTimes()
    times = [entry[0] for entry in timed]
    mean = math.fsum(times) / len(times)
    windows: dict[int, _Total] = {}
    for elapsed_ms, time_s, _ in timed:
        if time_s != _UNKNOWN_TIME:
            _add_window(windows, int(time_s // settings.window_s), (1, elapsed_ms, elapsed_ms))
    doublings, windows = _coarsen(windows, 0)
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
    """Merge two parts as if computed from all calls at once (moments: Chan, Golub & LeVeque 1979)."""
    if not one.calls or not other.calls:
        return one if one.calls else other
    calls = one.calls + other.calls
    difference = other.mean_ms - one.mean_ms
    doublings = max(one.doublings, other.doublings)
    windows: dict[int, _Total] = {}
    for part in (one, other):
        for number, total in part.windows:
            _add_window(windows, number >> (doublings - part.doublings), total)
    doublings, windows = _coarsen(windows, doublings)
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


def statistics(
    service: str, times: ResponseTimes, *, all_calls: int, variants: int, settings: ReadingSettings
) -> ServiceStatistics:
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
                start_s=number * width_s,
                width_s=width_s,
                calls=calls,
                calls_per_s=calls / width_s,
                mean_ms=total_ms / calls,
                longest_ms=longest_ms,
            )
            for number, (calls, total_ms, longest_ms) in times.windows
        ),
        all_calls=all_calls,
        variants=variants,
    )


def seconds_since_1970(text: bytes) -> float | None:
    """Parse ISO 8601, in UTC unless a zone is given, or digits. None for other text: the call is then in no window."""
    # Parsing a date as a number fails slowly, so the likelier form is tried first.
    for parsed in (_date, _number) if text[4:5] == b"-" else (_number, _date):
        try:
            number = parsed(text)
        except ValueError:
            continue
        return number if 0 <= number < _LAST_SECONDS else None
    return None


def _number(text: bytes) -> float:
    number = float(text)
    return number / 1000 if number >= _FIRST_MILLISECONDS else number


def _date(text: bytes) -> float:
    moment = datetime.fromisoformat(text.decode("ascii"))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _slowest(calls: Iterable[TimedCall], *, settings: ReadingSettings) -> tuple[TimedCall, ...]:
    return tuple(heapq.nsmallest(settings.slowest_kept, calls))


def _add_window(windows: dict[int, _Total], number: int, total: _Total) -> None:
    calls, total_ms, longest_ms = windows.get(number, (0, 0.0, 0.0))
    windows[number] = (calls + total[0], total_ms + total[1], max(longest_ms, total[2]))


def _coarsen(windows: dict[int, _Total], doublings: int) -> tuple[int, dict[int, _Total]]:
    while len(windows) > FILE_LIMITS.windows:
        doublings += 1
        wider: dict[int, _Total] = {}
        for number, total in windows.items():
            _add_window(wider, number >> 1, total)
        windows = wider
    return doublings, windows


# The number of lines of alike calls from which arrays are faster than one call at a time.
WORTH_ARRAYS: Final = 16


def check_services(count: int) -> None:
    if count > FILE_LIMITS.services:
        raise DataError(
            f"more than {FILE_LIMITS.services:,} different services",
            next_step="check that the pattern's group `service` leaves out arguments and ids",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ServicePart:
    """The results for one service from a part of a log."""

    tree: MergedTree
    times: ResponseTimes
    method_times: ResponseTimes
    variants: frozenset[bytes]
    calls: int
    headless_calls: int

    def merged(self, others: Sequence["ServicePart"], *, settings: ReadingSettings) -> "ServicePart":
        times, method_times = self.times, self.method_times
        for other in others:
            times = merged(times, other.times, settings=settings)
            method_times = merged(method_times, other.method_times, settings=settings)
        return ServicePart(
            tree=self.tree.merged([other.tree for other in others]),
            times=times,
            method_times=method_times,
            variants=smallest(self.variants.union(*(other.variants for other in others))),
            calls=self.calls + sum(other.calls for other in others),
            headless_calls=self.headless_calls + sum(other.headless_calls for other in others),
        )


@dataclass(kw_only=True, slots=True)
class _CallGroup:
    """Calls of one service whose lines differ only in their times."""

    shape: Shape
    times_ms: list[Floats] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class CompleteCalls:
    """A collector of complete calls that returns their services' parts."""

    settings: ReadingSettings
    ms_per_unit: float
    unused: Counter[LineFault] = field(default_factory=Counter)
    unused_rows: list[tuple[LineFault, Row]] = field(default_factory=list)
    _alike: dict[bytes, dict[tuple[tuple[bytes, ...], tuple[bytes, ...]], _CallGroup]] = field(default_factory=dict)
    _timed: dict[bytes, list[tuple[float, float | None, bytes]]] = field(default_factory=dict)
    _executed: dict[bytes, list[tuple[float, float | None, bytes]]] = field(default_factory=dict)
    _method: bytes | None = field(init=False)

    def __post_init__(self) -> None:
        self._method = None if self.settings.method is None else self.settings.method.encode()

    def add_all(self, rows: Rows, calls: Sequence[Integers]) -> None:
        """Add calls by the places of their rows. Calls whose lines differ only in their times are added together."""
        methods, method_texts = rows.numbers(METHOD)
        labels, label_texts = rows.numbers(LABEL)
        kinds = labels * len(method_texts) + methods
        services = rows.column(SERVICE, np.array([call[0] for call in calls], np.intp))
        times_ms = rows.elapsed() * self.ms_per_unit
        by_shape: dict[tuple[bytes, bytes], list[Integers]] = {}
        for service, call in zip(services, calls, strict=True):
            by_shape.setdefault((service, kinds[call].tobytes()), []).append(call)
        for (service, _), group in by_shape.items():
            lines = [
                tuple([texts[number][0] for number in numbers[group[0]].tolist()])
                for numbers, texts in ((labels, label_texts), (methods, method_texts))
            ]
            for call in self._add_alike(rows, times_ms, np.array(group), service, lines):
                self.add(rows.rows(call))

    def _add_alike(
        self, rows: Rows, times_ms: Floats, calls: Integers, service: bytes, lines: Sequence[tuple[bytes, ...]]
    ) -> Integers:
        """Add alike calls (calls, lines) with their labels and methods; return those that must be added one by one."""
        labels, methods = lines
        has_names = rows.lengths[[SERVICE, CALL], calls[0, 0]].min() >= 0 and None not in methods
        if calls.size < WORTH_ARRAYS or not has_names or not _are_labels(labels) or len({*labels}) < len(labels):
            return calls
        times = times_ms[calls]
        usable: Booleans = np.all((times >= 0) & (times <= FILE_LIMITS.elapsed_ms), axis=1)
        own = calls[usable]
        if own.size:
            self._count(service, labels, methods, times[usable], lambda field, line: rows.column(field, own[:, line]))
        return calls[~usable]

    def add(self, rows: Sequence[Row]) -> None:
        """Add one service call: rows that share `service` and `call`."""
        usable = [row for row in rows if self._is_usable(row)]
        for own in [usable] if len({row[LABEL] for row in usable}) == len(usable) else self._apart(usable):
            if own:
                times_ms = np.array([[float(row[ELAPSED]) * self.ms_per_unit for row in own]])
                _, _, _, _, labels, methods, _ = zip(*own, strict=True)
                self._count(own[0][SERVICE], labels, methods, times_ms, lambda field, line, own=own: [own[line][field]])  # type: ignore[misc] # mypy wants no default

    def services(self) -> dict[bytes, ServicePart]:
        parts = {}
        for service, shapes in self._alike.items():
            tree = MergedTree(squares=Squares() if self.settings.squares else None)
            for (_, methods), group in shapes.items():
                tree.add(group.shape, methods, np.concatenate(group.times_ms))
            calls = sum(len(times_ms) for group in shapes.values() for times_ms in group.times_ms)
            timed = self._timed.get(service, [])
            parts[service] = ServicePart(
                tree=tree,
                times=response_times(timed, settings=self.settings),
                method_times=response_times(self._executed.get(service, ()), settings=self.settings),
                variants=smallest(group.shape.digest for group in shapes.values()),
                calls=calls,
                headless_calls=calls - len(timed),
            )
        return parts

    def _count(
        self,
        service: bytes,
        labels: tuple[bytes, ...],
        methods: tuple[bytes, ...],
        times_ms: Floats,
        column: Callable[[int, int], Sequence[Any]],
    ) -> None:
        """Count calls with these lines. `times_ms`: (calls, lines). `column(field, line)`: the field in each call."""
        shapes = self._alike.setdefault(service, {})
        check_services(len(self._alike))
        group = shapes.get((labels, methods))
        if group is None:
            group = shapes[labels, methods] = _CallGroup(shape=shape_of(labels, methods))
        group.times_ms.append(times_ms)
        tops = group.shape.tops
        timed = [(line, self._executed) for line, method in enumerate(methods) if method == self._method]
        if group.shape.has_root:
            timed.append((tops[0], self._timed))
        for line, calls in timed:
            elapsed_ms = times_ms[:, tops].sum(axis=1) if calls is self._timed and len(tops) > 1 else times_ms[:, line]
            calls.setdefault(service, []).extend(
                zip(elapsed_ms.tolist(), map(_seconds, column(TIME, line)), column(CALL, line), strict=True)
            )

    def _is_usable(self, row: Row) -> bool:
        fault = _fault(row, self.ms_per_unit)
        if fault is not None:
            self._leave_out(fault, row)
        return fault is None

    def _apart(self, rows: Sequence[Row]) -> Iterable[list[Row]]:
        """Split calls with the same name by thread if it is logged, and at each repeated label."""
        by_thread: dict[bytes | None, list[Row]] = {}
        for row, rows_of_call in groupby(rows):
            same = list(rows_of_call)
            # Without a time, equal lines may be different executions.
            number = 1 if row[TIME] is not None else len(same)
            by_thread.setdefault(row[THREAD], []).extend(same[:number])
            for repeated in same[number:]:
                self._leave_out(LineFault.REPEATED, repeated)
        for own in by_thread.values():
            part: dict[bytes, Row] = {}
            for row in own:
                if row[LABEL] in part:
                    yield [*part.values()]
                    part = {}
                part[row[LABEL]] = row
            yield [*part.values()]

    def _leave_out(self, fault: LineFault, row: Row) -> None:
        self.unused[fault] += 1
        if self.unused[fault] == 1:
            self.unused_rows.append((fault, row))


def _seconds(time: bytes | None) -> float | None:
    return None if time is None else seconds_since_1970(time)


def _fault(row: Row, ms_per_unit: float) -> LineFault | None:
    if None in row[2:]:
        return LineFault.NO_MATCH
    try:
        elapsed_ms = float(row[ELAPSED]) * ms_per_unit
    except ValueError:
        return LineFault.ELAPSED
    if not 0 <= elapsed_ms <= FILE_LIMITS.elapsed_ms:
        return LineFault.ELAPSED
    return None if _are_labels((row[LABEL],)) else LineFault.LABEL


def _are_labels(labels: Sequence[bytes]) -> bool:
    """Whether every label is short enough and consists of non-empty components between single dots."""
    if None in labels or max(map(len, labels)) > FILE_LIMITS.label_bytes:
        return False
    return b".." not in b"." + b".\n.".join(labels) + b"."
