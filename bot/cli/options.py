"""What the verbs' command lines have in common."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from bot import config, pipeline

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse names the type so
EXIT_CODES = """\
exit codes:
  0  fine
  1  a regression over the fail threshold
  2  usage or configuration
  3  no usable data: measuring nothing is neither a pass nor a regression
  4  git, GitHub, the network or the machine failed
"""


def new_verb(
    verbs: Verbs,
    name: str,
    run: Callable[[argparse.Namespace], int],
    help_text: str,
) -> argparse.ArgumentParser:
    verb = verbs.add_parser(
        name,
        help=help_text,
        description=help_text[0].upper() + help_text[1:] + ".",
        epilog=EXIT_CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    verb.set_defaults(verb=run)
    return verb


def add_input_options(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--tool", default="auto", metavar="NAME", help="format of the files (default: found by content)")
    verb.add_argument("--suite", metavar="NAME", help="suite that the benchmarks belong to (default: configuration)")
    verb.add_argument("--config", type=Path, metavar="FILE", help="default: .github/perf-culprit.yml where it exists")


def chosen_config(arguments: argparse.Namespace) -> "config.Config":
    chosen = config.load_config(arguments.config)
    if getattr(arguments, "detector", None):
        chosen = pipeline.with_detector(chosen, arguments.detector)
    for name in ("suite", "minimum_effect", "ignore_environment"):
        if value := getattr(arguments, name, None):
            chosen = config.override(chosen, {name: value}, place=f"--{name.replace('_', '-')}")
    return chosen


def count(text: str) -> int:
    """A whole number from 0 up."""
    number = int(text) if text.isdecimal() and len(text) < 10 else -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 0 up")
    return number


def positive(text: str) -> int:
    number = count(text)
    if number == 0:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def seconds(text: str) -> float:
    return _time(text, unit="seconds")


def minutes(text: str) -> float:
    return _time(text, unit="minutes")


def _time(text: str, *, unit: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1e9:
        raise argparse.ArgumentTypeError(f"{text!r} is no time in {unit}")
    return number
