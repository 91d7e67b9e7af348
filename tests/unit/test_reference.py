"""The reference pages and the action's inputs match the declarations."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from perf_culprit.action.inputs import declared_inputs, read_inputs

PROJECT = Path(__file__).parents[2]
SEARCH = "bot/perf_culprit/search"
PAGES = (
    "docs/options.md",
    "docs/inputs.md",
    "docs/configuration.md",
    "action.yml",
    "docs/evidence/search-constants.md",
)


def checked(project: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(project / ".ci" / "reference.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow  # a process that loads all declarations
def test_a_page_that_says_something_else_is_named(tmp_path: Path) -> None:
    shutil.copytree(PROJECT / SEARCH, tmp_path / SEARCH)
    for name in (*PAGES, ".ci/reference.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(PROJECT / name, tmp_path / name)
    for name, old in zip(PAGES, ("init", "tool", "| `suite` |", "Write the job summary", "9.2"), strict=True):
        text = (tmp_path / name).read_text()
        assert old in text
        (tmp_path / name).write_text(text.replace(old, "something else"))
    ended = checked(tmp_path)
    assert ended.returncode == 1
    assert [line.split()[0] for line in ended.stderr.splitlines()] == list(PAGES)


def test_action_yml_has_the_declared_inputs_and_their_defaults() -> None:
    inputs = yaml.safe_load((PROJECT / "action.yml").read_text())["inputs"]
    declared = {entry.name: entry for _, _, entry in declared_inputs()}
    assert inputs == {
        name: {"description": entry.description, "default": entry.default} for name, entry in declared.items()
    }


def test_an_action_whose_runner_gives_only_defaults_is_read_as_one_without_inputs() -> None:
    defaults = {f"INPUT_{entry.name.upper()}": entry.default for _, _, entry in declared_inputs()}
    given = read_inputs(defaults | {"INPUT_GITHUB-TOKEN": ""})
    assert {name: getattr(given, name) for name, _, _ in declared_inputs()} == {
        name: getattr(read_inputs({}), name) for name, _, _ in declared_inputs()
    }
    assert (given.tool, given.mode, given.token, given.run_id, given.comment_always) == ("auto", "auto", "", None, None)
    assert given.is_recorded
