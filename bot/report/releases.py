"""The deviation matrix for reading: a row per metric, a column per version in which something deviates [B17]."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from bot.model.deviation import Cell, DeviationMatrix, Outcome, Row
from bot.model.finding import Verdict
from bot.report.inert import Safe, plain
from bot.report.numbers import percent
from bot.report.tables import columns
from bot.report.words import counted

NAME_LIMIT: Final = 60
VERSION_LIMIT: Final = 24
LISTED: Final = 200
# Versions whose cells have room for a number each.
MOST_WIDE: Final = 12
LEGEND: Final = (
    "\u25b2 worse, \u25bc better, \u25cf differs but the intervals overlap, \u00b7 no difference,",
    "blank: not measured. Each version against the one before it.",
    "With one run of each, another machine looks the same: `compare` several runs of both.",
)
SHADES: Final = {Verdict.REGRESSION: ' class="matrix-worse"', Verdict.IMPROVEMENT: ' class="matrix-better"'}
SYMBOLS: Final = {Outcome.DEVIATION: "\u00b7", Outcome.SIGNIFICANT_OVERLAP: "\u25cf", Outcome.OVERLAP: "\u00b7"}


def releases_text(matrix: DeviationMatrix) -> str:
    changed = {cell.version for row in matrix.rows for cell in row.cells if _moved(cell)}
    versions = [version for version in matrix.versions if version in changed]
    rows = [row for row in matrix.rows if any(map(_moved, row.cells))]
    lines = [_summary(matrix, rows)]
    if rows:
        header = ["", *(plain(version, limit=VERSION_LIMIT) for version in versions)]
        body = [[plain(_name(row), limit=NAME_LIMIT), *_symbols(row, versions)] for row in rows[:LISTED]]
        lines += ["", *columns([header, *body])]
        lines += [f"and {len(rows) - LISTED:,} more rows: see --json"] if len(rows) > LISTED else []
        lines += ["", LEGEND[0], *(f"  {line}" for line in LEGEND[1:])]
    lines += [*_transient_regressions(rows), *_too_few(matrix)]
    return "\n".join(lines) + "\n"


def releases_section(matrix: DeviationMatrix) -> Safe:
    """HTML: the metrics that moved, with every version. Of many versions the numbers are in the cells' titles."""
    rows = [row for row in matrix.rows if any(map(_moved, row.cells))]
    parts = [f"<h1>{escape(_summary(matrix, rows))}</h1>"]
    if rows:
        versions = [_html(version, VERSION_LIMIT) for version in matrix.versions]
        heads = "".join(f'<th scope="col"><span>{version}</span></th>' for version in versions)
        body = (
            f'<tr><th scope="row">{_html(_name(row), NAME_LIMIT)}</th>{"".join(_shaded(row, matrix.versions))}</tr>'
            for row in rows
        )
        kind = "matrix matrix-narrow" if len(versions) > MOST_WIDE else "matrix"
        parts += [
            '<div class="matrix-frame" tabindex="0" role="region" aria-label="Deviation matrix">',
            f'<table class="{kind}">\n<tr><td></td>{heads}</tr>',
            *body,
            f"</table></div>\n<p>{escape(' '.join(LEGEND).replace('`', ''))}</p>",
        ]
    transient = _transient_regressions(rows)
    if transient:
        listed = "".join(f"<li>{escape(line)}</li>" for line in transient)
        title = counted(len(transient), "regression")
        parts.append(f"<details><summary>{title} that a later version undid</summary><ul>{listed}</ul></details>")
    parts += [f"<p>{escape(line)}</p>" for line in _too_few(matrix)]
    return Safe("\n".join(parts) + "\n")


def _html(text: str, limit: int) -> str:
    return escape(plain(text, limit=limit))


def _shaded(row: Row, versions: Sequence[str]) -> Iterator[str]:
    shades = {cell.version: SHADES.get(cell.verdict, "") for cell in row.cells}
    for version, symbol in zip(versions, _symbols(row, versions), strict=True):
        shown, _, amount = symbol.partition(" ")
        if amount and len(versions) > MOST_WIDE:
            shown = f'<abbr title="{amount} in {_html(version, VERSION_LIMIT)}">{shown}</abbr>'
        else:
            shown = symbol
        yield f"<td{shades.get(version, '')}>{shown}</td>"


def _summary(matrix: DeviationMatrix, rows: Sequence[Row]) -> str:
    worse = sum(cell.verdict is Verdict.REGRESSION for row in rows for cell in row.cells)
    better = sum(cell.verdict is Verdict.IMPROVEMENT for row in rows for cell in row.cells)
    compared = f"{counted(len(matrix.rows), 'benchmark')} over {counted(len(matrix.versions), 'version')}"
    deviations = f"{worse:,} worse, {better:,} better" if worse or better else "no deviation"
    return (
        f"{compared}: {deviations} (of {percent(matrix.minimum_effect)} or more, with non-overlapping median intervals)"
    )


def _moved(cell: Cell) -> bool:
    return cell.verdict is not Verdict.NO_CHANGE


def _name(row: Row) -> str:
    return row.key.benchmark if row.key.metric == "time" else f"{row.key.benchmark} ({row.key.metric})"


def _symbols(row: Row, versions: Sequence[str]) -> list[str]:
    cells = {cell.version: cell for cell in row.cells}
    first = {row.first: "\u00b7"}
    return [_symbol(cells[version]) if version in cells else first.get(version, "") for version in versions]


def _symbol(cell: Cell) -> str:
    if not _moved(cell):
        return SYMBOLS[cell.outcome]
    arrow = "\u25b2" if cell.verdict is Verdict.REGRESSION else "\u25bc"
    return f"{arrow} {'from 0' if cell.relative_change is None else percent(cell.relative_change, signed=True)}"


def _too_few(matrix: DeviationMatrix) -> list[str]:
    few = sum(bool(row.too_few) for row in matrix.rows)
    return [f"Cannot tell of some versions of {counted(few, 'benchmark')}: under 5 samples"] if few else []


def _transient_regressions(rows: Sequence[Row]) -> list[str]:
    regressions = [(row, one) for row in rows for one in row.transient_regressions]
    return [
        f"Transient: {plain(_name(row), limit=NAME_LIMIT)} got worse in {plain(one.start, limit=VERSION_LIMIT)}"
        f" and was back in {plain(one.end, limit=VERSION_LIMIT)}"
        for row, one in regressions[:LISTED]
    ]
