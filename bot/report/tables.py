"""Tables of text: columns for a terminal, and Markdown's, whose cells are inert."""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from bot.report.inert import Safe, join, row

_RULES: Final = {"l": ":--", "r": "--:", " ": "---"}


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), indent: str = "") -> list[str]:
    """A line per row; the columns at the places `right` are aligned to the right. Nothing else is touched."""
    from tabulate import tabulate

    align = ["right" if place in right else "left" for place in range(max(map(len, rows)))]
    text = tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=align, preserve_whitespace=True)
    return [f"{indent}{line.rstrip()}" for line in text.split("\n")]


def ruled(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text with a rule below the columns' names."""
    from tabulate import tabulate

    return tabulate(rows, headers=head, tablefmt="simple", disable_numparse=True)


def header(names: Sequence[str], alignment: str) -> tuple[Safe, Safe]:
    """The first two lines in Markdown; `alignment` has "l", "r" or " " for each column."""
    return row([Safe(name) for name in names]), Safe("|" + "|".join(_RULES[side] for side in alignment) + "|")


def markdown_table(names: Sequence[str], alignment: str, rows: Iterable[Sequence[Safe]]) -> Safe:
    return join("\n", (*header(names, alignment), *map(row, rows)))
