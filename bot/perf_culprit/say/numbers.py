"""Numbers for reading: three significant digits, units that fit, both sides of a comparison in the same unit.

A percent sign follows without a space, every other unit after a space.
"""

import math
from dataclasses import dataclass
from typing import Final

from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.model.unit_sizes import BYTES, SECONDS, is_size, seconds_in, without_suffix
from perf_culprit.say.document import Prose, Text, words
from perf_culprit.say.inert import NO_BREAK, Safe, plain, unbroken

NOT_A_NUMBER = "n/a"
MINUS = "\N{MINUS SIGN}"
SMALLEST_RATE_SHOWN = 0.0001

_TIME_UNITS = tuple((unit, SECONDS[unit]) for unit in ("s", "ms", "µs", "ns"))
_BYTE_UNITS = tuple((unit, BYTES[unit]) for unit in ("TiB", "GiB", "MiB", "KiB", "B"))
# An interval that holds both tells nothing: from a twentieth to twenty times.
ANYTHING: Final = (-0.95, 19.0)
_PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0))

_COUNTED = frozenset({"op", "ops", "req", "requests", "iter", "items", "events", "calls", "queries", "transactions"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantity:
    """A number with its unit. `is_own` distinguishes our own spelling of a unit from a foreign string."""

    number: str
    unit: str
    is_own: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _Scale:
    """The units to choose from, and the value of one of the tool's units in the last of them."""

    units: tuple[tuple[str, float], ...]
    factor: float
    suffix: str = ""


def is_time(unit: str) -> bool:
    return seconds_in(without_suffix(unit)[0]) is not None


def is_bytes(unit: str) -> bool:
    return is_size(without_suffix(unit)[0])


def is_rate_unit(unit: str) -> bool:
    return _rate(unit) is not None


def quantities(values: tuple[float, ...], unit: str) -> tuple[Quantity, ...]:
    """Return the values in one unit: the largest in which the largest value is at least 1."""
    if _scale(unit) is None:
        exact = all(math.isfinite(value) and value.is_integer() and abs(value) < 1e15 for value in values)
        return tuple(
            Quantity(number=f"{value:,.0f}" if exact else significant(value), unit=unit, is_own=False)
            for value in values
        )
    factor, name = shown_unit(values, unit)
    return tuple(Quantity(number=significant(value * factor), unit=name, is_own=True) for value in values)


def shown_unit(values: tuple[float, ...], unit: str) -> tuple[float, str]:
    """Return the factor that converts values in `unit` for display, and the displayed unit."""
    scale = _scale(unit)
    if scale is None:
        return 1.0, unit
    scaled = tuple(value * scale.factor for value in values)
    largest = max((abs(value) for value in scaled if math.isfinite(value)), default=0.0)
    name, size = next((unit for unit in scale.units if float(f"{largest / unit[1]:.3g}") >= 1), scale.units[-1])
    if largest == 0:
        name, size = next(unit for unit in scale.units if unit[1] == 1)
    return scale.factor / size, f"{name}{scale.suffix}".strip()


def significant(value: float) -> str:
    """Format with three significant digits: 12.1, 310, 12,300, 0.00456, 1.23e9."""
    if not math.isfinite(value):
        return NOT_A_NUMBER
    rounded = float(f"{value:.3g}")
    size = abs(rounded)
    if size == 0:
        return "0"
    if not 1e-4 <= size < 1e6:
        # Use `value`, because rounding may turn the largest floats into infinity.
        mantissa, exponent = f"{value:.2e}".split("e")
        return f"{mantissa}e{int(exponent)}".replace("-", MINUS)
    decimals = max(0, 2 - math.floor(math.log10(size)))
    return f"{rounded:,.{decimals}f}".replace("-", MINUS)


def percent(fraction: float, *, signed: bool = False) -> str:
    """0.3861 -> "38.6%". Unsigned whole percents have no trailing zeros."""
    return f"{_percent_number(fraction, signed=signed)}%"


def percent_digits(fraction: float) -> str:
    """Format with three significant digits, however small: 0.0001 -> "0.01%"."""
    return f"{100 * fraction:.3g}%"


def format_deviation(fraction: float) -> str:
    """Format a standard deviation with two digits, which is all of its precision."""
    return f"{100 * fraction:.2g}%"


def percent_at_least(fraction: float) -> str:
    """Round up to a tenth: "4.1% or more would have been found" must hold for 4.1%."""
    if not math.isfinite(fraction) or abs(fraction) > 1e6:
        return percent(fraction)
    return percent(math.ceil(fraction * 1000 - 1e-9) / 1000)


def percent_interval(low: float, high: float) -> str:
    """Format both bounds, or say that they exclude nothing that happens to a program."""
    if low <= ANYTHING[0] and high >= ANYTHING[1]:
        return "(anything)"
    return f"({_percent_number(low, signed=True)} … {_percent_number(high, signed=True)})"


def rate_text(rate: float) -> str:
    """State how often chance alone makes any benchmark of a run look this different."""
    text = f"< {percent_digits(SMALLEST_RATE_SHOWN)}" if rate < SMALLEST_RATE_SHOWN else percent_digits(rate)
    return f"wrong by chance: {text}"


def q_text(q_value: float) -> str:
    if q_value < SMALLEST_RATE_SHOWN:
        return f"q < {SMALLEST_RATE_SHOWN}"
    return f"q = {q_value:.2g}" if q_value >= 0.001 else f"q = {q_value:.4f}"


def _percent_number(fraction: float, *, signed: bool) -> str:
    points = fraction * 100
    if not math.isfinite(points):
        return NOT_A_NUMBER
    if -100 < points <= -99.95:
        # Two digits of what is left, because half of it is twice as bad. Nothing left at all is "-100".
        decimals = min(1 - math.floor(math.log10(100 + points)), TEXT_LIMITS.percent_decimals)
        text = f"{math.floor(-points * 10**decimals) / 10**decimals:.{decimals}f}"
    elif abs(points) >= 999.5:
        text = significant(abs(points))
    else:
        text = f"{abs(points):.0f}" if abs(points) >= 99.95 else f"{abs(points):.1f}"
    if not signed:
        text = text.removesuffix(".0")
    if text == "0.0":
        return "±0.0"
    sign = MINUS if points < 0 else "+" if signed else ""
    return sign + text


def _rate(unit: str) -> tuple[str, float] | None:
    """("ops", 1000.0) for "ops/ms": the counted things, and how many per second one unit is."""
    counted, _, time = unit.partition("/")
    seconds = seconds_in(time)
    return None if seconds is None or counted not in _COUNTED else (counted, 1 / seconds)


def _scale(unit: str) -> _Scale | None:
    base, suffix = without_suffix(unit)
    seconds = seconds_in(base)
    if seconds is not None:
        return _Scale(units=_TIME_UNITS, factor=seconds, suffix=suffix)
    if base in BYTES:
        return _Scale(units=_BYTE_UNITS, factor=BYTES[base], suffix=suffix)
    rate = _rate(unit)
    if rate is not None:
        return _Scale(units=_PREFIXES, factor=rate[1], suffix=f" {rate[0]}/s")
    return None


def amount_text(quantity: Quantity) -> str:
    """Return the amount for a terminal. The tool's own unit is cut."""
    if not quantity.unit.strip():
        return quantity.number
    unit = quantity.unit if quantity.is_own else plain(quantity.unit, limit=TEXT_LIMITS.shown_unit_characters)
    return f"{quantity.number}{'' if unit == '%' else ' '}{unit}"


def amount(quantity: Quantity) -> Text:
    """Return the amount on one line. The tool's own unit is foreign text."""
    if not quantity.unit.strip():
        return Safe(quantity.number)
    if quantity.unit == "%":
        return Safe(f"{quantity.number}%")
    unit = unbroken(quantity.unit) if quantity.is_own else Prose(quantity.unit, TEXT_LIMITS.shown_unit_characters)
    return words("{}{}{}", Safe(quantity.number), Safe(NO_BREAK), unit)


def lasted(seconds: float, of: str = "") -> str:
    """Describe a duration, in minutes above two. `of` stands before the unit."""
    if seconds <= 120:
        return count_of(math.ceil(seconds), f"{of}second")
    return count_of(math.ceil(seconds / 60), f"{of}minute")


def count_of(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
