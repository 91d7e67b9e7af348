"""The commands that find what introduced a change: bisect, bisect-job."""

import argparse
import sys
from pathlib import Path

from bot import dispatch, pipeline
from bot.cli.options import (
    QUANTITIES,
    Verbs,
    add_command_options,
    add_environment_option,
    add_open_option,
    add_options,
    chosen_config,
    count,
    minutes,
    new_verb,
    option,
    request,
    shell_commands,
)
from bot.cli.output import Status, colour, show, text_stream, write, write_page
from bot.errors import EXIT_FINE, EXIT_NO_DATA


def add_verbs(verbs: Verbs) -> None:
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
    config = chosen_config(arguments)
    commands, tool = shell_commands(arguments, config)
    plan = request(
        dispatch.BisectPlan,
        arguments,
        commands=commands,
        tool=tool,
        sought=dispatch.Sought(arguments.direction),
        engine=dispatch.Engine(arguments.engine),
        prior=dispatch.Prior(arguments.prior),
        profiling=pipeline.profiling(
            config, run=arguments.run, command=arguments.profile, seconds=arguments.profile_seconds
        ),
    )
    if arguments.dry_run:
        show(dispatch.bisection_plan(arguments.repo, plan, config=config), sys.stdout)
        return EXIT_FINE
    if arguments.git_run:
        write(arguments.git_run, pipeline.git_run(arguments.repo, plan, name=str(arguments.git_run)).encode())
        arguments.git_run.chmod(0o755)
        print(f"git bisect start {arguments.bad} {arguments.good} && git bisect run {arguments.git_run.absolute()}")
        return EXIT_FINE
    status = Status(sys.stderr, quiet=arguments.quiet)
    try:
        report = pipeline.bisect(arguments.repo, plan, config=config, say=status)
    except KeyboardInterrupt:
        state = dispatch.state_file(arguments.repo, plan)
        if state.exists():
            status.clear()
            print(f"what was measured is kept: repeat the command with --resume {state}", file=sys.stderr)
        raise
    finally:
        status.clear()
    if arguments.json:
        write(arguments.json, pipeline.bisection_json(report))
    if arguments.markdown:
        write(arguments.markdown, pipeline.bisection_markdown(report).encode())
    if arguments.svg:
        write_page(arguments, pipeline.bisection_svg(report))
    if arguments.log:
        write(arguments.log, pipeline.bisection_log(report).encode())
    stream = text_stream(arguments.json)
    show(pipeline.bisection_text(report, colour=colour(stream)), stream, links=pipeline.commit_pages(report))
    return EXIT_FINE if report.is_definite else EXIT_NO_DATA


def _bisect_job(arguments: argparse.Namespace) -> int:
    status = Status(sys.stderr, quiet=arguments.quiet)
    try:
        done = dispatch.bisect_job(
            arguments.repo,
            request(dispatch.BisectJobPlan, arguments),
            config=chosen_config(arguments),
            say=status,
            stdin=sys.stdin.buffer,
        )
    finally:
        status.clear()
    print(f"measured {done.rounds} of {done.asked} rounds: {done.file}")
    return EXIT_FINE
