"""The table of a terminal: a line per benchmark, name first and whole, and as many columns as fit."""

from collections.abc import Sequence

from bot.model.finding import Finding, Verdict
from bot.report import tables
from bot.report.cells import certainty_text, change_text
from bot.report.charts import sparkline

# A line that starts with a foreign "::" would be a command to GitHub's runner, so no line starts with a name.
MARK = "• "
INDENT = " " * len(MARK)
RESET = "\x1b[0m"
BOLD = "\x1b[1m"
COLOURS = {Verdict.REGRESSION: "\x1b[31m", Verdict.IMPROVEMENT: "\x1b[36m", Verdict.INCONCLUSIVE: "\x1b[33m"}
RIGHT = frozenset({"before", "after", "change"})
ORDER = ("before", "after", "change", "interval", "", "certainty", "trend")
# Only where there is room, in the order in which they are worth it.
MORE = ("interval", "certainty", "trend")


def changed_table(
    findings: Sequence[Finding],
    *,
    names: Sequence[str],
    sides: Sequence[tuple[str, str]],
    states: Sequence[str],
    noun: str,
    width: int,
    colour: bool,
) -> str:
    """`names`, `sides` (before, after) and `states` of the findings, which are safe to print.

    Where even the needed columns leave a name no room, every name gets a line of its own.
    """
    rows = [_cells(*row) for row in zip(findings, sides, states, strict=True)]
    marked = [f"{INDENT}{noun}", *(f"{MARK}{name}" for name in names)]
    kept = [column for column in ORDER if column not in MORE]
    stacked = _width(_lines(rows, kept, first=marked)) > width
    first = [INDENT] * len(marked) if stacked else marked
    for more in MORE:
        columns = [column for column in ORDER if column in (*kept, more)]
        if any(row[more] for row in rows) and _width(_lines(rows, columns, first=first)) <= width:
            kept = columns
    header, *lines = _lines(rows, kept, first=first)
    if stacked:
        lines = [f"{name}\n{line}" for name, line in zip(marked[1:], lines, strict=True)]
    shades = [COLOURS.get(finding.verdict, "") if colour else "" for finding in findings]
    coloured = (f"{shade}{line}{RESET}" if shade else line for shade, line in zip(shades, lines, strict=True))
    return "\n".join([header, *coloured])


def _cells(finding: Finding, sides: tuple[str, str], state: str) -> dict[str, str]:
    change, interval = change_text(finding.evidence)
    return {
        "before": sides[0],
        "after": sides[1],
        "change": change,
        "interval": interval,
        "": state,
        "certainty": certainty_text(finding),
        "trend": sparkline(finding.series),
    }


def _width(lines: Sequence[str]) -> int:
    return max(map(len, lines))


def _lines(rows: Sequence[dict[str, str]], columns: Sequence[str], *, first: Sequence[str]) -> list[str]:
    """The header and a line per row; `first` is the column before the named ones."""
    cells = [list(columns), *([row[column] for column in columns] for row in rows)]
    right = [place for place, column in enumerate(columns, 1) if column in RIGHT]
    return tables.columns([[start, *row] for start, row in zip(first, cells, strict=True)], right=right)
