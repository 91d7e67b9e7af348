"""The commands init, doctor, demo, mcp, formats, schema and completion."""

import os
import sys
import webbrowser
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from perf_culprit import git
from perf_culprit.cli.command_parser import all_parsers
from perf_culprit.cli.options import chosen_config
from perf_culprit.cli.output import write
from perf_culprit.commands.setup_requests import Completion, Demo, Doctor, Formats, Init, Mcp, Schema
from perf_culprit.errors import EXIT_FINE, EXIT_USAGE, UsageError
from perf_culprit.files import replace_file
from perf_culprit.release import IS_RELEASE

if TYPE_CHECKING:
    from perf_culprit.init.workflow_files import Choice


# The commands that show the program itself, to assistants as well: mcp, demo, formats, schema, completion.


def demo(asked: Demo) -> int:
    from perf_culprit.demo.story import run_demo

    for page in run_demo(asked.directory, say=lambda line: print(line, flush=True)):
        if asked.open:
            webbrowser.open(page.absolute().as_uri())
    return EXIT_FINE


def formats(_: Formats) -> int:
    from perf_culprit.flows.compare import formats_list

    print(formats_list())
    return EXIT_FINE


def completion(asked: Completion) -> int:
    import shtab

    parsers = all_parsers()
    for parser in parsers:
        for action in parser._actions:  # noqa: SLF001 - shtab reads it too
            if action.metavar in {"FILE", "OUT", "DIR"}:
                action.complete = shtab.DIRECTORY if action.metavar == "DIR" else shtab.FILE  # type: ignore[attr-defined]  # shtab looks for it
    write(None, shtab.complete(parsers[0], asked.shell).encode())
    return EXIT_FINE


def schema(asked: Schema) -> int:
    from perf_culprit.flows.published_schemas import schema

    write(None, schema(asked.name))
    return EXIT_FINE


def mcp(asked: Mcp) -> int:
    from perf_culprit.mcp.server import serve

    if find_spec("mcp") is None:
        raise UsageError(
            "the protocol's library is not installed", place="mcp", next_step="pip install 'perf-culprit[mcp]'"
        )
    serve(asked.repository, allow_run=asked.allow_run)
    return EXIT_FINE


# The commands that set a repository up: init, and doctor in a job that does not work.


def init(asked: Init) -> int:
    from perf_culprit.init.workflow_files import new_files

    if asked.check:
        return _check(asked.repository)
    choice = _choice(asked)
    files = new_files(choice)
    present = [path for path in files if (asked.repository / path).exists()]
    if present and not asked.force:
        raise UsageError(
            f"is there already: {', '.join(present)}",
            place=str(asked.repository),
            next_step="check it with perf-culprit init --check, or replace it with --force",
        )
    for path, text in files.items():
        replace_file(asked.repository / path, text.encode())
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


def _choice(asked: Init) -> "Choice":
    """At most three questions: the command, what prepares the machine, and whether strangers send pull requests."""
    from perf_culprit.init import benchmark_tools
    from perf_culprit.init.benchmark_tools import look
    from perf_culprit.init.workflow_files import Choice

    suggestions = benchmark_tools.suggestions(look(asked.repository))
    run, setup = asked.run, asked.setup
    if suggestions and run is None:
        print(f"found: {', '.join(each.tool for each in suggestions)}")
    if setup is None:
        setup = next((each.setup for each in suggestions if run is None or each.program in run.split()), None)
    asks = not asked.yes and sys.stdin.isatty()
    ask = _ask if asks else (lambda _, default: default)
    if run is None:
        run = ask("Command that measures a commit", suggestions[0].run if suggestions else "")
    if not run:
        raise UsageError(
            "no benchmark tool was found here", place=str(asked.repository), next_step="name the command with --run"
        )
    if asked.setup is None:
        setup = ask("Command that prepares the machine", setup or "")
    since, branch = asked.backfill or "", _default_branch(asked.repository)
    if since:
        return Choice(run=run, setup=setup or "", branch=branch, since=since)
    split = asked.split or ask("Do pull requests come from forks? (yes/no)", "no").lower().startswith("y")
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


def doctor(asked: Doctor) -> int:
    """What the job lacks, then what is wrong in the files that are checked out."""
    from perf_culprit.flows.job_context import checkup

    lines, is_well = checkup(environ=os.environ, repository=asked.repository, config=chosen_config(asked))
    for line in lines:
        print(line)
    has_files = (asked.repository / ".github" / "workflows").is_dir()
    return _check(asked.repository) if has_files and is_well else EXIT_FINE if is_well else EXIT_USAGE


def _check(repository: Path) -> int:
    from perf_culprit.init.workflow_files import check_files

    remarks = check_files(repository)
    for remark in remarks:
        print(f"{remark.file}: {'UNSAFE: ' if remark.is_unsafe else ''}{remark.text}")
    if not remarks:
        print("nothing outdated or unsafe")
    return EXIT_USAGE if remarks else EXIT_FINE
