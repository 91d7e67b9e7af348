"""The command that accepts a regression as the new baseline."""

import argparse
from pathlib import Path

from bot import pipeline
from bot.cli.options import Verbs, chosen_config, new_verb
from bot.errors import EXIT_FINE


def add_verbs(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "accept", _accept, "accept a regression as the new baseline: later runs are compared with it"
    )
    verb.add_argument("benchmark", metavar="BENCHMARK", nargs="?", help="its name; see --all")
    verb.add_argument("--all", action="store_true", help="every benchmark that got worse at that commit")
    verb.add_argument("--reason", required=True, metavar="TEXT", help="why; shown in later reports")
    verb.add_argument("--author", metavar="NAME", help="who accepts (default: git's user.name)")
    verb.add_argument("--commit", default="HEAD", metavar="REV", help="where the new level begins (default: HEAD)")
    verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory")
    verb.add_argument("--history", metavar="URL", help="where the history branch lives (default: remote origin)")
    verb.add_argument("--suite", metavar="NAME", help="suite that the benchmark belongs to (default: configuration)")
    verb.add_argument("--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists")


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
    author, reason = pipeline.plain(accepted.author), pipeline.plain(accepted.reason, limit=300)
    print(f"{word}: {names} at {accepted.commit[:12]}, by {author}: {reason}")
    return EXIT_FINE
