"""A document for a terminal: within a width, in colour, and without lines that a runner takes for commands."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.document import (
    NOTHING,
    Address,
    BlockText,
    Bullets,
    Column,
    ColumnRole,
    CommitLink,
    Document,
    DocumentNode,
    DocumentPart,
    Emphasis,
    Figure,
    Fold,
    Footer,
    Heading,
    Hyperlink,
    Name,
    Paragraph,
    Picture,
    Prose,
    Shown,
    Sign,
    Strong,
    Table,
    TableRow,
    Text,
    Tone,
    Toned,
    as_spans,
    join_texts,
)
from perf_culprit.say.inert import NO_BREAK, SHORT_HASH, Safe, plain, terminal_lines

# The mark before a name, because a line that starts with a name could be a command to GitHub's runner.
MARK: Final = "• "
INDENT: Final = " " * len(MARK)
RESET: Final = "\x1b[0m"
BOLD: Final = "\x1b[1m"
LISTED_ROWS: Final = 20


def terminal(text: Text, *, colour: bool = False) -> str:
    return "".join(_FORMS[type(span)](span, colour) for span in as_spans(text))


_FORMS: Final[Mapping[type, Callable[[Any, bool], str]]] = {
    Safe: lambda span, _: span.replace(NO_BREAK, " "),
    # There is room for most names.
    Name: lambda span, _: plain(
        span.text, limit=TEXT_LIMITS.page_name_characters if span.limit == TEXT_LIMITS.name_characters else span.limit
    ),
    Prose: lambda span, _: plain(span.text, limit=span.limit),
    CommitLink: lambda span, _: plain(span.name)[:SHORT_HASH],
    Hyperlink: lambda span, _: terminal(span.text),
    Strong: lambda span, _: terminal(span.text),
    Emphasis: lambda span, _: terminal(span.text),
    BlockText: lambda span, _: span.text,
    Sign: lambda span, _: span.terminal,
    Address: lambda span, _: plain(span.url, limit=TEXT_LIMITS.sentence_characters),
    Toned: lambda span, colour: toned(terminal(span.text), span.tone, colour=colour, bold=True),
}


def columns(rows: Sequence[Sequence[str]], *, right: Collection[int] = (), indent: str = "") -> list[str]:
    """Return a line per row, with the columns at the places `right` aligned to the right. Nothing else changes."""
    from tabulate import tabulate

    align = ["right" if place in right else "left" for place in range(max(map(len, rows)))]
    text = tabulate(rows, tablefmt="plain", disable_numparse=True, colalign=align, preserve_whitespace=True)
    return [f"{indent}{line.rstrip()}" for line in text.split("\n")]


def _head(column: Column) -> str:
    """Return a head of two lines, which keeps the table narrow."""
    return "\n".join(text for text in (column.of and terminal(Name(column.of)), column.name.strip()) if text)


def _table(table: Table, more_at: str, *, width: int, colour: bool) -> str:
    """Render a line per row: the whole name first, then as many columns as fit. Spare columns are added in order.

    If the needed columns leave a name no room, every name gets a line of its own.
    """
    rows = list(table.first(table.total))
    name = next((column for column in table.columns if column.role is ColumnRole.NAME), table.columns[0])
    others = [column for column in table.columns if column is not name]
    cells = {column: [terminal(row.cells[place]) for row in rows] for place, column in enumerate(table.columns)}
    marked = [f"{INDENT}{_head(name)}", *(f"{MARK}{text}" for text in cells[name])]
    chosen = [column for column in others if not column.spare]

    def lines(grid_columns: Sequence[Column], *, first: Sequence[str]) -> list[str]:
        grid = [[start, *map(_head, grid_columns)] for start in first[:1]]
        grid += [[start, *(cells[column][place] for column in grid_columns)] for place, start in enumerate(first[1:])]
        return columns(grid, right=[place for place, column in enumerate(grid_columns, 1) if column.right])

    stacked = name.role is ColumnRole.NAME and max(map(len, lines(chosen, first=marked))) > width
    first = [INDENT] * len(marked) if stacked else marked
    for spare in (column for column in others if column.spare and any(cells[column])):
        more = [column for column in others if column in (*chosen, spare)]
        if max(map(len, lines(more, first=first))) <= width:
            chosen = more
    made = lines(chosen, first=first)
    header, body = made[: len(made) - len(rows)], made[len(made) - len(rows) :]
    if stacked:
        body = [f"{name}\n{line}" for name, line in zip(marked[1:], body, strict=True)]
    toned_lines = (toned(line, row.tone, colour=colour) for line, row in zip(body, rows, strict=True))
    return "\n".join([*header, *toned_lines, *_more(table.total - len(rows), more_at)])


def toned(line: str, tone: Tone, *, colour: bool, bold: bool = False) -> str:
    return f"{BOLD if bold else ''}{tone.value}{line}{RESET}" if colour and (bold or tone.value) else line


def _list(table: Table, more_at: str) -> str:
    listed = list(table.first(table.total))
    names_by_words: dict[str, list[str]] = {}
    for row in listed:
        row_words = ", ".join(_of(ColumnRole.WORDS, table.columns, row))
        names_by_words.setdefault(row_words, []).append(_name_with_figures(table.columns, row))
    if len(names_by_words) == len(listed):
        return _bullets(
            [f"{name}: {words}" if words else name for words, (name,) in names_by_words.items()], table.total, more_at
        )
    return "\n".join(
        "\n".join([*([f"{words}:"] if words else []), _bullets(names, len(names), more_at)])
        for words, names in names_by_words.items()
    )


def _name_with_figures(columns: Sequence[Column], row: TableRow) -> str:
    """Return the name with its figures, or alone if a side is missing."""
    sides, figures = _of(ColumnRole.SIDE, columns, row), _of(ColumnRole.FIGURE, columns, row)
    items = [" → ".join(sides), *(figure for figure in figures if figure != NOTHING)] if NOTHING not in sides else []
    (name,) = _of(ColumnRole.NAME, columns, row)
    return f"{name} ({', '.join(items)})" if items else name


def _of(role: ColumnRole, columns: Sequence[Column], row: TableRow) -> list[str]:
    return [terminal(cell) for column, cell in zip(columns, row.cells, strict=True) if column.role is role]


def _bullets(lines: Sequence[str], total: int, more_at: str) -> str:
    items = [f"- {line}" for line in lines[:LISTED_ROWS]]
    return "\n".join([*items, *_more(total - len(items), more_at)])


def _more(hidden: int, more_at: str) -> list[str]:
    where = f": see {more_at}" if more_at else ""
    return [f"and {hidden:,} more{where}"] if hidden else []


def log_text(*nodes: DocumentNode, colour: bool = False, more_at: str = "report.json") -> str:
    """Render a text for a log, where no row is cut."""
    return render_terminal(Document(nodes=nodes), width=10_000, colour=colour, more_at=more_at)


def render_terminal(document: Document, *, width: int, colour: bool, more_at: str = "report.json") -> str:
    """Render tables within `width`, without cutting names. Foreign control characters never reach the terminal."""
    screen = _Screen(width=width, colour=colour, more_at=more_at)
    blocks = []
    for node in document.nodes:
        title, parts = (terminal(node.summary), node.parts) if isinstance(node, Fold) else ("", (node,))
        blocks += [screen.shown(part, title) for part in parts]
    return terminal_lines("\n\n".join(block for block in blocks if block) + "\n", colour=colour)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Screen:
    width: int
    colour: bool
    more_at: str

    def shown(self, node: Heading | Footer | DocumentPart, title: str) -> str:
        """Render a node. `title` is used if the node has none of its own."""
        match node:
            case Heading():
                first = toned(terminal(node.text), node.tone, colour=self.colour, bold=True)
                return "\n".join([first, *map(terminal, node.below)])
            case Paragraph():
                text = "\n".join(map(terminal, node.lines))
                return "" if node.shown is Shown.NOT else f"{title}\n{text}" if title else text
            case Figure():
                lines = [terminal(line, colour=self.colour) for line in node.lines]
                return "\n".join(lines if node.title is None else [terminal(node.title), *lines])
            case Footer():
                return terminal(join_texts(" · ", node.parts))
            case Picture():
                return ""
            case Bullets() | Table():
                return self._titled(node, title if node.title is None else terminal(node.title))

    def _titled(self, node: Bullets | Table, title: str) -> str:
        if node.shown is Shown.NOT:
            return ""
        if node.shown is Shown.TITLE:
            return title
        return f"{title}:\n{self._rows(node)}" if title else self._rows(node)

    def _rows(self, node: Bullets | Table) -> str:
        if isinstance(node, Bullets):
            items = [terminal(item, colour=self.colour) for item in node.items[:LISTED_ROWS]]
            return _bullets(items, node.total, self.more_at)
        if node.shown is Shown.TABLE:
            return _table(node, self.more_at, width=self.width, colour=self.colour)
        return _list(node, self.more_at)
