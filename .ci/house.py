"""Check the rules of the house: words, sentences, names, files and imports (.github/CONTRIBUTING.md).

sh .ci/env python .ci/house.py

It prints a line for each fault.
"""

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = ROOT / "bot" / "perf_culprit"
FOLDERS: Final = ("bot", "tests", "benchmarks")
RETIRED: Final = ROOT / ".github" / "CONTRIBUTING.md"
HEADING: Final = "## Words that are not used"

Nodes = Sequence[ast.AST]

# Sentences.
MOST_WORDS: Final = 25
MOST_WORDS_IN_ALL: Final = 30_000
# Numbers of longer sentences that remain, by page. These numbers may only decrease.
LONG: Final = {"docs/diagnosis.md": 1, "docs/formats.md": 2, "docs/options.md": 1, "docs/tracing.md": 2}
# First words of a docstring that leave out its subject or its verb; NO_VERB only in the first sentence.
NO_SUBJECT: Final = {"Of", "What", "Who", "Whom", "Which", "Whatever", "Those", "Such", "That", "Per"}
NO_VERB: Final = {"As", "By", "With", "Without", "Where", "From", "So", "In", "On", "At", "For", "After"}
# A function's docstring begins with what it does. Those of the assistants' tools are published descriptions.
ARTICLES: Final = {"A", "An", "The", "All", "Each", "One", "Whether"}
PUBLISHED: Final = "mcp/"
# The modules with text that users read: phrases, help and descriptions.
SPOKEN: Final = ("say/*.py", "init/introduction.py", "commands/*.py", "action/inputs.py", "config/*settings.py")
# Fenced and indented code, comments, and the header of a skill.
NOT_PROSE: Final = re.compile(
    r"\A---\n.*?\n---$|^```.*?^```$|^(?: {4}[^\n]*\n)+|<!--.*?-->|^#[^\n]*$", re.MULTILINE | re.DOTALL
)
# A new paragraph, an item of a list, a row or a cell of a table.
BREAK: Final = re.compile(r"\n[ \t]*\n|\n[ \t]*(?:[-*]|\d+\.) |(?<!\\)\||\n(?=\|)| · ")
SENTENCE: Final = re.compile(r"(?<=[.!?])[)*_\"]*\s+(?=[A-Z0-9`*(\[\"/-])")
ITEM: Final = re.compile(r"^(?:[-*]|\d+\.) ")

# Names: that something was said, known or found does not tell its meaning.
PARTICIPLES: Final = {"said", "known", "found"}
# Every Python package has files of these names.
SHARED_NAMES: Final = {"__init__.py", "__main__.py"}

# Imports. `git.push(...)` reads better than a bare `push(...)`, and the tracer is used through its one function.
LISTING: Final = {"git/__init__.py", "explain/tracer/__init__.py"}
# The entry points of commands and modes; the tracer, whose process may lack this package; databases, which are
# optional; and the host, whose client is the slowest import of a job.
IMPORT_LATE: Final = (
    "cli/",
    "commands/",
    "init/",
    "action/",
    "__main__.py",
    "explain/tracer/",
    "store/opening.py",
    "github/job_context.py",
)
LONGEST_FUNCTION: Final = 70


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


def long_sentences(text: str) -> list[str]:
    return [sentence for sentence in sentences(text) if length(sentence) > MOST_WORDS]


def is_incomplete(sentence: str, *, is_first: bool) -> bool:
    """Return whether a sentence of a docstring leaves out its subject or its verb."""
    word = sentence.split(maxsplit=1)[0].rstrip(",:")
    return word in NO_SUBJECT or (is_first and word in NO_VERB)


@cache
def modules(folder: str) -> tuple[tuple[Path, Nodes], ...]:
    """Return the paths and syntax trees of modules. All trees are walked once, which takes most of the time."""
    paths = sorted((ROOT / folder).rglob("*.py"))
    return tuple((path.relative_to(ROOT), [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]) for path in paths)


def all_modules() -> Iterator[tuple[Path, Nodes]]:
    for folder in FOLDERS:
        yield from modules(folder)


def package_modules() -> Iterator[tuple[str, Nodes]]:
    """Yield our modules by their place in the package; the measured project of the demo is not our code."""
    for path, nodes in modules("bot"):
        place = (ROOT / path).relative_to(PACKAGE).as_posix()
        if not place.startswith("demo/project/"):
            yield place, nodes


def retired_words() -> tuple[str, ...]:
    rows = RETIRED.read_text(encoding="utf-8").partition(HEADING)[2].splitlines()
    cells = [row.split("|")[1] for row in rows if row.startswith("| ")][1:]
    return tuple(word.strip() for cell in cells for word in cell.split(","))


def texts() -> Iterator[tuple[str, str]]:
    """Yield whole documents, and Python's strings and docstrings, which become help, messages and comments."""
    for path in (ROOT / "action.yml", *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md")):
        yield str(path.relative_to(ROOT)), path.read_text(encoding="utf-8").partition(HEADING)[0]
    for path, nodes in modules("bot"):
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield f"{path}:{node.lineno}", re.sub(r"`[^`]*`", "", node.value)


def names(nodes: Nodes) -> Iterator[tuple[str, int]]:
    """Yield the names of variables, parameters, fields and functions with their lines."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.FunctionDef(name=name):
                yield name, node.lineno
            case _:
                pass


def pages() -> dict[str, str]:
    """Return the Markdown pages that people read, without the evidence."""
    paths = [*ROOT.glob("*.md"), *ROOT.glob(".github/*.md"), *ROOT.glob("docs/**/*.md")]
    read = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in paths}
    return {name: text for name, text in read.items() if not name.startswith("docs/evidence/")}


def faults_of_words() -> Iterator[str]:
    read, retired = list(texts()), retired_words()
    if len(read) < 3_000 or len(retired) < 10:
        yield "too few texts or retired words were read"
    pattern = re.compile(rf"\b(?:{'|'.join(retired)})\b".replace(" ", r"\s+"), re.IGNORECASE)
    for place, text in read:
        yield from (f"{place}: `{match[0]}` is a word that is not used" for match in pattern.finditer(text))
    for path, nodes in all_modules():
        for name, line in names(nodes):
            if name in PARTICIPLES:
                yield f"{path}:{line}: the name `{name}` does not tell what it holds"


def faults_of_pages() -> Iterator[str]:
    """Yield too long sentences of pages, and pages that are too long together: somebody has to keep them true."""
    read = pages()
    for name in sorted({*read, *LONG}):
        too_long = long_sentences(read.get(name, ""))
        if len(too_long) > LONG.get(name, 0):
            yield from (f"{name}: more than {MOST_WORDS} words: {sentence}" for sentence in too_long)
        elif len(too_long) < LONG.get(name, 0):
            yield f"{name}: has fewer long sentences than LONG in .ci/house.py says"
    words = sum(length(NOT_PROSE.sub("", text)) for name, text in read.items() if name.startswith("docs/"))
    if words > MOST_WORDS_IN_ALL:
        yield f"docs: {words:,} words, {MOST_WORDS_IN_ALL:,} are the most"


def faults_of_phrases() -> Iterator[str]:
    """Yield long phrases and help texts. A sentence of these also ends at a semicolon or an optional part."""
    by_glob = {glob: [path.relative_to(ROOT) for path in PACKAGE.glob(glob)] for glob in SPOKEN}
    yield from (f"SPOKEN in .ci/house.py: no module is named {glob}" for glob, paths in by_glob.items() if not paths)
    spoken = {path for paths in by_glob.values() for path in paths}
    for path, nodes in modules("bot"):
        if path not in spoken:
            continue
        for node in nodes:
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for part in re.split(r"[;\[\]]", node.value):
                    for sentence in long_sentences(part):
                        yield f"{path}:{node.lineno}: more than {MOST_WORDS} words: {sentence}"


def faults_of_docstrings() -> Iterator[str]:
    for path, nodes in all_modules():
        for node in nodes:
            if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
                for number, sentence in enumerate(sentences(ast.get_docstring(node) or "")):
                    if is_incomplete(sentence, is_first=number == 0) or length(sentence) > MOST_WORDS:
                        yield f"{path}:{getattr(node, 'lineno', 1)}: incomplete, or too long: {sentence}"


def own_imports(nodes: Iterable[ast.AST]) -> list[ast.ImportFrom]:
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    return [node for node in imports if node.level or (node.module or "").split(".")[0] == PACKAGE.name]


def is_public(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function may be called from elsewhere; a property is a noun."""
    decorators = {ast.unparse(decorator) for decorator in function.decorator_list}
    return not function.name.startswith("_") and not decorators & {"property", "cached_property"}


def first_word(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return (ast.get_docstring(function) or "").partition(" ")[0]


def faults_of_code() -> Iterator[str]:
    """Yield what makes code hard to find, and what makes a cold start load more than it needs."""
    trees = dict(package_modules())
    files = Counter(Path(place).name for place in trees)
    yield from (f"{name}: two files have this name" for name in files if files[name] > 1 and name not in SHARED_NAMES)
    for place, nodes in trees.items():
        if place.endswith("__init__.py") and bool(own_imports(nodes)) != (place in LISTING):
            yield f"{place}: hands on what another module defines, or LISTING in .ci/house.py is out of date"
        functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        for function in functions:
            if not place.startswith(IMPORT_LATE) and own_imports(ast.walk(function)):
                yield f"{place}:{function.lineno}: `{function.name}` imports our modules"
            if (lines := (function.end_lineno or 0) - function.lineno + 1) > LONGEST_FUNCTION:
                yield f"{place}:{function.lineno}: `{function.name}` has {lines} lines, {LONGEST_FUNCTION} are the most"
            if is_public(function) and not place.startswith(PUBLISHED) and first_word(function) in ARTICLES:
                yield f"{place}:{function.lineno}: the docstring of `{function.name}` does not begin with what it does"


def main() -> None:
    checks = (faults_of_words, faults_of_pages, faults_of_phrases, faults_of_docstrings, faults_of_code)
    faults = [fault for check in checks for fault in check()]
    sys.stdout.writelines(f"{fault}\n" for fault in faults)
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
