"""A command in a PID namespace sees no other process, leaves none behind, and ends the same way as without."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from perf_culprit.measure import processes, runner
from perf_culprit.measure.processes import Log, namespace, run_command, shell
from perf_culprit.measure.runner import Commands, Runner
from tests.unit.measure.test_escaped_processes import ESCAPES, alive

pytestmark = pytest.mark.skipif(not namespace(), reason="this machine allows no PID namespace")
PROJECT = Path(__file__).parents[3]


def run(text: str, folder: Path, *, timeout_seconds: float = 20.0, confined: bool = True) -> tuple[str | None, str]:
    """Run a command and return its fault (None if it succeeded) and its output."""
    with Log(folder / "log.txt") as log, (folder / "out").open("wb") as output:
        fault = run_command(
            text,
            directory=folder,
            environment={"PATH": os.environ["PATH"]},
            log=log,
            timeout_seconds=timeout_seconds,
            standard_output=output,
            confined=confined,
        )
    return fault, (folder / "out").read_text()


@pytest.mark.parametrize("way", ESCAPES)
def test_what_gets_away_is_ended_by_the_kernel(tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perf_culprit.measure.processes.end_escaped", lambda: (0, 0))
    fault, _ = run(f"{ESCAPES[way]} while [ ! -s pid ]; do sleep 0.01; done", tmp_path)
    assert fault is None
    assert alive(tmp_path) == set()


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("exit 3", "ended with exit code 3"),
        ("false; echo not reached", "ended with exit code 1"),
        ("kill -SEGV $$", "ended by SIGSEGV"),
        ("exec sleep 100", "took longer than 0.3 s"),
    ],
)
def test_ends_are_reported_as_without(tmp_path: Path, text: str, fault: str) -> None:
    assert run(text, tmp_path, timeout_seconds=0.3 if "took longer" in fault else 60) == (fault, "")
    assert alive(tmp_path) == set()


# A program that collects what all processes show to a command of this user.
SPY = """
import codecs, os, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from perf_culprit.measure.processes import run_command
from perf_culprit.measure.processes import Log
user = int(sys.argv[2])
codecs.lookup("latin-1")  # imported now: python may be out of reach for the other user
os.setgroups([]); os.setgid(user); os.setuid(user)
with Log(Path("log.txt")) as log, open("loot", "wb") as loot:
    run_command(
        'cat /proc/[0-9]*/environ 2>/dev/null | tr "\\\\0" "\\\\n"; ls /proc | grep -c "^[0-9]"',
        directory=Path(), environment={"PATH": os.environ["PATH"]}, log=log, timeout_seconds=20,
        standard_output=loot, confined=sys.argv[3] == "confined",
    )
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
@pytest.mark.parametrize("user", ["0", "65534"], ids=["root", "nobody"])
@pytest.mark.parametrize(("case", "readable"), [("open", True), ("confined", False)])
def test_wanted_the_token_of_the_steps_shell_got_no_process_but_its_own(
    tmp_path: Path, case: str, readable: bool, user: str
) -> None:
    tmp_path.chmod(0o777)
    step = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "sh", "-c", "echo; exec sleep 100"]
    environment = {"PATH": os.environ["PATH"], "GITHUB_TOKEN": "hunter2"}
    with subprocess.Popen(step, env=environment, stdout=subprocess.PIPE) as shell_of_the_step:
        assert shell_of_the_step.stdout is not None
        shell_of_the_step.stdout.readline()
        try:
            spy = [sys.executable, "-c", SPY, str(PROJECT), user, case]
            subprocess.run(spy, env={"PATH": os.environ["PATH"]}, cwd=tmp_path, check=True)
        finally:
            shell_of_the_step.kill()
    loot = (tmp_path / "loot").read_text()
    assert ("hunter2" in loot) == readable
    assert readable or int(loot.split()[-1]) < 10


def test_a_command_that_becomes_root_keeps_its_rights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1001)
    assert shell("sudo nice -n -20 ./bench", confined=True) == ["sh", "-e", "-c", "sudo nice -n -20 ./bench"]
    assert shell("./pseudo", confined=True)[0] == "unshare"
    assert shell("./bench", confined=False)[0] == "sh"


@pytest.mark.parametrize(
    ("environ", "words", "message"),
    [
        ({}, ("unshare",), None),
        ({"GITHUB_ACTIONS": "true"}, ("unshare",), "see no process but their own"),
        ({"GITHUB_ACTIONS": "true"}, (), "see this machine's processes: no PID namespace\n"),
        ({"GITHUB_ACTIONS": "true", "GH_TOKEN": "x"}, (), "may read GH_TOKEN in the step's shell: give it to another"),
    ],
)
def test_the_log_says_what_commands_see(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    environ: dict[str, str],
    words: tuple[str, ...],
    message: str | None,
) -> None:
    monkeypatch.setattr(runner, "namespace", lambda: words)
    with Log(tmp_path / "log.txt") as log:
        Runner(Commands(run="./bench"), log=log, environ=environ)
    text = (tmp_path / "log.txt").read_text()
    assert message in text if message else "see" not in text


def test_a_machine_without_the_program_goes_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    processes.namespace.cache_clear()
    try:
        assert shell("true", confined=True) == ["sh", "-e", "-c", "true"]
    finally:
        processes.namespace.cache_clear()
