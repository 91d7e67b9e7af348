"""The commands that show the program itself, to assistants as well: mcp, demo, formats, schema, completion."""

import argparse
import webbrowser
from importlib.util import find_spec
from pathlib import Path

from bot import assistant, demo, pipeline
from bot.cli.options import Verbs, add_options, new_verb, option
from bot.cli.output import write
from bot.errors import EXIT_FINE, UsageError


def add_verbs(verbs: Verbs) -> None:
    for add in (_add_mcp, _add_demo, _add_formats, _add_schema, _add_completion):
        add(verbs)


def _add_demo(verbs: Verbs) -> None:
    verb = new_verb(
        verbs, "demo", _demo, "build a real repository with a planted regression, measure and judge it on this machine"
    )
    option(
        verb,
        "--directory DIR",
        "folder to write; replaced if it is an earlier demo (default: ./demo)",
        default=Path("demo"),
    )
    option(verb, "--open", "show its pages in a browser")


def _add_formats(verbs: Verbs) -> None:
    new_verb(verbs, "formats", _formats, "list every format that can be read, and how its files are written")


def _add_schema(verbs: Verbs) -> None:
    verb = new_verb(verbs, "schema", _schema, "print the JSON schema of a file that perf-culprit reads or writes")
    names = ("run", "report", "bisection", "diagnosis", "tree-comparison", "config", "simulation", "simulation-model")
    verb.add_argument("name", metavar="FILE", choices=names, help=f"kind of file: {', '.join(names)}")


def _add_completion(verbs: Verbs) -> None:
    verb = new_verb(verbs, "completion", _completion, "print the script that completes commands and options in a shell")
    verb.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "tcsh"), help="bash, zsh or tcsh")


def _demo(arguments: argparse.Namespace) -> int:
    for page in demo.run_demo(arguments.directory, say=lambda line: print(line, flush=True)):
        if arguments.open:
            webbrowser.open(page.absolute().as_uri())
    return EXIT_FINE


def _formats(_: argparse.Namespace) -> int:
    print(pipeline.formats_list())
    return EXIT_FINE


def _completion(arguments: argparse.Namespace) -> int:
    import shtab

    verbs = next(action for action in arguments.parser._actions if action.choices)  # noqa: SLF001 - shtab reads it too
    for verb in verbs.choices.values():
        for action in verb._actions:  # noqa: SLF001 - as above
            if action.metavar in {"FILE", "OUT", "DIR"}:
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE
    write(None, shtab.complete(arguments.parser, arguments.shell).encode())
    return EXIT_FINE


def _schema(arguments: argparse.Namespace) -> int:
    write(None, pipeline.schema(arguments.name))
    return EXIT_FINE


def _add_mcp(verbs: Verbs) -> None:
    verb = new_verb(verbs, "mcp", _mcp, "answer coding assistants over standard input and output (docs/assistants.md)")
    add_options(verb, "repo")
    option(
        verb,
        "--allow-run",
        "also offer bisect and measure, which run bisect.run as configured now (default: read only)",
    )


def _mcp(arguments: argparse.Namespace) -> int:
    if find_spec("mcp") is None:
        raise UsageError(
            "the protocol's library is not installed", place="mcp", next_step="pip install 'perf-culprit[mcp]'"
        )
    assistant.serve(arguments.repo, allow_run=arguments.allow_run)
    return EXIT_FINE
