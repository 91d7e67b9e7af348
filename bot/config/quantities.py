"""Quantities of a simulation model as people write them: `2 s`, `5 KB`, `17/s`, `normal(20, 4)`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import BeforeValidator, Field

_NUMBER: Final = r"(\d{1,15}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,2})?)"
_QUANTITY: Final = re.compile(rf"\s*(\$?){_NUMBER}\s*([A-Za-zµ/%]*)\s*")
_DISTRIBUTION: Final = re.compile(r"\s*(exponential|normal|uniform)\(([^()]*)\)\s*")
_PARAMETERS: Final = {"exponential": 1, "normal": 2, "uniform": 2}

SECONDS: Final = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
BYTES: Final = {
    "B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30,
}  # fmt: skip
PER_SECOND: Final = {"/s": 1.0, "/min": 1 / 60, "/h": 1 / 3600}
BYTES_PER_SECOND: Final = {"kbit/s": 125.0, "Mbit/s": 125e3, "Gbit/s": 125e6, "KB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9}
UNITS: Final = {"": 1.0, "unit": 1.0, "units": 1.0}


@dataclass(frozen=True, slots=True)
class Distribution:
    """`kind` is constant, exponential, normal (cut off at 0) or uniform; `first`, `second` are its parameters.

    In order: the value; the mean; mean and standard deviation; lowest and highest. Times are seconds, sizes bytes.
    """

    kind: str
    first: float
    second: float = 0.0

    @property
    def mean(self) -> float:
        return (self.first + self.second) / 2 if self.kind == "uniform" else self.first


def _number(value: object, units: Mapping[str, float], example: str) -> float:
    match = _QUANTITY.fullmatch(str(value)) if isinstance(value, str | int | float) else None
    if match is None or match[3] not in units or (match[1] and units is not UNITS):
        raise ValueError(f"write it with its unit, such as {example}, not {value!r}")
    return float(match[2]) * units[match[3]]


def _random(value: object, units: Mapping[str, float], example: str) -> Distribution:
    match = _DISTRIBUTION.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return Distribution("constant", _number(value, units, f"{example} or exponential({example})"))
    numbers = [_number(part.strip(), units, example) for part in match[2].split(",")]
    if len(numbers) != _PARAMETERS[match[1]]:
        raise ValueError(f"{match[1]} has {_PARAMETERS[match[1]]} parameters, not {len(numbers)}")
    if match[1] == "uniform" and numbers[0] > numbers[1]:
        raise ValueError("uniform goes from the lowest to the highest value")
    return Distribution(match[1], *numbers)


def _of(
    read: Callable[[object, Mapping[str, float], str], object], units: Mapping[str, float], example: str
) -> BeforeValidator:
    """The validator of a kind of quantity; what was read before is left as it is."""

    def validate(value: object) -> object:
        return value if isinstance(value, Distribution) else read(value, units, example)

    return BeforeValidator(validate, json_schema_input_type=str | float if units is UNITS else str)


Time = Annotated[float, _of(_number, SECONDS, "2 s"), Field(examples=["2 s"])]
Size = Annotated[float, _of(_number, BYTES, "5 KB"), Field(examples=["5 KB"])]
Rate = Annotated[float, _of(_number, PER_SECOND, "17/s"), Field(examples=["17/s"])]
Bandwidth = Annotated[float, _of(_number, BYTES_PER_SECOND, "2 Mbit/s"), Field(examples=["2 Mbit/s"])]
Price = Annotated[float, _of(_number, UNITS, "$0.10"), Field(examples=["$0.10"])]
Amount = Annotated[float, _of(_number, UNITS, "2 units"), Field(examples=["2 units"])]
RandomTime = Annotated[Distribution, _of(_random, SECONDS, "2 s"), Field(examples=["exponential(2 s)"])]
RandomCount = Annotated[Distribution, _of(_random, UNITS, "20"), Field(examples=["normal(20, 4)"])]
