"""The demo repository's commits: an innocent history on main, then a branch that makes one function slower."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One commit: its message and the whole new text of the files that it touches."""

    message: str
    changes: Mapping[str, str]


def _project(name: str) -> str:
    return (files("bot.demo") / "project" / name).read_text(encoding="utf-8")


def main_steps() -> tuple[Step, ...]:
    """Main's commits, oldest first: nothing in them changes what is measured."""
    code = _project("textkit.py")
    programs = {name: _project(name) for name in ("bench.py", "serve.py")}
    start = Step(message="Text toolkit with a benchmark", changes={"textkit.py": code, **programs})
    notes = (
        ("Describe the toolkit", "# textkit\n\nTokenize, count, index, search, wrap.\n"),
        (
            "Say how to run the benchmark",
            "# textkit\n\nTokenize, count, index, search, wrap.\n\n    python bench.py out.json\n",
        ),
        (
            "Fix a typing error in the readme",
            "# textkit\n\nTokenise, count, index, search and wrap.\n\n    python bench.py out.json\n",
        ),
        (
            "Name the licence",
            "# textkit\n\nTokenise, count, index, search and wrap. MIT.\n\n    python bench.py out.json\n",
        ),
    )
    return (start, *(Step(message=message, changes={"README.md": text}) for message, text in notes))


def branch_steps() -> tuple[Step, ...]:
    """The pull request: five commits, of which the third folds accents word by word and is slow."""
    code = _project("textkit.py")
    documented = code.replace('"""A small text library', '"""A small text library for plain and accented English')
    named = documented.replace("places", "places_of_words")
    folded = named.replace("import re\n", "import re\nimport unicodedata\n").replace(
        "    return WORD.findall(text.lower())\n",
        '    return [unicodedata.normalize("NFKD", word) for word in WORD.findall(text.lower())]\n',
    )
    return (
        Step(message="Say which texts are meant", changes={"textkit.py": documented}),
        Step(message="Name what the index holds", changes={"textkit.py": named}),
        Step(message="Fold accents, so that café finds cafe", changes={"textkit.py": folded}),
        Step(message="Spell out the width of a line", changes={"textkit.py": folded.replace("width", "columns")}),
        Step(message="Mention accents in the readme", changes={"README.md": "# textkit\n\nNow with accents. MIT.\n"}),
    )
