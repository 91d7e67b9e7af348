"""What the registry of assistants' servers and coding agents are given: it names what there is."""

import json
import re

import yaml

from perf_culprit import __version__
from perf_culprit.cli.command_parser import parsed
from tests.support.recipes import PROJECT

ENTRY = json.loads((PROJECT / "server.json").read_text())
SKILL = (PROJECT / "docs" / "skill" / "SKILL.md").read_text()


def test_the_registry_s_entry_is_of_this_version_and_of_this_package() -> None:
    (package,) = ENTRY["packages"]
    (extra,) = package["runtimeArguments"]
    assert {ENTRY["version"], package["version"], extra["value"].partition("==")[2]} == {__version__}
    assert f"<!-- mcp-name: {ENTRY['name']} -->" in (PROJECT / "README.md").read_text()
    assert len(ENTRY["description"]) <= 100
    assert [one["value"] for one in package["packageArguments"]] == ["mcp"]


def test_the_skill_says_when_to_use_it_and_names_commands_that_there_are() -> None:
    head = yaml.safe_load(SKILL.split("---\n")[1])
    assert set(head) == {"name", "description"}
    assert len(head["description"]) <= 1024
    lines = re.findall(r"^perf-culprit (.*)$", SKILL, re.MULTILINE)
    assert len(lines) == 4
    for line in lines:
        parsed(line.split())
