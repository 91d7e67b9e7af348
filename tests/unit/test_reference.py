"""The reference pages and the action's inputs match the declarations."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from perf_culprit.action.inputs import WrittenInputs, read_inputs

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
    assert list(inputs) == [field.option.form for field in WrittenInputs.fields()]
    defaults = {f"INPUT_{name.upper()}": about["default"] for name, about in inputs.items()}
    given, bare = read_inputs(defaults | {"INPUT_GITHUB-TOKEN": ""}), read_inputs({})
    assert {one.name: getattr(given, one.name) for one in WrittenInputs.fields()} == {
        one.name: getattr(bare, one.name) for one in WrittenInputs.fields()
    }
    assert (given.tool, given.mode, given.token, given.run_id, given.comment_always) == ("auto", "auto", "", None, None)
    assert given.is_recorded
