"""Foreign text made inert: the only type that may enter a template, and the templates' environment.

Names, units, reasons and notes may come from a stranger's file. GitHub turns mentions, links, references, images and
emoji codes into structure everywhere except in code spans, so foreign text goes there. `Safe` marks text that was
made inert here; templates refuse everything else.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from perf_culprit.errors import visible
from perf_culprit.model.run import FULL_HASH
from perf_culprit.model.text_limits import TEXT_LIMITS

if TYPE_CHECKING:
    from jinja2 import Environment


SHORT_HASH = 7

_COLOUR = re.compile(r"(\x1b\[\d+m)")
_NOTHING = re.compile(r"(?!)")
# A line that starts with `::` would be a command to GitHub's runner.
_COMMAND = re.compile(r"^((?:\x1b\[\d+m|\s)*)::")
_HASH_LIKE = re.compile(r"[0-9a-f]{7,}")
_URL = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d{1,5})?(?:/[A-Za-z0-9._~:/?#@!$&'*+,;=%-]*)?")
_MARKER = re.compile(r"<!-- [A-Za-z0-9:._/ -]{1,200} -->")
# A word of a plain sentence: nothing that GitHub links, mentions or formats.
_WORD = re.compile(
    r"\(?(?:\d*[A-Za-z][A-Za-z0-9]*(?:['/_-][A-Za-z]+)*|[+\u00b1\u2212-]?\d+(?:,\d{3})*(?:\.\d+)?%?"
    r"|[=%\u00b1\u2013\u2026])\)?[,;:.]?"
)
# Text in backticks or quotes, or a word, with the punctuation around it; else a word with brackets inside.
_PIECE = re.compile(
    r"(?<!\S)(?=\S)(?:(\(?)(?:`([^`]+)`|'([^']+)'|([^\s()]*[^\s(),;:.?]))(\)?[,;:.?]*)|(\S*?)([,;:.?]*))(?!\S)"
)
NO_BREAK = "\N{NO-BREAK SPACE}"


class Safe(str):
    """Markdown that is our own, or foreign text made inert."""

    __slots__ = ()


def own(template: str, *values: Safe | int) -> Safe:
    """Return our own words, with Safe values or counts in the places of `{}`."""
    for value in values:
        if not isinstance(value, Safe | int):
            raise TypeError(f"foreign text must be made inert first: {value!r}")
    return Safe(template.format(*(f"{value:,}" if isinstance(value, int) else value for value in values)))


def repository_name(url: str) -> str:
    """Return owner and name from the address of a repository's page; empty for an empty one."""
    return "/".join(url.split("/")[-2:])


def unbroken(number: str) -> Safe:
    """Return our own number with its unit or sign, kept on one line."""
    return Safe(number.replace(" ", NO_BREAK))


def join(separator: str, parts: Iterable[Safe]) -> Safe:
    values = tuple(parts)
    for value in values:
        if not isinstance(value, Safe):
            raise TypeError(f"foreign text must be made inert first: {value!r}")
    return Safe(separator.join(values))


def clean(text: str, *, limit: int = TEXT_LIMITS.name_characters) -> str:
    """Return one line without invisible characters, at most `limit` long. It is still active in Markdown.

    Long text is cut in the middle, because a method's own name comes last.
    """
    text = text.strip()
    if len(text) > 2 * limit:
        text = text[:limit] + text[-limit:]
    text = visible(text).strip() or "(empty)"
    first = limit // 3
    return text if len(text) <= limit else f"{text[:first]}…{text[len(text) - limit + first + 1 :]}"


def plain(text: str, *, limit: int = TEXT_LIMITS.name_characters) -> str:
    """Return foreign text for a terminal or log line, where `##[` anywhere is a command to GitHub's runner."""
    return clean(text, limit=limit).replace("##[", "## [")


def plain_lines(text: str) -> str:
    """Make several lines inert, where `::` at a line's start is a command too. Indentation stays."""
    most = TEXT_LIMITS.line_characters
    lines = (line.rstrip() for line in text.split("\n"))
    return terminal_lines(
        "\n".join(line if len(line) <= most else clean(line, limit=most) for line in lines), colour=False
    )


def terminal_lines(text: str, *, colour: bool) -> str:
    """Apply `plain_lines` without a limit for a line. `colour`: keep colours, which only our renderers write."""
    return "\n".join(_plain_line(line, _COLOUR if colour else _NOTHING) for line in text.split("\n"))


def code(text: str, *, limit: int = TEXT_LIMITS.name_characters) -> Safe:
    """Return a code span that shows `text` and nothing else."""
    text = clean(text, limit=limit)
    longest_run = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * (longest_run + 1)
    padding = " " if text.startswith("`") or text.endswith("`") else ""
    return Safe(f"{fence}{padding}{text}{padding}{fence}")


def prose(text: str, *, limit: int = TEXT_LIMITS.sentence_characters) -> Safe:
    """Return plain words and numbers unchanged, and other words as code spans, with punctuation outside."""
    parts: list[Safe] = []
    odd: list[str] = []

    def end(before: str = "", after: str = "") -> None:
        if odd:
            parts.append(own("{}{}{}", Safe(before), code(" ".join(odd), limit=limit), Safe(after)))
            odd.clear()

    for piece in _PIECE.finditer(clean(text, limit=limit)):
        before, marked, quoted, bare, behind, word, after = piece.groups(default="")
        span = marked or quoted
        if not span and _is_plain(piece[0], first=not piece.start()):
            end()
            parts.append(Safe(piece[0]))
            continue
        if span or before:
            end()
        odd.append(span or bare or word or after)
        if span or before or behind or (word and after):
            end(before, behind or after)
    end()
    return join(" ", parts)


def row(cells: Sequence[Safe]) -> Safe:
    """Return a table row. GFM splits cells before it reads code spans, so `|` is escaped here, once, for every cell."""
    return Safe("| " + " | ".join(own("{}", cell).replace("|", "\\|") for cell in cells) + " |")


def link(text: Safe, url: str | None) -> Safe:
    """Return a link of ours, or only the text if the address is missing or invalid."""
    return own("[{}]({})", text, Safe(url)) if url is not None and is_address(url) else text


def is_address(url: str) -> bool:
    return _URL.fullmatch(url) is not None


def commit(name: str, *, repository_url: str | None) -> Safe:
    """Return a shortened commit. It is a link only if it is a full hash."""
    if not FULL_HASH.fullmatch(name):
        return code(name, limit=40)
    return link(code(name[:SHORT_HASH]), f"{repository_url}/commit/{name}" if repository_url else None)


def marker(comment: str) -> Safe:
    """Return the hidden comment by which publishing finds its own comment."""
    if not _MARKER.fullmatch(comment) or "--" in comment[4:-3]:
        raise ValueError(f"not a marker comment: {comment!r}")
    return Safe(comment)


def _plain_line(line: str, pattern: re.Pattern[str]) -> str:
    pieces = pattern.split(line)
    pieces[::2] = (visible(piece).replace("##[", "## [") for piece in pieces[::2])
    return _COMMAND.sub(r"\1: :", "".join(pieces))


def _is_plain(word: str, *, first: bool) -> bool:
    if first and not word[0].isalpha():  # "1." or "+" would start a list
        return False
    return _WORD.fullmatch(word) is not None and _HASH_LIKE.search(word.lower()) is None


def fill(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(**values)


@cache
def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("perf_culprit.say"),
        # Autoescape is for HTML. `_only_safe` guards Markdown, and nothing can bypass it.
        autoescape=False,  # noqa: S701 - see above
        finalize=_only_safe,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _only_safe(value: object) -> Safe:
    if not isinstance(value, Safe):
        raise TypeError(f"a template may show Safe text only, not {type(value).__name__}")
    return value


def inline_data(data: Mapping[str, Any]) -> Safe:
    """Return JSON for a script element of type application/json. No character of a name can end the element."""
    return Safe(json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c"))


def inline(template: str) -> tuple[Safe, Safe]:
    """Return a script or style sheet, and its hash for the page's content security policy."""
    text = fill(template)
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return Safe(text), Safe(f"'sha256-{digest}'")
