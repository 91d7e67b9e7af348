"""The method executions of a stretch of lines, as columns of places in its bytes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from perf_culprit.arrays import Booleans, Floats, Integers
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.read.logs.fixed_form import beginning, steps_of, walk
from perf_culprit.read.logs.log_pattern import ELAPSED, PRESETS, LinePattern, Row, load_pattern

Words: TypeAlias = NDArray[np.uint64]
# The bytes of this number of lines fit a processor's cache.
AT_ONCE: Final = 8_192
# Longer fields are compared one by one.
COMPARED_BYTES: Final = 128
# A line feed, and the bytes that vectorized reads touch beyond the last one.
PADDING: Final = b"\n" + bytes(COMPARED_BYTES + 8)
_BUCKETS: Final = np.uint64(1 << 16)
_MASKS: Final = np.array([2 ** (8 * size) - 1 for size in range(9)], np.uint64)
_FACTOR: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)
# A double holds every integer of this number of digits.
_EXACT_DIGITS: Final = 15
_POWERS: Final = np.array([float(f"1e{digits}") for digits in range(_EXACT_DIGITS + 1)])


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """`starts`, `lengths`: (fields, rows), places in `data`, which ends with PADDING. Missing fields have length -1."""

    data: bytes
    starts: Integers
    lengths: Integers

    def __len__(self) -> int:
        return len(self.starts[0])

    def column(self, field: int, at: Integers) -> list[Any]:
        """Return the field's bytes in each row, None if missing."""
        ends = zip(self.starts[field, at].tolist(), self.lengths[field, at].tolist(), strict=True)
        return [None if length < 0 else self.data[start : start + length] for start, length in ends]

    def rows(self, at: Integers) -> list[Row]:
        return [*zip(*(self.column(field, at) for field in range(len(self.starts))), strict=True)]

    def numbers(self, *fields: int) -> tuple[Integers, list[tuple[bytes | None, ...]]]:
        """Number the distinct values of the fields in order of appearance; return each row's number, and the values."""
        numbers = np.empty(len(self), np.intp)
        places: dict[tuple[bytes | None, ...], int] = {}
        for tile in tiles(len(self)):
            firsts = self._firsts(fields, tile)
            is_first = firsts == np.arange(len(firsts))
            different = tile.start + np.flatnonzero(is_first)
            keys = zip(*(self.column(field, different) for field in fields), strict=True)
            own = np.array([places.setdefault(key, len(places)) for key in keys], np.intp)
            numbers[tile] = own[(np.cumsum(is_first) - 1)[firsts]]
        return numbers, [*places]

    def _firsts(self, fields: Sequence[int], tile: slice) -> Integers:
        """Return, for each row of the tile, the first row with the same bytes; the row itself if a field is long."""
        lengths = self.lengths[fields, tile]
        columns = [*lengths.astype(np.uint64)]
        for field, own in zip(fields, lengths, strict=True):
            every = np.ndarray(len(self.data) - 7, "<u8", buffer=self.data, strides=(1,))
            columns += [
                every[self.starts[field, tile] + done] & _MASKS.take(own - done, mode="clip")
                for done in range(0, min(own.max(initial=0), COMPARED_BYTES), 8)
            ]
        digests = reduce(lambda digests, words: _mix(digests ^ words), columns)
        rest = itself = np.arange(len(digests))
        firsts, table = itself.copy(), np.empty(_BUCKETS, np.intp)
        while rest.size:
            digests = _mix(digests)
            buckets = digests[rest] % _BUCKETS
            # If one place is assigned several times, the last assignment stays.
            table[buckets[::-1]] = rest[::-1]
            firsts[rest] = table[buckets]
            rest = rest[digests[firsts[rest]] != digests[rest]]
        # The same digest does not prove the same bytes.
        is_same = all((words == words[firsts]).all() for words in columns)
        return np.where((lengths > COMPARED_BYTES).any(axis=0), itself, firsts) if is_same else itself

    def elapsed(self) -> Floats:
        """Return the elapsed times in the log's unit; NaN if the text is not a number or is missing."""
        times: Floats = np.concatenate([self._elapsed(tile) for tile in tiles(len(self))])
        return times

    def _elapsed(self, tile: slice) -> Floats:
        starts, lengths = self.starts[ELAPSED, tile], self.lengths[ELAPSED, tile]
        data = np.frombuffer(self.data, np.uint8)
        whole, digits, dots, decimals = np.zeros((4, len(starts)), np.int64)
        for place in range(min(lengths.max(initial=0), _EXACT_DIGITS + 1)):
            value = data.take(starts + place, mode="clip").astype(np.int64) - ord("0")
            is_digit = (place < lengths) & (value >= 0) & (value <= 9)
            whole = np.where(is_digit, whole * 10 + value, whole)
            digits += is_digit
            decimals += is_digit & (dots > 0)
            dots += (place < lengths) & (value == ord(".") - ord("0"))
        # A double holds both integers exactly, so their quotient is rounded once, as a parser does.
        times: Floats = whole / _POWERS[np.minimum(decimals, _EXACT_DIGITS)]
        odd = np.flatnonzero((digits + dots != lengths) | (dots > 1) | (digits == 0) | (digits > _EXACT_DIGITS))
        times[odd] = [_number(text or b"") for text in self.column(ELAPSED, odd + tile.start)]
        return times


def tiles(size: int) -> Iterator[slice]:
    """Split `size` rows into slices of at most AT_ONCE; yield at least one slice."""
    return (slice(begin, min(begin + AT_ONCE, size)) for begin in range(0, max(size, 1), AT_ONCE))


def _mix(words: Words) -> Words:
    words = words * _FACTOR
    return words ^ (words >> _SHIFT)


def _number(text: bytes) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadLines:
    """`unread`: non-blank lines that are too long or not a method execution, with their places from 0."""

    lines: int
    rows: Rows
    unread: list[tuple[int, bytes]]


def read_lines(data: bytes, pattern: LinePattern) -> ReadLines:
    """Read the lines by the pattern's fixed form, if it has one, and those that do not fit by the pattern itself."""
    padded = data + PADDING
    begins, ends = _line_places(padded, len(data) + (bool(data) and not data.endswith(b"\n")))
    starts, lengths, fits = _fit(padded, begins, ends, pattern)
    # Empty lines are no executions.
    others = np.flatnonzero(~fits & (ends > begins))
    lines = [data[begin:end] for begin, end in zip(begins[others].tolist(), ends[others].tolist(), strict=True)]
    text, more_starts, more_lengths, is_read = _search(lines, pattern)
    if not starts.size:
        padded, starts, lengths = text, more_starts, more_lengths
    elif more_starts.size:
        order = np.argsort(np.concatenate([np.flatnonzero(fits), others[is_read]]))
        starts = np.hstack([starts, more_starts + len(padded)])[:, order]
        lengths = np.hstack([lengths, more_lengths])[:, order]
        padded += text
    return ReadLines(
        lines=len(begins),
        rows=Rows(data=padded, starts=starts, lengths=lengths),
        unread=[(int(others[i]), lines[i]) for i in np.flatnonzero(~is_read).tolist() if lines[i].strip()],
    )


def presets_that_read(lines: Sequence[bytes]) -> list[str]:
    """Return the presets that read at least one of the lines, for a message."""
    return [name for name in PRESETS if len(read_lines(b"\n".join(lines), load_pattern(name)).rows)]


def _search(lines: Sequence[bytes], pattern: LinePattern) -> tuple[bytes, Integers, Integers, Booleans]:
    """Return the fields' texts, each field's starts and lengths in them, and which lines matched. Work tile by tile."""
    texts, sizes, is_read = list[bytes](), [np.empty(0, np.intp)], list[bool]()
    for tile in tiles(len(lines)):
        rows = pattern.read([line if len(line) <= FILE_LIMITS.log_line_bytes else b"" for line in lines[tile]])
        fields = [*chain.from_iterable([row for row in rows if row is not None])]
        try:
            texts.append(b"".join(fields))
            sizes.append(np.fromiter(map(len, fields), np.intp, len(fields)))
        except TypeError:
            texts.append(b"".join([field for field in fields if field]))
            sizes.append(np.array([-1 if field is None else len(field) for field in fields], np.intp))
        is_read += [row is not None for row in rows]
    which, lengths = np.array(is_read, bool), np.concatenate(sizes)
    starts = np.cumsum(np.maximum(lengths, 0)) - np.maximum(lengths, 0)
    # Fields that the pattern lacks are appended after the last group.
    width, numbers = pattern.groups
    lacking = np.full((np.count_nonzero(which), 1), -1)
    starts, lengths = (np.hstack([one.reshape(-1, width), lacking])[:, numbers].T for one in (starts, lengths))
    return b"".join(texts) + PADDING, starts, lengths, which


def _line_places(padded: bytes, size: int) -> tuple[Integers, Integers]:
    """Return where lines begin and end. Eight bytes at once are checked for a line feed."""
    marks = np.frombuffer(padded, np.uint8, count=-(-size // 8) * 8) == ord("\n")
    eights = np.flatnonzero(marks.view(np.uint64))
    which, place = np.nonzero(marks.reshape(-1, 8)[eights])
    ends = eights[which] * 8 + place
    ends = ends[ends < size]
    return np.concatenate([[0], ends[:-1] + 1])[: len(ends)].astype(np.intp), ends


def _first_places(padded: bytes, begins: Integers, ends: Integers, text: bytes) -> Integers:
    """Return each line's first place with the text, where a match begins first; the line's beginning if it lacks it."""
    lines = zip(begins.tolist(), ends.tolist(), strict=True)
    first = np.array([padded.find(text, begin, end) for begin, end in lines], np.intp)
    return np.where(first < 0, begins, first)


def _fit(padded: bytes, begins: Integers, ends: Integers, pattern: LinePattern) -> tuple[Integers, Integers, Booleans]:
    """Return the starts and lengths of the fields in lines of the fixed form, and which lines fit it."""
    fits = np.zeros(len(begins), bool)
    usable = ends - begins <= FILE_LIMITS.log_line_bytes
    names = pattern.fields
    starts, lengths = [np.empty((len(names), 0), np.intp)], [np.empty((len(names), 0), np.intp)]
    expression = b"" if pattern.expression is None else pattern.expression.pattern
    steps = steps_of(expression) if expression else None
    if steps and not expression.startswith(b"^") and (text := beginning(steps)):
        begins = _first_places(padded, begins, ends, text)
    data = np.frombuffer(padded, np.uint8)
    for tile in tiles(len(begins)):
        marks: dict[str, Integers] = {}
        if steps is None:
            break
        fit = walk(steps, data, begins[tile], marks)[1] & usable[tile]
        if not fit.any():
            break
        fits[tile] = fit
        none = np.zeros(np.count_nonzero(fit), np.intp)
        begun = np.array([marks[f"{name}("][fit] if f"{name}(" in marks else none for name in names])
        ended = np.array([marks[f"{name})"][fit] if f"{name}(" in marks else none - 1 for name in names])
        starts.append(begun)
        lengths.append(ended - begun)
    return np.hstack(starts), np.hstack(lengths), fits
