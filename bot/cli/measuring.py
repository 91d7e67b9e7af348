"""The commands that run the user's commands on commits: measure, and backfill for those of the past."""

import argparse
import os
import sys
from itertools import zip_longest
from pathlib import Path

from bot import pipeline
from bot.cli.options import (
    QUANTITIES,
    Verbs,
    add_also_option,
    add_command_options,
    add_options,
    chosen_config,
    count,
    minutes,
    new_verb,
    positive,
    quantity,
    request,
    seconds,
    shell_commands,
)
from bot.cli.output import Status, colour, show, width
from bot.errors import EXIT_FINE, EXIT_NO_DATA
from bot.model.count import is_exact

# The fewest that can prove one change among 1,000 benchmarks at 1%: 2 / 6 ** 7 is below 0.01 / 1,000.
ROUNDS = 7
MOST_ROUNDS = 20
COUNT_ROUNDS = 1  # counts and sizes repeat; that they do is what the second execution of each side shows


def add_verbs(verbs: Verbs) -> None:
    _add_measure(verbs)
    _add_backfill(verbs)


def _add_measure(verbs: Verbs) -> None:
    verb = new_verb(verbs, "measure", _measure, "measure commits side by side on this machine, interleaved A B B A")
    verb.add_argument(
        "--commits",
        nargs="+",
        metavar="REV",
        help="the baseline first, then the target (in a GitHub job by default: what its event added to, its checkout)",
    )
    add_command_options(verb)
    verb.add_argument(
        "--rounds", type=positive, metavar="N", help=f"of A B B A (default: {ROUNDS}; until decided, {MOST_ROUNDS})"
    )
    verb.add_argument(
        "--metric",
        type=quantity,
        metavar="NAME",
        help=f"measure this of the whole command instead of reading its result: {QUANTITIES} (docs/measure.md)",
    )
    add_also_option(verb)
    verb.add_argument("--warmup", type=count, default=1, metavar="N", help="runs per commit before (default: 1)")
    verb.add_argument(
        "--until-decided",
        action="store_true",
        help="stop as soon as each change is proven or excluded",
    )
    verb.add_argument("--trace", action="store_true", help="then trace Python commands: which methods got slower")
    verb.add_argument("--trace-repetitions", type=positive, default=10, metavar="N", help="per level (default: 10)")
    verb.add_argument(
        "--trace-budget", type=seconds, default=60.0, metavar="SECONDS", help="of executions per commit (default: 60)"
    )
    verb.add_argument("--trace-full", action="store_true", help="follow every path, not only where time goes")
    verb.add_argument(
        "--trace-include", nargs="+", default=(), metavar="MODULE", help="follow these modules or packages as well"
    )
    verb.add_argument("--at", metavar="PKG.MODULE:FUNCTION", help="trace what this does; leave imports and set-up out")
    verb.add_argument(
        "--confirm", action="store_true", help="measure what looks like a regression once more (docs/confirm.md)"
    )
    verb.add_argument("--dry-run", action="store_true", help="only say what it would take, by what DIR holds")
    verb.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="gets a run file per commit and log.txt"
    )
    add_options(verb, "tool", "suite", "config")


def _event_revisions(repository: Path) -> tuple[str, str]:
    words = {
        pipeline.BaselineOrigin.MERGED_INTO: "what GitHub merged the pull request into",
        pipeline.BaselineOrigin.MERGE_BASE: "the merge base",
        pipeline.BaselineOrigin.BEFORE_PUSH: "the state before the push",
        pipeline.BaselineOrigin.QUEUED_ON: "what the merge queue put it on",
        pipeline.BaselineOrigin.PARENT: "its parent",
    }
    ends = pipeline.event_ends(repository, os.environ)
    print(f"baseline {ends.baseline[:12]}, {words[ends.origin]}; target {ends.target[:12]}")
    return ends.baseline, ends.target


def _trace(arguments: argparse.Namespace) -> "pipeline.TracePlan | None":
    if not arguments.trace:
        return None
    return pipeline.TracePlan(
        repetitions=arguments.trace_repetitions,
        budget_s=arguments.trace_budget,
        full=arguments.trace_full,
        include=tuple(arguments.trace_include),
        at=arguments.at,
    )


def _measure(arguments: argparse.Namespace) -> int:
    config = chosen_config(arguments)
    commands, tool = shell_commands(arguments, config)
    revisions = arguments.commits or _event_revisions(arguments.repo)
    status = Status(sys.stderr)
    commands, tool = pipeline.counting_commands(commands, metric=arguments.metric, tool=tool, say=print)
    usual = COUNT_ROUNDS if is_exact(commands.count) else ROUNDS
    rounds = arguments.rounds or (MOST_ROUNDS if arguments.until_decided else usual)
    plan = request(
        pipeline.MeasurePlan,
        arguments,
        commands=commands,
        tool=tool,
        rounds=rounds,
        trace=_trace(arguments),
    )
    if arguments.dry_run:
        cost = pipeline.foreseen_cost(arguments.repo, revisions, plan=plan, output=arguments.output)
        print(f"would take at most {pipeline.took(cost)}, without traces and --also")
        return EXIT_FINE
    try:
        measured = pipeline.measure_commits(
            arguments.repo,
            revisions,
            plan=plan,
            output=arguments.output,
            config=config,
            say=status,
        )
    finally:
        status.clear()
    baseline, *targets = measured.files
    if measured.report is not None:
        text = pipeline.report_text(measured.report, colour=colour(sys.stdout), width=width())
        show(f"{text}\n", sys.stdout)
    print(f"measured {measured.rounds} of {rounds} rounds")
    for trace in measured.traces:
        print(f"trace: {trace}")
    second = "".join(
        f" {option} {file}" for option, file in zip(("--confirm-baseline", "--confirm"), measured.confirm, strict=False)
    )
    if measured.confirm:
        print(f"measured again: {len(measured.flagged)} benchmarks that looked like regressions")
    for target, diagnosis in zip_longest(targets, measured.diagnoses):
        why = f" --diagnosis {diagnosis}" if diagnosis else ""
        print(f"compare: perf-culprit compare --paired --baseline {baseline} --target {target}{second}{why}")
    return EXIT_FINE


def _add_backfill(verbs: Verbs) -> None:
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
    add_options(verb, "history", "tool", "suite", "config")


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
