"""The commands init, doctor, demo, mcp, formats, schema and completion."""

from pathlib import Path
from typing import Annotated, Final

from perf_culprit.commands.declared import Command, Configured, Option, RepositoryOption, positive

_SCHEMA_NAMES: Final = (
    "run",
    "report",
    "bisection",
    "diagnosis",
    "tree-comparison",
    "config",
    "simulation",
    "simulation-model",
)


ORIGINS: Final = ("gab", "codspeed", "bencher", "asv")


class Init(
    Command, name="init", examples=("perf-culprit init", "perf-culprit init --try --yes", "perf-culprit init --check")
):
    """Write the workflow files for this repository, or check the existing ones."""

    yes: Annotated[bool, Option("--yes", "ask no questions")] = False
    run: Annotated[
        str | None, Option("--run CMD", "shell command that measures a commit (default: guessed from the repository)")
    ] = None
    setup: Annotated[str | None, Option("--setup CMD", "shell command that prepares the machine")] = None
    build: Annotated[str | None, Option("--build CMD", "shell command that builds a commit's checkout")] = None
    origin: Annotated[
        str | None,
        Option("--from TOOL", "take over what this tool measures, and say how to bring its history", choices=ORIGINS),
    ] = None
    pick: Annotated[
        int | None,
        Option(
            "--pick N",
            "use only the Nth proposal (default: the first, and a second suite that a workflow measures)",
            convert=positive,
        ),
    ] = None
    try_out: Annotated[
        bool,
        Option(
            "--try",
            "build and measure HEAD here first, for at most 10 minutes or --minutes; write what gives benchmarks",
        ),
    ] = False
    minutes: Annotated[
        int | None,
        Option("--minutes N", "minutes for the rounds of a pull request, at most (default: 15)", convert=positive),
    ] = None
    pull_request: Annotated[
        bool,
        Option(
            "--pull-request", "print the text of a pull request; without --try it is a draft that tries them on GitHub"
        ),
    ] = False
    split: Annotated[bool, Option("--split", "write the two-job form with commands, for pull requests from forks")] = (
        False
    )
    parts: Annotated[
        int | None,
        Option(
            "--parts N", "measure on N machines at once, with --split (docs/how-to/spread-a-suite.md)", convert=positive
        ),
    ] = None
    list_command: Annotated[
        str | None, Option("--list CMD", "shell command that prints what --parts divides, a line each")
    ] = None
    backfill: Annotated[
        str | None,
        Option("--backfill REV", "write only the workflow that measures old commits every night, from this one on"),
    ] = None
    force: Annotated[bool, Option("--force", "replace existing files")] = False
    check: Annotated[bool, Option("--check", "only say what is outdated or unsafe in the existing files")] = False
    repository: RepositoryOption = Path()


class Doctor(Configured, name="doctor", examples=("perf-culprit doctor",)):
    """Say which permission, event or setting this GitHub job lacks."""

    repository: Annotated[Path, Option("--repo DIR", "the job's checkout (default: here)")] = Path()
    refusal: Annotated[
        str, Option("--refusal TEXT", "explain why GitHub did not start a run; TEXT stands on the run's page")
    ] = ""


class Mcp(Command, name="mcp", examples=("perf-culprit mcp", "perf-culprit mcp --allow-run")):
    """Answer coding assistants over standard input and output (docs/assistants.md)."""

    repository: RepositoryOption = Path()
    allow_run: Annotated[
        bool,
        Option(
            "--allow-run", "also offer bisect and measure, which run bisect.run as configured now (default: read only)"
        ),
    ] = False


class Demo(Command, name="demo", examples=("perf-culprit demo",)):
    """Build a real repository with a planted regression, measure and judge it on this machine."""

    directory: Annotated[
        Path, Option("--directory DIR", "folder to write; replaced if it is an earlier demo (default: ./demo)")
    ] = Path("demo")
    open: Annotated[bool, Option("--open", "show its pages in a browser")] = False


class Formats(Command, name="formats", examples=("perf-culprit formats",)):
    """List every format that can be read, and how its files are written."""

    name: Annotated[str | None, Option("[NAME]", "only those that it names")] = None


class Schema(Command, name="schema", examples=("perf-culprit schema report",)):
    """Print the JSON schema of a file that perf-culprit reads or writes."""

    name: Annotated[str, Option("FILE", f"kind of file: {', '.join(_SCHEMA_NAMES)}", choices=_SCHEMA_NAMES)]


class Completion(
    Command,
    name="completion",
    examples=(
        "perf-culprit completion bash > ~/.local/share/bash-completion/completions/perf-culprit",
        "perf-culprit completion zsh > ~/.zfunc/_perf-culprit",
    ),
):
    """Print the script that completes commands and options in a shell."""

    shell: Annotated[str, Option("SHELL", "bash, zsh or tcsh", choices=("bash", "zsh", "tcsh"))]
