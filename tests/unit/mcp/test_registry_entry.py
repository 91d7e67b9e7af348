"""The entry for the registry of MCP servers and the skill for coding agents name existing versions and commands."""

import json
import re
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from perf_culprit import __version__
from perf_culprit.cli.command_parser import parsed
from tests.support.recipes import PROJECT

ENTRY = json.loads((PROJECT / "server.json").read_text())
SKILL = (PROJECT / "docs" / "skill" / "SKILL.md").read_text()


# The requirements of the registry's schema of 2025-12-11 on an entry with a PyPI package, rewritten by us.
ARGUMENT = {
    "type": "object",
    "required": ["type", "value"],
    "properties": {"type": {"enum": ["named", "positional"]}, "name": {"type": "string"}, "value": {"type": "string"}},
    "if": {"properties": {"type": {"const": "named"}}},
    "then": {"required": ["name"]},
}
PACKAGE = {
    "type": "object",
    "required": ["registryType", "identifier", "transport", "version"],
    "properties": {
        "registryType": {"const": "pypi"},
        "identifier": {"type": "string"},
        "version": {"type": "string", "pattern": r"^\d+\.\d+\.\d+$"},
        "transport": {"type": "object", "required": ["type"], "properties": {"type": {"const": "stdio"}}},
        "runtimeHint": {"type": "string"},
        "runtimeArguments": {"type": "array", "items": ARGUMENT},
        "packageArguments": {"type": "array", "items": ARGUMENT},
    },
    "dependentRequired": {"runtimeArguments": ["runtimeHint"]},
    "additionalProperties": False,
}
RULES = {
    "type": "object",
    "required": ["$schema", "name", "description", "version", "repository", "packages"],
    "properties": {
        "$schema": {"const": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"},
        "name": {"type": "string", "pattern": "^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$", "minLength": 3, "maxLength": 200},
        "description": {"type": "string", "minLength": 1, "maxLength": 100},
        "version": {"type": "string", "maxLength": 255},
        "repository": {"type": "object", "required": ["url", "source"]},
        "packages": {"type": "array", "minItems": 1, "items": PACKAGE},
    },
    "additionalProperties": False,
}


def without(path: tuple[str, ...]) -> dict[str, Any]:
    entry: dict[str, Any] = json.loads(json.dumps(ENTRY))
    part: Any = entry
    for step in path[:-1]:
        part = part[0][step] if isinstance(part, list) else part[step]
    del (part[0] if isinstance(part, list) else part)[path[-1]]
    return entry


def test_the_registry_s_entry_has_what_its_schema_asks_for() -> None:
    assert list(Draft202012Validator(RULES).iter_errors(ENTRY)) == []


@pytest.mark.parametrize(
    "path",
    [
        ("name",),
        ("description",),
        ("version",),
        ("repository", "source"),
        ("packages", "transport"),
        ("packages", "identifier"),
        ("packages", "runtimeHint"),
        ("packages", "packageArguments", "value"),
        ("packages", "runtimeArguments", "name"),
    ],
)
def test_an_entry_without_a_required_member_is_refused(path: tuple[str, ...]) -> None:
    assert list(Draft202012Validator(RULES).iter_errors(without(path)))


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
