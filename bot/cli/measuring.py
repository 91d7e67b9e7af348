"""The commands that run the user's commands on commits: measure, and backfill for those of the past."""

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

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
    option,
    quantity,
    request,
    seconds,
    shell_commands,
)
from bot.cli.output import Status, colour, show, width
from bot.errors import EXIT_FINE, EXIT_INTERRUPTED, EXIT_NO_DATA
from bot.model.count import is_exact

if TYPE_CHECKING:
    from bot.config import Config

# The fewest that can prove one change among 1,000 benchmarks at 1%: 2 / 6 ** 7 is below 0.01 / 1,000.
ROUNDS = 7
MOST_ROUNDS = 20
COUNT_ROUNDS = 1  # counts and sizes repeat; that they do is what the second execution of each side shows


def add_verbs(verbs: Verbs) -> None:
    _add_measure(verbs)
    _add_backfill(verbs)


def _add_measure(verbs: Verbs) -> None:
    verb = new_verb(verbs, "measure", _measure, "measure commits side by side on this machine, interleaved A B B A")
    option(
        verb,
        "--commits REV ...",
        "the baseline first, then the target (in a GitHub job by default: what its event added to, its checkout)",
    )
    add_command_options(verb)
    option(verb, "--rounds N", f"rounds of A B B A (default: {ROUNDS}, or {MOST_ROUNDS} with --until-decided)")
    option(
        verb,
        "--metric NAME",
        f"measure this quantity of the whole command, instead of reading its results: {QUANTITIES} (docs/measure.md)",
        type=quantity,
    )
    add_also_option(verb)
    option(verb, "--warmup N", "uncounted runs per commit first (default: 1)", type=count, default=1)
    option(verb, "--until-decided", "stop as soon as every change is proven or excluded")
    option(verb, "--trace", "then trace the Python command to see which methods got slower")
    option(verb, "--trace-repetitions N", "repetitions per level (default: 10)", default=10)
    option(verb, "--trace-budget SECONDS", "time for executions per commit (default: 60)", type=seconds, default=60.0)
    option(verb, "--trace-full", "follow every path, not only where time goes")
    option(verb, "--trace-include MODULE ...", "follow these modules or packages as well", default=[])
    option(verb, "--at PKG.MODULE:FUNCTION", "trace only this function, without imports and set-up")
    option(verb, "--confirm", "measure whatever looks like a regression a second time (docs/confirm.md)")
    option(verb, "--minutes N", "start no round that would end after this time", type=minutes)
    option(verb, "--resume", "add rounds to the measurement in DIR, of the same commits and commands")
    option(
        verb,
        "--dry-run",
        "execute each commit once, say what all would cost and, by an earlier measurement in DIR, what it would show",
    )
    option(
        verb, "--output DIR", "folder for a run file per commit, written after every round, and log.txt", required=True
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
    status = Status(sys.stderr, quiet=arguments.quiet)
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
    try:
        if arguments.dry_run:
            return _dry_run(arguments, revisions, plan, config, status)
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
    return _show(measured, rounds)


def _dry_run(
    arguments: argparse.Namespace,
    revisions: Sequence[str],
    plan: "pipeline.MeasurePlan",
    config: "Config",
    status: Status,
) -> int:
    cost, foresight = pipeline.foreseen(
        arguments.repo, revisions, plan=plan, output=arguments.output, config=config, say=status
    )
    status.clear()
    print(f"would take at most {pipeline.took(cost)}, without traces and --also")
    if foresight is not None:
        print(pipeline.foresight_text(foresight))
    return EXIT_FINE


def _show(measured: "pipeline.Measured", rounds: int) -> int:
    """The verdict and how to go on, however the measurement ended; then the error that ended it."""
    baseline, *targets = measured.files
    if measured.report is not None:
        text = pipeline.report_text(measured.report, colour=colour(sys.stdout), width=width())
        show(f"{text}\n", sys.stdout)
    is_interrupted = isinstance(measured.fault, KeyboardInterrupt)
    why = "interrupted: " if is_interrupted else "the time is spent: " if measured.is_out_of_time else ""
    print(f"{why}measured {measured.rounds} of {rounds} rounds")
    for trace in measured.traces:
        print(f"trace: {trace}")
    second = "".join(
        f" {option} {file}" for option, file in zip(("--confirm-baseline", "--confirm"), measured.confirm, strict=False)
    )
    if measured.flagged:
        looked = pipeline.counted(len(measured.flagged), "benchmark")
        print(f"looked like a regression: {looked}, {'' if measured.confirm else 'not yet '}measured again")
    for target, diagnosis in zip_longest(targets, measured.diagnoses):
        third = f" --diagnosis {diagnosis}" if diagnosis else ""
        print(f"compare: perf-culprit compare --paired --baseline {baseline} --target {target}{second}{third}")
    if measured.fault or measured.is_out_of_time:
        print("to go on from here: repeat the command with --resume")
    if is_interrupted:
        return EXIT_INTERRUPTED
    if measured.fault is not None:
        raise measured.fault
    return EXIT_FINE


def _add_backfill(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "backfill", _backfill, "measure old commits on this machine and store them in the history, resumable"
    )
    option(verb, "--since REV", "oldest commit to measure, on HEAD's own line", required=True)
    option(verb, "--every CHOICE", "which commits: merge, release (tags), or N for every Nth", default="1")
    option(verb, "--limit MINUTES", "stop after this time; the next call resumes", type=minutes)
    option(verb, "--executions N", "executions per commit (default: 5)", default=5)
    option(verb, "--dry-run", "execute one commit only, and say how long all would take")
    option(verb, "--output DIR", "write the runs here and store nothing (for `import`)")
    option(verb, "--log FILE", "log of the commands (default: backfill.log)", type=Path, default=Path("backfill.log"))
    add_command_options(verb)
    add_also_option(verb)
    add_options(verb, "history", "tool", "suite", "config")


def _backfill(arguments: argparse.Namespace) -> int:
    config = chosen_config(arguments)
    commands, tool = shell_commands(arguments, config)
    plan = request(pipeline.BackfillPlan, arguments, commands=commands, tool=tool, history_url=arguments.history)
    status = Status(sys.stderr, quiet=arguments.quiet)
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
