"""The verbs that run the user's commands on commits: measure, bisect, bisect-job."""

import argparse
import os
import sys
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from bot import dispatch, pipeline
from bot.cli.options import Verbs, add_input_options, chosen_config, count, minutes, new_verb, positive, seconds
from bot.cli.output import Status, colour, width, write
from bot.errors import EXIT_FINE, EXIT_NO_DATA

if TYPE_CHECKING:
    from bot.config import Config
    from bot.measure import Commands

# The fewest that can prove one change among 1,000 benchmarks at 1 %: 2 / 6 ** 7 is below 0.01 / 1,000.
ROUNDS = 7
MOST_ROUNDS = 20
COUNT_ROUNDS = 1  # counts repeat; that they do is what the second execution of each side shows
COUNTS = ("instructions", "allocations", "allocated-bytes")


def add_verbs(verbs: Verbs) -> None:
    for add in (_add_measure, _add_bisect, _add_bisect_job):
        add(verbs)


def _add_command_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--repo", type=Path, default=Path(), metavar="DIR", help="default: this directory; not touched")
    verb.add_argument(
        "--run",
        metavar="CMD",
        help="shell command that measures; writes $PERF_CULPRIT_OUTPUT or prints (default: bisect.run)",
    )
    verb.add_argument(
        "--build",
        metavar="CMD",
        help="shell command that builds a commit, once per content (default: bisect.build)",
    )
    verb.add_argument("--timeout", type=seconds, default=600.0, metavar="S", help="for one run (default: 600 seconds)")
    verb.add_argument(
        "--build-timeout", type=seconds, default=3600.0, metavar="S", help="for one build (default: 3600 seconds)"
    )
    verb.add_argument("--cache", type=Path, metavar="DIR", help="keep builds here from one call to the next")
    _add_environment_option(verb)


def _add_environment_option(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--environment",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help="variables that the commands see, though they are withheld by default (docs/measure.md)",
    )


def _add_measure(verbs: Verbs) -> None:
    verb = new_verb(verbs, "measure", _measure, "measure commits side by side on this machine, interleaved A B B A")
    verb.add_argument(
        "--commits",
        nargs="+",
        metavar="REV",
        help="the baseline first, then the target (in a GitHub job by default: what its event added to, its checkout)",
    )
    _add_command_options(verb)
    verb.add_argument(
        "--rounds", type=positive, metavar="N", help=f"of A B B A (default: {ROUNDS}; until decided, {MOST_ROUNDS})"
    )
    verb.add_argument(
        "--metric",
        choices=COUNTS,
        help="count this of the whole command with valgrind instead of reading its result (default rounds: 1)",
    )
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
    verb.add_argument("--at", metavar="PKG.MODULE:FUNCTION", help="trace what this does; leave imports and set-up out")
    verb.add_argument(
        "--trace-include", nargs="+", default=(), metavar="MODULE", help="follow these modules or packages as well"
    )
    verb.add_argument(
        "--confirm", action="store_true", help="measure what looks like a regression once more (docs/confirm.md)"
    )
    verb.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="gets a run file per commit and log.txt"
    )
    add_input_options(verb)


def _add_bisect(verbs: Verbs) -> None:
    verb = new_verb(verbs, "bisect", _bisect, "find the commits that brought a change, by measuring on this machine")
    verb.add_argument("--good", required=True, metavar="REV", help="commit before the change")
    verb.add_argument("--bad", required=True, metavar="REV", help="commit with the change")
    _add_command_options(verb)
    verb.add_argument("--benchmark", metavar="NAME", help="needed where the command measures several")
    verb.add_argument(
        "--metric",
        metavar="NAME",
        help=f"needed where the benchmark has several; {', '.join(COUNTS)}: counted by valgrind; auto: "
        "search by instructions, confirm by time",
    )
    verb.add_argument(
        "--direction", choices=("any", "worse", "better"), default="any", help="change to look for (default: any)"
    )
    verb.add_argument("--tool", default="auto", metavar="NAME", help="format of the results (default: by content)")
    verb.add_argument("--engine", choices=("bayes", "weighted"), default="bayes", help="default: bayes")
    verb.add_argument(
        "--prior", choices=("changes", "uniform"), default="changes", help="start from what commits changed (default)"
    )
    verb.add_argument("--seed", type=count, default=0, metavar="N", help="of the order in a round (default: 0)")
    verb.add_argument("--executions", type=positive, metavar="N", help="budget: runs at most (default: 400)")
    verb.add_argument("--minutes", type=minutes, metavar="N", help="budget: then the answer so far is given")
    verb.add_argument("--first-parent", action="store_true", help="look at the commits of the main line only")
    verb.add_argument("--paths", nargs="+", default=(), metavar="PATH", help="only commits that change these can be it")
    verb.add_argument("--state", type=Path, metavar="FILE", help="written after each round (default: inside .git)")
    verb.add_argument("--resume", type=Path, metavar="FILE", help="go on with this state file of the same search")
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
    verb.add_argument("--json", type=Path, metavar="OUT", help="write the answer here (- for standard output)")
    verb.add_argument("--markdown", type=Path, metavar="OUT", help="write the answer as Markdown here")
    verb.add_argument("--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists")


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
    _add_environment_option(verb)
    verb.add_argument("--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists")


def _commands(arguments: argparse.Namespace, config: "Config") -> "tuple[Commands, str]":
    return pipeline.shell_commands(
        config,
        run=arguments.run,
        build=arguments.build,
        tool=arguments.tool,
        timeout=arguments.timeout,
        build_timeout=arguments.build_timeout,
        environment=arguments.environment,
    )


def _bisect(arguments: argparse.Namespace) -> int:
    config = chosen_config(arguments)
    commands, tool = _commands(arguments, config)
    plan = dispatch.BisectPlan(
        good=arguments.good,
        bad=arguments.bad,
        commands=commands,
        benchmark=arguments.benchmark,
        metric=arguments.metric,
        sought=dispatch.Sought(arguments.direction),
        engine=dispatch.Engine(arguments.engine),
        prior=dispatch.Prior(arguments.prior),
        seed=arguments.seed,
        executions=arguments.executions,
        minutes=arguments.minutes,
        first_parent=arguments.first_parent,
        paths=tuple(arguments.paths),
        tool=tool,
        cache=arguments.cache,
        state=arguments.state,
        resume=arguments.resume,
        history=arguments.history,
        record=arguments.record,
    )
    if arguments.dry_run:
        print(dispatch.bisection_plan(arguments.repo, plan, config=config), end="")
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
    print(pipeline.bisection_text(report), end="", file=sys.stderr if arguments.json == Path("-") else sys.stdout)
    return EXIT_FINE if report.is_definite else EXIT_NO_DATA


def _bisect_job(arguments: argparse.Namespace) -> int:
    status = Status(sys.stderr)
    try:
        done = dispatch.bisect_job(
            arguments.repo,
            dispatch.BisectJobPlan(
                request=arguments.request,
                job=arguments.job,
                output=arguments.output,
                run=arguments.run,
                build=arguments.build,
                tool=arguments.tool,
                minutes=arguments.minutes,
                cache=arguments.cache,
                environment=tuple(arguments.environment),
            ),
            config=chosen_config(arguments),
            say=status,
            stdin=sys.stdin.buffer,
        )
    finally:
        status.clear()
    print(f"measured {done.rounds} of {done.asked} rounds: {done.file}")
    return EXIT_FINE


def _trace_plan(arguments: argparse.Namespace) -> "pipeline.TracePlan | None":
    if not arguments.trace:
        return None
    return pipeline.TracePlan(
        repetitions=arguments.trace_repetitions,
        budget_s=arguments.trace_budget,
        full=arguments.trace_full,
        include=tuple(arguments.trace_include),
        at=arguments.at,
    )


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


def _measure(arguments: argparse.Namespace) -> int:
    config = chosen_config(arguments)
    commands, tool = _commands(arguments, config)
    revisions = arguments.commits or _event_revisions(arguments.repo)
    status = Status(sys.stderr)
    commands, tool = pipeline.counting_commands(commands, metric=arguments.metric, tool=tool, say=print)
    usual = ROUNDS if commands.count is None else COUNT_ROUNDS
    rounds = arguments.rounds or (MOST_ROUNDS if arguments.until_decided else usual)
    try:
        measured = pipeline.measure_commits(
            arguments.repo,
            revisions,
            plan=pipeline.MeasurePlan(
                commands=commands,
                rounds=rounds,
                warmup=arguments.warmup,
                until_decided=arguments.until_decided,
                confirm=arguments.confirm,
                tool=tool,
                cache=arguments.cache,
                trace=_trace_plan(arguments),
            ),
            output=arguments.output,
            config=config,
            say=status,
        )
    finally:
        status.clear()
    baseline, *targets = measured.files
    if measured.report is not None:
        print(pipeline.report_text(measured.report, colour=colour(sys.stdout), width=width()))
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
