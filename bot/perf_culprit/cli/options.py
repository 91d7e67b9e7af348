"""What the commands' command lines have in common, and the examples that their help shows."""

import argparse
import os
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

from perf_culprit.errors import UsageError
from perf_culprit.model.count import SIZE, Count, as_quantity
from perf_culprit.model.run import FULL_HASH

if TYPE_CHECKING:
    from perf_culprit.config.settings import Config
    from perf_culprit.measure.runner import Commands


# What each command's help shows of its use. A test parses every line.

EXAMPLES: Final[Mapping[str, tuple[str, ...]]] = {
    "init": ("perf-culprit init", "perf-culprit init --check"),
    "doctor": ("perf-culprit doctor",),
    "collect": (
        "perf-culprit collect bench.json --json run.json",
        "go test -bench . -count 10 | perf-culprit collect -",
    ),
    "compare": (
        "perf-culprit compare --baseline base/*.json --target head/*.json --html report.html --open",
        "perf-culprit compare --target bench.json --repo . --base main",
    ),
    "mcp": ("perf-culprit mcp", "perf-culprit mcp --allow-run"),
    "import": ("perf-culprit import data.js --dry-run", "perf-culprit import .asv/results"),
    "history stats": ("perf-culprit history stats",),
    "history compact": ("perf-culprit history compact",),
    "history copy": ("perf-culprit history copy origin sqlite:///history.db",),
    "history migrate": ("perf-culprit history migrate",),
    "record": ("perf-culprit record bench.json",),
    "publish": ("perf-culprit publish report.json --pull-request 12",),
    "accept": ("perf-culprit accept parse --reason 'the new parser checks more'",),
    "measure": ("perf-culprit measure --commits main HEAD --run 'python bench.py' --output measured",),
    "bisect": ("perf-culprit bisect --good v1.4 --bad HEAD --run 'python bench.py' --benchmark parse",),
    "bisect-job": (),
    "backfill": ("perf-culprit backfill --since v1.0 --limit 30 --run 'python bench.py'",),
    "audit": ("perf-culprit audit --repo .", "perf-culprit audit --files runs/*.json --svg curves.svg"),
    "changes": (
        "perf-culprit changes builds.csv --column time --index commit",
        "perf-culprit changes --repo . --benchmark 'parse*'",
        "perf-culprit changes --releases v1.0=old.json v1.1=new.json --html matrix.html",
    ),
    "dashboard": ("perf-culprit dashboard site --open",),
    "diagnose": (
        "perf-culprit diagnose --log calls.log --pattern labelled",
        "perf-culprit diagnose --baseline before.speedscope.json --target after.speedscope.json --flame calls.html",
    ),
    "simulate": (
        "perf-culprit simulate model.yml --saturation",
        "perf-culprit simulate new.yml --against old.yml --html report.html",
    ),
    "demo": ("perf-culprit demo",),
    "formats": ("perf-culprit formats",),
    "schema": ("perf-culprit schema report",),
    "completion": (
        "perf-culprit completion bash > ~/.local/share/bash-completion/completions/perf-culprit",
        "perf-culprit completion zsh > ~/.zfunc/_perf-culprit",
    ),
}


# What the commands' command lines have in common.

Request = TypeVar("Request")

Verbs: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"  # noqa: SLF001 - argparse names the type so
QUANTITIES = f"{', '.join(Count)}, {SIZE}PATTERN of files"
OPTIONS: Final[Mapping[str, tuple[str, str, Mapping[str, Any]]]] = {
    "repo": ("--repo DIR", "repository (default: this directory)", {"default": Path()}),
    "history": ("--history URL", "where the history branch lives (default: remote origin)", {}),
    "tool": ("--tool NAME", "format of the results (default: by content)", {"default": "auto"}),
    "suite": ("--suite NAME", "suite that the benchmarks belong to (default: configuration)", {}),
    "config": ("--config FILE", "configuration (default: .github/perf-culprit.yml where it exists)", {"type": Path}),
}
EXIT_CODES_AT = "Exit codes: perf-culprit --help"
EXIT_CODES = """\
exit codes:
  0  fine
  1  a regression over the fail threshold
  2  usage or configuration
  3  no usable data: measuring nothing is neither a pass nor a regression
  4  git, GitHub, the network or the machine failed
"""


def new_verb(
    verbs: Verbs, name: str, run: Callable[[argparse.Namespace], int], help_text: str, *, group: str = ""
) -> argparse.ArgumentParser:
    """`group`: the command that this is one of, such as `history` of `history copy`."""
    examples = EXAMPLES[f"{group} {name}".strip()]
    verb = verbs.add_parser(
        name,
        help=help_text,
        description=help_text[0].upper() + help_text[1:] + ".",
        epilog="\n  ".join(["examples:", *examples]) + f"\n\n{EXIT_CODES_AT}" if examples else EXIT_CODES_AT,
    )
    option(verb, "-q --quiet", "print only the result and errors")
    option(verb, "-v --verbose", "log each step with its time to standard error")
    verb.set_defaults(verb=run)
    return verb


def option(parser: argparse._ActionsContainer, form: str, text: str, **more: Any) -> None:
    """Adds an option by the form in which the usage shows it; `more` is argparse's own and wins.

    `--json OUT` and `--repo DIR` take a path, `--jobs N` a positive number, `--commit REV` text, `--paths PATH ...` one
    text or more (and may be repeated), `--record` nothing.
    """
    words = form.split()
    flags = [word for word in words if word.startswith("-")]
    values = words[len(flags) :]
    kind: dict[str, Any] = {}
    if values:
        kind = {"metavar": values[0], "type": {"OUT": Path, "DIR": Path, "N": positive}.get(values[0])}
    elif "choices" not in more:
        kind = {"action": "store_true"}
    if values[1:] == ["..."]:
        kind |= {"nargs": "+", "action": "extend"}
    parser.add_argument(*flags, help=text, **(kind | more))


def add_options(parser: argparse.ArgumentParser, *names: str) -> None:
    """Those that many commands have, under the same name."""
    for name in names:
        form, text, more = OPTIONS[name]
        option(parser, form, text, **more)


def add_page_options(verb: argparse.ArgumentParser, what: str) -> None:
    option(verb, "--html OUT", f"write {what} (one file, no outside resources)")
    add_open_option(verb, "html")


def add_open_option(verb: argparse.ArgumentParser, page: str) -> None:
    option(verb, "--open", f"show what --{page} writes in a browser")


def check_outputs(arguments: argparse.Namespace) -> None:
    """Before the work starts: what it comes to can be written where it is asked for."""
    page = next((page for page in ("html", "svg") if page in arguments), None)
    if getattr(arguments, "open", False) and page is not None and not getattr(arguments, page):
        raise UsageError(f"--open shows what --{page} writes", next_step=f"such as: --{page} report.{page} --open")
    for name in ("json", "markdown", "html", "svg", "flame", "log", "run", "counters"):
        path = getattr(arguments, name, None)
        if isinstance(path, Path) and path != Path("-") and not path.parent.is_dir():
            raise UsageError(
                f"cannot be written: there is no folder {path.parent}", place=str(path), next_step="make it first"
            )


def chosen_config(arguments: argparse.Namespace) -> "Config":
    from perf_culprit.config.reader import load_config, override, with_database
    from perf_culprit.flows.compare import with_detector

    chosen = load_config(arguments.config)
    if getattr(arguments, "detector", None):
        chosen = with_detector(chosen, arguments.detector)
    for name in ("suite", "minimum_effect", "ignore_environment"):
        if value := getattr(arguments, name, None):
            chosen = override(chosen, {name: value}, place=f"--{name.replace('_', '-')}")
    return with_database(chosen, environ=os.environ, option=getattr(arguments, "history", None))


def add_command_options(verb: argparse.ArgumentParser) -> None:
    option(verb, "--repo DIR", "repository (default: this directory); its checkout stays as it is", default=Path())
    option(
        verb, "--run CMD", "shell command that measures; writes $PERF_CULPRIT_OUTPUT or prints (default: bisect.run)"
    )
    option(verb, "--build CMD", "shell command that builds a commit, once per content (default: bisect.build)")
    option(verb, "--timeout S", "limit of one run (default: 600 seconds)", type=seconds, default=600.0)
    option(verb, "--build-timeout S", "limit of one build (default: 3600 seconds)", type=seconds, default=3600.0)
    option(verb, "--cache DIR", "keep builds here from one call to the next")
    add_environment_option(verb)


def add_environment_option(verb: argparse.ArgumentParser) -> None:
    option(
        verb,
        "--environment NAME ...",
        "pass these variables to the commands; on GitHub most are withheld (docs/measure.md)",
        default=[],
    )


def shell_commands(arguments: argparse.Namespace, chosen: "Config") -> "tuple[Commands, str]":
    from perf_culprit.flows import user_commands

    return user_commands.shell_commands(
        chosen,
        run=arguments.run,
        build=arguments.build,
        tool=arguments.tool,
        timeout=arguments.timeout,
        build_timeout=arguments.build_timeout,
        environment=arguments.environment,
        metric=getattr(arguments, "metric", None),
        also=getattr(arguments, "also", None),
    )


def add_also_option(verb: argparse.ArgumentParser) -> None:
    option(
        verb,
        "--also NAME,…",
        f"also measure these (default: also in the configuration): {QUANTITIES} (docs/measure.md)",
        type=_quantities,
        action="extend",
        default=[],
    )


def _quantities(text: str) -> list[str]:
    return [quantity(one.strip()) for one in text.split(",")]


def quantity(text: str) -> str:
    try:
        return as_quantity(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def request(kind: type[Request], arguments: argparse.Namespace, **given: object) -> Request:
    """A command's request: `given`, and the options that are called as its other fields."""
    named = {field.name for field in fields(kind)} & vars(arguments).keys() - given.keys()  # type: ignore[arg-type]
    values = {name: getattr(arguments, name) for name in named}
    options = {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}
    return kind(**options, **given)


def commit_hash(text: str) -> str:
    """The full hash of a commit, in small letters."""
    if not FULL_HASH.fullmatch(text.lower()):
        raise argparse.ArgumentTypeError(f"{text!r} is no full hash of a commit; git rev-parse prints it")
    return text.lower()


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
