"""The command that looks after the stored history."""

import argparse
from pathlib import Path

from bot import pipeline
from bot.cli import progress
from bot.cli.options import Verbs, chosen_config, new_verb
from bot.errors import EXIT_FINE


def add_verbs(verbs: Verbs) -> None:
    verb = new_verb(verbs, "history", _history, "what the stored history weighs, and how to make it lighter")
    verb.add_argument(
        "action",
        choices=("stats", "compact"),
        help="stats: size, growth, what compact would save; compact: one commit for all, old runs reduced",
    )
    verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory")
    verb.add_argument("--history", metavar="URL", help="where the history branch lives (default: remote origin)")
    verb.add_argument("--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists")


def _history(arguments: argparse.Namespace) -> int:
    config = chosen_config(arguments)
    with progress.shown(arguments):
        if arguments.action == "stats":
            size = pipeline.history_size(arguments.repo, config=config, history_url=arguments.history)
            text = pipeline.history_size_text(size)
        else:
            compacted = pipeline.compact_history(arguments.repo, config=config, history_url=arguments.history)
            text = pipeline.compacted_text(compacted)
    print(text, end="")
    return EXIT_FINE
