"""Workflow templates with values put in by a YAML writer: no text of a value is read as YAML, place or expression."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import yaml

# A place in a template: `run: !put command`. A template is YAML, so its parser finds the places.
_PLACE_TAG: Final = "!put"
# GitHub evaluates `${{ … }}` in every value of a workflow. This expression stands for the text that starts one.
EXPRESSION_START: Final = "${{"
ESCAPED: Final = "${{ '${{' }}"


class _Writer(yaml.SafeDumper):
    """Several lines are a block, and a list of words stays on its line."""


def _text(writer: _Writer, text: str) -> yaml.Node:
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _list(writer: _Writer, values: list[Any]) -> yaml.Node:
    is_short = all(isinstance(value, str) for value in values)
    return writer.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=is_short)


_Writer.add_representer(str, _text)
_Writer.add_representer(list, _list)


def yaml_text(value: Any) -> str:
    return yaml.dump(value, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=float("inf"))


def filled(template: str, values: Mapping[str, Any]) -> str:
    """Return the template with a value in each place. None and empty lists and mappings take their line away."""
    text = template
    # From the end, so that earlier places keep their position.
    for node in reversed([*_places(yaml.compose(template, Loader=yaml.SafeLoader))]):
        start, end = node.start_mark.index, node.end_mark.index
        line = start - node.start_mark.column
        before, value = text[line:start], _inert(values[node.value])
        column = len(before) - len(before.lstrip(" -"))
        if value is None or value in ([], {}):
            text = text[:line] + text[text.index("\n", end) + 1 :]
        elif before.endswith(": "):
            text = text[: start - 1] + _indented(yaml_text({"key": value}).partition(":")[2], column) + text[end:]
        elif before.endswith("- "):
            text = text[:line] + " " * (column - 2) + _indented(yaml_text(value), column - 2) + text[end:]
        else:
            text = text[:start] + yaml_text([value])[1:-2] + text[end:]
    return text


def _places(node: yaml.Node | None) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.ScalarNode) and node.tag == _PLACE_TAG:
        yield node
    elif isinstance(node, yaml.CollectionNode):
        for item in node.value:
            for inner in item if isinstance(item, tuple) else (item,):
                yield from _places(inner)


def _inert(value: Any) -> Any:
    """Return the value without expressions: it may come from a file, where GitHub would not have evaluated it."""
    if isinstance(value, str):
        return value.replace(EXPRESSION_START, ESCAPED)
    if isinstance(value, Mapping):
        return {_inert(key): _inert(inner) for key, inner in value.items()}
    return [_inert(inner) for inner in value] if isinstance(value, list | tuple) else value


def _indented(text: str, columns: int) -> str:
    """Indent all lines but the first one."""
    first, *others = text.rstrip("\n").split("\n")
    return "\n".join([first, *(f"{' ' * columns}{line}" if line else "" for line in others)])
