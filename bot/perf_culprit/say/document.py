"""Documents: headings, sentences, tables and folds, built once per subject. A renderer shows them in its medium.

A text is made of our own words (`Safe`) and of foreign text in spans, which every renderer makes inert for its medium.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import compress
from typing import Final, TypeAlias, TypeVar

from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say.inert import Safe


@dataclass(frozen=True, slots=True)
class Name:
    """Foreign text, shown unchanged."""

    text: str
    limit: int = TEXT_LIMITS.name_characters


@dataclass(frozen=True, slots=True)
class Prose:
    """Foreign words, read as a sentence."""

    text: str
    limit: int = TEXT_LIMITS.sentence_characters


@dataclass(frozen=True, slots=True)
class CommitLink:
    """A shortened commit. A page links it to the repository if that is known."""

    name: str
    repository_url: str | None = None


@dataclass(frozen=True, slots=True)
class Hyperlink:
    """A link. A terminal shows only its text."""

    text: "Text"
    url: str | None


@dataclass(frozen=True, slots=True)
class Strong:
    text: "Text"


@dataclass(frozen=True, slots=True)
class Emphasis:
    text: "Text"


@dataclass(frozen=True, slots=True)
class BlockText:
    """Our own block characters, which need a fixed-width font."""

    text: str


@dataclass(frozen=True, slots=True)
class Sign:
    """Our own mark: an emoji on a page (a terminal has colours), or a word in a terminal (a page has bold type)."""

    page: str = ""
    terminal: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """An address for a terminal. A page has a link instead."""

    url: str


@dataclass(frozen=True, slots=True)
class Toned:
    """A line that stands out in a terminal."""

    text: "Text"
    tone: "Tone"


Span: TypeAlias = Safe | Name | Prose | CommitLink | Hyperlink | Strong | Emphasis | BlockText | Sign | Address | Toned
Text: TypeAlias = Span | tuple[Span, ...]

NOTHING: Final = Safe("\N{EN DASH}")


def as_spans(text: Text) -> tuple[Span, ...]:
    return text if isinstance(text, tuple) else (text,)


def words(template: str, *values: Text | int) -> tuple[Span, ...]:
    """Return our own words, with texts or counts in the places of `{}`."""
    parts = [Safe(part) for part in template.split("{}")]
    if len(parts) != len(values) + 1:
        raise ValueError(f"{len(values)} texts for the places of {template!r}")
    result: list[Span] = [parts[0]] if parts[0] else []
    for value, after in zip(values, parts[1:], strict=True):
        result += [Safe(f"{value:,}")] if isinstance(value, int) else _check(value)
        result += [after] if after else []
    return tuple(result)


def join_texts(separator: str, texts: Iterable[Text]) -> tuple[Span, ...]:
    result: list[Span] = []
    for text in texts:
        result += [Safe(separator)] if result and separator else []
        result += _check(text)
    return tuple(result)


def some(texts: Sequence[Text], most: int) -> tuple[Span, ...]:
    """Join the first texts by commas, and add "and 3 more" if some are left."""
    more = len(texts) - most
    return words("{} and {} more", join_texts(", ", texts[:most]), more) if more > 0 else join_texts(", ", texts)


def _check(text: Text) -> tuple[Span, ...]:
    if any(isinstance(span, str) and not isinstance(span, Safe) for span in as_spans(text)):
        raise TypeError(f"foreign text must be a span: {text!r}")
    return as_spans(text)


class Tone(Enum):
    """The meaning of a line: its colour in a terminal."""

    WORSE = "\x1b[31m"
    FINE = "\x1b[32m"
    UNSURE = "\x1b[33m"
    BETTER = "\x1b[36m"
    PLAIN = ""


class Shown(Enum):
    """How much of a node a terminal shows, because it cannot fold anything."""

    TABLE = "table"
    LIST = "list"
    TITLE = "title"
    NOT = "not"


class ColumnRole(Enum):
    """A column's role in a terminal's list: `- name (side → side, figure): words`."""

    NAME = "name"
    SIDE = "side"
    FIGURE = "figure"
    WORDS = "words"
    ASIDE = "aside"


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """`joins`: a page puts it into the column before. `spare`: a terminal shows it if there is room.

    `on_page`: a page shows it.
    `of`: foreign text before the name. `page`: the address that explains the word.
    """

    name: str
    role: ColumnRole = ColumnRole.ASIDE
    right: bool = False
    joins: bool = False
    spare: bool = False
    on_page: bool = True
    of: str = ""
    page: str | None = None

    @property
    def head(self) -> "Text":
        if self.page:
            return Hyperlink(Safe(self.name), self.page)
        return words("{} {}", Name(self.of), Safe(self.name)) if self.of else Safe(self.name)


@dataclass(frozen=True, slots=True)
class TableRow:
    cells: tuple[Text, ...]
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """`first(n)` makes the first rows of `total`."""

    columns: tuple[Column, ...]
    first: Callable[[int], Iterable[TableRow]]
    total: int
    title: Text | None = None
    shown: Shown = Shown.LIST

    def for_page(self, most: int) -> tuple[list[Column], list[Sequence[Text]]]:
        """Return the columns that a page shows, and the cells of the first rows."""
        is_shown = [column.on_page for column in self.columns]
        rows: list[Sequence[Text]] = [list(compress(row.cells, is_shown)) for row in self.first(most)]
        return list(compress(self.columns, is_shown)), rows


@dataclass(frozen=True, kw_only=True, slots=True)
class Bullets:
    """The first items of `total`."""

    items: Sequence[Text]
    total: int
    title: Text | None = None
    shown: Shown = Shown.LIST


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """`below`: lines directly below, without a blank line."""

    text: Text
    tone: Tone
    mark: str = ""
    below: tuple[Text, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Paragraph:
    """Lines that belong together."""

    lines: tuple[Text, ...]
    shown: Shown = Shown.LIST


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """Fixed-width lines: our own drawing, or text to copy. Foreign text in them was checked before."""

    lines: tuple[Text, ...]
    title: Text | None = None
    on_page: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A drawing that only pages can show. `html` makes it for pages that cannot draw GitHub's Markdown."""

    markdown: Safe
    html: Callable[[], Safe] | None = None
    title: Text | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Footer:
    parts: tuple[Text, ...]


DocumentPart: TypeAlias = Table | Bullets | Paragraph | Figure | Picture


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """Closed on a page. A terminal shows its parts, each with its own title or else the fold's.

    `summary` holds no foreign text: GitHub parses it as HTML. `opened`: a comment folds it only for its length.
    """

    summary: Safe
    parts: tuple[DocumentPart, ...]
    opened: bool = False


DocumentNode: TypeAlias = Heading | DocumentPart | Fold | Footer


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """`more_at`: where the omitted rows are."""

    nodes: tuple[DocumentNode, ...]
    more_at: Text | None = None
    marker: str = ""


_T = TypeVar("_T")


def table(
    columns: tuple[Column, ...],
    entries: Sequence[_T],
    row: Callable[[_T], TableRow],
    *,
    title: Text | None = None,
    shown: Shown = Shown.LIST,
    most: int | None = None,
) -> Table:
    """Make a table. `most`: the most rows that are ever shown."""
    return Table(
        columns=columns,
        first=lambda count: map(row, entries[: count if most is None else min(count, most)]),
        total=len(entries),
        title=title,
        shown=shown,
    )


def grid(columns: Iterable[str | Column], rows: Sequence[tuple[Text, ...]], title: Text | None = None) -> Table:
    """Make a table of finished cells."""
    made = tuple(Column(name=each) if isinstance(each, str) else each for each in columns)
    return table(made, rows, TableRow, title=title, shown=Shown.TABLE)


def paragraph(*lines: Text) -> Paragraph:
    return Paragraph(lines=lines)
