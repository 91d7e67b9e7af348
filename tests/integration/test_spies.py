"""A checkout that holds a module of every name that we import: no command that is called there runs one."""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from perf_culprit.commands.all_commands import COMMANDS as DECLARED
from tests.support.assistant_client import assistant
from tests.support.counting_valgrind import counting_valgrind
from tests.support.documented import lay_out
from tests.support.git_repository import ENVIRONMENT
from tests.support.spies import PACKAGE, importable, imported_by_python_itself, write_git_spies, write_spies

pytestmark = pytest.mark.slow  # every command, as separate processes

INSTALLED: Final = (str(Path(sys.executable).with_name("perf-culprit")),)
AS_MODULE: Final = (sys.executable, "-m", PACKAGE)
# Arguments and exit code by command: not 0 if it lacks a workflow, a job, a host or an empty folder.
COMMANDS: Final[Mapping[str, tuple[str, int]]] = {
    "init": ("--check", 2),
    "doctor": ("", 2),
    "collect": ("bench.json --json run.json", 0),
    "compare": ("--baseline base-1.json --target head-1.json --html report.html --json report.json", 0),
    "import": ("old.json", 3),
    "history accepted": ("", 0),
    "history stats": ("", 0),
    "history compact": ("", 0),
    "history copy": ("origin sqlite:///history.db", 0),
    "history migrate": ("--history sqlite:///history.db", 0),
    "record": ("bench.json", 0),
    "publish": ("report.json --pull-request 12", 2),
    "accept": ("sort --reason tests --author Ada", 0),
    "measure": ("--commits HEAD~1 HEAD --run 'python bench.py' --rounds 2 --output out --trace", 0),
    "qualify": ("--run ./bench", 0),
    "verify": ("--culprit v1.1 --run ./bench --rounds 2 --output verified", 3),
    # Jobs side by side.
    "bisect": ("--good v1.0 --bad v1.1 --run true --metric instructions --jobs 2 --profile-seconds 0", 0),
    "bisect-job": ("--request request.json --job job-1 --output jobs", 3),
    "backfill": ("--since v1.1 --minutes 1 --run ./bench", 0),
    "audit": ("--files old.json newer.json", 0),
    "changes": ("nightly.csv --column mean", 0),
    "dashboard": ("site", 0),
    "diagnose": ("--log app.log --pattern labelled", 0),
    "simulate": ("shop.yml --replications 2", 0),
    "demo": ("--directory docs", 2),
    "formats": ("", 0),
    "schema": ("report", 0),
    "completion": ("bash", 0),
}
RESULTS: Final = {"target": ["head-1.json"], "baseline": ["base-1.json"]}
TOOLS: Final[Mapping[str, Mapping[str, Any]]] = {
    "benchmarks": {},
    "history": {"benchmark": "sort"},
    "compare": RESULTS,
    "report": {},
    "why": {"benchmark": "sort"},
    "diagnose": {"target": ["app.log"], "logs": "labelled"},
    "plan": {"good": "HEAD~1", "bad": "HEAD"},
    "measure": {"base": "HEAD~1", "rounds": 1},
    "bisect": {"good": "v1.0", "bad": "v1.1", "minutes": 1},
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout:
    project: Path
    record: Path
    environment: Mapping[str, str]

    def call(self, *command: str) -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=self.project, env=self.environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stderr

    def ran(self) -> str:
        return self.record.read_text()


Lay = Callable[[tuple[str, ...]], Checkout]


@pytest.fixture
def hostile(tmp_path: Path) -> Lay:
    """Lay out a checkout with spies as modules, and in every place where git would run a program.

    It lacks the modules that `python -m` itself imports before our code runs.
    """

    def lay(program: tuple[str, ...]) -> Checkout:
        project = lay_out(tmp_path, python=sys.executable)
        counting_valgrind(tmp_path / "valgrind")
        (project / ".github").mkdir()
        (project / ".github" / "perf-culprit.yml").write_text("bisect:\n  run: ./bench\n  profile-seconds: 0\n")
        names = importable() - (imported_by_python_itself() if program == AS_MODULE else set())
        write_spies(project, names, record=tmp_path / "record")
        write_git_spies(project, record=tmp_path / "record")
        path = f"{tmp_path / 'valgrind'}:{tmp_path / 'bin'}:{os.environ['PATH']}"
        environment = {**ENVIRONMENT, "PATH": path, "HOME": str(tmp_path), "OPENBLAS_NUM_THREADS": "1"}
        return Checkout(project=project, record=tmp_path / "record", environment=environment)

    return lay


@pytest.mark.parametrize("program", [INSTALLED, AS_MODULE], ids=["installed", "as a module"])
def test_wanted_our_process_by_a_checkout_got_none(hostile: Lay, program: tuple[str, ...]) -> None:
    """No command, even one that runs commits, runs a module of the checkout or a program that git's settings name."""
    assert {*COMMANDS, "mcp"} == {command.NAME for command in DECLARED}
    checkout = hostile(program)
    # Only the start differs, and it is the same for every command.
    commands = COMMANDS if program == INSTALLED else {"compare": COMMANDS["compare"]}
    ran = {}
    for command, (arguments, code) in commands.items():
        before = checkout.ran()
        ended, errors = checkout.call(*program, *command.split(), *shlex.split(arguments))
        if spies := set(checkout.ran().removeprefix(before).splitlines()):
            ran[command] = sorted(spies)
        assert ended == code, f"{command}: {errors}"
    assert ran == {}


def test_wanted_the_assistants_process_by_a_checkout_got_none(hostile: Lay) -> None:
    checkout = hostile(INSTALLED)
    checkout.call(*INSTALLED, "compare", "--baseline", "base-1.json", "--target", "head-1.json", "--json=report.json")
    command = (*INSTALLED, "mcp", "--allow-run")
    with assistant(checkout.project, command=command, environment=checkout.environment) as session:
        assert {tool.name for tool in session.tools()} == set(TOOLS)
        for tool, arguments in TOOLS.items():
            result = session.result(tool, **arguments)
            assert checkout.ran() == "", tool
            assert not result.is_error, result.content


def test_the_spies_are_seen_where_git_and_python_obey_them(hostile: Lay) -> None:
    """The control: a plain git and a plain Python run them."""
    rigged = hostile(INSTALLED)
    rigged.call(sys.executable, "-c", "import numpy")
    assert "numpy in" in rigged.ran()
    for arguments in ("status", "diff HEAD~2 HEAD", "log -1", "commit --allow-empty -m x", "fetch origin"):
        rigged.call("git", *arguments.split())
    ran = " ".join(rigged.ran().splitlines())
    spies = ("core.fsmonitor", "diff.spy", "gpg.program", "pre-commit", "remote.origin.uploadpack", "filter.spy")
    assert {spy for spy in spies if spy not in ran} == set()
