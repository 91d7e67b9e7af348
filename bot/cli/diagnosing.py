"""The command that looks for the code behind a regression: diagnose."""

import argparse
import math
import sys
from typing import TYPE_CHECKING

from bot import config, pipeline
from bot.cli import progress
from bot.cli.options import Verbs, new_verb, option, request, seconds
from bot.cli.output import show, text_stream, write
from bot.errors import EXIT_FINE, UsageError

if TYPE_CHECKING:
    from bot.model.call_tree import Diagnosis

SPAN_TABLE = "csv:"


def add_verbs(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "diagnose", _diagnose, "find the methods that cost most or got slower, and the services to test again"
    )
    option(verb, "--log FILE ...", "execution logs: plain, .gz or .zst; - for stdin")
    option(
        verb,
        "--pattern PRESET|FILE|csv:COLUMNS",
        "labelled, spring, json, a file with one regular expression, or the columns of a table of spans "
        "(docs/diagnosis.md)",
    )
    option(verb, "--profile FILE ...", "read profiles or traces instead; several files are repetitions")
    option(verb, "--format ID", "format of the profiles (docs/profiles.md; default: auto)", default="auto")
    option(
        verb,
        "--trusted-profile",
        "the profiles come from you: read cProfile's as well (loading one can run code)",
        dest="trusted",
    )
    _add_comparison(verb)
    option(verb, "--json OUT", "write everything as JSON here (- for standard output)")
    option(verb, "--top N", "suspects to print (default: 20)", default=20)
    option(
        verb,
        "--lambda WEIGHT",
        "how much differences between services lower a score (default: 1)",
        dest="fluctuation_weight",
        type=_number,
        default=1.0,
    )
    option(
        verb,
        "--minimum-self-time MS",
        "methods that take less per call of every service come last (default: 1%% of the mean response time)",
        dest="minimum_self_ms",
        type=_number,
    )
    option(
        verb,
        "--window SECONDS",
        "window of response time and throughput (default: 60)",
        dest="window_s",
        type=seconds,
        default=60.0,
    )
    option(verb, "--workers N", "processes that read in parallel (default: 2)", default=2)
    option(verb, "--cluster ADDRESS", "tcp://HOST:PORT of a Dask scheduler: its workers read (extra `cluster`)")


def _add_comparison(verb: argparse.ArgumentParser) -> None:
    two = verb.add_argument_group(
        "two revisions", "logs (with --pattern) or profiles of both: what got slower, and why"
    )
    option(two, "--baseline FILE ...", "logs or profiles of the revision before")
    option(two, "--target FILE ...", "logs or profiles of the revision after")
    option(two, "--repo DIR", "repository of both revisions (default: this directory)", dest="repository")
    option(two, "--commit REV", "commit that introduced the change: mark the functions that it changed")
    option(two, "--base REV", "before a range of commits, where the one commit is not known; needs --head")
    option(two, "--head REV", "last commit of that range")
    option(two, "--same-work", "both did the same work: compare counts of samples instead of shares")
    option(
        two,
        "--minimum-effect PERCENT",
        "ignore methods that got slower by less than this (default: 1%%)",
        type=lambda text: config.parse_change(text, name="--minimum-effect"),
        default=0.01,
    )
    option(
        two,
        "--flame OUT",
        "write the difference as a flame graph: a page if it ends in .html, else two columns for flamegraph.pl",
    )


def _diagnose(arguments: argparse.Namespace) -> int:
    if (arguments.pattern or "").startswith(SPAN_TABLE):
        # Rows with parents instead of labels are traces.
        arguments.format, arguments.pattern = arguments.pattern, None
        arguments.profile, arguments.log = arguments.profile or arguments.log, None
    if arguments.baseline or arguments.target:
        return _diagnose_revisions(arguments)
    if arguments.profile:
        return _diagnose_profiles(arguments)
    if not arguments.log or not arguments.pattern:
        raise UsageError(
            "needs --log with --pattern, or --profile",
            place="diagnose",
            next_step="give execution logs and how to read them, or profiles",
        )
    with progress.shown(arguments):
        plan = request(pipeline.DiagnosisPlan, arguments, logs=arguments.log)
        diagnosis = pipeline.diagnose(plan)
    _show(diagnosis, arguments)
    return EXIT_FINE


def _show(diagnosis: "Diagnosis", arguments: argparse.Namespace) -> None:
    if arguments.json:
        write(arguments.json, pipeline.diagnosis_json(diagnosis))
    show(pipeline.diagnosis_text(diagnosis, top=arguments.top), text_stream(arguments.json))


def _diagnose_profiles(arguments: argparse.Namespace) -> int:
    if arguments.log or arguments.pattern:
        raise UsageError(
            "--profile takes the place of --log and --pattern", place="diagnose", next_step="give one of the two"
        )
    plan = request(pipeline.ProfilePlan, arguments, profiles=arguments.profile)
    diagnosis, remarks = pipeline.diagnose_profiles(plan)
    _show(diagnosis, arguments)
    for remark in remarks:
        print(f"- {remark}", file=sys.stderr)
    return EXIT_FINE


def _diagnose_revisions(arguments: argparse.Namespace) -> int:
    if not arguments.baseline or not arguments.target or arguments.log or arguments.profile:
        raise UsageError(
            "two revisions are compared by --baseline and --target, which take the place of --log and --profile",
            place="diagnose",
            next_step="give the files of both revisions",
        )
    plan = request(pipeline.RevisionsPlan, arguments)
    with progress.shown(arguments):
        comparison = pipeline.diagnose_revisions(plan)
    if arguments.json:
        write(arguments.json, pipeline.tree_comparison_json(comparison))
    if arguments.flame:
        write(arguments.flame, pipeline.flame_graph(comparison, is_page=arguments.flame.suffix == ".html"))
    stream = text_stream(arguments.json, arguments.flame)
    show(pipeline.tree_comparison_text(comparison, top=arguments.top), stream)
    return EXIT_FINE


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not (0 <= number < math.inf):
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 up")
    return number
