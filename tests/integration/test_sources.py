"""docs/evidence/sources.md, row by row: the command that a row names runs here and prints the row's figures."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from benchmarks import published
from tests.support.documented import lay_out
from tests.support.recipes import PROJECT

PAGE: Final = PROJECT / "docs" / "evidence" / "sources.md"
CODE: Final = re.compile(r"`([^`]+)`")
COMMAND: Final = re.compile(r"(?:simulated: )?`([^`]+)`")
BY_HAND: Final = re.compile(r"by hand, in minutes: `([^`]+)`")
REFUSED: Final = "not repeatable, because "
# The worked examples take a second each; simulations and whole commands take up to some minutes.
EXAMPLE: Final = "python -m benchmarks.published "


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row of the page; `command` is empty if its figure cannot be repeated, or not in a test."""

    what: str
    module: str
    reach: str
    published: str
    here: str

    @property
    def command(self) -> str:
        match = COMMAND.fullmatch(self.reach)
        return match[1] if match else ""

    @property
    def figures(self) -> list[str]:
        """The code of the cell that the command must print. Words in rows of `perf-culprit` are keys or options."""
        words = CODE.findall(self.here) if self.command else []
        return [one for one in words if self.command.startswith("python ") or re.search(r"\d", one)]


def rows() -> list[Row]:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    cells = [line.removeprefix("| ").split(" | ") for line in lines if line.startswith("| ") and "`" in line]
    assert {len(row) for row in cells} == {6}
    return [
        Row(what=what, module=module.strip("`"), reach=reach, published=published, here=here)
        for what, module, reach, published, here, _ in cells
    ]


ROWS: Final = rows()
SHOWN: Final = {row.command: [one for one in ROWS if one.command == row.command] for row in ROWS if row.figures}
EXAMPLES: Final = sorted(command for command in SHOWN if command.startswith(EXAMPLE))


@pytest.mark.parametrize("row", [pytest.param(row, id=row.what) for row in ROWS])
def test_a_row_names_its_module_and_a_command_or_why_there_is_none(row: Row) -> None:
    assert (PROJECT / "bot" / "perf_culprit" / row.module).is_file()
    assert row.published
    assert row.here
    ways = (row.command, BY_HAND.fullmatch(row.reach), row.reach.startswith(REFUSED))
    assert sum(map(bool, ways)) == 1
    has_number = re.search(r"\d", row.published) is not None
    assert row.figures or not (row.command and has_number), "a published number needs ours, in code"
    assert row.figures or not row.command.startswith("python "), "a benchmark prints a figure"


def test_the_page_is_all_read() -> None:
    assert len(ROWS) > 100
    assert len(EXAMPLES) > 15


@pytest.mark.parametrize("command", EXAMPLES)
def test_a_worked_example_gives_its_figures(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", shlex.split(command.removeprefix("python -m ")))
    published.main()
    check(command, capsys.readouterr().out)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return lay_out(tmp_path_factory.mktemp("sources"), python=sys.executable)


@pytest.mark.slow  # simulations
@pytest.mark.parametrize("command", sorted(SHOWN.keys() - set(EXAMPLES)))
def test_a_command_gives_its_figures(command: str, project: Path) -> None:
    is_ours = command.startswith("python ") or any((PROJECT / word).is_file() for word in shlex.split(command))
    check(command, printed(command, PROJECT if is_ours else project))


def check(command: str, output: str) -> None:
    lacking = {row.what: figure for row in SHOWN[command] for figure in row.figures if figure not in output}
    assert not lacking, output


def printed(command: str, folder: Path) -> str:
    """Run the command with this interpreter, and return its output, with a space between the cells of its tables."""
    name, *arguments = shlex.split(command)
    program = [sys.executable] if name == "python" else [sys.executable, "-m", "perf_culprit"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(PROJECT / "bot"), str(PROJECT)))}
    done = subprocess.run(
        [*program, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=True, timeout=900
    )
    return re.sub(r"[ |]+", " ", done.stdout)
