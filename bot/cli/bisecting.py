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
    positive,
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
    verb.add_argument("--good", required=True, metavar="REV", help="commit before the change")
    verb.add_argument("--bad", required=True, metavar="REV", help="commit with the change")
    add_command_options(verb)
    verb.add_argument("--benchmark", metavar="NAME", help="needed where the command measures several")
    verb.add_argument(
        "--metric",
        metavar="NAME",
        help=f"needed where the benchmark has several; {QUANTITIES}: of the whole command (docs/measure.md); auto: "
        "search by instructions, confirm by time",
    )
    verb.add_argument(
        "--direction", choices=("any", "worse", "better"), default="any", help="change to look for (default: any)"
    )
    verb.add_argument("--engine", choices=("bayes", "weighted"), default="bayes", help="default: bayes")
    verb.add_argument(
        "--prior", choices=("changes", "uniform"), default="changes", help="start from what commits changed (default)"
    )
    verb.add_argument("--seed", type=count, default=0, metavar="N", help="of the order in a round (default: 0)")
    verb.add_argument("--executions", type=positive, metavar="N", help="budget: runs at most (default: 400)")
    verb.add_argument(
        "--jobs", type=positive, default=1, metavar="N", help="count this many rounds at once (not times)"
    )
    verb.add_argument("--minutes", type=minutes, metavar="N", help="budget: then the answer so far is given")
    verb.add_argument("--first-parent", action="store_true", help="look at the commits of the main line only")
    verb.add_argument("--paths", nargs="+", default=(), metavar="PATH", help="only commits that change these can be it")
    verb.add_argument(
        "--profile",
        metavar="CMD",
        help="shell command that writes a profile to $PERF_CULPRIT_OUTPUT, for the culprit's methods (default: "
        "bisect.profile, else the tracer for Python)",
    )
    verb.add_argument(
        "--profile-seconds",
        type=count,
        metavar="N",
        help="for the culprit and for its parent each (default: 30; 0: profile neither)",
    )
    verb.add_argument("--state", type=Path, metavar="FILE", help="written after each round (default: inside .git)")
    verb.add_argument("--resume", type=Path, metavar="FILE", help="resume the same search from this state file")
    verb.add_argument(
        "--history",
        nargs="?",
        const="",
        metavar="URL",
        help="count executions that are stored there (no URL: remote origin)",
    )
    verb.add_argument(
        "--record", action="store_true", help="append what is measured to the history (--history, else remote origin)"
    )
    verb.add_argument("--suite", metavar="NAME", help="suite of the history (default: configuration)")
    verb.add_argument("--dry-run", action="store_true", help="say what would be measured and what it would cost")
    verb.add_argument(
        "--git-run", type=Path, metavar="OUT", help="only write a script for `git bisect run`, and search nothing"
    )
    verb.add_argument("--json", type=Path, metavar="OUT", help="write the answer here (- for standard output)")
    verb.add_argument("--markdown", type=Path, metavar="OUT", help="write the answer as Markdown here")
    verb.add_argument("--svg", type=Path, metavar="OUT", help="write a plot of what was measured by commit here")
    add_open_option(verb, "svg")
    verb.add_argument("--log", type=Path, metavar="OUT", help="write the answer for `git bisect replay` here")
    add_options(verb, "tool", "config")


def _add_bisect_job(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "bisect-job", _bisect_job, "measure one job of a bisection that other machines share (docs/bisection.md)"
    )
    verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory; not touched")
    verb.add_argument(
        "--request", type=Path, required=True, metavar="FILE", help="the dispatch's request (- for standard input)"
    )
    verb.add_argument("--job", required=True, metavar="ID", help="which of the request's jobs this machine is")
    verb.add_argument("--output", type=Path, required=True, metavar="DIR", help="gets bisect-job.json and log.txt")
    verb.add_argument("--run", metavar="CMD", help="shell command that measures (default: the request's)")
    verb.add_argument("--build", metavar="CMD", help="shell command that builds a commit (default: the request's)")
    verb.add_argument("--tool", metavar="NAME", help="format of the results (default: the request's)")
    verb.add_argument("--minutes", type=minutes, metavar="N", help="after this no further round is begun")
    verb.add_argument("--cache", type=Path, metavar="DIR", help="keep builds here from one call to the next")
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
    status = Status(sys.stderr)
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
    show(pipeline.bisection_text(report, colour=colour(stream)), stream)
    return EXIT_FINE if report.is_definite else EXIT_NO_DATA


def _bisect_job(arguments: argparse.Namespace) -> int:
    status = Status(sys.stderr)
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
