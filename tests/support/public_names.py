"""The public names that people and scripts use; a major version removes none of them (docs/stability.md).

`python -m tests.support.public_names` adds new names to the list. A removed name stays in it, and the test fails.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from perf_culprit import __version__, errors
from perf_culprit.commands.all_commands import COMMANDS
from perf_culprit.commands.declared import Command
from perf_culprit.config.settings import config_schema
from perf_culprit.flows.published_schemas import SCHEMA_KINDS, published_schema

PROJECT: Final = Path(__file__).parents[2]
# Each major version starts its own list.
LIST: Final = PROJECT / "tests" / "golden" / f"public_names_{__version__.partition('.')[0]}.txt"
# Their members and values are promised. Only perf-culprit reads the other files.
PROMISED: Final = ("report-v2", "run-v1")


def names() -> set[str]:
    return {*_formats(), *_commands(), *_keys(config_schema()), *_action(), *_exit_codes()}


def listed() -> set[str]:
    return set(LIST.read_text(encoding="utf-8").splitlines())


def _formats() -> Iterator[str]:
    yield from (f"file {name}" for name in SCHEMA_KINDS)
    for name in PROMISED:
        for kind, about in json.loads(published_schema(name))["$defs"].items():
            yield from (f"file {name}: {kind}.{member}" for member in about.get("properties", ()))
            yield from (f"file {name}: {kind} {value}" for value in about.get("enum", ()))


def _commands() -> Iterator[str]:
    for command in COMMANDS:
        yield f"command {command.NAME}"
        for field in command.fields():
            if field.name not in Command.__annotations__:
                yield from (f"command {command.NAME} {flag}" for flag in field.option.flags)


def _keys(section: dict[str, Any], above: str = "") -> Iterator[str]:
    """Yield the keys of the configuration, including those of its sections and of its lists' entries."""
    parts = config_schema()["$defs"]
    for key, about in section["properties"].items():
        yield f"key {above}{key}"
        for text in json.dumps(about).split('"#/$defs/')[1:]:
            if "properties" in (inner := parts[text.partition('"')[0]]):
                yield from _keys(inner, f"{above}{key}.")


def _action() -> Iterator[str]:
    action = yaml.safe_load((PROJECT / "action.yml").read_text(encoding="utf-8"))
    yield from (f"action {kind[:-1]} {name}" for kind in ("inputs", "outputs") for name in action[kind])
    for path in sorted((PROJECT / ".github" / "workflows").glob("reusable-*.yml")):
        called = yaml.safe_load(path.read_text(encoding="utf-8"))[True]["workflow_call"]
        for kind in ("inputs", "secrets"):
            yield from (f"workflow {path.name} {kind[:-1]} {name}" for name in called.get(kind, ()))


def _exit_codes() -> Iterator[str]:
    yield from (f"exit code {code}" for name, code in vars(errors).items() if name.startswith("EXIT_"))


if __name__ == "__main__":
    LIST.write_text("\n".join(sorted(names() | (listed() if LIST.exists() else set()))) + "\n", encoding="utf-8")
