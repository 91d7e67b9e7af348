"""The sentences of a Markdown page, for checks of style."""

import re
from collections.abc import Iterator
from typing import Final

# Fenced and indented code, comments, and the header of a skill.
NOT_PROSE: Final = re.compile(
    r"\A---\n.*?\n---$|^```.*?^```$|^(?: {4}[^\n]*\n)+|<!--.*?-->|^#[^\n]*$", re.MULTILINE | re.DOTALL
)
# A new paragraph, an item of a list, a row or a cell of a table.
BREAK: Final = re.compile(r"\n[ \t]*\n|\n[ \t]*(?:[-*]|\d+\.) |(?<!\\)\||\n(?=\|)| · ")
SENTENCE: Final = re.compile(r"(?<=[.!?])[)*_\"]*\s+(?=[A-Z0-9`*(\[\"/-])")
ITEM: Final = re.compile(r"^(?:[-*]|\d+\.) ")


def sentences(markdown: str) -> Iterator[str]:
    """Yield the sentences, each piece of code as one word, and links as their texts."""
    text = NOT_PROSE.sub("\n\n", markdown)
    text = re.sub(r"(`+).+?\1", "`code`", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for part in BREAK.split(text):
        for sentence in SENTENCE.split(ITEM.sub("", part.strip())):
            if words := " ".join(sentence.split()):
                yield words


def length(sentence: str) -> int:
    """Count the words: all that have a letter or a digit."""
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())
