"""What is told of a subject, built once: headings, sentences, tables and folds, which a renderer shows in its medium.

A text is made of our own words (`Safe`) and of foreign text in spans, which every renderer makes inert for its medium.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias, TypeVar

from perf_culprit.say.inert import NAME_LIMIT, SENTENCE_LIMIT, Safe

# Spans of a text.


@dataclass(frozen=True, slots=True)
class Name:
    """Foreign text, shown as it is."""

    text: str
    limit: int = NAME_LIMIT


@dataclass(frozen=True, slots=True)
class Prose:
    """Foreign words, read as a sentence."""

    text: str
    limit: int = SENTENCE_LIMIT


@dataclass(frozen=True, slots=True)
class Commit:
    """Shortened; a page links it to the repository where that is known."""

    name: str
    repository_url: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A terminal shows the text alone."""

    text: "Text"
    url: str | None


@dataclass(frozen=True, slots=True)
class Strong:
    text: "Text"


@dataclass(frozen=True, slots=True)
class Emphasis:
    text: "Text"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Block characters of ours, which need a font of fixed width."""

    text: str


@dataclass(frozen=True, slots=True)
class Sign:
    """Of ours: an emoji on a page, where a terminal has colours; a word in a terminal, where a page has bold type."""

    page: str = ""
    terminal: str = ""


@dataclass(frozen=True, slots=True)
class Address:
    """For a terminal: on a page, what it's the address of is a link."""

    url: str


@dataclass(frozen=True, slots=True)
class Toned:
    """A line that stands out in a terminal."""

    text: "Text"
    tone: "Tone"


Span: TypeAlias = Safe | Name | Prose | Commit | Link | Strong | Emphasis | Drawn | Sign | Address | Toned
Text: TypeAlias = Span | tuple[Span, ...]

NOTHING: Final = Safe("\N{EN DASH}")


def spans(text: Text) -> tuple[Span, ...]:
    return text if isinstance(text, tuple) else (text,)


def words(template: str, *values: Text | int) -> tuple[Span, ...]:
    """Our own words, with texts or counts in the places of `{}`."""
    parts = [Safe(part) for part in template.split("{}")]
    if len(parts) != len(values) + 1:
        raise ValueError(f"{len(values)} texts for the places of {template!r}")
    result: list[Span] = [parts[0]] if parts[0] else []
    for value, after in zip(values, parts[1:], strict=True):
        result += [Safe(f"{value:,}")] if isinstance(value, int) else _checked(value)
        result += [after] if after else []
    return tuple(result)


def joined(separator: str, texts: Iterable[Text]) -> tuple[Span, ...]:
    result: list[Span] = []
    for text in texts:
        result += [Safe(separator)] if result and separator else []
        result += _checked(text)
    return tuple(result)


def some(texts: Sequence[Text], most: int) -> tuple[Span, ...]:
    """The first ones by commas, "and 3 more"."""
    more = len(texts) - most
    return words("{} and {} more", joined(", ", texts[:most]), more) if more > 0 else joined(", ", texts)


def _checked(text: Text) -> tuple[Span, ...]:
    if any(isinstance(span, str) and not isinstance(span, Safe) for span in spans(text)):
        raise TypeError(f"foreign text must be a span: {text!r}")
    return spans(text)


# Nodes of a document.


class Tone(Enum):
    """What a line tells: a terminal's colour."""

    WORSE = "\x1b[31m"
    FINE = "\x1b[32m"
    UNSURE = "\x1b[33m"
    BETTER = "\x1b[36m"
    PLAIN = ""


class Shown(Enum):
    """How much of a node a terminal shows: it can fold nothing away."""

    TABLE = "table"
    LIST = "list"
    TITLE = "title"
    NOT = "not"


class Role(Enum):
    """What a column is in a terminal's list: `- name (side → side, figure): words`."""

    NAME = "name"
    SIDE = "side"
    FIGURE = "figure"
    WORDS = "words"
    ASIDE = "aside"


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """`joins`: on a page it's part of the column before. `spare`: a terminal shows it where there is room.

    `of`: foreign text that the name follows. `page`: where the word is explained.
    """

    name: str
    role: Role = Role.ASIDE
    right: bool = False
    joins: bool = False
    spare: bool = False
    of: str = ""
    page: str | None = None

    @property
    def head(self) -> "Text":
        if self.page:
            return Link(Safe(self.name), self.page)
        return words("{} {}", Name(self.of), Safe(self.name)) if self.of else Safe(self.name)


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[Text, ...]
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """`first(n)` makes the first rows of `total`."""

    columns: tuple[Column, ...]
    first: Callable[[int], Iterable[Row]]
    total: int
    title: Text | None = None
    shown: Shown = Shown.LIST


@dataclass(frozen=True, kw_only=True, slots=True)
class Bullets:
    """The first items of `total`."""

    items: Sequence[Text]
    total: int
    title: Text | None = None
    shown: Shown = Shown.LIST


@dataclass(frozen=True, kw_only=True, slots=True)
class Heading:
    """`below`: lines without a space before them."""

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
    """Lines of fixed width: a drawing of ours, or what is to be copied. Foreign text in them is checked before."""

    lines: tuple[Text, ...]
    title: Text | None = None
    on_page: bool = True


@dataclass(frozen=True, kw_only=True, slots=True)
class Picture:
    """A drawing that only pages can show; `html` makes it where GitHub's Markdown is not drawn."""

    markdown: Safe
    html: Callable[[], Safe] | None = None
    title: Text | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Footer:
    parts: tuple[Text, ...]


Part: TypeAlias = Table | Bullets | Paragraph | Figure | Picture


@dataclass(frozen=True, kw_only=True, slots=True)
class Fold:
    """Shut on a page; a terminal shows its parts, each by its own title or else by the fold's.

    `summary` holds no foreign text: GitHub parses it as HTML. `opened`: where a comment folds it for its length alone.
    """

    summary: Safe
    parts: tuple[Part, ...]
    opened: bool = False


Node: TypeAlias = Heading | Part | Fold | Footer


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """`more_at`: where the rows are that are left out."""

    nodes: tuple[Node, ...]
    more_at: Text | None = None
    marker: str = ""


T = TypeVar("T")


def table(
    columns: tuple[Column, ...],
    entries: Sequence[T],
    row: Callable[[T], Row],
    *,
    title: Text | None = None,
    shown: Shown = Shown.LIST,
    most: int | None = None,
) -> Table:
    """`most`: more rows are never shown."""
    return Table(
        columns=columns,
        first=lambda count: map(row, entries[: count if most is None else min(count, most)]),
        total=len(entries),
        title=title,
        shown=shown,
    )


def grid(columns: Iterable[str | Column], rows: Sequence[tuple[Text, ...]], title: Text | None = None) -> Table:
    """A table of made cells."""
    made = tuple(Column(name=each) if isinstance(each, str) else each for each in columns)
    return table(made, rows, Row, title=title, shown=Shown.TABLE)


def paragraph(*lines: Text) -> Paragraph:
    return Paragraph(lines=lines)
