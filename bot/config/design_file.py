"""A model file -> `Design`: parameters filled in, and what its parts say of each other checked; mistakes have lines."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Final

import yaml

from bot.config.design import Design
from bot.config.design_faults import faults
from bot.config.reader import MAX_CONFIG_BYTES, parse_yaml
from bot.errors import ConfigError, UsageError
from bot.files import read_limited

DOCS: Final = "docs/simulation.md"
_REFERENCE: Final = re.compile(r"\$\{([^{}]*)\}")


def load_design(path: Path, parameters: Mapping[str, str] | None = None) -> Design:
    data = read_limited(path, MAX_CONFIG_BYTES, next_step="give the path of a model file", error=ConfigError)
    return parse_design(data, parameters or {}, place=str(path))


def parse_design(data: bytes, parameters: Mapping[str, str], *, place: str) -> Design:
    """The model in `data` with these values of its parameters; a ConfigError with `place:line` where it is wrong."""
    prepare = partial(_fill, given=dict(parameters), place=place)
    return parse_yaml(data, Design, place=place, docs=DOCS, prepare=prepare, check=faults)


def _fill(root: yaml.Node, *, given: Mapping[str, str], place: str) -> None:
    """Put the parameters' values where `${name}` stands."""
    if not isinstance(root, yaml.MappingNode):
        return
    parts = {key.value: value for key, value in root.value}
    own = parts.get("parameters")
    defaults = {key.value: value.value for key, value in own.value} if isinstance(own, yaml.MappingNode) else {}
    if unknown := given.keys() - defaults.keys():
        raise UsageError(
            f"the model has no parameter {min(unknown)!r}",
            place=place,
            next_step=f"use one of: {', '.join(map(str, defaults)) or 'none; list them under parameters'}",
        )
    values = {**defaults, **given}
    for key, value in own.value if isinstance(own, yaml.MappingNode) else ():
        value.value = values[key.value]
    for name, part in parts.items():
        if name not in {"parameters", "sweep"}:
            for node in _scalars(part):
                _substitute(node, values, place)


def _scalars(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            yield from _scalars(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _scalars(value)


def _substitute(node: yaml.ScalarNode, values: Mapping[str, object], place: str) -> None:
    def value_of(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise ConfigError(
                f"there is no parameter {match[1][:60]!r}",
                place=f"{place}:{node.start_mark.line + 1}",
                next_step="list it under parameters",
            )
        return str(values[match[1]])

    if _REFERENCE.search(node.value):
        node.value = _REFERENCE.sub(value_of, node.value)
        node.tag = yaml.SafeLoader("").resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]  # the stubs leave it out
