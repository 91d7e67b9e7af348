"""The linter of the house rules: each fault is seen, and what is right is not."""

import ast
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "house.py"
LONG = " ".join(["Word", *["word"] * 25])
FILES = {
    ".github/CONTRIBUTING.md": "## Words that are not used\n\n| not | but |\n|---|---|\n| verb, verbs | command |\n",
    "action.yml": "name: a\n",
    "README.md": "A verb of ours.\n",
    "docs/one.md": f"{LONG}.\n",
    "docs/evidence/two.md": f"{LONG}.\n",
    "bot/perf_culprit/__init__.py": "",
    "bot/perf_culprit/say/__init__.py": "from perf_culprit.say.words import f\n",
    "bot/perf_culprit/say/words.py": f'A = "{LONG}"\nsaid = 1\n',
    "bot/perf_culprit/flows/words.py": "def f():\n    import os\n    from perf_culprit import say\n" + "    1\n" * 68,
    "bot/perf_culprit/cli/late.py": '"""What is left out."""\ndef f():\n    from perf_culprit import say\n',
    "benchmarks/b.py": '"""Return what is left out."""\n',
}
FAULTS = """\
too few texts or retired words were read
README.md: `verb` is a word that is not used
bot/perf_culprit/say/words.py:2: the name `said` does not tell what it holds
docs/diagnosis.md: has fewer long sentences than LONG in .ci/house.py says
docs/formats.md: has fewer long sentences than LONG in .ci/house.py says
docs/one.md: more than 25 words: Word
docs/options.md: has fewer long sentences than LONG in .ci/house.py says
docs/tracing.md: has fewer long sentences than LONG in .ci/house.py says
SPOKEN in .ci/house.py: no module is named init/introduction.py
SPOKEN in .ci/house.py: no module is named commands/*.py
SPOKEN in .ci/house.py: no module is named action/inputs.py
SPOKEN in .ci/house.py: no module is named config/*settings.py
bot/perf_culprit/say/words.py:1: more than 25 words: Word
bot/perf_culprit/cli/late.py:1: incomplete, or too long: What is left out.
words.py: two files have this name
flows/words.py:1: `f` imports our modules
flows/words.py:1: `f` has 71 lines, 70 are the most
say/__init__.py: hands on what another module defines, or LISTING in .ci/house.py is out of date
"""


@pytest.fixture(scope="module")
def house() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_every_kind_of_fault_is_printed(tmp_path: Path) -> None:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci")
    command = [sys.executable, str(tmp_path / ".ci" / SCRIPT.name)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (1, "")
    assert ended.stdout.replace(f"{LONG}.", "Word").replace(LONG, "Word") == FAULTS


@pytest.mark.parametrize("code", ["said = 1", "def f(known): ...", "class A:\n    found: int", "[1 for said in x]"])
def test_a_participle_is_seen_wherever_it_is_bound(code: str, house: dict[str, Any]) -> None:
    assert any(name in house["PARTICIPLES"] for name, _ in house["names"]([*ast.walk(ast.parse(code))]))


def test_a_docstring_without_a_subject_is_seen(house: dict[str, Any]) -> None:
    is_incomplete = house["is_incomplete"]
    assert is_incomplete("Of m metrics; the smallest", is_first=False)
    assert is_incomplete("By name", is_first=True)
    assert not is_incomplete("By name, they are equal.", is_first=False)
    assert not is_incomplete("Return the smallest of m metrics.", is_first=True)


def test_the_sentences_of_a_page_are_its_prose(house: dict[str, Any]) -> None:
    page = (
        "# A heading\n\nOne `a b c` [link](x.md). Two.\n\n    code as it is\n\n- three\n- four. 5 more\n\n| a | b |\n"
    )
    assert list(house["sentences"](page)) == ["One `code` link.", "Two.", "three", "four.", "5 more", "a", "b"]
    assert house["length"]("One `code` - link.") == 3
    assert house["long_sentences"](" ".join(["word"] * 26)) != []
    assert house["long_sentences"](" ".join(["word"] * 25)) == []
