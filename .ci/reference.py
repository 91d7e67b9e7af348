"""Write the reference pages from the declarations: commands, keys of the configuration and inputs of the action.

python .ci/reference.py [--check]

`--check` writes nothing and names the outdated pages.
"""

import json
import re
import sys
import types
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from perf_culprit.action.inputs import SharedInputs, WrittenInputs, described
from perf_culprit.commands.all_commands import COMMANDS
from perf_culprit.commands.declared import Command, Field
from perf_culprit.config.settings import Config

NONE: Final = "\N{EN DASH}"
ROOT: Final = Path(__file__).parents[1]
WRITTEN: Final = "<!-- Written by `python .ci/reference.py`. -->"
KEYS: Final = re.compile(r"\| key \| default \| meaning \|\n(?:\|.*\n)+")
INPUTS: Final = re.compile(r"^inputs:\n.*?(?=^outputs:)", re.MULTILINE | re.DOTALL)
CONSTANT: Final = re.compile(
    r"(?P<above>(?:^# .*\n)*)^(?P<name>[A-Z][A-Z_0-9]*): Final = (?P<value>(?:[-\d(]|np\.array|float\(np\.log).*?)"
    r"(?:  # (?P<beside>.*))?$",
    re.MULTILINE,
)
MANY: Final = 3
HEADER: Final = "| option | meaning |\n|:--|:--|\n"
UNITS: Final = {"5%": (0.01, "%"), "10 ms": (1000, " s"), "200 MiB": (1 << 20, " MiB")}


def pages() -> dict[Path, str]:
    """Return the expected content of each file."""
    configuration, action = ROOT / "docs" / "configuration.md", ROOT / "action.yml"
    return {
        ROOT / "docs" / "options.md": "".join(_options()),
        ROOT / "docs" / "inputs.md": "".join(_inputs()),
        configuration: KEYS.sub(lambda _: "".join(_keys()), configuration.read_text(encoding="utf-8")),
        action: INPUTS.sub(lambda _: "".join(_action()), action.read_text(encoding="utf-8")),
        ROOT / "docs" / "evidence" / "search-constants.md": "".join(_constants()),
    }


def _options() -> Iterator[str]:
    """Yield the page of options; an option that three commands declare alike is described once."""
    rows = {command: [(field, _option_row(field)) for field in _own_fields(command)] for command in COMMANDS}
    uses = Counter(row for fields in rows.values() for _, row in fields)
    shared = {row: _name(field) for fields in rows.values() for field, row in fields if uses[row] >= MANY}
    yield f"# Commands and options\n\n{WRITTEN}\n\n"
    yield "The commands of the command line; those of pull requests are in [commands.md](commands.md). Every command\n"
    yield "knows `--quiet`, `--verbose` and `--help`; the [exit codes](exit-codes.md) are the same for all.\n"
    for command, fields in rows.items():
        yield f"\n## {command.NAME}\n\n{command.description()}\n"
        if command.EXAMPLES:
            yield "\n".join(["\n```sh", *command.EXAMPLES, "```\n"])
        if own := [row for _, row in fields if row not in shared]:
            yield f"\n{HEADER}{''.join(own)}"
        if others := [shared[row] for _, row in fields if row in shared]:
            yield f"\nAlso, from [below](#options-of-several-commands): {', '.join(others)}\n"
    yield f"\n## Options of several commands\n\n{HEADER}{''.join(sorted(shared))}"


def _own_fields(command: type[Command]) -> list[Field]:
    return [field for field in command.fields() if field.name not in Command.__annotations__]


def _name(field: Field) -> str:
    """Return the field's option without the value, for example `--json`."""
    return f"`{field.option.form.split()[0]}`"


def _option_row(field: Field) -> str:
    option = field.option
    choices = f" {', '.join(option.choices)}" if option.choices and not option.value else ""
    text = option.text if not (field.is_required and option.flags) else f"{option.text}; needed"
    key = f" (overrides [`{option.key.replace('_', '-')}`](configuration.md))" if option.key else ""
    return f"| `{_cell(option.form + choices)}` | {_cell(text + key)} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _inputs() -> Iterator[str]:
    yield f"# Inputs of the action\n\n{WRITTEN}\n\n"
    yield "An input that overrides a key of the [configuration](configuration.md) names it. Down to `ref` they are\n"
    yield "named and meant as in github-action-benchmark. The outputs are in [action.yml](../action.yml).\n\n"
    yield "| input | default | meaning |\n|:--|:--|:--|\n"
    for field in WrittenInputs.fields():
        option, default = field.option, _input_default(field)
        key = f" (overrides `{option.key.replace('_', '-')}`)" if option.key else ""
        yield f"| `{option.form}` | {f'`{default}`' if default else NONE} | {_cell(described(option))}{key} |\n"


def _input_default(field: Field) -> str:
    if isinstance(field.default, bool):
        return json.dumps(field.default)
    return str(field.default or "")


def _action() -> Iterator[str]:
    yield "inputs:\n  # Named and meant as in github-action-benchmark.\n"
    for index, field in enumerate(WrittenInputs.fields()):
        if index == len(SharedInputs.__annotations__):
            yield "\n  # Ours.\n"
        about, default = _scalar(described(field.option)), _scalar(_input_default(field))
        yield f"  {field.option.form}:\n    description: {about}\n    default: {default}\n"
    yield "\n"


def _constants() -> Iterator[str]:
    yield f"# The constants of the search\n\n{WRITTEN}\n\n"
    yield "Every constant of the search, with its comment from the code. [The evidence](bisection.md) explains\n"
    yield "how they were chosen. The limits of its work are in `bot/perf_culprit/model/work_limits.py`.\n"
    for file in sorted((ROOT / "bot" / "perf_culprit" / "search").glob("*.py")):
        rows = ""
        for constant in CONSTANT.finditer(file.read_text(encoding="utf-8")):
            above = constant["above"].replace("# ", "").replace("\n", " ").strip()
            about = _cell(constant["beside"] or above or "as above")
            rows += (
                f"| `{constant['name']}` | {_cell(constant['value'])} | {about[0].lower()}{about[1:].rstrip('.')} |\n"
            )
        if rows:
            yield f"\n## {file.stem}\n\n| name | value | does |\n|:--|:--|:--|\n{rows}"


def _scalar(text: str) -> str:
    is_plain = text not in {"", "true", "false"} and ": " not in text and " #" not in text
    return text if is_plain else json.dumps(text)


def _keys() -> Iterator[str]:
    yield "| key | default | meaning |\n|---|---|---|\n"
    yield from _rows(Config, "", {})


def _rows(section: type[BaseModel], prefix: str, named: dict[type[BaseModel], str]) -> Iterator[str]:
    """Yield the rows of a section; one that several keys hold is listed once."""
    for field in section.model_fields.values():
        inner, is_list = _section_of(field.annotation)
        name = f"{prefix}{field.alias}"
        if inner is None or field.description:
            yield f"| `{name}` | {_default(field)} | {_cell(_choices(field) + (field.description or ''))} |\n"
        elif inner in named:
            yield f"| `{name}` | {NONE} | as `{named[inner]}` |\n"
        if inner is not None and inner not in named:
            named[inner] = name
            yield from _rows(inner, f"{name}{'[]' if is_list else ''}.", named)


def _section_of(annotation: Any) -> tuple[type[BaseModel] | None, bool]:
    """Return the section that a key holds, or None, and whether it holds a list of them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation, False
    for part in get_args(annotation):
        inner, is_list = _section_of(part)
        if inner is not None:
            return inner, is_list or get_origin(annotation) is tuple
    return None, False


def _choices(field: FieldInfo) -> str:
    annotation = field.annotation
    if isinstance(annotation, types.UnionType):
        annotation = get_args(annotation)[0]
    if get_origin(annotation) is not Literal:
        return ""
    *others, last = (f"`{choice}`" for choice in get_args(annotation))
    return f"{', '.join(others)} or {last}: "


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True, validated_data={})
    if field.is_required() or value in (None, (), {}):
        return NONE
    if isinstance(value, bool | str):
        return f"`{json.dumps(value)}`" if isinstance(value, bool) else f"`{value}`"
    if isinstance(value, tuple):
        if all(isinstance(one, str) for one in value):
            return ", ".join(f"`{one}`" for one in value)
        return " ≤ ".join(f"`{one.name}`" for one in value)
    examples = field.examples or []
    if not examples:
        return f"`{value:g}`"
    scale, unit = UNITS[examples[0]]
    return f"`{value / scale:g}{unit}`"


def main() -> int:
    outdated = {file: text for file, text in pages().items() if not file.exists() or file.read_text("utf-8") != text}
    for file, text in outdated.items():
        if "--check" in sys.argv:
            sys.stderr.write(f"{file.relative_to(ROOT)} is outdated: python .ci/reference.py\n")
        else:
            file.write_text(text, encoding="utf-8")
    return int(bool(outdated) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
