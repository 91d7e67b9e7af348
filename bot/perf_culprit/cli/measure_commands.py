"""The commands that run the user's commands on commits: measure, backfill, bisect, bisect-job."""

import argparse
import os
import sys
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from perf_culprit.cli.options import (
    QUANTITIES,
    Verbs,
    add_also_option,
    add_command_options,
    add_environment_option,
    add_open_option,
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
from perf_culprit.cli.output import Status, colour, show, text_stream, width, write, write_page
from perf_culprit.errors import EXIT_FINE, EXIT_INTERRUPTED, EXIT_NO_DATA
from perf_culprit.model.count import is_exact

if TYPE_CHECKING:
    from perf_culprit.config.settings import Config
    from perf_culprit.dispatch.culprit_trace import TracePlan
    from perf_culprit.flows.measurement import Measured, MeasurePlan


# The commands that run the user's commands on commits: measure, and backfill for those of the past.

# The fewest that can prove one change among 1,000 benchmarks at 1%: 2 / 6 ** 7 is below 0.01 / 1,000.
ROUNDS = 7
MOST_ROUNDS = 20
COUNT_ROUNDS = 1  # counts and sizes repeat; that they do is what the second execution of each side shows


def add_measure_verbs(verbs: Verbs) -> None:
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
    from perf_culprit.flows.job_event import BaselineOrigin, event_ends

    words = {
        BaselineOrigin.MERGED_INTO: "what GitHub merged the pull request into",
        BaselineOrigin.MERGE_BASE: "the merge base",
        BaselineOrigin.BEFORE_PUSH: "the state before the push",
        BaselineOrigin.QUEUED_ON: "what the merge queue put it on",
        BaselineOrigin.PARENT: "its parent",
    }
    ends = event_ends(repository, os.environ)
    print(f"baseline {ends.baseline[:12]}, {words[ends.origin]}; target {ends.target[:12]}")
    return ends.baseline, ends.target


def _trace(arguments: argparse.Namespace) -> "TracePlan | None":
    from perf_culprit.dispatch.culprit_trace import TracePlan

    if not arguments.trace:
        return None
    return TracePlan(
        repetitions=arguments.trace_repetitions,
        budget_s=arguments.trace_budget,
        full=arguments.trace_full,
        include=tuple(arguments.trace_include),
        at=arguments.at,
    )


def _measure(arguments: argparse.Namespace) -> int:
    from perf_culprit.flows.measurement import MeasurePlan, measure_commits
    from perf_culprit.flows.user_commands import counting_commands

    config = chosen_config(arguments)
    commands, tool = shell_commands(arguments, config)
    revisions = arguments.commits or _event_revisions(arguments.repo)
    status = Status(sys.stderr, quiet=arguments.quiet)
    commands, tool = counting_commands(commands, metric=arguments.metric, tool=tool, say=print)
    usual = COUNT_ROUNDS if is_exact(commands.count) else ROUNDS
    rounds = arguments.rounds or (MOST_ROUNDS if arguments.until_decided else usual)
    plan = request(
        MeasurePlan,
        arguments,
        commands=commands,
        tool=tool,
        rounds=rounds,
        trace=_trace(arguments),
    )
    try:
        if arguments.dry_run:
            return _dry_run(arguments, revisions, plan, config, status)
        measured = measure_commits(
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
    plan: "MeasurePlan",
    config: "Config",
    status: Status,
) -> int:
    from perf_culprit.flows.measurement import foreseen
    from perf_culprit.say.audit_text import foresight_text
    from perf_culprit.say.headlines import took

    cost, foresight = foreseen(arguments.repo, revisions, plan=plan, output=arguments.output, config=config, say=status)
    status.clear()
    print(f"would take at most {took(cost)}, without traces and --also")
    if foresight is not None:
        print(foresight_text(foresight))
    return EXIT_FINE


def _show(measured: "Measured", rounds: int) -> int:
    """The verdict and how to go on, however the measurement ended; then the error that ended it."""
    from perf_culprit.say.comparison import render_text
    from perf_culprit.say.numbers import counted

    baseline, *targets = measured.files
    if measured.report is not None:
        text = render_text(measured.report, colour=colour(sys.stdout), width=width())
        show(f"{text}\n", sys.stdout)
    is_interrupted = isinstance(measured.fault, KeyboardInterrupt)
    why = "interrupted: " if is_interrupted else "time limit reached: " if measured.is_out_of_time else ""
    # A measurement that is resumed may hold more than is asked for now.
    print(f"{why}measured {measured.rounds} of {max(rounds, measured.rounds)} rounds")
    for trace in measured.traces:
        print(f"trace: {trace}")
    second = "".join(
        f" {option} {file}" for option, file in zip(("--confirm-baseline", "--confirm"), measured.confirm, strict=False)
    )
    if measured.flagged:
        looked = counted(len(measured.flagged), "benchmark")
        print(f"looked like a regression: {looked}, {'' if measured.confirm else 'not yet '}measured again")
    for target, diagnosis in zip_longest(targets, measured.diagnoses):
        third = f" --diagnosis {diagnosis}" if diagnosis else ""
        print(f"compare: perf-culprit compare --paired --baseline {baseline} --target {target}{second}{third}")
    if measured.fault or measured.is_out_of_time:
        print("to continue: repeat the command with --resume")
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
    from perf_culprit.flows.backfill import BackfillPlan, backfill
    from perf_culprit.say.inert import plain
    from perf_culprit.say.numbers import counted

    config = chosen_config(arguments)
    commands, tool = shell_commands(arguments, config)
    plan = request(BackfillPlan, arguments, commands=commands, tool=tool, history_url=arguments.history)
    status = Status(sys.stderr, quiet=arguments.quiet)
    try:
        done = backfill(arguments.repo, plan, config=config, say=status)
    finally:
        status.clear()
    commits = counted(done.commits, "commit")
    print(f"{commits} since {plain(arguments.since)}: {done.stored} stored before")
    if arguments.dry_run:
        tried = "" if done.minutes is None else f", about {done.minutes:.1f} minutes by one that was tried"
        print(f"would measure {done.left}, each {arguments.executions} times after a warm-up{tried}")
        return EXIT_FINE
    print(f"recorded {done.recorded}, {done.failed} gave no result, {done.left} are left")
    return EXIT_FINE if done.recorded or not (done.failed or done.left) else EXIT_NO_DATA


# The commands that find what introduced a change: bisect, bisect-job.


def add_bisect_verbs(verbs: Verbs) -> None:
    _add_bisect(verbs)
    _add_bisect_job(verbs)


def _add_bisect(verbs: Verbs) -> None:
    verb = new_verb(verbs, "bisect", _bisect, "find the commits that introduced a change, by measuring on this machine")
    option(verb, "--good REV", "commit before the change", required=True)
    option(verb, "--bad REV", "commit with the change", required=True)
    add_command_options(verb)
    option(verb, "--benchmark NAME", "benchmark to follow, where the command measures several")
    option(
        verb,
        "--metric NAME",
        f"metric to follow, where the benchmark has several; {QUANTITIES}: of the whole command (docs/measure.md); "
        "auto: search by instructions, confirm by time",
    )
    option(verb, "--direction", "change to look for (default: any)", choices=("any", "worse", "better"), default="any")
    option(verb, "--engine", "search engine (default: bayes)", choices=("bayes", "weighted"), default="bayes")
    option(
        verb,
        "--prior",
        "chances to start from: what the commits changed (default), or all equal",
        choices=("changes", "uniform"),
        default="changes",
    )
    option(verb, "--seed N", "seed of the order within a round (default: 0)", type=count, default=0)
    option(verb, "--executions N", "budget: executions at most (default: 400)")
    option(verb, "--jobs N", "rounds to count at once; times are always measured one by one", default=1)
    option(verb, "--minutes N", "budget: after this time the answer so far is given", type=minutes)
    option(verb, "--first-parent", "consider only the commits of the main line")
    option(verb, "--paths PATH ...", "only commits that change these paths are candidates", default=[])
    option(
        verb,
        "--profile CMD",
        "shell command that writes a profile to $PERF_CULPRIT_OUTPUT, for the culprit's methods (default: "
        "bisect.profile, else the tracer for Python)",
    )
    option(
        verb,
        "--profile-seconds N",
        "time for profiling the culprit, and as much for its parent (default: 30; 0: none)",
        type=count,
    )
    option(verb, "--state FILE", "state of the search, written after each round (default: inside .git)", type=Path)
    option(verb, "--resume FILE", "resume the same search from this state file", type=Path)
    option(
        verb,
        "--history URL",
        "use executions that are stored there as well (no URL: remote origin)",
        nargs="?",
        const="",
    )
    option(verb, "--record", "append what is measured to the history (--history, else remote origin)")
    option(verb, "--suite NAME", "suite of the history (default: configuration)")
    option(verb, "--dry-run", "say what would be measured and what it would cost")
    option(verb, "--git-run OUT", "only write a script for `git bisect run`; search nothing")
    option(verb, "--json OUT", "write the answer here (- for standard output)")
    option(verb, "--markdown OUT", "write the answer as Markdown here")
    option(verb, "--svg OUT", "write a plot of the measurements by commit here")
    add_open_option(verb, "svg")
    option(verb, "--log OUT", "write the answer for `git bisect replay` here")
    add_options(verb, "tool", "config")


def _add_bisect_job(verbs: Verbs) -> None:
    verb = new_verb(
        verbs,
        "bisect-job",
        _bisect_job,
        "measure one job of a bisection that is shared with other machines (docs/bisection.md)",
    )
    option(verb, "--repo DIR", "repository (default: this directory); its checkout stays as it is", default=Path())
    option(verb, "--request FILE", "the dispatch's request (- for standard input)", type=Path, required=True)
    option(verb, "--job ID", "which of the request's jobs this machine is", required=True)
    option(verb, "--output DIR", "folder for bisect-job.json and log.txt", required=True)
    option(verb, "--run CMD", "shell command that measures (default: the request's)")
    option(verb, "--build CMD", "shell command that builds a commit (default: the request's)")
    option(verb, "--tool NAME", "format of the results (default: the request's)")
    option(verb, "--minutes N", "start no further round after this time", type=minutes)
    option(verb, "--cache DIR", "keep builds here from one call to the next")
    add_environment_option(verb)
    add_options(verb, "config")


def _bisect(arguments: argparse.Namespace) -> int:
    from perf_culprit.dispatch.commit_range import Prior
    from perf_culprit.dispatch.local_bisection import BisectPlan, bisection_plan, state_file
    from perf_culprit.flows.bisect_here import bisect, bisection_json, git_run
    from perf_culprit.flows.user_commands import profiling
    from perf_culprit.model.bisection import Engine, Sought
    from perf_culprit.say.bisection_answer import bisection_markdown, bisection_text, commit_pages
    from perf_culprit.say.bisection_exports import bisection_log, bisection_svg

    config = chosen_config(arguments)
    commands, tool = shell_commands(arguments, config)
    plan = request(
        BisectPlan,
        arguments,
        commands=commands,
        tool=tool,
        sought=Sought(arguments.direction),
        engine=Engine(arguments.engine),
        prior=Prior(arguments.prior),
        profiling=profiling(config, run=arguments.run, command=arguments.profile, seconds=arguments.profile_seconds),
    )
    if arguments.dry_run:
        show(bisection_plan(arguments.repo, plan, config=config), sys.stdout)
        return EXIT_FINE
    if arguments.git_run:
        write(arguments.git_run, git_run(arguments.repo, plan, name=str(arguments.git_run)).encode())
        arguments.git_run.chmod(0o755)
        print(f"git bisect start {arguments.bad} {arguments.good} && git bisect run {arguments.git_run.absolute()}")
        return EXIT_FINE
    status = Status(sys.stderr, quiet=arguments.quiet)
    try:
        report = bisect(arguments.repo, plan, config=config, say=status)
    except KeyboardInterrupt:
        state = state_file(arguments.repo, plan)
        if state.exists():
            status.clear()
            print(f"what was measured is kept: repeat the command with --resume {state}", file=sys.stderr)
        raise
    finally:
        status.clear()
    if arguments.json:
        write(arguments.json, bisection_json(report))
    if arguments.markdown:
        write(arguments.markdown, bisection_markdown(report).encode())
    if arguments.svg:
        write_page(arguments, bisection_svg(report))
    if arguments.log:
        write(arguments.log, bisection_log(report).encode())
    stream = text_stream(arguments.json)
    show(bisection_text(report, colour=colour(stream)), stream, links=commit_pages(report))
    return EXIT_FINE if report.is_definite else EXIT_NO_DATA


def _bisect_job(arguments: argparse.Namespace) -> int:
    from perf_culprit.dispatch.bisect_job import BisectJobPlan, bisect_job

    status = Status(sys.stderr, quiet=arguments.quiet)
    try:
        done = bisect_job(
            arguments.repo,
            request(BisectJobPlan, arguments),
            config=chosen_config(arguments),
            say=status,
            stdin=sys.stdin.buffer,
        )
    finally:
        status.clear()
    print(f"measured {done.rounds} of {done.asked} rounds: {done.file}")
    return EXIT_FINE
