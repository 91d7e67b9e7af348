"""The commands init, doctor, demo, mcp, formats, schema and completion."""

import argparse
import os
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perf_culprit import git
from perf_culprit.cli.options import Verbs, add_options, chosen_config, new_verb, option
from perf_culprit.cli.output import write
from perf_culprit.errors import EXIT_FINE, EXIT_USAGE, UsageError
from perf_culprit.files import replace_file
from perf_culprit.release import IS_RELEASE

if TYPE_CHECKING:
    from perf_culprit.init.workflow_files import Choice


# The commands that show the program itself, to assistants as well: mcp, demo, formats, schema, completion.


def add_program_verbs(verbs: Verbs) -> None:
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
    from perf_culprit.demo.story import run_demo

    for page in run_demo(arguments.directory, say=lambda line: print(line, flush=True)):
        if arguments.open:
            webbrowser.open(page.absolute().as_uri())
    return EXIT_FINE


def _formats(_: argparse.Namespace) -> int:
    from perf_culprit.flows.compare import formats_list

    print(formats_list())
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
    from perf_culprit.flows.published_schemas import schema

    write(None, schema(arguments.name))
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
    from perf_culprit.mcp.server import serve

    if find_spec("mcp") is None:
        raise UsageError(
            "the protocol's library is not installed", place="mcp", next_step="pip install 'perf-culprit[mcp]'"
        )
    serve(arguments.repo, allow_run=arguments.allow_run)
    return EXIT_FINE


# The commands that set a repository up: init, and doctor in a job that does not work.


def add_setup_verbs(verbs: Verbs) -> None:
    verb = new_verb(verbs, "init", _init, "write the workflow files for this repository, or check the existing ones")
    option(verb, "--yes", "ask no questions")
    option(verb, "--run CMD", "shell command that measures a commit (default: guessed from the repository)")
    option(verb, "--setup CMD", "shell command that prepares the machine")
    option(verb, "--split", "write the two-job form with commands, for pull requests from forks")
    option(verb, "--backfill REV", "write only the workflow that measures old commits every night, from this one on")
    option(verb, "--force", "replace existing files")
    option(verb, "--check", "only say what is outdated or unsafe in the existing files")
    add_options(verb, "repo")
    verb = new_verb(verbs, "doctor", _doctor, "say which permission, event or setting this GitHub job lacks")
    option(verb, "--repo DIR", "the job's checkout (default: here)", default=Path())
    add_options(verb, "config")


def _init(arguments: argparse.Namespace) -> int:
    from perf_culprit.init.workflow_files import new_files

    if arguments.check:
        return _check(arguments.repo)
    choice = _choice(arguments)
    files = new_files(choice)
    present = [path for path in files if (arguments.repo / path).exists()]
    if present and not arguments.force:
        raise UsageError(
            f"is there already: {', '.join(present)}",
            place=str(arguments.repo),
            next_step="check it with perf-culprit init --check, or replace it with --force",
        )
    for path, text in files.items():
        replace_file(arguments.repo / path, text.encode())
        print(f"wrote {path}")
    if not IS_RELEASE:
        print("This is no release: put the commit of the release that you reviewed in place of the zeros.")
    if choice.since:
        print("Commit this file and start it in the tab Actions, or wait for the night. It resumes where it ended.")
        return EXIT_FINE
    print(
        "Commit these files. The first pull request measures its base and its head in turn and says what it found; "
        "the first push to the default branch begins the history (branch perf-history)."
    )
    if not choice.split:
        print(
            "Pull requests from forks get their report in the job summary; --split writes files that comment there too."
        )
    return EXIT_FINE


def _choice(arguments: argparse.Namespace) -> "Choice":
    """At most three questions: the command, what prepares the machine, and whether strangers send pull requests."""
    from perf_culprit.init import benchmark_tools
    from perf_culprit.init.benchmark_tools import look
    from perf_culprit.init.workflow_files import Choice

    suggestions = benchmark_tools.suggestions(look(arguments.repo))
    run, setup = arguments.run, arguments.setup
    if suggestions and run is None:
        print(f"found: {', '.join(each.tool for each in suggestions)}")
    if setup is None:
        setup = next((each.setup for each in suggestions if run is None or each.program in run.split()), None)
    asks = not arguments.yes and sys.stdin.isatty()
    ask = _ask if asks else (lambda _, default: default)
    if run is None:
        run = ask("Command that measures a commit", suggestions[0].run if suggestions else "")
    if not run:
        raise UsageError(
            "no benchmark tool was found here", place=str(arguments.repo), next_step="name the command with --run"
        )
    if arguments.setup is None:
        setup = ask("Command that prepares the machine", setup or "")
    since, branch = arguments.backfill or "", _default_branch(arguments.repo)
    if since:
        return Choice(run=run, setup=setup or "", branch=branch, since=since)
    split = arguments.split or ask("Do pull requests come from forks? (yes/no)", "no").lower().startswith("y")
    return Choice(run=run, setup=setup or "", branch=branch, split=split)


def _ask(question: str, default: str) -> str:
    return input(f"{question} [{default}]: ").strip() or default


def _default_branch(repository: Path) -> str:
    """What the remote says, else the branch here that is called as default branches are."""
    try:
        shown = git.run_git(repository, "for-each-ref", "--format=%(refname:lstrip=-1) %(symref:lstrip=-1)", "refs")
    except git.GitError:
        return "main"
    names = dict(line.split(" ", 1) for line in shown.decode().splitlines())
    return names.get("HEAD") or next((name for name in ("main", "master", "trunk") if name in names), "main")


def _doctor(arguments: argparse.Namespace) -> int:
    """What the job lacks, then what is wrong in the files that are checked out."""
    from perf_culprit.flows.job_context import checkup

    lines, is_well = checkup(environ=os.environ, repository=arguments.repo, config=chosen_config(arguments))
    for line in lines:
        print(line)
    has_files = (arguments.repo / ".github" / "workflows").is_dir()
    return _check(arguments.repo) if has_files and is_well else EXIT_FINE if is_well else EXIT_USAGE


def _check(repository: Path) -> int:
    from perf_culprit.init.workflow_files import check_files

    remarks = check_files(repository)
    for remark in remarks:
        print(f"{remark.file}: {'UNSAFE: ' if remark.is_unsafe else ''}{remark.text}")
    if not remarks:
        print("nothing outdated or unsafe")
    return EXIT_USAGE if remarks else EXIT_FINE
