"""A document as HTML, and a page in one file, without outside resources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from perf_culprit.model.run import FULL_HASH
from perf_culprit.model.text_limits import TEXT_LIMITS
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
from perf_culprit.say.inert import SHORT_HASH, Safe, clean, fill, inline, is_address


def html(text: Text) -> Safe:
    return Safe("".join(_FORMS[type(span)](span) for span in as_spans(text)))


def _code(text: str, limit: int) -> str:
    return f"<code>{escape(clean(text, limit=limit))}</code>"


def _commit(commit: CommitLink) -> str:
    if not FULL_HASH.fullmatch(commit.name):
        return _code(commit.name, 40)
    url = commit.repository_url and f"{commit.repository_url}/commit/{commit.name}"
    return _link(_code(commit.name[:SHORT_HASH], SHORT_HASH), url)


def _link(text: str, url: str | None) -> str:
    return f'<a href="{escape(url)}">{text}</a>' if url is not None and is_address(url) else text


_FORMS: Final[Mapping[type, Callable[[Any], str]]] = {
    Safe: escape,
    Name: lambda span: _code(span.text, span.limit),
    Prose: lambda span: escape(clean(span.text, limit=span.limit)),
    CommitLink: _commit,
    Hyperlink: lambda span: _link(html(span.text), span.url),
    Strong: lambda span: f"<strong>{html(span.text)}</strong>",
    Emphasis: lambda span: f"<em>{html(span.text)}</em>",
    BlockText: lambda span: f"<code>{escape(span.text)}</code>",
    Sign: lambda span: escape(span.page),
    Address: lambda _: "",
    Toned: lambda span: html(span.text),
}


def html_of(document: Document) -> Safe:
    return Safe("\n".join(text for node in document.nodes if (text := _node(node, document.more_at))) + "\n")


def _node(node: DocumentNode, more_at: Text | None) -> str:
    match node:
        case Heading():
            below = _lines("p", node.below) if node.below else ""
            return f"<h1>{escape(node.mark and f'{node.mark} ')}{html(node.text)}</h1>{below}"
        case Footer():
            return f"<p><sub>{' · '.join(map(html, node.parts))}</sub></p>"
        case Fold():
            parts = "\n".join(_part(part, more_at) for part in node.parts)
            opened = " open" if node.opened else ""
            return f"<details{opened}><summary>{html(node.summary)}</summary>\n{parts}\n</details>"
        case _:
            return _part(node, more_at)


def _part(part: DocumentPart, more_at: Text | None) -> str:
    match part:
        case Paragraph():
            return _lines("p", part.lines)
        case Figure():
            title = "" if part.title is None else f"<p>{html(part.title)}</p>"
            return f"{title}{_lines('pre', part.lines)}" if part.on_page else ""
        case Picture():
            return f"{_title(part.title)}{part.html()}" if part.html else ""
        case Table():
            columns, rows = part.for_page(TEXT_LIMITS.page_rows)
            return f"{_title(part.title)}{_table(columns, rows)}{_more(part.total - len(rows), more_at)}"
        case Bullets():
            items = part.items[: TEXT_LIMITS.page_rows]
            listed = "".join(f"<li>{html(item)}</li>" for item in items)
            return f"{_title(part.title)}<ul>{listed}</ul>{_more(part.total - len(items), more_at)}"


def _lines(tag: str, lines: Iterable[Text]) -> str:
    texts = (text for line in lines if (text := html(line)))
    return f"<{tag}>{('<br>' if tag == 'p' else chr(10)).join(texts)}</{tag}>"


def _title(title: Text | None) -> str:
    return "" if title is None else f"<p><strong>{html(title)}</strong></p>"


def _more(hidden: int, more_at: Text | None) -> str:
    where = "" if more_at is None else f": see {html(more_at)}"
    return f"<p>and {hidden:,} more{where}</p>" if hidden else ""


def _table(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> str:
    """Return an HTML table. A column that others join is not right-aligned, because its figures differ in kind."""
    joined = [column.joins for column in (*columns[1:], Column(name=""))]
    sides = ["right" if column.right and not shared else "left" for column, shared in zip(columns, joined, strict=True)]
    head = "".join(
        f'<th align="{side}">{html(column.head)}</th>'
        for column, side in zip(columns, sides, strict=True)
        if not column.joins
    )
    body = "".join(f"<tr>{_cells(columns, sides, row)}</tr>\n" for row in rows)
    return f"<table>\n<thead>\n<tr>{head}</tr>\n</thead>\n<tbody>\n{body}</tbody></table>\n"


def _cells(columns: Sequence[Column], sides: Sequence[str], row: Sequence[Text]) -> str:
    cells: list[str] = []
    for column, side, cell in zip(columns, sides, row, strict=True):
        if not column.joins:
            cells.append(f'<td align="{side}">{html(cell)}')
        elif text := html(cell):
            cells[-1] += f" {text}"
    return "</td>".join(cells) + "</td>"


def page(body: Safe, *, title: str, scripts: Sequence[str] = ()) -> str:
    made = [inline(name) for name in scripts]
    style, style_digest = inline("page.css.j2")
    return fill(
        "page.html.j2",
        body=body,
        title=Safe(title),
        scripts=[text for text, _ in made],
        style=style,
        allowed_style=style_digest,
        allowed=Safe(" ".join(digest for _, digest in made) or "'none'"),
    )
