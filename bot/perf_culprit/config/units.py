"""Percentages, times and sizes in the form that people write."""

import re
from typing import Annotated

from pydantic import BeforeValidator, Field

from perf_culprit.errors import ConfigError
from perf_culprit.model.unit_sizes import BYTES, MILLISECONDS

_PERCENT = re.compile(r"\s*(\d{1,4}(?:\.\d{1,6})?)\s*%\s*")
_DURATION = re.compile(r"\s*(\d{1,12}(?:\.\d{1,9})?)\s*([a-zµμ]{1,12})\s*")
_SIZE = re.compile(r"\s*(\d{1,9})\s*([A-Za-z]{1,5})\s*")


def parse_percent(value: object) -> float:
    """Parse a change such as "5%" as a fraction. Ratios ("150%" for 50% slower) belong to `alert-threshold` alone."""
    match = _PERCENT.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f"write a change as a percentage, such as 5%, not {value!r}")
    fraction = float(match[1]) / 100
    if fraction > 1:
        raise ValueError(f"{value!r} is more than double; a change is meant, so 50% slower is 50%, not 150%")
    return fraction


def parse_change(text: str, *, name: str) -> float:
    """Parse a percentage of the option or input `name`. Raise a ConfigError if the text is not a change."""
    try:
        return parse_percent(text)
    except ValueError as error:
        raise ConfigError(str(error), place=name, next_step="write 5% for a twentieth more") from None


def parse_ratio(text: str, *, name: str) -> float:
    """Convert github-action-benchmark's threshold, a ratio such as "150%", to the change that it allows (0.5)."""
    if (match := _PERCENT.fullmatch(text)) is None or float(match[1]) <= 100:
        raise ConfigError(
            f"{text!r} is not a ratio above 100%",
            place=f"input {name}",
            next_step="write 150% for 50% slower (as github-action-benchmark does), or use minimum-effect: 5%",
        )
    return float(match[1]) / 100 - 1


def _duration_ms(value: object) -> float:
    match = _DURATION.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in MILLISECONDS:
        raise ValueError(f"write a time with its unit, such as 10 ms, not {value!r}")
    return float(match[1]) * MILLISECONDS[match[2]]


def _size_bytes(value: object) -> int:
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2] not in BYTES:
        raise ValueError(f"write a size with its unit, such as 200 MiB, not {value!r}")
    return int(match[1]) * int(BYTES[match[2]])


Percent = Annotated[
    float,
    BeforeValidator(parse_percent, json_schema_input_type=str),
    Field(examples=["5%"], description="a percentage"),
]
DurationMs = Annotated[float, BeforeValidator(_duration_ms, json_schema_input_type=str), Field(examples=["10 ms"])]
SizeBytes = Annotated[int, BeforeValidator(_size_bytes, json_schema_input_type=str), Field(examples=["200 MiB"])]
