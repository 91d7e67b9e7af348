"""The command that looks for the code behind a regression: diagnose."""

import argparse
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bot import config, pipeline
from bot.cli import progress
from bot.cli.options import Verbs, new_verb, positive, request, seconds
from bot.cli.output import show, text_stream, write
from bot.errors import EXIT_FINE, UsageError

if TYPE_CHECKING:
    from bot.model.call_tree import Diagnosis

SPAN_TABLE = "csv:"


def add_verbs(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "diagnose", _diagnose, "execution logs -> methods that cost most, and the services to test again"
    )
    verb.add_argument(
        "--log", nargs="+", action="extend", metavar="FILE", help="execution logs: plain, .gz or .zst; - for stdin"
    )
    verb.add_argument(
        "--pattern",
        metavar="PRESET|FILE|csv:COLUMNS",
        help="labelled, spring, json, a file with one regular expression, or the columns of a table of spans "
        "(docs/diagnosis.md)",
    )
    verb.add_argument(
        "--profile",
        nargs="+",
        action="extend",
        metavar="FILE",
        help="profiles or traces instead; repetitions of one run",
    )
    verb.add_argument(
        "--format", default="auto", metavar="ID", help="of the profiles (docs/profiles.md; default: auto)"
    )
    verb.add_argument(
        "--trusted-profile",
        dest="trusted",
        action="store_true",
        help="the profiles are trusted: read cProfile's too",
    )
    _add_comparison(verb)
    verb.add_argument("--json", type=Path, metavar="OUT", help="write everything as JSON here (- for standard output)")
    verb.add_argument("--top", type=positive, default=20, metavar="N", help="suspects in the text (default: 20)")
    verb.add_argument(
        "--lambda",
        dest="fluctuation_weight",
        type=_number,
        default=1.0,
        metavar="WEIGHT",
        help="how much differences between services lower a score (default: 1)",
    )
    verb.add_argument(
        "--minimum-self-time",
        dest="minimum_self_ms",
        type=_number,
        metavar="MS",
        help="methods that take less per call of every service come last (default: 1%% of the mean response time)",
    )
    verb.add_argument(
        "--window",
        dest="window_s",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="of response time and throughput (default: 60)",
    )
    verb.add_argument("--workers", type=positive, default=2, metavar="N", help="processes that read (default: 2)")
    verb.add_argument(
        "--cluster", metavar="ADDRESS", help="tcp://HOST:PORT of a Dask scheduler: its workers read (extra `cluster`)"
    )


def _add_comparison(verb: argparse.ArgumentParser) -> None:
    two = verb.add_argument_group(
        "two revisions", "logs (with --pattern) or profiles of both: what got slower, and why"
    )
    two.add_argument("--baseline", nargs="+", action="extend", metavar="FILE", help="of the revision before")
    two.add_argument("--target", nargs="+", action="extend", metavar="FILE", help="of the revision after")
    two.add_argument(
        "--repo", dest="repository", type=Path, metavar="DIR", help="repository of both (default: this directory)"
    )
    two.add_argument("--commit", metavar="REV", help="commit that introduced the change: marks what it touched")
    two.add_argument("--base", metavar="REV", help="or both ends, where the commit is not known")
    two.add_argument("--head", metavar="REV")
    two.add_argument("--same-work", action="store_true", help="sampled profiles of the same work: compare counts")
    two.add_argument(
        "--minimum-effect",
        type=lambda text: config.parse_change(text, name="--minimum-effect"),
        default=0.01,
        metavar="PERCENT",
        help="a method that gained less is not slower (default: 1%%)",
    )
    two.add_argument(
        "--flame",
        type=Path,
        metavar="OUT",
        help="the difference as a flame graph: .html is a page that draws it, else two columns for flamegraph.pl",
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
