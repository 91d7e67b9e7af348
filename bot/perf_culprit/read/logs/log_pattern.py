"""Patterns that read the lines of an execution log, including the built-in ones."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import msgspec

from perf_culprit.errors import ConfigError, UsageError
from perf_culprit.files import read_limited
from perf_culprit.model.file_limits import FILE_LIMITS
from perf_culprit.model.unit_sizes import MILLISECONDS

# docs/diagnosis.md shows a line of each. None: each line is a JSON object.
# The repeats are possessive, so a line that does not fit, even a malicious one, fails at once.
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


# time, thread, service, call, label, method, elapsed. The first two are None if the pattern lacks these groups.
# `row[2:4]` is the key of a call.
Row: TypeAlias = tuple[bytes | None, bytes | None, bytes, bytes, bytes, bytes, bytes]
TIME: Final = 0
THREAD: Final = 1
SERVICE: Final = 2
CALL: Final = 3
LABEL: Final = 4
METHOD: Final = 5
ELAPSED: Final = 6

NEEDED: Final = ("service", "call", "label", "method")
OPTIONAL: Final = ("time", "thread")
MILLISECONDS_PER_UNIT: Final = {f"elapsed_{unit}": MILLISECONDS[unit] for unit in ("ms", "us", "s")}


@dataclass(frozen=True, kw_only=True, slots=True)
class LinePattern:
    """`expression` is None for JSON lines, whose unit of time is named on each line."""

    name: str
    expression: re.Pattern[bytes] | None
    ms_per_unit: float

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of a row's fields."""
        unit = next(name for name, ms in MILLISECONDS_PER_UNIT.items() if ms == self.ms_per_unit)
        return (*OPTIONAL, *NEEDED, unit)

    @property
    def groups(self) -> tuple[int, list[int]]:
        """The number of values that `read` returns for a line, and each field's index in them; -1 if missing."""
        if self.expression is None:
            return ELAPSED + 1, [*range(ELAPSED + 1)]
        return self.expression.groups, [self.expression.groupindex.get(name, 0) - 1 for name in self.fields]

    def read(self, lines: Sequence[bytes]) -> list[tuple[Any, ...] | None]:
        """Return the groups of each line, or a JSON line's fields; None if it is not a method execution."""
        if self.expression is None:
            return [*map(_json_row, lines)]
        return [match and match.groups() for match in map(self.expression.search, lines)]


def load_pattern(name: str) -> LinePattern:
    """Load a preset by its name, or the pattern in a file. A ConfigError names the groups that the file lacks."""
    if name in PRESETS:
        if (preset := PRESETS[name]) is None:
            return LinePattern(name=name, expression=None, ms_per_unit=1.0)
        return compile_pattern(preset, name=name)
    path = Path(name)
    if not path.exists():
        step = f"give one of {', '.join(PRESETS)}, or a file with one regular expression"
        raise UsageError("is neither a preset nor a file", place=name, next_step=step)
    step = f"give a file with one regular expression, below {FILE_LIMITS.pattern_bytes:,} bytes"
    text = read_limited(path, FILE_LIMITS.pattern_bytes, next_step=step, error=ConfigError)
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


class _JsonLine(msgspec.Struct, gc=False):
    """The members that are read, of any type. Other members are ignored."""

    time: Any = None
    thread: Any = None
    service: Any = None
    call: Any = None
    label: Any = None
    method: Any = None
    elapsed_ms: Any = None
    elapsed_us: Any = None
    elapsed_s: Any = None


_JSON: Final = msgspec.json.Decoder(_JsonLine)


def _json_row(line: bytes) -> Row | None:
    """Read a JSON line; None if it is not a method execution."""
    try:
        one = _JSON.decode(line)
    # msgspec accepts neither lone surrogates nor numbers of any size.
    except (ValueError, RecursionError):
        try:
            one = msgspec.convert(json.loads(line), _JsonLine)
        except (ValueError, RecursionError):
            return None
    elapsed = _elapsed_ms(one)
    row = (*map(_text, (one.time, one.thread, one.service, one.call, one.label, one.method)), elapsed)
    return None if None in row[2:] else row  # type: ignore[return-value] # None is refused but for the first two


def _text(value: Any) -> bytes | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace")
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value).encode()
    return None


def _elapsed_ms(one: _JsonLine) -> bytes | None:
    for value, ms_per_unit in ((one.elapsed_ms, 1.0), (one.elapsed_us, 1e-3), (one.elapsed_s, 1e3)):
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                return repr(float(value) * ms_per_unit).encode()
            except OverflowError:
                return b"inf"
    return None
