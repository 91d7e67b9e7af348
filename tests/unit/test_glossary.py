"""The words that the glossary retires are gone from what people read, and names that say nothing from the code."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs/glossary.md"
HEADING = "## Words that are not used"
# They tell that something was said, known or found, and not what it is.
PARTICIPLES = {"said", "known", "found"}


def retired_words() -> tuple[str, ...]:
    rows = GLOSSARY.read_text(encoding="utf-8").partition(HEADING)[2].splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| ")][1:]
    return tuple(word.strip() for cell in cells for word in cell.split(","))


@cache
def modules(folder: str) -> tuple[tuple[Path, ast.Module], ...]:
    paths = ROOT.glob(f"{folder}/**/*.py")
    return tuple((path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Of variables, parameters, fields and functions."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.FunctionDef(name=name):
                yield name, node.lineno
            case _:
                pass


@cache
def texts() -> tuple[tuple[str, str], ...]:
    return tuple(read_texts())


def read_texts() -> Iterator[tuple[str, str]]:
    """Documents whole, of Python its strings and docstrings: what becomes help, messages, comments of the bot."""
    documents = [ROOT / "README.md", ROOT / "action.yml", *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md")]
    for path in documents:
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8").partition(HEADING)[0]
    for path, tree in modules("bot"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield f"{path}:{node.lineno}", node.value


@pytest.mark.parametrize("word", retired_words())
def test_a_retired_word_is_not_used(word: str) -> None:
    pattern = re.compile(rf"\b{word}s?\b".replace(" ", r"\s+"), re.IGNORECASE)
    assert [place for place, text in texts() if pattern.search(text)] == []


@pytest.mark.parametrize("code", ["said = 1", "def f(known): ...", "class A:\n    found: int", "[1 for said in x]"])
def test_a_participle_is_seen_wherever_it_is_bound(code: str) -> None:
    assert any(name in PARTICIPLES for name, _ in names(ast.parse(code)))


@pytest.mark.parametrize("folder", ["bot", "tests", "benchmarks"])
def test_a_name_says_what_it_holds(folder: str) -> None:
    places = [
        f"{path}:{line}: {name}" for path, tree in modules(folder) for name, line in names(tree) if name in PARTICIPLES
    ]
    assert places == []


def test_there_are_retired_words_and_texts_to_read() -> None:
    assert len(retired_words()) > 10
    assert "verb" in retired_words()
    assert len(texts()) > 3_000
