"""How a line of an execution log is read, and the patterns that come with the program."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, TypeAlias

from perf_culprit.errors import ConfigError, UsageError
from perf_culprit.files import read_limited

# Line patterns that come with the program (docs/diagnosis.md shows a line of each).

# Each begins with `^`, has all groups, and no line feed fits it; None where a line is a JSON object.
# Possessive repeats: a line that does not fit is given up at once, however it was made.
PRESETS: Final[dict[str, bytes | None]] = {
    "labelled": (
        rb"^(?P<time>\S++ \S++) \[(?P<thread>[^\]\n]*+)\] service=(?P<service>\S++) call=(?P<call>\S++) "
        rb"(?P<label>[0-9.]++) (?P<method>\S++) (?P<elapsed_ms>-?+[0-9.]++) ?ms\b"
    ),
    "spring": (
        rb"^(?P<time>[0-9]\S++(?: [0-9]\S++)?+) ++[A-Z]++ ++[0-9]++ --- \[ *+(?P<service>[^\]\n]*+)\] "
        rb"\[ *+(?P<thread>[^\]\n]*+)\] \[(?P<call>[^\]\n-]++)[^\]\n]*+\] ++\S++ *+: "
        rb"(?P<label>[0-9.]++) (?P<method>\S++) (?P<elapsed_ms>-?+[0-9.]++) ?ms\b"
    ),
    "json": None,
}


# time, thread, service, call, label, method, elapsed; the first two None where the pattern has no such group.
# `row[2:4]` is the key of a call.
Row: TypeAlias = tuple[bytes | None, bytes | None, bytes, bytes, bytes, bytes, bytes]
TIME: Final = 0
THREAD: Final = 1
LABEL: Final = 4
METHOD: Final = 5
ELAPSED: Final = 6

NEEDED: Final = ("service", "call", "label", "method")
OPTIONAL: Final = ("time", "thread")
MILLISECONDS_PER_UNIT: Final = {"elapsed_ms": 1.0, "elapsed_us": 1e-3, "elapsed_s": 1e3}
MAX_PATTERN_BYTES: Final = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class LinePattern:
    """`expression` is None for JSON lines, whose unit of time is named on each line.

    `whole`: finds the same in many lines at once, each after a line feed; None where a match may go over a line's end.
    `rest`: the other lines.
    """

    name: str
    expression: re.Pattern[bytes] | None
    ms_per_unit: float
    whole: re.Pattern[bytes] | None = None
    rest: re.Pattern[bytes] | None = None

    def read_all(self, data: bytes) -> list[Row] | None:
        """What the lines of `data` say that are method executions, in one pass; None where that is not possible."""
        if self.whole is None:
            return None
        (first,) = self.read([_first_line(data)])
        rows = self.whole.findall(data)
        order = [group - 1 for group in self._groups()]
        if order != [*range(len(order))]:
            rows = [*map(itemgetter(*order), rows)]
        return rows if first is None else [first, *rows]

    def unmatched(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Lines that `read_all` leaves out, with the places that they begin at."""
        first = _first_line(data)
        if self.read([first]) == [None]:
            yield 0, first
        if self.rest is not None:
            yield from ((match.start() + 1, match[0][1:]) for match in self.rest.finditer(data))

    def read(self, lines: Sequence[bytes]) -> list[Row | None]:
        """What each line says; None where it is no method execution."""
        if self.expression is None:
            return [_json_row(line) for line in lines]
        search = self.expression.search
        picked = self._groups()
        rows: list[Any] = [match and match.group(*picked) for match in map(search, lines)]
        has_time, has_thread = (name in self.expression.groupindex for name in OPTIONAL)
        if has_time and has_thread:
            return rows
        if has_time:
            return [row and (row[0], None, *row[1:]) for row in rows]
        return [row and ((None, *row) if has_thread else (None, None, *row)) for row in rows]

    def _groups(self) -> list[int]:
        """The numbers of the groups that there are, in a row's order."""
        groups = {} if self.expression is None else self.expression.groupindex
        return [groups[name] for name in (*OPTIONAL, *NEEDED, *MILLISECONDS_PER_UNIT) if name in groups]


def _first_line(data: bytes) -> bytes:
    end = data.find(b"\n")
    return data if end < 0 else data[:end]


def load_pattern(name: str) -> LinePattern:
    """A preset by its name, or the pattern in a file; a ConfigError names what the file lacks."""
    if name in PRESETS:
        if (preset := PRESETS[name]) is None:
            return LinePattern(name=name, expression=None, ms_per_unit=1.0)
        pattern = compile_pattern(preset, name=name)
        line = preset.removeprefix(b"^")
        return replace(pattern, whole=re.compile(b"\n" + line), rest=re.compile(b"\n(?!" + line + b")[^\n]*+"))
    path = Path(name)
    if not path.exists():
        step = f"give one of {', '.join(PRESETS)}, or a file with one regular expression"
        raise UsageError("is neither a preset nor a file", place=name, next_step=step)
    step = f"give a file with one regular expression, below {MAX_PATTERN_BYTES:,} bytes"
    text = read_limited(path, MAX_PATTERN_BYTES, next_step=step, error=ConfigError)
    return compile_pattern(text.strip(b"\r\n"), name=name)


def compile_pattern(expression: bytes, *, name: str) -> LinePattern:
    try:
        compiled = re.compile(expression)
    # The parser recurses, and repeats have a limit.
    except (re.error, RecursionError, OverflowError) as error:
        step = "write it in the syntax of Python's re; it is matched against bytes"
        raise ConfigError(f"no regular expression: {error}", place=name, next_step=step) from None
    groups = compiled.groupindex
    units = [group for group in MILLISECONDS_PER_UNIT if group in groups]
    missing = [group for group in NEEDED if group not in groups]
    if not units:
        missing.append(" or ".join(MILLISECONDS_PER_UNIT))
    if missing:
        step = "name each as (?P<service>…); docs/diagnosis.md has an example of a whole pattern"
        raise ConfigError(f"lacks the named groups {', '.join(missing)}", place=name, next_step=step)
    if len(units) > 1:
        raise ConfigError(
            f"gives the time twice: {', '.join(units)}", place=name, next_step="keep the group of one unit"
        )
    return LinePattern(name=name, expression=compiled, ms_per_unit=MILLISECONDS_PER_UNIT[units[0]])


def presets_that_read(lines: Sequence[bytes]) -> list[str]:
    """The presets that read at least one of the lines, for a message."""
    return [name for name in PRESETS if any(row is not None for row in load_pattern(name).read(lines))]


def _json_row(line: bytes) -> Row | None:
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    needed = [_text(fields.get(name)) for name in NEEDED]
    elapsed = _elapsed_ms(fields)
    if elapsed is None or None in needed:
        return None
    return (*(_text(fields.get(name)) for name in OPTIONAL), *needed, elapsed)  # type: ignore[return-value] # None was refused above


def _text(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value).encode()
    return None


def _elapsed_ms(fields: dict[str, Any]) -> bytes | None:
    for name, ms_per_unit in MILLISECONDS_PER_UNIT.items():
        value = fields.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return repr(float(value) * ms_per_unit).encode()
            except OverflowError:
                return b"inf"
    return None
