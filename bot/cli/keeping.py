"""The commands that change what is stored: accept, and history stats, compact, copy and migrate."""

import argparse
import os
from collections.abc import Mapping
from typing import Final

from bot import pipeline
from bot.cli import progress
from bot.cli.options import Verbs, add_options, chosen_config, new_verb, option
from bot.errors import EXIT_FINE

# By the folder that the branch has for them.
KINDS: Final[Mapping[str, str]] = {"runs": "runs", "accepted": "accepted changes", "bisections": "bisections"}


def add_verbs(verbs: Verbs) -> None:
    _add_accept(verbs)
    group = verbs.add_parser(
        "history", help="show the size of the stored history, compact it, copy it, or prepare a database for it"
    )
    parts = group.add_subparsers(title="commands", metavar="COMMAND", required=True)
    stats = new_verb(parts, "stats", _stats, "show its size, its growth, and what compact would save", group="history")
    compact = new_verb(
        parts, "compact", _compact, "replace the branch's past by one commit, and reduce old runs", group="history"
    )
    copy = new_verb(parts, "copy", _copy, "copy everything to another place", group="history")
    migrate = new_verb(parts, "migrate", _migrate, "create or update the tables of a database", group="history")
    where = "origin, the URL or path of a repository, or the URL of a database (postgresql://…, sqlite:///…)"
    copy.add_argument("source", metavar="FROM", help=where)
    copy.add_argument("target", metavar="TO", help="like FROM; what is already there stays")
    option(migrate, "--history URL", "the database (default: configuration)")
    for verb in (stats, compact):
        add_options(verb, "repo", "history", "config")
    add_options(copy, "repo", "config")
    add_options(migrate, "config")


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
    counts = ", ".join(f"{kind}: {copied.get(folder, 0):,}" for folder, kind in KINDS.items())
    print(f"copied {counts}; already there: {before:,}")
    return EXIT_FINE


def _migrate(arguments: argparse.Namespace) -> int:
    place, is_done = pipeline.migrate_database(chosen_config(arguments))
    print(f"{place}: {'its tables are ready' if is_done else 'nothing to do, its tables are up to date'}")
    return EXIT_FINE


def _add_accept(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "accept", _accept, "accept a regression as the new baseline: later runs are compared with it"
    )
    verb.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="name of the benchmark, or --all")
    option(verb, "--all", "every benchmark that got worse at that commit")
    option(verb, "--reason TEXT", "why it is accepted; shown in later reports", required=True)
    option(verb, "--author NAME", "who accepts it (default: git's user.name)")
    option(verb, "--commit REV", "first commit with the new level (default: HEAD)", default="HEAD")
    add_options(verb, "repo", "history", "suite", "config")


def _accept(arguments: argparse.Namespace) -> int:
    accepted = pipeline.accept_here(
        arguments.repo,
        benchmark=arguments.benchmark,
        everything=arguments.all,
        reason=arguments.reason,
        author=arguments.author,
        revision=arguments.commit,
        config=chosen_config(arguments),
        history_url=arguments.history,
    )
    names = ", ".join(pipeline.plain(name) for name in accepted.benchmarks) or "every benchmark that got worse"
    word = "accepted" if accepted.stored else "was accepted before"
    author, reason = pipeline.plain(accepted.acceptance.author), pipeline.plain(accepted.acceptance.reason, limit=300)
    print(f"{word}: {names} at {accepted.acceptance.commit[:12]}, by {author}: {reason}")
    return EXIT_FINE
