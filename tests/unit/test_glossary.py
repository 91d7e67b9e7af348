"""Words that CONTRIBUTING retires are absent from texts, and names without meaning from the code."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.support.prose import NOT_PROSE, length, sentences

ROOT = Path(__file__).parents[2]
RETIRED = ROOT / ".github/CONTRIBUTING.md"
HEADING = "## Words that are not used"
# Such names tell that something was said, known or found, but not its meaning.
PARTICIPLES = {"said", "known", "found"}
MOST_WORDS = 25
MOST_WORDS_IN_ALL = 30_000
# Numbers of longer sentences that remain, by page. These numbers may only decrease.
LONG = {"docs/diagnosis.md": 2, "docs/formats.md": 4, "docs/options.md": 1, "docs/tracing.md": 4}
# First words of a docstring that leave out its subject or its verb; NO_VERB only in the first sentence.
NO_SUBJECT = {"Of", "What", "Who", "Whom", "Which", "Whatever", "Those", "Such", "That", "Per"}
NO_VERB = {"As", "By", "With", "Without", "Where", "From", "So", "In", "On", "At", "For", "After"}
# The modules with text that users read: phrases, help and descriptions.
SPOKEN = ("say/*.py", "init/introduction.py", "commands/*.py", "action/inputs.py", "config/*settings.py")


def retired_words() -> tuple[str, ...]:
    rows = RETIRED.read_text(encoding="utf-8").partition(HEADING)[2].splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| ")][1:]
    return tuple(word.strip() for cell in cells for word in cell.split(","))


@cache
def modules(folder: str) -> tuple[tuple[Path, ast.Module], ...]:
    paths = ROOT.glob(f"{folder}/**/*.py")
    return tuple((path.relative_to(ROOT), ast.parse(path.read_text(encoding="utf-8"))) for path in paths)


def names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Yield the names of variables, parameters, fields and functions with their lines."""
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
    """Yield whole documents, and Python's strings and docstrings, which become help, messages and bot comments."""
    for path in (ROOT / "action.yml", *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md")):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8").partition(HEADING)[0]
    for path, tree in modules("bot"):
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield f"{path}:{node.lineno}", re.sub(r"`[^`]*`", "", node.value)


@pytest.mark.parametrize("word", retired_words())
def test_a_retired_word_is_not_used(word: str) -> None:
    pattern = re.compile(rf"\b{word}\b".replace(" ", r"\s+"), re.IGNORECASE)
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


def pages() -> dict[str, str]:
    """The Markdown pages that people read, without the evidence."""
    paths = [*ROOT.glob("*.md"), *ROOT.glob(".github/*.md"), *ROOT.glob("docs/**/*.md")]
    named = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {name: text for name, text in named.items() if not name.startswith("docs/evidence/")}


def long_sentences(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if length(sentence) > MOST_WORDS]


def test_a_sentence_has_at_most_25_words() -> None:
    counts = {name: len(long_sentences(text)) for name, text in pages().items()}
    assert {name: count for name, count in counts.items() if count > LONG.get(name, 0)} == {}
    assert [name for name in LONG if not counts.get(name)] == []


def test_the_documentation_has_at_most_30_000_words() -> None:
    """Tables count, but code and the evidence do not. Somebody has to read all of it and keep it true."""
    words = {name: length(NOT_PROSE.sub("", text)) for name, text in pages().items() if name.startswith("docs/")}
    assert len(words) > 40
    assert sum(words.values()) <= MOST_WORDS_IN_ALL, sorted(words.items(), key=lambda one: -one[1])[:10]


def test_a_phrase_or_an_option_s_help_has_at_most_25_words() -> None:
    """A sentence ends at a full stop, a semicolon or an optional part in brackets."""
    paths = {path.relative_to(ROOT) for glob in SPOKEN for path in ROOT.glob(f"bot/perf_culprit/{glob}")}
    nodes = [(path, node) for path, tree in modules("bot") if path in paths for node in ast.walk(tree)]
    constants = [(path, node) for path, node in nodes if isinstance(node, ast.Constant)]
    spoken = [(f"{path}:{node.lineno}", node.value) for path, node in constants if isinstance(node.value, str)]
    assert len(spoken) > 1_000
    for place, text in spoken:
        for part in re.split(r"[;\[\]]", text):
            assert long_sentences(part) == [], place


@pytest.mark.parametrize("folder", ["bot", "tests", "benchmarks"])
def test_a_docstring_is_made_of_short_whole_sentences(folder: str) -> None:
    faults = [
        f"{path}:{getattr(node, 'lineno', 1)}: {sentence}"
        for path, tree in modules(folder)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        for number, sentence in enumerate(sentences(ast.get_docstring(node) or ""))
        if is_incomplete(sentence, is_first=number == 0) or length(sentence) > MOST_WORDS
    ]
    assert faults == []


def is_incomplete(sentence: str, *, is_first: bool) -> bool:
    word = sentence.split(maxsplit=1)[0].rstrip(",:")
    return word in NO_SUBJECT or (is_first and word in NO_VERB)


def test_a_docstring_without_a_subject_is_seen() -> None:
    assert is_incomplete("Of m metrics; the smallest", is_first=False)
    assert is_incomplete("By name", is_first=True)
    assert not is_incomplete("By name, they are equal.", is_first=False)
    assert not is_incomplete("Return the smallest of m metrics.", is_first=True)


def test_the_sentences_of_a_page_are_its_prose() -> None:
    page = (
        "# A heading\n\nOne `a b c` [link](x.md). Two.\n\n    code as it is\n\n- three\n- four. 5 more\n\n| a | b |\n"
    )
    assert list(sentences(page)) == ["One `code` link.", "Two.", "three", "four.", "5 more", "a", "b"]
    assert length("One `code` - link.") == 3
    assert long_sentences(" ".join(["word"] * 26)) != []
    assert long_sentences(" ".join(["word"] * 25)) == []
