"""The command that measures old commits for the history: backfill."""

import argparse
import sys
from pathlib import Path

from bot import pipeline
from bot.cli.options import (
    Verbs,
    add_also_option,
    add_command_options,
    chosen_config,
    minutes,
    new_verb,
    positive,
    request,
    shell_commands,
)
from bot.cli.output import Status
from bot.errors import EXIT_FINE, EXIT_NO_DATA


def add_verbs(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "backfill", _backfill, "measure old commits on this machine and store them in the history, resumable"
    )
    verb.add_argument("--since", required=True, metavar="REV", help="the oldest commit; up to HEAD, on its own line")
    verb.add_argument("--every", default="1", metavar="CHOICE", help="merge, release (tags), or N for every Nth")
    verb.add_argument("--limit", type=minutes, metavar="MINUTES", help="stop after this time; call again to resume")
    verb.add_argument("--executions", type=positive, default=5, metavar="N", help="per commit (default: 5)")
    verb.add_argument("--dry-run", action="store_true", help="only try one, and say what all would take")
    verb.add_argument("--output", type=Path, metavar="DIR", help="write the runs here and store nothing (for `import`)")
    verb.add_argument("--log", type=Path, default=Path("backfill.log"), metavar="FILE", help="default: backfill.log")
    add_command_options(verb)
    add_also_option(verb)
    verb.add_argument("--tool", default="auto", metavar="NAME", help="format of the results (default: by content)")
    verb.add_argument("--suite", metavar="NAME", help="suite that the benchmarks belong to (default: configuration)")
    verb.add_argument("--history", metavar="URL", help="where the history branch lives (default: remote origin)")
    verb.add_argument("--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists")


def _backfill(arguments: argparse.Namespace) -> int:
    config = chosen_config(arguments)
    commands, tool = shell_commands(arguments, config)
    plan = request(pipeline.BackfillPlan, arguments, commands=commands, tool=tool, history_url=arguments.history)
    status = Status(sys.stderr)
    try:
        done = pipeline.backfill_history(arguments.repo, plan, config=config, say=status)
    finally:
        status.clear()
    commits = pipeline.counted(done.commits, "commit")
    print(f"{commits} since {pipeline.plain(arguments.since)}: {done.stored} stored before")
    if arguments.dry_run:
        tried = "" if done.minutes is None else f", about {done.minutes:.1f} minutes by one that was tried"
        print(f"would measure {done.left}, each {arguments.executions} times after a warm-up{tried}")
        return EXIT_FINE
    print(f"recorded {done.recorded}, {done.failed} gave no result, {done.left} are left")
    return EXIT_FINE if done.recorded or not (done.failed or done.left) else EXIT_NO_DATA
