"""The verbs that run the user's commands on commits: measure, bisect."""

import argparse
import sys
from pathlib import Path

from bot.cli.options import Verbs, add_input_options, chosen_config, count, new_verb, positive, seconds
from bot.cli.output import Status, colour, width
from bot.errors import EXIT_FINE

ROUNDS = 5
MOST_ROUNDS = 20


def add_verbs(verbs: Verbs) -> None:
    for add in (_add_measure,):
        add(verbs)


def _add_command_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory; not touched")
    verb.add_argument(
        "--run", required=True, metavar="CMD", help="shell command that measures; writes $PERF_CULPRIT_OUTPUT or prints"
    )
    verb.add_argument("--build", metavar="CMD", help="shell command that builds a commit, run once per content")
    verb.add_argument("--timeout", type=seconds, default=600.0, metavar="S", help="for one run (default: 600 seconds)")
    verb.add_argument(
        "--build-timeout", type=seconds, default=3600.0, metavar="S", help="for one build (default: 3600 seconds)"
    )
    verb.add_argument("--cache", type=Path, metavar="DIR", help="keep builds here from one call to the next")


def _add_measure(verbs: Verbs) -> None:
    verb = new_verb(verbs, "measure", _measure, "measure commits side by side on this machine, interleaved A B B A")
    verb.add_argument("--commits", nargs="+", required=True, metavar="REV", help="the baseline first, then the target")
    _add_command_options(verb)
    verb.add_argument(
        "--rounds", type=positive, metavar="N", help=f"of A B B A (default: {ROUNDS}; until decided, {MOST_ROUNDS})"
    )
    verb.add_argument("--warmup", type=count, default=1, metavar="N", help="runs per commit before (default: 1)")
    verb.add_argument("--until-decided", action="store_true", help="stop as soon as no metric is inconclusive")
    verb.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="gets a run file per commit and log.txt"
    )
    add_input_options(verb)


def _measure(arguments: argparse.Namespace) -> int:
    from bot import pipeline

    status = Status(sys.stderr)
    rounds = arguments.rounds or (MOST_ROUNDS if arguments.until_decided else ROUNDS)
    try:
        measured = pipeline.measure_commits(
            arguments.repo,
            arguments.commits,
            plan=pipeline.MeasurePlan(
                commands=pipeline.commands(
                    run=arguments.run,
                    build=arguments.build,
                    run_timeout_seconds=arguments.timeout,
                    build_timeout_seconds=arguments.build_timeout,
                ),
                rounds=rounds,
                warmup=arguments.warmup,
                until_decided=arguments.until_decided,
                tool=arguments.tool,
                cache=arguments.cache,
            ),
            output=arguments.output,
            config=chosen_config(arguments),
            say=status,
        )
    finally:
        status.clear()
    baseline, *targets = measured.files
    if measured.report is not None:
        print(pipeline.report_text(measured.report, colour=colour(sys.stdout), width=width()))
    print(f"measured {measured.rounds} of {rounds} rounds")
    for target in targets:
        print(f"compare: perf-culprit compare --paired --baseline {baseline} --target {target}")
    return EXIT_FINE
