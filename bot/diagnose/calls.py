"""Service calls whose lines are complete: into trees, response times and counts of what could not be used."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

import msgspec

from bot.diagnose.merged_tree import MergedTree
from bot.diagnose.pattern import ELAPSED, LABEL, THREAD, TIME, Row
from bot.diagnose.response_times import ResponseTimes, merged, response_times, seconds_since_1970
from bot.diagnose.settings import ReadingSettings
from bot.diagnose.shape import Shape, shape_of
from bot.diagnose.squares import Squares
from bot.diagnose.variants import smallest
from bot.errors import DataError
from bot.model.call_tree import LineFault

MAX_SERVICES: Final = 1_000
MAX_LABEL_BYTES: Final = 1 << 15
# Some decades: more is a broken clock.
MAX_ELAPSED_MS: Final = 1e12
_NUMBERS: Final = msgspec.json.Decoder(list[float])


def check_services(count: int) -> None:
    if count > MAX_SERVICES:
        raise DataError(
            f"more than {MAX_SERVICES:,} different services",
            next_step="check that the pattern's group `service` leaves out arguments and ids",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class ServicePart:
    """What is known of one service from a part of a log."""

    tree: MergedTree
    times: ResponseTimes
    variants: frozenset[bytes]
    calls: int
    headless_calls: int

    def merged(self, others: Sequence["ServicePart"], *, settings: ReadingSettings) -> "ServicePart":
        times = self.times
        for other in others:
            times = merged(times, other.times, settings=settings)
        return ServicePart(
            tree=self.tree.merged([other.tree for other in others]),
            times=times,
            variants=smallest(self.variants.union(*(other.variants for other in others))),
            calls=self.calls + sum(other.calls for other in others),
            headless_calls=self.headless_calls + sum(other.headless_calls for other in others),
        )


@dataclass(kw_only=True, slots=True)
class _Alike:
    """Calls of one service with the same lines but for their times."""

    shape: Shape
    times_ms: list[list[float]] = field(default_factory=list)


@dataclass(kw_only=True, slots=True)
class CompleteCalls:
    """Collects calls, then gives their services' parts."""

    settings: ReadingSettings
    ms_per_unit: float
    unused: Counter[LineFault] = field(default_factory=Counter)
    unused_rows: list[tuple[LineFault, Row]] = field(default_factory=list)
    _alike: dict[bytes, dict[tuple[tuple[bytes, ...], tuple[bytes, ...]], _Alike]] = field(default_factory=dict)
    _timed: dict[bytes, list[tuple[float, float | None, bytes]]] = field(default_factory=dict)

    def add(self, rows: Sequence[Row]) -> None:
        """One service call: rows that share `service` and `call`."""
        times, _, _, _, labels, methods, elapsed = zip(*rows, strict=True)
        service, call = rows[0][2:4]
        alike = self._alike.get(service, {}).get((labels, methods))
        times_ms = self._times_ms(elapsed)
        if alike is not None and times_ms is not None:
            self._count(service, call, alike, times_ms, times)
            return
        usable: Sequence[Row] = rows
        if times_ms is None or None in methods or None in (service, call) or not _are_labels(labels):
            usable = [row for row in rows if self._is_usable(row)]
        if len({row[LABEL] for row in usable}) == len(usable):
            self._add_usable(usable)
            return
        for part in self._apart(usable):
            self._add_usable(part)

    def services(self) -> dict[bytes, ServicePart]:
        parts = {}
        for service, shapes in self._alike.items():
            tree = MergedTree(squares=Squares() if self.settings.squares else None)
            for (_, methods), alike in shapes.items():
                tree.add(alike.shape, methods, alike.times_ms)
            calls = sum(len(alike.times_ms) for alike in shapes.values())
            timed = self._timed.get(service, [])
            parts[service] = ServicePart(
                tree=tree,
                times=response_times(timed, settings=self.settings),
                variants=smallest(alike.shape.digest for alike in shapes.values()),
                calls=calls,
                headless_calls=calls - len(timed),
            )
        return parts

    def _add_usable(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        times, _, _, _, labels, methods, elapsed = zip(*rows, strict=True)
        service, call = rows[0][2:4]
        shapes = self._alike.get(service)
        if shapes is None:
            shapes = self._alike[service] = {}
            check_services(len(self._alike))
        alike = shapes.get((labels, methods))
        if alike is None:
            alike = shapes[labels, methods] = _Alike(shape=shape_of(labels, methods))
        self._count(service, call, alike, [float(time) * self.ms_per_unit for time in elapsed], times)

    def _count(
        self, service: bytes, call: bytes, alike: _Alike, times_ms: list[float], times: Sequence[bytes | None]
    ) -> None:
        alike.times_ms.append(times_ms)
        if alike.shape.has_root:
            tops = alike.shape.tops
            time = times[tops[0]]
            elapsed_ms = times_ms[tops[0]] if len(tops) == 1 else sum(times_ms[top] for top in tops)
            self._timed.setdefault(service, []).append(
                (elapsed_ms, time if time is None else seconds_since_1970(time), call)
            )

    def _times_ms(self, elapsed: Sequence[bytes]) -> list[float] | None:
        """None where one of them may be no usable time."""
        try:
            times_ms = _numbers(elapsed)
        except (TypeError, ValueError):
            return None
        if self.ms_per_unit != 1:
            times_ms = [time * self.ms_per_unit for time in times_ms]
        # The sum is NaN where one of them is.
        return times_ms if min(times_ms) >= 0 and sum(times_ms) <= MAX_ELAPSED_MS else None

    def _is_usable(self, row: Row) -> bool:
        fault = _fault(row, self.ms_per_unit)
        if fault is not None:
            self._leave_out(fault, row)
        return fault is None

    def _apart(self, rows: Sequence[Row]) -> Iterable[list[Row]]:
        """A call's name that came again: told apart by thread where logged, else at the first repeated label."""
        by_thread: dict[bytes | None, list[Row]] = {}
        for row, alike in groupby(rows):
            same = list(alike)
            # Without a time, lines that look the same may well be different executions.
            kept = 1 if row[TIME] is not None else len(same)
            by_thread.setdefault(row[THREAD], []).extend(same[:kept])
            for repeated in same[kept:]:
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


def _numbers(texts: Sequence[bytes]) -> list[float]:
    """All at once where JSON writes them so, in a third of the time."""
    try:
        numbers = _NUMBERS.decode(b"[%b]" % b",".join(texts))
    except msgspec.DecodeError:
        numbers = []
    return numbers if len(numbers) == len(texts) else [*map(float, texts)]


def _fault(row: Row, ms_per_unit: float) -> LineFault | None:
    if None in row[2:]:
        return LineFault.NO_MATCH
    try:
        elapsed_ms = float(row[ELAPSED]) * ms_per_unit
    except ValueError:
        return LineFault.ELAPSED
    if not 0 <= elapsed_ms <= MAX_ELAPSED_MS:
        return LineFault.ELAPSED
    return None if _are_labels((row[LABEL],)) else LineFault.LABEL


def _are_labels(labels: Sequence[bytes]) -> bool:
    """Components between single dots, none of them empty."""
    if None in labels or max(map(len, labels)) > MAX_LABEL_BYTES:
        return False
    return b".." not in b"." + b".\n.".join(labels) + b"."
