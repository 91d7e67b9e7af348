"""The command `perf-culprit`: run one command, map errors to exit codes."""

import argparse
import os
import re
import sys
import textwrap
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NoReturn

from perf_culprit import __version__
from perf_culprit.cli import analysis_commands, history_commands, judge_commands, measure_commands, setup_commands
from perf_culprit.cli.options import EXIT_CODES, check_outputs
from perf_culprit.errors import EXIT_FINE, EXIT_INFRASTRUCTURE, EXIT_INTERRUPTED, BotError, UsageError, did_you_mean
from perf_culprit.say.inert import plain_lines

_MISTYPED: Final = re.compile(r"unrecognized arguments: (-\S+)|invalid choice: '([^']+)'")


class _Help(argparse.RawDescriptionHelpFormatter):
    """Lines break between words: an option that is cut at a hyphen cannot be copied."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        return textwrap.wrap(text, width, break_on_hyphens=False)


class Parser(argparse.ArgumentParser):
    """argparse's, whose errors name the closest option and the command's own help."""

    _options: Sequence[str] = ()

    def __init__(self, **options: Any) -> None:
        super().__init__(formatter_class=_Help, **options)

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> tuple[Any, list[str]]:  # type: ignore[override]  # the stubs' overloads
        """All of them are known: a command answers for its own arguments, and not its parent."""
        self._options = [word.partition("=")[0] for word in args or () if word.startswith("--")]
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return parsed, []

    def error(self, message: str) -> NoReturn:
        names = [name for action in self._actions for name in (*action.option_strings, *(action.choices or ()))]
        # A misspelt option that is required is missing first of all.
        strange = [option for option in self._options if not any(name.startswith(option) for name in names)]
        if "are required" in message and strange:
            message = f"unrecognized arguments: {strange[0]}"
        mistyped = _MISTYPED.search(message)
        hint = did_you_mean(mistyped[1] or mistyped[2], names) if mistyped else ""
        help_text = f"`{self.prog} --help` lists what there is"
        raise UsageError(message, place=self.prog, next_step=f"{hint} {help_text}".strip())


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code. Every expected failure is one message without a traceback."""
    parser = _parser()
    if not (sys.argv[1:] if argv is None else argv):
        parser.print_help()
        return EXIT_FINE
    try:
        arguments = parser.parse_args(argv)
        check_outputs(arguments)
        verb: Callable[[argparse.Namespace], int] = arguments.verb
        return verb(arguments)
    except BotError as error:
        print(plain_lines(f"error: {error}"), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) went away: say nothing more, not even at shutdown.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FINE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a bug gets a message, not a traceback
        return _unexpected(error)


def _unexpected(error: Exception) -> int:
    if os.environ.get("PERF_CULPRIT_DEBUG"):
        raise error
    print(plain_lines(f"error: unexpected {type(error).__name__}: {error}"), file=sys.stderr)
    print("Next: this is a bug; run again with PERF_CULPRIT_DEBUG=1 and report the traceback", file=sys.stderr)
    return EXIT_INFRASTRUCTURE


@cache
def _parser() -> Parser:
    parser = Parser(
        prog="perf-culprit",
        description="Finds performance regressions, the commit that introduced them and the code behind them.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("-V", "--version", action="version", version=f"perf-culprit {__version__}")
    parser.set_defaults(parser=parser)
    verbs: Any = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (
        setup_commands.add_setup_verbs,
        judge_commands.add_judge_verbs,
        history_commands.add_storage_verbs,
        measure_commands.add_measure_verbs,
        measure_commands.add_bisect_verbs,
        history_commands.add_series_verbs,
        analysis_commands.add_diagnose_verb,
        analysis_commands.add_simulate_verb,
        setup_commands.add_program_verbs,
    ):
        add(verbs)
    return parser
