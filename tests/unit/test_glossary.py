"""The words that the glossary retires are gone from what people read."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs/glossary.md"
HEADING = "## Words that are not used"


def retired_words() -> tuple[str, ...]:
    rows = GLOSSARY.read_text(encoding="utf-8").partition(HEADING)[2].splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| ")][1:]
    return tuple(word.strip() for cell in cells for word in cell.split(","))


@cache
def texts() -> tuple[tuple[str, str], ...]:
    return tuple(read_texts())


def read_texts() -> Iterator[tuple[str, str]]:
    """Documents whole, of Python its strings and docstrings: what becomes help, messages, comments of the bot."""
    documents = [ROOT / "README.md", ROOT / "action.yml", *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md")]
    for path in documents:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8").partition(HEADING)[0]
    for path in ROOT.glob("bot/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield f"{path.relative_to(ROOT)}:{node.lineno}", node.value


@pytest.mark.parametrize("word", retired_words())
def test_a_retired_word_is_not_used(word: str) -> None:
    pattern = re.compile(rf"\b{word}s?\b".replace(" ", r"\s+"), re.IGNORECASE)
    assert [place for place, text in texts() if pattern.search(text)] == []


def test_there_are_retired_words_and_texts_to_read() -> None:
    assert len(retired_words()) > 10
    assert "verb" in retired_words()
    assert len(texts()) > 3_000
