"""The commands that look after the stored history as a whole: history stats, compact, copy and migrate."""

import argparse
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bot import pipeline
from bot.cli import progress
from bot.cli.options import Verbs, chosen_config, new_verb
from bot.errors import EXIT_FINE

# By the folder that the branch has for them.
KINDS: Final[Mapping[str, str]] = {"runs": "runs", "accepted": "accepted changes", "bisections": "bisections"}


def add_verbs(verbs: Verbs) -> None:
    group = verbs.add_parser("history", help="weigh, compact or copy the stored history, prepare a database for it")
    parts = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    stats = new_verb(parts, "stats", _stats, "its size, its growth, and what compact would save", group="history")
    compact = new_verb(
        parts, "compact", _compact, "one commit for all of the branch, old runs reduced", group="history"
    )
    copy = new_verb(parts, "copy", _copy, "all that it holds into another place", group="history")
    migrate = new_verb(parts, "migrate", _migrate, "make or update the tables of a database", group="history")
    where = "origin, the URL or path of a repository, or the URL of a database (postgresql://…, sqlite:///…)"
    copy.add_argument("source", metavar="FROM", help=where)
    copy.add_argument("target", metavar="TO", help="as FROM; what is there already stays")
    for verb in (stats, compact, copy):
        verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory")
    for verb in (stats, compact):
        verb.add_argument("--history", metavar="URL", help="where the history branch lives (default: remote origin)")
    migrate.add_argument("--history", metavar="URL", help="the database (default: configuration)")
    for verb in (stats, compact, copy, migrate):
        verb.add_argument(
            "--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists"
        )


def _stats(arguments: argparse.Namespace) -> int:
    with progress.shown(arguments):
        size = pipeline.history_size(arguments.repo, config=chosen_config(arguments), history_url=arguments.history)
    print(pipeline.history_size_text(size), end="")
    return EXIT_FINE


def _compact(arguments: argparse.Namespace) -> int:
    with progress.shown(arguments):
        compacted = pipeline.compact_history(
            arguments.repo, config=chosen_config(arguments), history_url=arguments.history
        )
    print(pipeline.compacted_text(compacted), end="")
    return EXIT_FINE


def _copy(arguments: argparse.Namespace) -> int:
    with progress.shown(arguments):
        copied, before = pipeline.copy_between(
            arguments.source,
            arguments.target,
            repository=arguments.repo,
            config=chosen_config(arguments),
            environ=os.environ,
        )
    counts = ", ".join(f"{copied.get(folder, 0):,} {kind}" for folder, kind in KINDS.items())
    print(f"copied {counts}; there before: {before:,}")
    return EXIT_FINE


def _migrate(arguments: argparse.Namespace) -> int:
    place, is_done = pipeline.migrate_database(chosen_config(arguments))
    print(f"{place}: {'its tables are ready' if is_done else 'nothing to do, its tables are up to date'}")
    return EXIT_FINE
