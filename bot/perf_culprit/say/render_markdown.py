"""A document as GitHub's Markdown, within a limit: visible rows get the room first, folded ones the rest."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from perf_culprit.model.text_limits import TEXT_LIMITS
from perf_culprit.say import inert
from perf_culprit.say.document import (
    Address,
    BlockText,
    Bullets,
    Column,
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
    Sign,
    Strong,
    Table,
    Text,
    Toned,
    as_spans,
)
from perf_culprit.say.inert import Safe, fill, join, own, row


def markdown(text: Text) -> Safe:
    if isinstance(text, Safe):
        return text
    return join("", (_FORMS[type(span)](span) for span in as_spans(text)))


_FORMS: Final[Mapping[type, Callable[[Any], Safe]]] = {
    Safe: lambda span: span,
    Name: lambda span: inert.code(span.text, limit=span.limit),
    Prose: lambda span: inert.prose(span.text, limit=span.limit),
    CommitLink: lambda span: inert.commit(span.name, repository_url=span.repository_url),
    Hyperlink: lambda span: inert.link(markdown(span.text), span.url),
    Strong: lambda span: own("**{}**", markdown(span.text)),
    Emphasis: lambda span: own("*{}*", markdown(span.text)),
    BlockText: lambda span: Safe(f"`{span.text}`"),
    Sign: lambda span: Safe(span.page),
    Address: lambda _: Safe(""),
    Toned: lambda span: markdown(span.text),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Block:
    """Paragraphs, then the first rows of `total` below a table's head."""

    paragraphs: tuple[Safe, ...] = ()
    head: tuple[Safe, ...] = ()
    rows: tuple[Safe, ...] = ()
    total: int = 0

    def shown(self, most: int, more_at: Safe) -> tuple[Safe, ...]:
        rows = self.rows[:most]
        table = (join("\n", (*self.head, *rows)),) if rows else ()
        hidden = self.total - len(rows)
        more = (own("and {} more{}", hidden, more_at),) if hidden else ()
        return self.paragraphs + table + more


@dataclass(frozen=True, kw_only=True, slots=True)
class _Section:
    """Blocks, in a fold if there is a summary."""

    blocks: tuple[_Block, ...]
    summary: Safe | None = None

    def shown(self, most: int, more_at: Safe) -> tuple[Safe | None, tuple[Safe, ...]]:
        return self.summary, tuple(text for block in self.blocks for text in block.shown(most, more_at))


@dataclass(frozen=True, kw_only=True, slots=True)
class Page:
    """A document whose rows are not cut yet. `more_at` follows the number of omitted rows."""

    sections: tuple[_Section, ...]
    more_at: Safe

    def text(self, *, visible: int = TEXT_LIMITS.table_rows, folded: int = TEXT_LIMITS.table_rows) -> str:
        sections = [
            section.shown(visible if section.summary is None else folded, self.more_at) for section in self.sections
        ]
        return fill("document.md.j2", sections=sections)

    def fitted(self, size: Callable[[str], int], *, limit: int, visible: int, folded: int) -> str:
        """Return the longest text under the limit: visible rows get the room first, folded ones the rest."""

        def fits(visible: int, folded: int) -> bool:
            return size(self.text(visible=visible, folded=folded)) <= limit

        folds = (section for section in self.sections if section.summary is not None)
        longest = max((len(block.rows) for fold in folds for block in fold.blocks), default=0)
        visible = _largest(visible, lambda rows: fits(rows, 0))
        folded = _largest(min(folded, longest), lambda rows: fits(visible, rows))
        return self.text(visible=visible, folded=folded)


def _largest(most: int, fits: Callable[[int], bool]) -> int:
    """Return the largest fitting number from 0 to `most`. 0 always fits: a report without rows has a bounded length."""
    if fits(most):
        return most
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def page_of(document: Document, *, most_rows: int = TEXT_LIMITS.table_rows) -> Page:
    """Build a page with at most `most_rows` rows of each table. The counts are always those of the whole table."""
    sections = [_section(node, most_rows) for node in document.nodes]
    if document.marker:
        (first,) = sections[0].blocks
        marked = own("{}\n{}", inert.marker(document.marker), first.paragraphs[0])
        sections[0] = replace(sections[0], blocks=(replace(first, paragraphs=(marked, *first.paragraphs[1:])),))
    more_at = Safe("") if document.more_at is None else own(": see {}", markdown(document.more_at))
    return Page(sections=tuple(section for section in sections if section.blocks), more_at=more_at)


def markdown_text(*nodes: DocumentNode) -> str:
    """Render nodes whose length their maker has limited."""
    return page_of(Document(nodes=nodes)).text()


def _section(node: DocumentNode, most: int) -> _Section:
    if isinstance(node, Fold):
        return _Section(summary=node.summary, blocks=tuple(_block(part, most) for part in node.parts))
    if isinstance(node, Figure) and not node.on_page:
        return _Section(blocks=())
    return _Section(blocks=(_block(node, most),))


def _block(node: Heading | Footer | DocumentPart, most: int) -> _Block:  # noqa: PLR0911 - one per kind
    match node:
        case Heading():
            first = own("### {}{}", Safe(node.mark and f"{node.mark} "), markdown(node.text))
            return _Block(paragraphs=(_lines((first, *node.below)),))
        case Paragraph():
            return _Block(paragraphs=(_lines(node.lines),))
        case Table():
            columns, cells = node.for_page(most)
            rows = tuple(row(_cells(columns, made)) for made in cells)
            return _Block(paragraphs=_title(node.title), head=_head(columns), rows=rows, total=node.total)
        case Bullets():
            items = tuple(own("- {}", markdown(item)) for item in node.items[:most])
            return _Block(paragraphs=_title(node.title), rows=items, total=node.total)
        case Figure():
            code = own("```text\n{}\n```", join("\n", map(markdown, node.lines)))
            return _Block(paragraphs=(code,) if node.title is None else (markdown(node.title), code))
        case Picture():
            return _Block(paragraphs=(*_title(node.title), node.markdown))
        case Footer():
            return _Block(paragraphs=(own("<sub>{}</sub>", join(" · ", map(markdown, node.parts))),))


def _lines(lines: Iterable[Text]) -> Safe:
    return join("\n", (text for line in lines if (text := markdown(line))))


def _title(title: Text | None) -> tuple[Safe, ...]:
    return () if title is None else (own("**{}**", markdown(title)),)


def _head(columns: Sequence[Column]) -> tuple[Safe, Safe]:
    """Return the table's head. A column that others join is not right-aligned, because its figures differ in kind."""
    shared = {place - 1 for place, column in enumerate(columns) if column.joins}
    own_columns = [(place, column) for place, column in enumerate(columns) if not column.joins]
    sides = ("--:" if column.right and place not in shared else ":--" for place, column in own_columns)
    return row([markdown(column.head) for _, column in own_columns]), Safe(f"|{'|'.join(sides)}|")


def _cells(columns: Sequence[Column], cells: Sequence[Text]) -> list[Safe]:
    texts: list[Safe] = []
    for column, cell in zip(columns, cells, strict=True):
        text = markdown(cell)
        if not column.joins:
            texts.append(text)
        elif text:
            texts[-1] = own("{} {}", texts[-1], text)
    return texts
