"""A number with its unit: a percent sign follows at once, every other unit after a space."""

from typing import Final

from bot.report.inert import NO_BREAK, Safe, own, plain, prose, unbroken
from bot.report.numbers import Quantity

UNIT_LIMIT: Final = 20


def amount_text(quantity: Quantity, *, limit: int = UNIT_LIMIT) -> str:
    """For a terminal; a unit of the tool's own is cut after `limit` characters."""
    if not quantity.unit.strip():
        return quantity.number
    unit = quantity.unit if quantity.is_own else plain(quantity.unit, limit=limit)
    return f"{quantity.number}{'' if unit == '%' else ' '}{unit}"


def amount_markdown(quantity: Quantity) -> Safe:
    """On one line; a unit of the tool's own is made inert."""
    number = Safe(quantity.number)
    if not quantity.unit.strip():
        return number
    if quantity.unit == "%":
        return Safe(f"{number}%")
    unit = unbroken(quantity.unit) if quantity.is_own else prose(quantity.unit, limit=UNIT_LIMIT)
    return own("{}{}{}", number, Safe(NO_BREAK), unit)
