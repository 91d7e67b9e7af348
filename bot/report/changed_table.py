"""The table of a terminal: a line per benchmark, name first and whole, and as many columns as fit."""

from collections.abc import Sequence

from bot.model.finding import Finding, Verdict
from bot.report.cells import certainty_text, change_text
from bot.report.charts import sparkline

GAP = 2
# A line that starts with a foreign "::" would be a command to GitHub's runner, so no line starts with a name.
MARK = "• "
INDENT = " " * len(MARK)
RESET = "\x1b[0m"
COLOURS = {Verdict.REGRESSION: "\x1b[31m", Verdict.IMPROVEMENT: "\x1b[36m", Verdict.INCONCLUSIVE: "\x1b[33m"}
RIGHT = frozenset({"before", "after", "change"})
# Always there, and the others in the order in which they are worth their room.
NEEDED = ("before", "after", "change", "")
MORE = ("interval", "certainty", "course")
ORDER = ("before", "after", "change", "interval", "", "certainty", "course")


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
    widths = {column: max(len(column), *(len(row[column]) for row in rows)) for column in ORDER}
    empty = {column for column in MORE if not any(row[column] for row in rows)}
    longest = max(len(noun), *map(len, names))
    stacked = len(MARK) + longest + _room(NEEDED, widths) > width
    first = len(INDENT) if stacked else len(MARK) + longest
    kept = list(NEEDED)
    for column in MORE:
        if column not in empty and first + _room([*kept, column], widths) <= width:
            kept.append(column)
    columns = [column for column in ORDER if column in kept]
    header = _line({column: column for column in ORDER}, columns, widths)
    start = INDENT if stacked else f"{INDENT}{noun:{longest}}"
    lines = [f"{start}{header}"]
    for name, row, finding in zip(names, rows, findings, strict=True):
        cells = _line(row, columns, widths)
        line = f"{MARK}{name}\n{INDENT}{cells}" if stacked else f"{MARK}{name:{longest}}{cells}"
        shade = COLOURS.get(finding.verdict, "") if colour else ""
        lines.append(f"{shade}{line}{RESET}" if shade else line)
    return "\n".join(lines)


def _cells(finding: Finding, sides: tuple[str, str], state: str) -> dict[str, str]:
    change, interval = change_text(finding.evidence)
    return {
        "before": sides[0],
        "after": sides[1],
        "change": change,
        "interval": interval,
        "": state,
        "certainty": certainty_text(finding),
        "course": sparkline(finding.series),
    }


def _room(columns: Sequence[str], widths: dict[str, int]) -> int:
    return sum(widths[column] + GAP for column in columns)


def _line(row: dict[str, str], columns: Sequence[str], widths: dict[str, int]) -> str:
    cells = (f"{row[column]:{'>' if column in RIGHT else '<'}{widths[column]}}" for column in columns)
    return "".join(f"{'':{GAP}}{cell}" for cell in cells).rstrip()
