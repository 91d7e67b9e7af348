"""The command that serves coding assistants: mcp."""

import argparse
from importlib.util import find_spec
from pathlib import Path

from bot import assistant
from bot.cli.options import Verbs, new_verb
from bot.errors import EXIT_FINE, UsageError


def add_verbs(verbs: Verbs) -> None:
    verb = new_verb(verbs, "mcp", _mcp, "answer coding assistants over standard input and output (docs/assistants.md)")
    verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory")
    verb.add_argument(
        "--allow-run",
        action="store_true",
        help="offer bisect and measure, which run bisect.run as it is configured now (default: only read)",
    )


def _mcp(arguments: argparse.Namespace) -> int:
    if find_spec("mcp") is None:
        raise UsageError(
            "the protocol's library is not installed", place="mcp", next_step="pip install 'perf-culprit[mcp]'"
        )
    assistant.serve(arguments.repo, allow_run=arguments.allow_run)
    return EXIT_FINE
