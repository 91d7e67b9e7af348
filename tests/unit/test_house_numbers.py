"""The five numbers: the rules by which they are counted."""

import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def numbers() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / ".ci" / "house_numbers.py"))


def test_a_public_name_of_two_modules_is_counted_once_and_read_is_left_out(
    tmp_path: Path, numbers: dict[str, Any]
) -> None:
    for path, text in {
        "judge/a.py": "def judge(): ...\nLIMIT = 1\n_own = 1\nclass Row:\n    shown = 1\n",
        "judge/b.py": "class judge: ...\nfrom judge.a import Row\n_own = 1\n",
        "say/c.py": "LIMIT: int = 2\nshown = 1\njudge = None\ndef row():\n    Row = 1\n",
        "read/d.py": "class Row: ...\n",
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    assert numbers["names_defined_twice"](tmp_path) == ["LIMIT", "judge"]


def test_numbers_arithmetic_and_tuples_of_numbers_are_constants(tmp_path: Path, numbers: dict[str, Any]) -> None:
    (tmp_path / "a.py").write_text(
        "A = 1\nB: float = -0.5\n_C = 1 << 20\nD, E = 2, 'x'\nF = (1, 2)\n"
        "NAME = 'x'\nIS = True\nG = f(1)\nH = [A]\ndef f():\n    I = 1\n"
    )
    assert numbers["numeric_constants"]([tmp_path]) == ["A", "B", "_C", "D", "F"]


def test_the_files_of_a_walk_are_the_first_column_below_its_heading(numbers: dict[str, Any]) -> None:
    text = "\n## One\n\n| file | gets |\n|---|---|\n| `a`, `b/` | `c` |\n\n## Two\n\n| `d` | x |\n"
    assert numbers["touched"]("## One", text) == ["a", "b/"]


def test_the_files_of_every_walk_exist(numbers: dict[str, Any]) -> None:
    text = numbers["CONTRIBUTING"].read_text(encoding="utf-8")
    for heading in numbers["WALKS"].values():
        paths = numbers["touched"](heading, text)
        assert len(paths) > 4
        assert numbers["missing"](paths) == []
    assert numbers["missing"](["bot/perf_culprit/judge/<detector>.py", "bot/<x>.c"]) == ["bot/<x>.c"]
