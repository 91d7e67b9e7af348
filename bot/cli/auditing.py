"""The command that asks what the detectors are worth on the user's own runs: audit."""

import argparse
import sys
from pathlib import Path

from bot import pipeline
from bot.cli import progress
from bot.cli.options import Verbs, add_input_options, chosen_config, count, new_verb
from bot.cli.output import text_stream, write
from bot.errors import EXIT_FINE


def add_verbs(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "audit", _audit, "false alarms and detectable effect of every detector on your own stored runs"
    )
    verb.add_argument("--repo", type=Path, metavar="DIR", help="repository whose history is audited (default: here)")
    verb.add_argument("--history", metavar="URL", help="where the history branch lives (default: remote origin)")
    verb.add_argument("--files", nargs="+", action="extend", metavar="FILE", help="result files instead, oldest first")
    verb.add_argument("--minimum-effect", metavar="PERCENT", help="effect that the number of samples is planned for")
    verb.add_argument("--seed", type=count, default=0, metavar="N", help="of the random trials (default: 0)")
    verb.add_argument("--json", type=Path, metavar="OUT", help="write all numbers here (- for standard output)")
    verb.add_argument("--svg", type=Path, metavar="OUT", help="write the plot here")
    add_input_options(verb)


def _audit(arguments: argparse.Namespace) -> int:
    config = chosen_config(arguments)
    with progress.shown(arguments):
        if arguments.files:
            audit = pipeline.audit_files(
                arguments.files, config=config, tool=arguments.tool, stdin=sys.stdin.buffer, seed=arguments.seed
            )
        else:
            audit = pipeline.audit_history(
                repository=arguments.repo or Path(), config=config, history_url=arguments.history, seed=arguments.seed
            )
    if arguments.json:
        write(arguments.json, pipeline.audit_json(audit))
    if arguments.svg:
        write(arguments.svg, pipeline.audit_svg(audit).encode())
    print(pipeline.audit_text(audit), end="", file=text_stream(arguments.json))
    return EXIT_FINE
