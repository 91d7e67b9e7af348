"""What a Markdown template shows: Safe text and tables of it, nothing to decide."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

from bot.model.metric import MetricKey
from bot.report.inert import Safe, code, own, prose, row
from bot.report.tables import header


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A table (with `header`) or a list, of which `total` rows exist and the first `rows` are shown.

    `block` comes before them, whole or not at all; its length is bounded where it is made.
    """

    rows: tuple[Safe, ...]
    total: int
    title: Safe | None = None
    header: tuple[Safe, Safe] | None = None
    block: Safe | None = None

    @property
    def hidden(self) -> int:
        return self.total - len(self.rows)

    @property
    def more(self) -> Safe | None:
        return Safe(f"{self.hidden:,}") if self.hidden else None

    def cut(self, most: int) -> "Part":
        return replace(self, rows=self.rows[:most])


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """A <details> block. `summary` holds no foreign text: GitHub parses it as HTML."""

    summary: Safe
    parts: tuple[Part, ...]

    def cut(self, most: int) -> "Fold":
        return replace(self, parts=tuple(part.cut(most) for part in self.parts))


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """The whole comment, from top to bottom."""

    marker: Safe | None
    headline: Safe
    next_step: Safe
    remarks: tuple[Safe, ...]
    changed: Part | None
    folds: tuple[Fold, ...]
    footer: Safe
    more_at: Safe

    @property
    def longest(self) -> int:
        """Rows of the longest folded part."""
        return max((len(part.rows) for fold in self.folds for part in fold.parts), default=0)

    def cut(self, *, changed: int, folded: int) -> "View":
        return replace(
            self,
            changed=self.changed.cut(changed) if self.changed else None,
            folds=tuple(fold.cut(folded) for fold in self.folds),
        )


T = TypeVar("T")


def table(
    entries: tuple[T, ...],
    cells_of: Callable[[T], Iterable[Safe]],
    *,
    head: tuple[tuple[str, ...], str],
    most_rows: int,
) -> Part:
    """`head`: the columns' names, and their alignment, "l" or "r" each."""
    return Part(
        header=header(*head),
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
