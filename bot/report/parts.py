"""What folds are made of: tables and lists of Safe values."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from bot.model.metric import MetricKey
from bot.report.inert import Safe, code, own, prose, row
from bot.report.view import Part

T = TypeVar("T")

_RULES = {"l": ":--", "r": "--:"}


def table(
    entries: tuple[T, ...],
    cells_of: Callable[[T], Iterable[Safe]],
    *,
    head: tuple[tuple[str, ...], str],
    most_rows: int,
) -> Part:
    """`head`: the columns' names, and their alignment, "l" or "r" each."""
    names, alignment = head
    return Part(
        header=(row([Safe(name) for name in names]), Safe("|" + "|".join(_RULES[side] for side in alignment) + "|")),
        rows=tuple(row(tuple(cells_of(entry))) for entry in entries[:most_rows]),
        total=len(entries),
    )


def titled(title: str, part: Part) -> Part:
    return Part(title=Safe(title[0].upper() + title[1:]), header=part.header, rows=part.rows, total=part.total)


def keys(names: tuple[MetricKey, ...], *, most_rows: int) -> Part:
    return Part(rows=bullets(key(name, with_metric=True) for name in names[:most_rows]), total=len(names))


def key(name: MetricKey, *, with_metric: bool) -> Safe:
    shown = code(name.benchmark)
    return own("{} · {}", shown, prose(name.metric, limit=60)) if with_metric else shown


def bullets(lines: Iterable[Safe]) -> tuple[Safe, ...]:
    return tuple(own("- {}", line) for line in lines)
