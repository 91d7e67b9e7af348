"""The command line, generated from the declarations of its commands."""

import argparse
import re
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, NoReturn

from perf_culprit import __version__
from perf_culprit.commands.all_commands import COMMAND_GROUPS, COMMANDS, SECTIONS
from perf_culprit.commands.declared import Command, Field, Group, positive
from perf_culprit.errors import UsageError, did_you_mean

_MISTYPED: Final = re.compile(r"unrecognized arguments: (-\S+)|invalid choice: '([^']+)'")
_EXIT_CODES_AT: Final = "Exit codes: perf-culprit --help"
_EXIT_CODES: Final = """\
exit codes:
  0  fine
  1  a regression over the fail threshold
  2  usage or configuration
  3  no usable data: measuring nothing is neither a pass nor a regression
  4  git, GitHub, the network or the machine failed
"""
_CONVERTERS: Final[dict[type, Callable[[str], object]]] = {Path: Path, int: positive}


# Options that many commands have, under a title of their own everywhere; others are under "options".
_SHARED: Final[dict[str, Group]] = {
    **dict.fromkeys(("json", "markdown", "html", "svg", "flame", "open", "log", "output"), Group("what is written")),
    **dict.fromkeys(
        ("run", "build", "timeout", "build_timeout", "cache", "environment"), Group("the commands that are measured")
    ),
    **dict.fromkeys(("repository", "history_url", "suite", "tool", "config", "quiet", "verbose"), Group("in common")),
}


# Options of other tools, and where this one has them.
_ELSEWHERE: Final = {"--fail-threshold": "set `levels: {fail: 10%}` in the configuration (docs/configuration.md);"}


class _Help(argparse.RawDescriptionHelpFormatter):
    """A help formatter that breaks lines between words only: an option cut at a hyphen cannot be copied.

    The titles of the sections precede their commands.
    """

    def _format_action(self, action: argparse.Action) -> str:
        text = super()._format_action(action)
        titles = [
            title
            for title, commands in SECTIONS.items()
            if action.dest == commands[0].NAME and isinstance(action, argparse._SubParsersAction._ChoicesPseudoAction)  # noqa: SLF001 - argparse knows no sections
        ]
        return "".join([*(f"\n{title}:\n" for title in titles), text])

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors name the closest option and the command's own help.

    A command's options are added when it is called: adding all of them would take longer than a short command.
    """

    _options: Sequence[str] = ()
    _missing: type[Command] | None = None
    _examples: Sequence[str] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Help, **options)
        # No option begins with a digit, so `-5%` is a value, which its own check refuses.
        self._negative_number_matcher = re.compile(r"-\d")

    def declare(self, command: type[Command]) -> None:
        self._missing = command
        self._examples = command.EXAMPLES
        self.set_defaults(command=command)

    def fill(self) -> None:
        if self._missing is not None:
            _add_fields(self, self._missing)
            self._missing = None

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]  # the stubs' overloads
        """Parse all arguments as known: a command reports errors in its own arguments, not its parent."""
        self.fill()
        self._options = [word.partition("=")[0] for word in args or () if word.startswith("--")]
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, []

    def error(self, message: str) -> NoReturn:
        names = [name for action in self._actions for name in (*action.option_strings, *(action.choices or ()))]
        # A misspelt required option is first reported as missing.
        strange = [option for option in self._options if not any(name.startswith(option) for name in names)]
        if "are required" in message and strange:
            message = f"unrecognized arguments: {strange[0]}"
        mistyped = _MISTYPED.search(message)
        word = (mistyped[1] or mistyped[2]) if mistyped else ""
        hint = _ELSEWHERE.get(word.partition("=")[0]) or did_you_mean(word, names)
        help_text = f"`{self.prog} --help` lists what there is"
        is_misplaced = message.startswith(("unrecognized arguments: ", "the following arguments are required: "))
        if is_misplaced and not mistyped and self._examples:
            hint = f"write for example `{self._examples[0]}`;"
        raise UsageError(message, place=self.prog, next_step=f"{hint} {help_text}".strip())


@cache
def command_parser() -> Parser:
    parser = Parser(
        prog="perf-culprit",
        description="Finds performance regressions, the commit that introduced them and the code behind them.",
        epilog=_EXIT_CODES,
    )
    parser.add_argument("-V", "--version", action="version", version=f"perf-culprit {__version__}")
    verbs = {"": _subcommands(parser)}
    for command in COMMANDS:
        group, _, name = command.NAME.rpartition(" ")
        if group not in verbs:
            verbs[group] = _subcommands(verbs[""].add_parser(group, help=COMMAND_GROUPS[group]))
        _add_command(verbs[group], name, command)
    return parser


def all_parsers() -> list[Parser]:
    """Return the parser of the command line and those of all commands, with their options."""
    parsers = [command_parser()]
    for parser in parsers:
        parser.fill()
        for action in parser._actions:  # noqa: SLF001 - argparse lists them nowhere else
            choices = action.choices if isinstance(action.choices, dict) else {}
            parsers += [inner for inner in choices.values() if isinstance(inner, Parser)]
    return parsers


def parsed(argv: Sequence[str] | None) -> Command:
    """Parse the command line. Raise a UsageError if it is wrong."""
    values = vars(command_parser().parse_args(argv))
    command: Callable[..., Command] = values.pop("command")
    return command(**{name: tuple(value) if isinstance(value, list) else value for name, value in values.items()})


def _subcommands(parser: argparse.ArgumentParser) -> Any:
    return parser.add_subparsers(title="commands", metavar="COMMAND", required=True)


def _add_command(verbs: Any, name: str, command: type[Command]) -> None:
    description = command.description()
    examples = "\n  ".join(["\n\nexamples:", *command.EXAMPLES]) if command.EXAMPLES else ""
    verbs.add_parser(
        name,
        help=description[0].lower() + description[1:].removesuffix("."),
        description=description + examples,
        epilog=_EXIT_CODES_AT,
    ).declare(command)


def _add_fields(parser: Parser, command: type[Command]) -> None:
    fields = [(field, field.option.group or _SHARED.get(field.name)) for field in command.fields()]
    used = {group for _, group in fields}
    groups: dict[Group | None, Any] = {None: parser}
    groups |= {
        group: parser.add_argument_group(group.title) for group in dict.fromkeys(_SHARED.values()) if group in used
    }
    for field, group in fields:
        if group is not None and group not in groups:
            groups[group] = (
                parser.add_mutually_exclusive_group()
                if group.is_exclusive
                else parser.add_argument_group(group.title, group.text)
            )
        _add_field(groups[group], field)


def _add_field(container: Any, field: Field) -> None:
    option = field.option
    more: dict[str, Any] = {"help": option.text.replace("%", "%%"), "default": argparse.SUPPRESS}
    if option.choices:
        more["choices"] = option.choices
    if option.value:
        more |= {"metavar": option.metavar, "type": _argument_type(option.convert or _CONVERTERS.get(field.kind, str))}
        more |= _repetition(option.value, is_several=field.is_several and bool(option.flags))
    elif field.kind is bool:
        more["action"] = "store_true"
    if option.flags:
        container.add_argument(*option.flags, dest=field.name, required=field.is_required, **more)
    else:
        container.add_argument(field.name, **more)


def _repetition(value: str, *, is_several: bool) -> dict[str, Any]:
    """Return how many values an option or argument takes, and whether it may be repeated."""
    is_list, is_optional = "..." in value, value.startswith("[")
    nargs = {(True, True): "*", (True, False): "+", (False, True): "?"}.get((is_list, is_optional))
    more: dict[str, Any] = {} if nargs is None else {"nargs": nargs}
    if nargs == "?" and is_several is False:
        more["const"] = ""
    if is_several:
        more["action"] = "extend" if is_list or "…" in value else "append"
    return more


def _argument_type(convert: Callable[[str], object]) -> Callable[[str], object]:
    def checked(text: str) -> object:
        try:
            return convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked
