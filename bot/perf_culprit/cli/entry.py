"""The command `perf-culprit`: run one command, map errors to exit codes."""

import os
import sys
from collections.abc import Sequence
from typing import TextIO

from perf_culprit.cli.command_parser import command_parser, parsed
from perf_culprit.errors import EXIT_FINE, EXIT_INFRASTRUCTURE, EXIT_INTERRUPTED, BotError, of_full_disk


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code. Every expected failure is one message without a traceback."""
    if not (sys.argv[1:] if argv is None else argv):
        command_parser().print_help()
        return EXIT_FINE
    try:
        return _run(argv)
    except BotError as error:
        _say(f"error: {error}")
        return error.exit_code
    except KeyboardInterrupt:
        _say("interrupted")
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader (head, less) has closed the pipe.
        _close(sys.stdout)
        return EXIT_FINE
    except Exception as error:  # noqa: BLE001 - the last line of defence: a bug gets a message, not a traceback
        return _report_crash(error)


def _run(argv: Sequence[str] | None) -> int:
    options = parsed(argv)
    from perf_culprit.cli.command_functions import COMMAND_FUNCTIONS
    from perf_culprit.cli.options import check_outputs

    check_outputs(options)
    code = COMMAND_FUNCTIONS[type(options)](options)
    sys.stdout.flush()
    return code


def _close(stream: TextIO) -> None:
    """Discard all further output, even at shutdown."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _report_crash(error: Exception) -> int:
    if (expected := of_full_disk(error)) is not None:
        _close(sys.stdout)
        _say(f"error: {expected}")
        return expected.exit_code
    if os.environ.get("PERF_CULPRIT_DEBUG"):
        raise error
    _say(f"error: unexpected {type(error).__name__}: {error}")
    _say("Next: this is a bug; run again with PERF_CULPRIT_DEBUG=1 and report the traceback")
    return EXIT_INFRASTRUCTURE


def _say(text: str) -> None:
    from perf_culprit.cli.output import say

    try:
        say(text, sys.stderr)
    except OSError:
        # The log's disk is full. Python would end with 1, the exit code of a regression.
        _close(sys.stderr)
